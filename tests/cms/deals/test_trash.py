import re
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from dealsite.data.catalogue import deal_changes, deals, drafts, featured
from dealsite.data.editing import trash, trash_record
from dealsite.data.table import errors
from tests.builders import DAY, HOUR, NOW, make_brand, make_deal, make_draft, make_id
from tests.cms.conftest import do, inputs, said as note_of
from tests.people import assert_costs_as_declared


def address(name, thing):
    return reverse(name, args=[thing.id])


def change(deal, *, now=NOW, **fields):
    """Change a deal as another editor would."""
    content = replace(deal.content, **fields)
    return deal_changes.edit(deal, content, version=deal.version, brand=make_brand(), by="oscar", now=now)


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
    response = do(editor, "delete", deal, follow=True)
    assert response.redirect_chain == [(reverse("cms_deals"), 302)]
    assert "“Kettle” is in the trash, where it stays for 30 days." in said(response)
    assert featured.get("front").cards == []
    with pytest.raises(errors.NotFound):
        deals.get(deal.id)
    action, fields = undo_form(response)
    response = editor.post(action, fields, follow=True)
    assert response.redirect_chain == [(reverse("cms_deals"), 302)]
    assert "“Kettle” is as it was before." in said(response)
    assert deals.get(deal.id).content == deal.content


def test_a_draft_is_deleted_and_that_is_undone(editor):
    draft, here = make_draft(title="Keyboard"), f"{reverse('cms_deals')}?state=draft"
    response = do(editor, "delete", draft, state="draft", next=here, follow=True)
    assert response.redirect_chain == [(here, 302)]
    with pytest.raises(errors.NotFound):
        drafts.get(draft.id)
    action, fields = undo_form(response)
    response = editor.post(action, fields, follow=True)
    assert response.redirect_chain == [(here, 302)]
    assert drafts.get(draft.id).content == draft.content


def test_the_buttons_of_the_pages_say_when_they_were_shown_and_lead_to_a_page_that_is_there(editor):
    deal, draft, lists = make_deal(), make_draft(title="x"), reverse("cms_deals")
    here = address("cms_deal", deal)
    for page, action, thing, then in (
        (here, "delete", deal, lists),
        (here, "expire", deal, here),
        (address("cms_draft", draft), "delete", draft, f"{lists}?state=draft"),
    ):
        html = " ".join(editor.get(page).content.decode().split())
        target = reverse("cms_do", args=[action])
        form = re.search(rf'<form[^>]*action="{target}".*?</form>', html, re.S)
        shown = re.search(r'name="asked_at" value="([^"]+)"', form[0])
        assert datetime.fromisoformat(shown[1]) == NOW
        assert f'name="next" value="{then}"' in form[0]
        assert f'value="{thing.id}"' in form[0]
        assert ('name="state" value="draft"' in form[0]) == (thing is draft)


def test_what_changed_since_it_was_opened_is_not_deleted(editor, monkeypatch):
    deal, draft = make_deal(), make_draft(title="x")
    change(deal, title="Quite another thing", expires_at=NOW + DAY, now=NOW + HOUR)
    changed = replace(draft.content, title="Changed")
    drafts.save(draft, changed, version=1, by="oscar", now=NOW + HOUR)
    monkeypatch.setattr(timezone, "now", lambda: NOW + 2 * HOUR)
    for action, page, thing, state in (
        ("delete", "cms_deal", deal, "all"),
        ("expire", "cms_deal", deal, "all"),
        ("delete", "cms_draft", draft, "draft"),
    ):
        here = address(page, thing)
        response = do(editor, action, thing, state=state, next=here, asked_at=NOW.isoformat(), follow=True)
        assert response.redirect_chain == [(here, 302)]
        assert "oscar changed it meanwhile." in said(response)
    assert deals.get(deal.id).content.expires_at == NOW + DAY
    assert drafts.get(draft.id).version == 2


def test_what_changes_while_it_is_deleted_is_not_deleted(editor, monkeypatch):
    deal, delete = make_deal(), deal_changes.delete

    def change_now(*arguments, **options):
        monkeypatch.setattr(deal_changes, "delete", delete)
        change(deal, title="Quite another thing", now=NOW + HOUR)
        delete(*arguments, **options)

    monkeypatch.setattr(deal_changes, "delete", change_now)
    response = do(editor, "delete", deal, next=address("cms_deal", deal), follow=True)
    assert response.redirect_chain == [(address("cms_deal", deal), 302)]
    assert "oscar changed it meanwhile." in said(response)
    assert deals.get(deal.id).version == 2


def test_deleting_what_one_deleted_offers_it_back(editor):
    deal, draft = make_deal(title="Kettle"), make_draft(title="Keyboard")
    for thing, state in ((deal, "all"), (draft, "draft")):
        first, again = (do(editor, "delete", thing, state=state, follow=True) for _ in range(2))
        assert undo_form(again)[0] == undo_form(first)[0]
        assert "is in the trash" in said(again)


def test_what_another_one_deleted_is_not_deleted_again(editor):
    deal = make_deal(title="Kettle")
    deal_changes.delete(deal, by="oscar", now=NOW)
    assert note_of(do(editor, "delete", deal)) == "It was deleted meanwhile."


