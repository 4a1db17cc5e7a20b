"""Every form that changes something, whatever is broken: done and said so, or 503; never half, never twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client

from cms import new_order
from shopping import checkout
from tests.faults.forms import FORMS, LEFT_OUT, OWN, route_of
from tests.faults.judge import wrong_answer
from tests.faults.proxy import FAULTS, HITS, Exchange, Hits
from tests.faults.site import Changes, Seen, Site
from tests.pages import ROUTES
from tests.sampling import is_due
from tests.seeded import SHOPPER

QUICK, WHOLE = 48, 4  # make test, or make test-all, sends one form in so many under each fault
PARTIAL = [hits for hits in HITS if hits not in ("all", "reads")]
NOTHING = Seen(0, "", {}, "", "", 0, 0, 0.0)


@dataclass
class Filled:
    """A form filled in, and what becomes of it on the whole site."""

    cookies: dict[str, str]
    address: str
    data: dict[str, Any]
    whole: Seen = NOTHING
    changes: Changes = field(default_factory=dict)

    def browser(self) -> Client:
        browser = Client(raise_request_exception=False)
        browser.cookies.load(self.cookies)
        return browser

    def send(self, browser: Client) -> Any:
        for value in self.data.values():
            if hasattr(value, "seek"):
                value.seek(0)
        return browser.post(self.address, self.data, headers=OWN)


_filled: dict[str, Filled] = {}


@pytest.fixture(autouse=True)
def _not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether an order that is placed is charged at once as well, is no part of its form."""
    for page in (checkout, new_order):
        monkeypatch.setattr(page, "charge_at_once", lambda _order: None)


def filled(site: Site, name: str) -> Filled:
    """Return a form that is filled in on the whole site."""
    if name not in _filled:
        site.repaired()
        form = FORMS[name]
        browser = site.browser(form.visitor(name))
        site.forget()
        data = form.data(browser, site.prepared)
        cookies = {name: morsel.value for name, morsel in browser.cookies.items()}
        made = Filled(cookies, form.address(name, site.prepared), data)
        site.put_back()
        for _ in range(2):  # the first time, more may have to be looked up
            site.forget()
            made.whole = site.ask(made.browser(), made.send)
            made.changes = site.changes()
            site.put_back()
        _filled[name] = made
    return _filled[name]


def is_part(changes: Changes, whole: Changes, before: Changes) -> bool:
    """Tell whether nothing was changed otherwise than on the whole site; of two changes of an item it may lack one."""
    for key, item in changes.items():
        if key not in whole:
            return False
        goal, start = whole[key] or {}, before.get(key) or {}
        if any(value not in (goal.get(name), start.get(name)) for name, value in (item or {}).items()):
            return False
        if item is None and whole[key] is not None:
            return False
    return True


def send(site: Site, name: str, fault: str, hits: str | Hits) -> str:
    """Say what is wrong with a form that is sent while something is broken; "" if nothing is."""
    form = filled(site, name)
    site.forget()
    seen = site.ask_broken(form.browser(), form.send, fault, hits, form.whole.calls)
    changes = site.changes()
    try:
        if problem := wrong_answer(seen, form.whole):
            return problem
        if seen.same_page(form.whole):
            return (
                "" if changes == form.changes else f"said, but not done: {difference(changes, form.changes)}"
            )
        if not is_part(changes, form.changes, site.before):
            return f"done otherwise: {difference(changes, form.changes)}"
        if changes and changes != form.changes:
            site.repaired()
            if problems := site.problems():
                return f"half done: {problems}"
        return ""
    finally:
        site.repaired()
        site.put_back()


def difference(changes: Changes, whole: Changes) -> list[Any]:
    """Return (key, attribute, as it is, as it should be) of what differs."""
    return [
        (key[0], name, mine.get(name), its.get(name))
        for key in {**changes, **whole}
        for mine, its in [(changes.get(key) or {}, whole.get(key) or {})]
        for name in {**mine, **its}
        if mine.get(name) != its.get(name)
    ]


@pytest.mark.thorough
def test_every_address_that_takes_a_form_is_in_the_list(site: Site):
    takes = set()
    for name, route in ROUTES.items():
        browser = site.browser(route.seen_by or SHOPPER)
        if browser.post(route.addresses(site.content)[0]).status_code != 405:
            takes.add(name)
        site.put_back()
    assert takes == {route_of(name) for name in FORMS} | LEFT_OUT.keys()


@pytest.mark.thorough
def test_every_form_changes_something_and_the_same_each_time(site: Site):
    wrong: list[Any] = []
    for name in FORMS:
        form = filled(site, name)
        site.forget()
        again = site.ask(form.browser(), form.send)
        changes = site.changes()
        site.put_back()
        if not form.changes or form.whole.status >= 400:
            wrong.append((name, form.whole.status, form.whole.text[:80]))
        elif changes != form.changes or not again.same_page(form.whole):
            wrong.append((name, again.unlike(form.whole), difference(changes, form.changes)))
    assert wrong == []


@pytest.mark.each_run
@pytest.mark.parametrize("fault", FAULTS)
def test_a_form_is_carried_out_whole_or_not_at_all_and_says_which(fault: str, site: Site):
    turn, wrong = list(FAULTS).index(fault), []
    for number, name in enumerate(FORMS):
        if not is_due(f"{fault} {name}", quick=QUICK, whole=WHOLE):
            continue
        for hits in ("all", PARTIAL[(number + turn) % len(PARTIAL)]):
            site.repaired()
            if problem := send(site, name, fault, hits):
                wrong.append((name, hits, problem))
    assert wrong == []


@pytest.mark.thorough
@pytest.mark.parametrize("fault", ["disk full", "reset after the engine has done it"])
def test_a_form_is_not_half_done_wherever_it_is_broken_off(fault: str, site: Site):
    """Each of its requests once is the last that is answered."""
    wrong = []
    for name in FORMS:
        if not is_due(f"{fault} at {name}", quick=0, whole=WHOLE):
            continue
        for last in range(filled(site, name).whole.calls):

            def is_later(exchange: Exchange, calls: int, last: int = last) -> bool:
                return exchange.number > last

            site.repaired()
            if problem := send(site, name, fault, is_later):
                wrong.append((name, last, problem))
    assert wrong == []
