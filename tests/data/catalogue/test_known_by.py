"""Deals and drafts are found by the links that they have or had."""

from dataclasses import replace

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, deals, drafts, known_by
from dealsite.data.catalogue.deal import editing, rescheduling
from dealsite.data.integrity import checks
from dealsite.data.table.writes import Delete
from tests.builders import DAY, EDITOR, NOW, make_deal, make_draft, make_id
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("fresh_table")
LINK = "https://www.shop.example/lamps/1?colour=red&size=2"
SAME = [
    *("http://shop.example/lamps/1?colour=red&size=2", "HTTPS://Shop.Example:443/lamps/1?size=2&colour=red"),
    *(f"{LINK}#top", f"{LINK}&utm_source=x&GCLID=1", "https://shop.example/lamps/1/?colour=red&size=2"),
    "https://shop.example/l%61mps/1?colour=r%65d&size=2",
]
OTHERS = [
    *("https://shop.example/lamps/1", "https://shop.example/Lamps/1?colour=red&size=2"),
    *(
        "https://shop.example:8443/lamps/1?colour=red&size=2",
        "https://m.shop.example/lamps/1?colour=red&size=2",
    ),
    *(f"{LINK}#/lamp", f"{LINK}&size=3", "https://shop.example/lamps/1?colour=red&size=2&p=1"),
]


def found(link):
    return set(known_by.known_by(known_by.same_link(link)))


def test_links_to_one_page_are_one():
    assert {known_by.same_link(link) for link in SAME} == {known_by.same_link(LINK)}
    assert known_by.same_link(LINK) not in {known_by.same_link(link) for link in OTHERS}
    assert known_by.same_link("https://xn--bcher-kva.example/a") == known_by.same_link(
        "https://bücher.example/a"
    )
    for link in ("https://a..example/", "https://[::1]/", "", "https://a.example:x/"):
        known_by.same_link(link)


def test_what_has_or_had_a_link_is_found():
    deal, draft = make_deal(link=LINK), make_draft(link=SAME[0])
    assert set(measured(known_by.known_by)(known_by.same_link(LINK))) == {deal.id, draft.id}
    brand = brands.get(deal.content.brand)
    content = replace(deal.content, link="https://shop.example/2")
    deal = editing.edit(deal, content, version=1, brand=brand, by=EDITOR, now=NOW)
    drafts.save(
        draft, replace(draft.content, link=content.link), version=1, by=EDITOR, now=NOW, autosave=make_id()
    )
    assert found(content.link) == found(LINK) == {deal.id, draft.id}
    assert known_by.all_known_by([known_by.same_link(one) for one in (LINK, OTHERS[0])]).keys() == {
        *(known_by.same_link(one) for one in (LINK, OTHERS[0]))
    }


def test_a_deal_that_moves_is_found_under_its_new_id():
    deal = make_deal(live_at=NOW + DAY, link=LINK)
    moved = rescheduling.reschedule(deal, NOW + 2 * DAY, new_id=make_id(NOW + 2 * DAY), by=EDITOR, now=NOW)
    assert moved.id in found(LINK)
    assert deals.get(moved.id).content.link == LINK


def test_what_releases_before_stored_is_no_damage_and_can_be_added():
    deal, draft = make_deal(link=LINK), make_draft(link=LINK)
    for one in (deal, draft):
        table.write(Delete(key=keys.deal_by(known_by.same_link(LINK), one.id)))
    assert (found(LINK), checks.find()) == (set(), [])
    repaired, left = checks.repair_all()
    assert (len(repaired), left, found(LINK)) == (2, [], {deal.id, draft.id})
