"""What a form hears of others who have it open, and of a newer version; and looking at that without losing anything."""

from dataclasses import replace

import pytest
from django.urls import reverse
from django.utils import timezone

from dealsite.data.catalogue import deal_changes, deals, drafts
from dealsite.data.editing import pending_edits
from tests.builders import EDITOR, NOW, make_brand, make_deal, make_draft, make_id
from tests.cms.conftest import HTMX, inputs, mine_alone, taken_over


def send_heartbeat(browser, entry_id, kind="deal", version=1, **more):
    address = reverse("cms_presence", args=[kind, entry_id])
    return browser.post(address, {"version": version} | more, headers=HTMX)


def shown(response):
    return {"presence_shown": inputs_of(response)["presence_shown"]}


def inputs_of(response):
    return inputs(
        type("Part", (), {"content": b'<form>name="csrfmiddlewaretoken"' + response.content + b"</form>"})
    )


def save(deal_id, by="oscar", title="Other"):
    deal = deals.get(deal_id)
    deal_changes.edit(
        deal, replace(deal.content, title=title), version=deal.version, brand=make_brand(), by=by, now=NOW
    )


def test_alone_nothing_is_said(editor):
    html = send_heartbeat(editor, make_deal().id).content.decode()
    assert "editing this, too" not in html
    assert "newer version" not in html


def test_each_is_told_of_the_other(editor, other_editor):
    deal_id = make_deal().id
    send_heartbeat(editor, deal_id)
    html = send_heartbeat(other_editor, deal_id).content.decode()
    assert "<strong>eve</strong> is editing this, too, since 12:00" in " ".join(html.split())
    assert "<strong>oscar</strong>" in send_heartbeat(editor, deal_id).content.decode()


def test_the_time_is_that_of_the_editors_zone(sign_in, editor):
    deal_id = make_deal().id
    send_heartbeat(editor, deal_id)
    html = send_heartbeat(sign_in("editor", zone="Europe/Berlin"), deal_id).content.decode()
    assert "since 13:00" in html


def test_what_was_said_is_not_said_again(editor, other_editor):
    deal_id = make_deal().id
    send_heartbeat(editor, deal_id)
    first = send_heartbeat(other_editor, deal_id)
    again = send_heartbeat(other_editor, deal_id, **shown(first))
    assert (again.status_code, again.content) == (204, b"")
    save(deal_id, by=EDITOR)
    assert send_heartbeat(other_editor, deal_id, **shown(first)).status_code == 200


def test_a_newer_version_of_another_is_told_and_ones_own_is_not(editor, other_editor):
    deal_id = make_deal().id
    save(deal_id, by="oscar")
    html = " ".join(send_heartbeat(editor, deal_id).content.decode().split())
    assert "<strong>oscar</strong> saved a newer version at 12:00. What you have typed is still here." in html
    assert 'form="edit-form" name="action" value="compare"' in html
    assert "newer version" not in send_heartbeat(editor, deal_id, version=2).content.decode()
    assert "newer version" not in send_heartbeat(other_editor, deal_id).content.decode()


def test_that_it_was_published_or_deleted_is_told(editor):
    draft = make_draft(title="Sofa")
    deal = make_deal(draft=draft)
    assert "was published meanwhile" in send_heartbeat(editor, draft.id, "draft").content.decode()
    deal_changes.delete(deals.get(deal.id), by="oscar", now=NOW)
    assert "This deal was deleted meanwhile." in send_heartbeat(editor, deal.id).content.decode()
    gone = make_draft(title="Sofa")
    drafts.delete(gone, by="oscar", now=NOW)
    assert "This draft was deleted meanwhile." in send_heartbeat(editor, gone.id, "draft").content.decode()


def test_a_draft_that_was_never_saved_is_not_called_deleted(editor):
    assert "deleted" not in send_heartbeat(editor, make_id(NOW), "draft", version=0).content.decode()


def test_leaving_is_told(editor, other_editor):
    deal_id = make_deal().id
    send_heartbeat(editor, deal_id)
    assert editor.post(reverse("cms_leave", args=["deal", deal_id])).status_code == 204
    assert "eve" not in send_heartbeat(other_editor, deal_id).content.decode()


def test_it_costs_a_query_and_a_put(editor, calls):
    deal_id = make_deal().id
    assert calls(lambda: send_heartbeat(editor, deal_id)) == ["Query", "PutItem"]
    assert calls(lambda: editor.post(reverse("cms_leave", args=["deal", deal_id]))) == ["DeleteItem"]


