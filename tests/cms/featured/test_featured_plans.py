"""Featured lists planned and undone, as an editor does it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from dealsite.data.catalogue import featured, featured_plans
from dealsite.data.catalogue.deal_changes import delete
from tests.builders import DAY, EDITOR, HOUR, NOW, make_deal
from tests.cms.conftest import HTMX, inputs, said, way_back
from tests.jobs import run_next

FRONT, INDEX = reverse("cms_featured_page", args=["front"]), reverse("cms_featured_plans")
SOON = "2026-11-21T18:00"


def form(browser, address=FRONT) -> dict[str, Any]:
    """What a browser would send of the form that arranges the list."""
    return inputs(browser.get(address))


def arrange(browser, *deals, do="save", address=FRONT, **more) -> Any:
    sent = form(browser, address)
    sent |= {"deal": [deal.id for deal in deals], "title": [deal.content.title for deal in deals]}
    sent["position"] = [str(n) for n in range(1, len(deals) + 1)]
    return browser.post(FRONT, sent | {"do": do} | more)


def work(now) -> None:
    while run_next(now=now):
        pass


def text(response) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", response.content.decode())).split())


def test_a_list_is_planned_for_a_time_in_the_editors_zone(sign_in):
    tokyo = sign_in("editor", username="eve", zone="Asia/Tokyo")
    deal = make_deal()
    assert arrange(tokyo, deal, do="plan", at="2026-11-22T09:00").headers["Location"] == FRONT
    plan = featured_plans.newest()[0]
    assert (plan.at, plan.ids, plan.by) == (NOW.replace(day=22, hour=0), [deal.id], "eve")
    assert "22 Nov 2026, 09:00" in text(tokyo.get(FRONT))
    assert featured.get("front").ids == []
    work(plan.at)
    assert featured.get("front").ids == [deal.id]
    assert "Set" in text(tokyo.get(INDEX))


def test_a_plan_sent_twice_is_one(editor):
    deal = make_deal()
    sent = form(editor) | {"deal": [deal.id], "title": ["x"], "position": ["1"], "do": "plan", "at": SOON}
    for _ in range(2):
        assert editor.post(FRONT, sent).status_code == 302
    assert len(featured_plans.newest()) == 1


@pytest.mark.parametrize(
    ("at", "said"),
    [("", "required"), ("soon", "Enter a date and a time"), ("2026-11-21T11:00", "This time has passed")],
)
def test_a_time_that_cannot_be_is_said_beside_its_field(editor, at, said):
    deal = make_deal(title="Kept deal")
    response = arrange(editor, deal, do="plan", at=at)
    assert response.status_code == 422
    assert said in text(response)
    assert "Kept deal" in text(response)
    assert featured_plans.newest() == []


def test_an_empty_list_is_not_planned(editor):
    response = arrange(editor, do="plan", at=SOON)
    assert response.status_code == 422
    assert "Put at least one deal into the list." in text(response)


def test_who_plans_over_a_list_set_meanwhile_sees_both(editor, other_editor):
    first, second = make_deal(title="Mine"), make_deal(title="Theirs")
    sent = form(editor) | {"deal": [first.id], "title": ["Mine"], "position": ["1"], "do": "plan", "at": SOON}
    arrange(other_editor, second)
    response = editor.post(FRONT, sent)
    assert response.status_code == 409
    assert "oscar saved this list while you worked on it" in text(response)
    again = inputs(response) | {"do": "plan"}
    assert again["at"] == SOON
    assert editor.post(FRONT, again).status_code == 302
    work(NOW + DAY)
    assert featured.get("front").ids == [first.id]


def test_a_plan_is_changed(editor):
    first, second = make_deal(), make_deal()
    arrange(editor, first, do="plan", at=SOON)
    plan = featured_plans.newest()[0]
    address = f"{FRONT}?plan={plan.id}"
    assert form(editor, address)["at"] == SOON
    assert arrange(editor, second, do="plan", address=address, at="2026-11-21T19:00").status_code == 302
    changed = featured_plans.get(plan.id)
    assert (changed.ids, changed.at, changed.version) == ([second.id], NOW.replace(hour=19), 2)


def test_a_plan_that_somebody_else_changed_keeps_what_was_arranged(editor, other_editor):
    first, second = make_deal(title="Mine"), make_deal()
    arrange(editor, second, do="plan", at=SOON)
    address = f"{FRONT}?plan={featured_plans.newest()[0].id}"
    sent = form(editor, address) | {"deal": [first.id], "title": ["Mine"], "position": ["1"]}
    arrange(other_editor, second, do="plan", address=address, at="2026-11-21T19:00")
    for action in ("plan", "save"):
        response = editor.post(FRONT, sent | {"do": action})
        assert response.status_code == 409
        assert "This plan was changed, carried out or cancelled meanwhile." in text(response)
        assert "Mine" in text(response)


def test_a_plan_is_set_at_once(editor):
    first, second = make_deal(), make_deal()
    arrange(editor, first)
    arrange(editor, second, do="plan", at=SOON)
    address = f"{FRONT}?plan={featured_plans.newest()[0].id}"
    assert arrange(editor, second, address=address).status_code == 302
    assert featured.get("front").ids == [second.id]
    assert featured_plans.newest()[0].state == "set"


def test_a_plan_skipped_says_so_and_is_planned_anew(editor):
    first, second = make_deal(), make_deal()
    arrange(editor, second, do="plan", at=SOON)
    arrange(editor, first)
    work(NOW + DAY)
    for address in (INDEX, FRONT):
        assert "Skipped" in text(editor.get(address))
        assert "Somebody set this page by hand" in text(editor.get(address))
    address = f"{FRONT}?plan={featured_plans.newest()[0].id}"
    arrange(editor, second, do="plan", address=address, at="2026-11-23T10:00")
    work(NOW + 3 * DAY)
    assert featured.get("front").ids == [second.id]


def test_a_cancelled_plan_can_start_another(editor):
    deal = make_deal()
    arrange(editor, deal, do="plan", at=SOON)
    plan = featured_plans.newest()[0]
    assert editor.post(reverse("cms_cancel_plan", args=[plan.id])).headers["Location"] == INDEX
    assert "Cancelled" in text(editor.get(INDEX))
    arrange(editor, deal, do="plan", address=f"{FRONT}?plan={plan.id}", at=SOON)
    states = [(one.id == plan.id, one.state) for one in featured_plans.newest()]
    assert states == [(False, "planned"), (True, "cancelled")]


def test_what_was_left_out_is_named(editor):
    good, gone = make_deal(title="Good"), make_deal(title="Gone <b>")
    arrange(editor, good, gone, do="plan", at=SOON)
    delete(gone, by=EDITOR, now=NOW)
    work(NOW + DAY)
    assert "Left out, expired or deleted by then: Gone <b>" in text(editor.get(INDEX))
    assert "<b>" not in editor.get(INDEX).content.decode()


@pytest.mark.parametrize("plan_id", ["x", "0" * 26])
def test_a_plan_that_is_none_is_404(editor, plan_id):
    assert editor.get(FRONT, {"plan": plan_id}).status_code == 404
    assert editor.post(reverse("cms_cancel_plan", args=[plan_id])).status_code == 404


def test_a_plan_of_another_page_is_404(editor):
    arrange(editor, make_deal(), do="plan", at=SOON)
    plan = featured_plans.newest()[0].id
    assert (
        editor.get(reverse("cms_featured_page", args=["editors-choice"]), {"plan": plan}).status_code == 404
    )


def test_the_page_is_looked_at_as_it_will_be_at_the_time_of_a_plan(editor):
    good, ends = make_deal(title="Good"), make_deal(title="Ends before", expires_at=NOW + HOUR)
    later = make_deal(title="Live by then", live_at=NOW + DAY / 8)
    arrange(editor, good, ends, later, do="plan", at=SOON)
    plan = featured_plans.newest()[0]
    address = reverse("cms_preview_featured", args=["front"])

    now = form(editor)
    assert f'value="{plan.id}"' in editor.get(FRONT).content.decode()
    seen = (
        editor.post(address, now | {"previewed": plan.id}, headers=HTMX)
        .content.decode()
        .partition("</section>")[0]
    )
    assert ("Good" in seen, "Live by then" in seen, "Ends before" in seen) == (True, True, False)
    other = reverse("cms_preview_featured", args=["editors-choice"])
    assert editor.post(other, now | {"previewed": plan.id}, headers=HTMX).status_code == 404


def test_what_will_be_over_at_the_time_of_a_plan_is_counted(editor, search_index):
    arrange(editor, make_deal(), make_deal(expires_at=NOW + HOUR), do="plan", at=SOON)
    search_index()
    for address in (INDEX, FRONT):
        assert "1 of them will be over by then" in text(editor.get(address))


# Undo


def test_a_saved_list_is_undone_by_a_button(editor):
    first, second = make_deal(), make_deal()
    arrange(editor, first)
    assert "Undo" not in text(editor.get(FRONT))
    back = way_back(arrange(editor, second))
    for _ in range(2):
        assert editor.post(back.address, back.fields).status_code == 302
    page = featured.get("front")
    assert (page.ids, page.version) == ([first.id], 3)
    assert featured.get("front").ids == [first.id]


def test_undo_leaves_a_list_that_was_set_meanwhile(editor, other_editor):
    first, second, third = (make_deal(title=title) for title in ("First", "Second", "Third"))
    arrange(editor, first)
    back = way_back(arrange(editor, second))
    arrange(other_editor, third)
    assert said(editor.post(back.address, back.fields)) == "oscar changed it since."
    assert featured.get("front").ids == [third.id]


def test_undo_restores_a_list_without_what_is_gone(editor):
    first, gone = make_deal(title="First"), make_deal(title="Gone")
    arrange(editor, first, gone)
    back = way_back(arrange(editor))
    delete(gone, by=EDITOR, now=NOW)
    response = editor.post(back.address, back.fields)
    assert response["Location"] == FRONT
    assert featured.get("front").ids == [first.id]
    assert "Left out, since they were deleted or moved to another time: Gone" in said(response)


def test_what_these_pages_cost(editor, calls):
    deal = make_deal()
    arrange(editor, deal)
    arrange(editor, deal, do="plan", at=SOON)
    plan = featured_plans.newest()[0].id
    assert sorted(calls(lambda: editor.get(INDEX))) == ["BatchGetItem", "Query"]
    assert sorted(calls(lambda: editor.get(FRONT))) == ["BatchGetItem", "BatchGetItem", "Query"]
    assert len(calls(lambda: editor.get(FRONT, {"plan": plan}))) <= 4
    moved = form(editor) | {"do": f"down:{deal.id}"}
    assert "Query" not in calls(lambda: editor.post(FRONT, moved, headers=HTMX | {"HX-Target": "x"}))[:1]