def test_a_published_draft_is_no_draft_that_could_be_deleted(editor):
    draft = make_draft(title="x")
    deal = make_deal(draft=draft)
    assert note_of(do(editor, "delete", draft, state="draft")) == "It was published already."
    assert deals.get(deal.id)
    assert drafts.get(draft.id).published_as == deal.id


def test_a_deal_expires_and_gets_its_end_back(editor):
    deal = make_deal(expires_at=NOW + DAY)
    response = do(editor, "expire", deal, next=address("cms_deal", deal), follow=True)
    assert deals.get(deal.id).content.expires_at == NOW
    assert 'data-state="expired"' in response.content.decode()
    action, fields = undo_form(response)
    response = editor.post(action, fields, follow=True)
    assert "is as it was before." in said(response)
    assert response.redirect_chain == [(address("cms_deal", deal), 302)]
    assert deals.get(deal.id).content == deal.content


def test_an_end_that_was_none_comes_back_as_none(editor):
    deal = make_deal()
    action, fields = undo_form(do(editor, "expire", deal, follow=True))
    editor.post(action, fields)
    assert deals.get(deal.id).content.expires_at is None


def test_an_end_is_restored_where_something_else_changed_since_and_that_is_kept(editor):
    deal = make_deal()
    action, fields = undo_form(do(editor, "expire", deal, follow=True))
    change(deals.get(deal.id), title="Better")
    editor.post(action, fields)
    assert (deals.get(deal.id).content.title, deals.get(deal.id).content.expires_at) == ("Better", None)


def test_an_end_is_not_restored_where_somebody_else_gave_it_another_one(editor):
    deal = make_deal()
    action, fields = undo_form(do(editor, "expire", deal, follow=True))
    change(deals.get(deal.id), expires_at=NOW + DAY)
    response = editor.post(action, fields, follow=True)
    assert "oscar changed it since." in said(response)
    assert deals.get(deal.id).content.expires_at == NOW + DAY


def test_an_end_that_has_passed_is_not_restored(editor, monkeypatch):
    deal = make_deal(expires_at=NOW + HOUR)
    action, fields = undo_form(do(editor, "expire", deal, follow=True))
    monkeypatch.setattr(timezone, "now", lambda: NOW + 2 * HOUR)
    response = editor.post(action, fields, follow=True)
    assert "has passed meanwhile" in said(response)
    assert deals.get(deal.id).content.expires_at == NOW


def test_what_is_not_live_or_over_does_not_expire(editor):
    later, over = make_deal(live_at=NOW + DAY), deal_changes.expire_now(make_deal(), by="eve", now=NOW)
    assert note_of(do(editor, "expire", later)) == "It is not published yet; delete it, or move its time."
    assert note_of(do(editor, "expire", over)) == "It has expired already."
    assert deals.get(over.id) == over


@pytest.mark.parametrize("entry_id", ["x", "0" * 26, "%00", "é" * 26])
def test_what_does_not_exist_is_404(editor, entry_id):
    pages = [
        f"{kind}/{{}}/{what}/" for kind in ("deals", "drafts", "brands") for what in ("restore", "purge")
    ]
    pages += ["deals/do/{}/", "deals/bulk/{}/undo/"]
    for page in pages:
        assert editor.post(f"/cms/{page.format(entry_id)}", {"version": "1"}).status_code == 404, page


def test_the_trash_lists_what_was_deleted_by_whom_and_for_how_long(editor):
    deal, draft = make_deal(title="Kettle"), make_draft()
    deal_changes.delete(deal, by="oscar", now=NOW - 29 * DAY - HOUR)
    drafts.delete(draft, by="eve", now=NOW - HOUR)
    answer = editor.get("/cms/trash/")
    assert_costs_as_declared(answer)
    html = " ".join(answer.content.decode().split())
    assert html.index("Without a title") < html.index("Kettle")
    assert ">oscar<" in html
    assert "1 day left" in html
    assert "30 days left" in html


def test_what_should_be_gone_by_now_goes_today(editor):
    deal_changes.delete(make_deal(), by="eve", now=NOW - 30 * DAY - HOUR)
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
    deal_changes.delete(deal, by="eve", now=NOW)
    response = editor.post(reverse("cms_purge", args=["deal", deal.id]), follow=True)
    assert "“Kettle” is deleted for good." in said(response)
    assert trash_record.find("deal", deal.id) is None


def test_what_cannot_come_back_says_why(editor):
    deal = make_deal()
    deal_changes.delete(deal, by="eve", now=NOW)
    make_deal(deal_id=deal.id, title="Another")
    response = editor.post(reverse("cms_restore", args=["deal", deal.id]), follow=True)
    assert "There is a deal with this id again" in said(response)
    assert deals.get(deal.id).content.title == "Another"


def test_a_title_in_a_note_is_text(editor):
    draft = make_draft(title='<img src=x onerror="alert(1)">', draft_id=make_id(NOW))
    response = do(editor, "delete", draft, state="draft", follow=True)
    assert "<img src=x" not in response.content.decode()
    assert inputs(response)
