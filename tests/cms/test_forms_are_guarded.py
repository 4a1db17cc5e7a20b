"""Every form of the CMS needs the token of its page, and every page a method that it knows."""

from datetime import timedelta

import pytest
from django.urls import resolve, reverse
from django.utils import timezone

from dealsite.data.catalogue import deal_changes, deals, drafts
from dealsite.data.commerce import orders
from dealsite.data.editing import audit, trash_record
from dealsite.data.jobs import jobs
from dealsite.data.table.ids import iso, new_ulid
from tests.builders import DAY, NOW, make_announcement, make_deal, make_draft
from tests.orders import ADDRESS, make_order


def posts():
    """Return every address that changes something, with a deal and a draft that it would change."""
    deal, later, draft = make_deal(), make_deal(live_at=NOW + DAY), make_draft(title="x")
    job = make_announcement(deal.id, new_ulid(NOW, 77))
    gone = make_deal()
    deal_changes.delete(gone, by="eve", now=NOW)
    message = {"deal": deal.id, "audience": "all", "headline": "x", "token": new_ulid(NOW), "sure": "yes"}
    of_deal = {"deal": deal.id, "asked_at": iso(NOW), "next": "/cms/"}
    return {
        reverse("cms_new_message"): message | {"action": "send"},
        reverse("cms_pause_job", args=[job]): {},
        reverse("cms_resume_job", args=[job]): {},
        reverse("cms_cancel_job", args=[job]): {},
        reverse("cms_retry_job", args=[job]): {},
        reverse("cms_draft", args=[draft.id]): {"title": "Changed", "version": "1"},
        reverse("cms_deal", args=[deal.id]): {"title": "Changed", "version": "1"},
        reverse("cms_do", args=["reschedule"]): of_deal | {"deal": later.id, "to_time": "2026-11-25T08:30"},
        reverse("cms_do", args=["expire"]): of_deal,
        reverse("cms_do", args=["delete"]): of_deal,
        reverse("cms_do", args=["publish"]): of_deal | {"deal": draft.id, "state": "draft"},
        reverse("cms_do", args=["unfeature"]): of_deal | {"to_page": "front"},
        reverse("cms_undo_bulk", args=[new_ulid(NOW, 78)]): {},
        reverse("cms_preview_deal"): {"description": "x"},
        reverse("cms_autosave_setting"): {},
        reverse("cms_autosave", args=["draft", draft.id]): {"title": "Changed", "version": "1"},
        reverse("cms_autosave", args=["deal", deal.id]): {"title": "Changed", "version": "1"},
        reverse("cms_upload_picture"): {},
        reverse("cms_presence", args=["deal", deal.id]): {},
        reverse("cms_leave", args=["deal", deal.id]): {},
        reverse("cms_restore", args=["deal", gone.id]): {},
        reverse("cms_purge", args=["deal", gone.id]): {},
        reverse("cms_check_link", args=[deal.id]): {},
        reverse("cms_new_brand"): {"name": "Vela"},
        reverse("cms_brand", args=["nordlicht"]): {"name": "Vela", "version": "1"},
        reverse("cms_category", args=["toys-hobbies"]): {"name": "Vela", "version": "1"},
        reverse("cms_featured_page", args=["front"]): {"do": "save", "version": "0"},
        reverse("cms_preview_featured", args=["front"]): {},
    }


def test_nothing_is_changed_without_the_pages_token(sign_in):
    browser = sign_in("editor", csrf=True)
    for address, data in posts().items():
        assert browser.post(address, data).status_code == 403, address


def test_nothing_is_changed_without_the_role(sign_in):
    browser = sign_in("back office")
    for address, data in posts().items():
        assert browser.post(address, data).status_code == 403, address


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_other_methods_are_refused(editor, method):
    for address in posts():
        assert getattr(editor, method)(address).status_code == 405, address


def test_a_job_is_not_changed_by_looking(editor):
    posts()
    job = new_ulid(NOW, 77)
    for name in ("cms_pause_job", "cms_cancel_job", "cms_retry_job", "cms_resume_job"):
        assert editor.get(reverse(name, args=[job])).status_code == 405
    assert jobs.get(job).state == "open"


def test_looking_changes_nothing(editor):
    deal, draft, gone = make_deal(), make_draft(title="x"), make_deal()
    deal_changes.delete(gone, by="eve", now=NOW)
    for action, one, state in (("expire", deal, "all"), ("delete", deal, "all"), ("delete", draft, "draft")):
        asked = {"deal": one.id, "state": state, "asked_at": iso(NOW), "previewed": "1"}
        assert editor.get(reverse("cms_do", args=[action]), asked).status_code == 405
        assert editor.get(reverse("cms_bulk"), asked | {"action": action}).status_code == 200
    for name in ("cms_restore", "cms_purge"):
        assert editor.get(reverse(name, args=["deal", gone.id])).status_code == 405
    assert deals.get(deal.id) == deal
    assert drafts.get(draft.id) == draft
    assert trash_record.find("deal", gone.id)


def test_what_is_hard_to_undo_asks_for_the_password_when_it_was_given_long_ago(editor, monkeypatch):
    dangerous = {name: data for name, data in posts().items() if name.endswith("/purge/")}
    dangerous |= {name: data for name, data in posts().items() if name == reverse("cms_new_message")}
    monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(minutes=16))
    assert len(dangerous) == 2
    for address, data in dangerous.items():
        answer = editor.post(address, data)
        assert answer.status_code == 401, address
        assert set(data.items()) <= set(answer.context["kept"])


