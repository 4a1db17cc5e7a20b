import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from dealsite.data.catalogue import deals, drafts, featured
from dealsite.data.catalogue.deal import deleting, editing
from dealsite.data.editing import trash
from dealsite.data.table import errors
from tests.builders import DAY, HOUR, NOW, make_brand, make_deal, make_draft, make_id
from tests.cms.conftest import inputs


def address(name, thing):
    return reverse(name, args=[thing.id])


def change(deal, **fields):
    """Change a deal as another editor would."""
    content = replace(deal.content, **fields)
    return editing.edit(deal, content, version=deal.version, brand=make_brand(), by="oscar", now=NOW)


def undo_form(response):
    """Return the address and the fields of the button in a page's note that takes back what was done."""
    note = re.search(r'<div id="messages".*?</form>', response.content.decode(), re.S)
    assert note, "There is no way back."
    action = re.search(r'action="([^"]+)"', note[0])
    fields = dict(re.findall(r'name="(\w+)"\s+value="([^"]*)"', note[0]))
    assert "csrfmiddlewaretoken" in fields
    return action[1], fields


def said(response):
    """Return the note of a page as text."""
    note = re.search(r'<div id="messages".*?</div>\s*</div>', response.content.decode(), re.S)
    return " ".join(re.sub("<[^>]+>", " ", note[0]).split()) if note else ""


def test_deleting_a_deal_takes_it_from_everywhere_and_can_be_undone(editor):
    deal = make_deal(title="Kettle")
    page, _ = featured.load("front", [])
    featured.set_featured(page, [deal], version=0, by="eve", now=NOW)
    response = editor.post(address("cms_delete_deal", deal), {"version": "1"}, follow=True)
    assert response.redirect_chain == [(reverse("cms_deals"), 302)]
    assert "“Kettle” is in the trash, where it stays for 30 days." in said(response)
    assert featured.get("front").cards == []
    with pytest.raises(errors.NotFound):
        deals.get(deal.id)
    action, fields = undo_form(response)
    response = editor.post(action, fields, follow=True)
    assert response.redirect_chain == [(address("cms_deal", deal), 302)]
    assert "“Kettle” is back. It was featured on: Front page." in said(response)
    assert deals.get(deal.id).content == deal.content


def test_a_draft_is_deleted_and_that_is_undone(editor):
    draft = make_draft(title="Keyboard")
    response = editor.post(address("cms_delete_draft", draft), {"version": "1"}, follow=True)
    assert response.redirect_chain[0][0] == "/cms/deals/?state=draft"
    with pytest.raises(errors.NotFound):
        drafts.get(draft.id)
    action, fields = undo_form(response)
    response = editor.post(action, fields, follow=True)
    assert response.redirect_chain == [(address("cms_draft", draft), 302)]
    assert drafts.get(draft.id).content == draft.content


def test_the_buttons_of_the_pages_delete_the_version_that_they_show(editor):
    deal, draft = make_deal(), make_draft(title="x")
    html = editor.get(address("cms_deal", deal)).content.decode()
    for name in ("cms_delete_deal", "cms_expire_deal"):
        form = re.search(rf'<form[^>]*action="{address(name, deal)}".*?</form>', html, re.S)
        assert 'name="version" value="1"' in form[0]
    html = editor.get(address("cms_draft", draft)).content.decode()
    form = re.search(rf'<form[^>]*action="{address("cms_delete_draft", draft)}".*?</form>', html, re.S)
    assert 'name="version" value="1"' in form[0]


def test_what_changed_since_it_was_opened_is_not_deleted(editor):
    deal, draft = make_deal(), make_draft(title="x")
    change(deal, title="Quite another thing")
    drafts.save(draft, replace(draft.content, title="Changed"), version=1, by="oscar", now=NOW)
    for name, page, thing in (
        ("cms_delete_deal", "cms_deal", deal),
        ("cms_expire_deal", "cms_deal", deal),
        ("cms_delete_draft", "cms_draft", draft),
    ):
        response = editor.post(address(name, thing), {"version": "1"}, follow=True)
        assert response.redirect_chain == [(address(page, thing), 302)]
        assert "Somebody changed this" in said(response)
    assert deals.get(deal.id).content.expires_at is None
    assert drafts.get(draft.id).version == 2


def test_what_changes_while_it_is_looked_at_is_not_deleted(editor, monkeypatch):
    deal = make_deal()

    def change_now(request, version):
        change(deal, title="Quite another thing")
        return False

    monkeypatch.setattr("cms.deals.trash._has_changed", change_now)
    response = editor.post(address("cms_delete_deal", deal), {"version": "1"}, follow=True)
    assert response.redirect_chain == [(address("cms_deal", deal), 302)]
    assert "Somebody changed this" in said(response)
    assert deals.get(deal.id).version == 2


def test_deleting_what_is_deleted_offers_it_back(editor):
    deal, draft = make_deal(title="Kettle"), make_draft(title="Keyboard")
    for name, thing in (("cms_delete_deal", deal), ("cms_delete_draft", draft)):
        editor.post(address(name, thing), {"version": "1"})
        response = editor.post(address(name, thing), {"version": "1"}, follow=True)
        assert response.redirect_chain == [("/cms/trash/", 302)]
        assert undo_form(response)


def test_a_published_draft_leads_to_its_deal_instead(editor):
    draft = make_draft(title="x")
    deal = make_deal(draft=draft)
    response = editor.post(address("cms_delete_draft", draft), {"version": "1"})
    assert response.headers["Location"] == address("cms_deal", deal)
    assert deals.get(deal.id)


