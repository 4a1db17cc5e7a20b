"""What looking does not change, and what asks for the password; tests/attacks tries tokens, roles and methods."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from dealsite.data.catalogue import deal_changes, deals, drafts
from dealsite.data.commerce import orders
from dealsite.data.editing import trash_record
from dealsite.data.table.ids import iso, new_ulid
from tests.builders import NOW, make_deal, make_draft
from tests.orders import make_order


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


def message(**more: str) -> dict[str, str]:
    sent = {"deal": make_deal().id, "audience": "all", "headline": "x", "token": new_ulid(NOW), "sure": "yes"}
    return sent | {"action": "send", **more}


def test_what_is_hard_to_undo_asks_for_the_password_when_it_was_given_long_ago(editor, monkeypatch):
    gone = make_deal()
    deal_changes.delete(gone, by="eve", now=NOW)
    monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(minutes=16))
    for address, data in (
        (reverse("cms_purge", args=["deal", gone.id]), {}),
        (reverse("cms_new_message"), message()),
    ):
        answer = editor.post(address, data)
        assert answer.status_code == 401, address
        assert set(data.items()) <= set(answer.context["kept"])


def test_a_message_to_watchers_asks_for_no_password(editor, monkeypatch):
    data = message(audience="brand")
    monkeypatch.setattr(timezone, "now", lambda: NOW + timedelta(minutes=16))
    assert editor.post(reverse("cms_new_message"), data).status_code != 401


@pytest.mark.parametrize("beyond", ["7" + "Z" * 25, f"76EZ91ZR{'0' * 18}"])  # no date has a year so late
def test_an_id_of_a_time_beyond_the_calendar_is_refused_as_any_id_that_is_none(sign_in, beyond):
    browser = sign_in("editor", "back office")
    change = {"deal": beyond, "asked_at": iso(NOW), "next": f"/cms/deals/{beyond}/"}
    forms = {
        reverse("cms_export_list"): {"address": "/cms/deals/", "token": beyond},
        reverse("cms_preview_deal") + f"?deal={beyond}": {"description": "x"},
        reverse("cms_do", args=["expire"]): change,
        reverse("cms_undo_bulk", args=[beyond]): {"next": f"/cms/deals/{beyond}/"},
        reverse("cms_new_message"): message(token=beyond),
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


def test_looking_changes_no_order(office):
    order = make_order("ada")
    chosen = {"order": f"ada/{order.id}"}
    (line,) = orders.lines_of(order)
    parts = {f"pieces-{line.id}": "1", f"amount-{line.id}": "1.00", "reason": "Broken", "seen": "1"}
    other = order.address.as_item() | {"name": "Eve", "do": "place"}
    before = orders.get("ada", order.id)
    for name, data in {
        "cms_ship_orders": chosen,
        "cms_deliver_orders": chosen,
        "cms_cancel_orders": chosen | {"reason": "Broken"},
        "cms_ship_part": parts | {"unpaid": "on"},
        "cms_cancel_part": parts,
        "cms_take_back": parts,
        "cms_reduce_order": parts,
        "cms_new_order": other,
        "cms_order_address": other,
    }.items():
        args = [] if "order" in data else ["ada"] if name == "cms_new_order" else ["ada", order.id]
        status = office.get(reverse(name, args=args), data).status_code
        assert status == (302 if name == "cms_take_back" else 200), name
    assert orders.get("ada", order.id) == before
    assert [one.id for one in orders.of_user("ada").rows] == [order.id]