def test_a_message_to_watchers_asks_for_no_password(editor, monkeypatch):
    data = posts()[reverse("cms_new_message")] | {"audience": "brand", "token": new_ulid(NOW)}
    monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(minutes=16))
    assert editor.post(reverse("cms_new_message"), data).status_code != 401


@pytest.mark.parametrize("beyond", ["7" + "Z" * 25, f"76EZ91ZR{'0' * 18}"])  # no date has a year so late
def test_an_id_of_a_time_beyond_the_calendar_is_refused_as_any_id_that_is_none(sign_in, beyond):
    browser = sign_in("editor", "back office")
    change = {"deal": beyond, "asked_at": iso(NOW), "next": f"/cms/deals/{beyond}/"}
    message = {"audience": "all", "headline": "x", "token": beyond, "action": "send", "sure": "yes"}
    forms = {
        reverse("cms_export_list"): {"address": "/cms/deals/", "token": beyond},
        reverse("cms_preview_deal") + f"?deal={beyond}": {"description": "x"},
        reverse("cms_do", args=["expire"]): change,
        reverse("cms_undo_bulk", args=[beyond]): {"next": f"/cms/deals/{beyond}/"},
        reverse("cms_new_message"): message,
        reverse("cms_draft", args=[beyond]): {"title": "Lamp", "version": "0"},
        reverse("cms_autosave", args=["draft", beyond]): {"title": "Lamp", "version": "0"},
        reverse("cms_pause_job", args=[beyond]): {},
        reverse("cms_save_view"): {"id": beyond, "name": "Mine"},
    }
    answers = {address: browser.post(address, data).status_code for address, data in forms.items()}
    pages = [reverse(name, args=[beyond]) for name in ("cms_deal", "cms_draft", "cms_bulk_job", "cms_import")]
    pages += [f"{reverse(name)}?after={beyond}" for name in ("cms_deals", "cms_jobs", "cms_imports")]
    answers |= {address: browser.get(address).status_code for address in pages}
    as_the_others_are = (200, 302, 400, 404, 409, 422)
    assert {one: status for one, status in answers.items() if status not in as_the_others_are} == {}


# The back office's own forms


def office_posts():
    """Return every address of the back office that changes something, with an order that it would change."""
    order = make_order("ada")
    chosen = {"order": f"ada/{order.id}"}
    (line,) = orders.lines_of(order)
    parts = {f"pieces-{line.id}": "1", f"amount-{line.id}": "1.00", "reason": "Broken", "seen": "1"}
    return {
        reverse("cms_ship_orders"): chosen,
        reverse("cms_deliver_orders"): chosen,
        reverse("cms_cancel_orders"): chosen | {"reason": "Broken"},
        reverse("cms_ship_part", args=["ada", order.id]): parts | {"unpaid": "on"},
        reverse("cms_cancel_part", args=["ada", order.id]): parts,
        reverse("cms_take_back", args=["ada", order.id]): parts,
        reverse("cms_reduce_order", args=["ada", order.id]): parts,
        reverse("cms_deliver_parcel", args=["ada", order.id]): {"at": iso(NOW)},
        reverse("cms_note_order", args=["ada", order.id]): {"note": "x", "token": new_ulid(NOW)},
        reverse("cms_tag_order", args=["ada", order.id]): {"tag": "x"},
        reverse("cms_untag_order", args=["ada", order.id]): {"tag": "x"},
        reverse("cms_note_customer", args=["ada"]): {"note": "x", "before": ""},
        reverse("cms_new_order", args=["ada"]): order.address.as_item() | {"name": "Eve", "do": "place"},
        reverse("cms_order_address", args=["ada", order.id]): order.address.as_item() | {"name": "Eve"},
        reverse("cms_export_list"): {"address": "/cms/orders/", "token": new_ulid(NOW)},
    }


def left_alone():
    found = orders.of_user("ada").rows[0]
    is_left = (found.status, found.name) == ("PLACED", ADDRESS.name)
    is_left = is_left and orders.get("ada", found.id).version == 1
    return is_left and not audit.of_target("export", "orders")


def test_nothing_of_the_back_office_is_changed_without_the_pages_token(sign_in):
    browser = sign_in("back office", csrf=True)
    for address, data in office_posts().items():
        assert browser.post(address, data).status_code == 403, address
    assert left_alone()


def test_nothing_of_the_back_office_is_changed_without_its_role(editor):
    for address, data in office_posts().items():
        assert editor.post(address, data).status_code == 403, address
    assert left_alone()


@pytest.mark.parametrize("method", ["put", "delete", "patch"])
def test_other_methods_are_refused_by_the_back_office(office, method):
    for address in office_posts():
        assert getattr(office, method)(address).status_code == 405, address


def test_looking_changes_no_order(office):
    only_posted = {
        "cms_export_list",
        "cms_deliver_parcel",
        "cms_note_order",
        "cms_note_customer",
        "cms_tag_order",
        "cms_untag_order",
    }
    for address, data in office_posts().items():
        status = office.get(address, data).status_code
        name = resolve(address).url_name
        assert status == (405 if name in only_posted else 302 if name == "cms_take_back" else 200), name
    assert left_alone()