def test_a_deal_expires_and_gets_its_end_back(editor):
    deal = make_deal(expires_at=NOW + DAY)
    response = editor.post(address("cms_expire_deal", deal), {"version": "1"}, follow=True)
    assert deals.get(deal.id).content.expires_at == NOW
    assert 'data-state="expired"' in response.content.decode()
    action, fields = undo_form(response)
    response = editor.post(action, fields, follow=True)
    assert "live again" in said(response)
    assert deals.get(deal.id).content == deal.content


def test_an_end_that_was_none_comes_back_as_none(editor):
    deal = make_deal()
    response = editor.post(address("cms_expire_deal", deal), follow=True)
    action, fields = undo_form(response)
    editor.post(action, fields)
    assert deals.get(deal.id).content.expires_at is None


def test_an_end_is_not_restored_where_something_else_changed_since(editor):
    deal = make_deal()
    action, fields = undo_form(editor.post(address("cms_expire_deal", deal), follow=True))
    change(deals.get(deal.id), title="Better")
    response = editor.post(action, fields, follow=True)
    assert "The deal was changed since, so its end stays as it is." in said(response)
    assert deals.get(deal.id).content.expires_at == NOW


def test_an_end_that_has_passed_is_not_restored(editor, monkeypatch):
    deal = make_deal(expires_at=NOW + HOUR)
    action, fields = undo_form(editor.post(address("cms_expire_deal", deal), follow=True))
    monkeypatch.setattr(timezone, "now", lambda: NOW + 2 * HOUR)
    response = editor.post(action, fields, follow=True)
    assert "has passed meanwhile" in said(response)
    assert deals.get(deal.id).content.expires_at == NOW


@pytest.mark.parametrize("expires_at", ["x", "2026-11-21", "\x00", "9" * 99, "2027-01-01T00:00:00+00:00"])
def test_an_end_that_no_form_of_ours_holds_is_refused(editor, expires_at):
    deal = editing.expire_now(make_deal(), by="eve", now=NOW)
    given = {"version": str(deal.version), "expires_at": expires_at}
    assert editor.post(address("cms_undo_expiry", deal), given).status_code == 409
    assert deals.get(deal.id) == deal


def test_what_is_not_live_or_over_does_not_expire(editor):
    later, over = make_deal(live_at=NOW + DAY), editing.expire_now(make_deal(), by="eve", now=NOW)
    assert "not live yet" in said(editor.post(address("cms_expire_deal", later), follow=True))
    assert "This deal has expired." in said(editor.post(address("cms_expire_deal", over), follow=True))
    assert deals.get(over.id) == over


@pytest.mark.parametrize("thing_id", ["x", "0" * 26, "%00", "é" * 26])
def test_what_does_not_exist_is_404(editor, thing_id):
    pages = ["deals/{}/expire/", "deals/{}/delete/", "deals/{}/undo-expiry/", "drafts/{}/delete/"]
    pages += [
        f"trash/{kind}/{{}}/{what}/" for kind in ("deal", "draft", "user") for what in ("restore", "delete")
    ]
    for page in pages:
        assert editor.post(f"/cms/{page.format(thing_id)}", {"version": "1"}).status_code == 404, page


def test_the_trash_lists_what_was_deleted_by_whom_and_for_how_long(editor, calls):
    deal, draft = make_deal(title="Kettle"), make_draft()
    deleting.delete(deal, by="oscar", now=NOW - 29 * DAY - HOUR)
    drafts.delete(draft, by="eve", now=NOW - HOUR)
    html = " ".join(editor.get("/cms/trash/").content.decode().split())
    assert html.index("Without a title") < html.index("Kettle")
    assert ">oscar<" in html
    assert "1 day left" in html
    assert "30 days left" in html
    assert calls(lambda: editor.get("/cms/trash/")) == ["Query"]


def test_what_should_be_gone_by_now_goes_today(editor):
    deleting.delete(make_deal(), by="eve", now=NOW - 30 * DAY - HOUR)
    assert "Goes today" in editor.get("/cms/trash/").content.decode()


def test_an_empty_trash_says_what_it_is_for(editor):
    assert "can be restored from here for 30 days" in editor.get("/cms/trash/").content.decode()


def test_the_trash_has_pages(editor, monkeypatch):
    monkeypatch.setattr(trash, "PAGE_SIZE", 2)
    for number in range(3):
        drafts.delete(make_draft(title=f"Draft {number}"), by="eve", now=NOW + timedelta(minutes=number))
    html = editor.get("/cms/trash/").content.decode()
    assert "Draft 2" in html
    assert "Draft 0" not in html
    after = re.search(r'href="(\?after=[^"]+)"', html)
    assert "Draft 0" in editor.get(f"/cms/trash/{after[1]}").content.decode()
    assert editor.get("/cms/trash/?after=x").status_code == 400


def test_deleting_for_good_is_for_good(editor):
    deal = make_deal(title="Kettle")
    deleting.delete(deal, by="eve", now=NOW)
    response = editor.post(reverse("cms_purge", args=["deal", deal.id]), follow=True)
    assert "“Kettle” is deleted for good." in said(response)
    assert trash.find("deal", deal.id) is None


def test_what_cannot_come_back_says_why(editor):
    deal = make_deal()
    deleting.delete(deal, by="eve", now=NOW)
    make_deal(deal_id=deal.id, title="Another")
    response = editor.post(reverse("cms_restore", args=["deal", deal.id]), follow=True)
    assert "There is a deal with this id again" in said(response)
    assert deals.get(deal.id).content.title == "Another"


def test_a_title_in_a_note_is_text(editor):
    draft = make_draft(title='<img src=x onerror="alert(1)">', draft_id=make_id(NOW))
    response = editor.post(address("cms_delete_draft", draft), follow=True)
    assert "<img src=x" not in response.content.decode()
    assert inputs(response)
