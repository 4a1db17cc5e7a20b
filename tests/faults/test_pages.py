"""Every page, whatever is broken between it and the table: right, or 503 within three seconds, and right afterwards."""

from __future__ import annotations

import pytest

from tests.faults.judge import wrong_answer
from tests.faults.proxy import FAULTS, HITS
from tests.faults.site import Seen, Site
from tests.pages import routes
from tests.sampling import is_due

QUICK, WHOLE = 80, 4  # make test, or make test-all, looks at one page in so many under each fault
PARTIAL = [hits for hits in HITS if hits not in ("all", "writes")]
PARTLY, AGAIN = 4, 6  # one page in so many meets a fault with some of its calls, and is asked for again
# Answers that differ from those of a whole site, and are meant to.
MEANT = {"cart_badge": 204}  # a page asks for it in the background, and needs not hear of troubles
# Never the same page twice: a new secret; what the table is like just now (tests/web/test_readiness.py).
OWN = ("set_up_two_factor", "readyz")


def pages(site: Site) -> list[tuple[str, str, str]]:
    """Return (route, address, who looks) of every page, part and feed."""
    return [
        (route.name, address, route.seen_by)
        for route in routes()
        if route.page.kind != "action" and route.name not in OWN
        for address in route.addresses(site.content)
    ]


def reference(site: Site, address: str, who: str) -> Seen:
    """Return what somebody sees on the whole site."""
    kept = f"{who} {address}"
    if kept not in site.references:
        site.forget()
        site.repaired()
        site.references[kept] = site.ask(who, lambda browser: browser.get(address))
        site.put_back()
    return site.references[kept]


def look(site: Site, name: str, address: str, who: str, fault: str, hits: str, *, again: bool) -> str:
    """Say what is wrong with a page while something is broken, or after it is repaired; "" if nothing is."""
    whole = reference(site, address, who)
    site.forget()
    site.repaired()
    seen = site.ask_broken(who, lambda browser: browser.get(address), fault, hits, whole.calls)
    if (name not in MEANT or seen.status != MEANT[name]) and (problem := wrong_answer(seen, whole)):
        return problem
    if again:
        site.repaired()
        later = site.ask(who, lambda browser: browser.get(address))
        if not later.same_page(whole):
            return f"afterwards {later.unlike(whole)}"
    site.put_back()
    return ""


@pytest.mark.each_run
@pytest.mark.parametrize("fault", FAULTS)
def test_a_page_is_right_or_503_and_right_when_all_is_well_again(fault: str, site: Site):
    turn, wrong = list(FAULTS).index(fault), []
    for number, (name, address, who) in enumerate(pages(site)):
        if not is_due(f"{fault} {who} {address}", quick=QUICK, whole=WHOLE):
            continue
        if not reference(site, address, who).calls:
            continue
        again = (number + turn) % AGAIN == 0
        cases = ["all"] + ([PARTIAL[number % len(PARTIAL)]] if (number + turn) % PARTLY == 0 else [])
        for hits in cases:
            if problem := look(site, name, address, who, fault, hits, again=again):
                wrong.append((address, who, hits, problem))
    assert wrong == []