@pytest.mark.parametrize("name", ["cms_presence", "cms_leave"])
def test_only_editors_are_present_and_only_by_post(editor, sign_in, name):
    deal_id = make_deal().id
    address = reverse(name, args=["deal", deal_id])
    assert sign_in("back office").post(address).status_code == 403
    assert sign_in("editor", csrf=True).post(address).status_code == 403
    assert editor.get(address).status_code == 405
    told = pending_edits.heartbeat("deal", deal_id, username="x", name="X", now=timezone.now())
    assert told.others == []


@pytest.mark.parametrize(
    ("kind", "entry_id"), [("deals", "x"), ("users", "0" * 26), ("deals", "0" * 25 + "U")]
)
@pytest.mark.parametrize("page", ["presence/", "presence/leave/"])
def test_what_is_no_form_is_404(editor, kind, entry_id, page):
    assert editor.post(f"/cms/{kind}/{entry_id}/{page}").status_code == 404


@pytest.mark.parametrize("version", ["", "x", "99999999999", "-1"])
def test_a_version_that_is_none_does_no_harm(editor, version):
    assert send_heartbeat(editor, make_deal().id, version=version).status_code == 200


def test_a_name_is_shown_as_it_is_and_not_as_html(editor, sign_in):
    deal_id = make_deal().id
    pending_edits.heartbeat("deal", deal_id, username="x", name="<b>x</b>", now=NOW)
    assert "&lt;b&gt;x&lt;/b&gt;" in send_heartbeat(editor, deal_id).content.decode()


# Seeing what changed


def test_comparing_shows_both_versions_and_saves_nothing(editor):
    deal_id = make_deal().id
    address = reverse("cms_deal", args=[deal_id])
    form = inputs(editor.get(address)) | {"title": "Mine", "price": "70.00"}
    save(deal_id, title="Theirs")
    response = editor.post(address, form | {"action": "compare"})
    assert response.status_code == 409
    html = response.content.decode()
    assert "oscar changed this deal while you worked on it" in html
    assert "Theirs" in html
    assert deals.get(deal_id).content.title == "Theirs"
    editor.post(address, inputs(response) | {"choice_title": "theirs", "action": "save"})
    content = deals.get(deal_id).content
    assert (content.title, str(content.price)) == ("Theirs", "70.00")


def test_comparing_works_with_what_is_half_written(editor):
    deal_id = make_deal().id
    address = reverse("cms_deal", args=[deal_id])
    form = inputs(editor.get(address)) | {"price": "seventy"}
    save(deal_id, title="Theirs")
    response = editor.post(address, form | {"action": "compare"})
    assert response.status_code == 409
    assert (inputs(response)["price"], inputs(response)["title"]) == ("seventy", "Theirs")
    html = response.content.decode()
    assert (taken_over(html), mine_alone(html)) == (["Title Mechanical keyboard → Theirs"], "Price")
    assert "choice_" not in html


def test_comparing_where_nothing_is_newer_saves_nothing(editor):
    deal, draft = make_deal(), make_draft(title="Sofa")
    for address in (reverse("cms_deal", args=[deal.id]), reverse("cms_draft", args=[draft.id])):
        form = inputs(editor.get(address)) | {"title": "Mine", "action": "compare"}
        response = editor.post(address, form)
        assert response.status_code == 200
        assert inputs(response)["title"] == "Mine"
    assert deals.get(deal.id) == deal
    assert drafts.get(draft.id) == draft


def test_comparing_a_draft_shows_both_versions(editor):
    draft = make_draft(title="Sofa")
    address = reverse("cms_draft", args=[draft.id])
    form = inputs(editor.get(address)) | {"title": "Mine", "action": "compare"}
    drafts.save(draft, replace(draft.content, title="Theirs"), version=1, by="oscar", now=NOW)
    response = editor.post(address, form)
    assert response.status_code == 409
    assert "oscar changed this draft" in response.content.decode()
    assert drafts.get(draft.id).content.title == "Theirs"


def test_comparing_a_draft_that_was_published_leads_to_its_deal(editor):
    draft = make_draft(title="Sofa")
    address = reverse("cms_draft", args=[draft.id])
    form = inputs(editor.get(address)) | {"title": "Mine", "action": "compare"}
    deal = make_deal(draft=draft, title="Sofa")
    response = editor.post(address, form)
    assert response.status_code == 409
    assert reverse("cms_deal", args=[deal.id]) in response.content.decode()
    assert deals.get(deal.id).content.title == "Sofa"


def test_the_pages_of_deals_and_drafts_say_that_they_are_open(editor):
    deal, draft = make_deal(), make_draft(title="Sofa")
    for kind, thing in (("deal", deal), ("draft", draft)):
        html = editor.get(reverse(f"cms_{kind}", args=[thing.id])).content.decode()
        assert f'hx-post="{reverse("cms_presence", args=[kind, thing.id])}"' in html
        assert 'id="edit-form"' in html
