"""Deals and drafts are found by the links and article numbers that they have or had."""

from dataclasses import replace
from typing import Any

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, deal_changes, deals, display_names, drafts, publishing
from dealsite.data.editing import trash
from dealsite.data.integrity import checks
from dealsite.data.table.writes import Delete
from tests.builders import DAY, EDITOR, NOW, make_content, make_deal, make_draft, make_id
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
    return set(display_names.known_by(display_names.same_link(link)))


def test_links_to_one_page_are_one():
    assert {display_names.same_link(link) for link in SAME} == {display_names.same_link(LINK)}
    assert display_names.same_link(LINK) not in {display_names.same_link(link) for link in OTHERS}
    assert display_names.same_link("https://xn--bcher-kva.example/a") == display_names.same_link(
        "https://bücher.example/a"
    )
    assert (display_names.same_link("https://[::1]/"), display_names.same_link("")) == ("::1?#", "?#")


@pytest.mark.parametrize(
    "link",
    [
        "https://a..example/",
        "https://a.example:x/",
        "https://[",
        "https://[shop]/item",
        "https://a]b/",
        "https://exa\u2100mple.com/",
    ],
)
def test_what_is_no_link_stays_as_it_is_and_is_of_no_shop(link):
    assert (display_names.same_link(link), display_names.shop_of(link)) == (link, "")


def test_what_has_or_had_a_link_is_found():
    deal, draft = make_deal(link=LINK), make_draft(link=SAME[0])
    assert set(measured(display_names.known_by)(display_names.same_link(LINK))) == {deal.id, draft.id}
    brand = brands.get(deal.content.brand)
    content = replace(deal.content, link="https://shop.example/2")
    deal = deal_changes.edit(deal, content, version=1, brand=brand, by=EDITOR, now=NOW)
    drafts.save(
        draft, replace(draft.content, link=content.link), version=1, by=EDITOR, now=NOW, autosave=make_id()
    )
    assert found(content.link) == found(LINK) == {deal.id, draft.id}
    assert display_names.all_known_by([display_names.same_link(one) for one in (LINK, OTHERS[0])]).keys() == {
        *(display_names.same_link(one) for one in (LINK, OTHERS[0]))
    }


def test_a_deal_that_moves_is_found_under_its_new_id():
    deal = make_deal(live_at=NOW + DAY, link=LINK)
    moved = publishing.reschedule(deal, NOW + 2 * DAY, new_id=make_id(NOW + 2 * DAY), by=EDITOR, now=NOW)
    assert moved.id in found(LINK)
    assert deals.get(moved.id).content.link == LINK


def test_an_article_number_is_one_however_it_is_written():
    same = ("AB-1 x", " ab-1\u00a0X\n", "ＡＢ-１ x", "AB\u200b-1  x")
    assert {display_names.same_number(one) for one in same} == {display_names.same_number("AB-1 x")}
    others = ("AB1 x", "AB-01 x", "ab-1", "AB-1/x", "ß", "7")
    assert len({display_names.same_number(one) for one in (*others, same[0])}) == 7
    assert {display_names.same_number(one) for one in ("", " ", "-", "#", "\u200b")} == {""}
    assert display_names.names_of("", " - ") == []
    content = make_content(link=LINK, article_number="B1")
    assert len(display_names.known_by_write(make_id(), content.names)) == 2
    assert (
        display_names.known_by_write(
            make_id(), replace(content, link=SAME[0], article_number="b1 ").names, content.names
        )
        == []
    )


def test_the_shop_of_a_link_is_its_host():
    for link, shop in (
        ("http://www.Shop.example:80/a?b#c", "shop.example"),
        ("https://shop.example?b", "shop.example"),
        ("https://shop.example:8443/", "shop.example:8443"),
        *(("https://a..example/", ""), ("https://a.example:x/", ""), ("", "")),
    ):
        assert display_names.shop_of(link) == shop


@pytest.mark.parametrize("kind", ["deal", "draft"])
def test_an_article_number_costs_an_item_when_it_is_new_and_nothing_else(kind):
    one: Any = make_deal(link=LINK) if kind == "deal" else make_draft(brand="Nordlicht", link=LINK)
    save: Any = deal_changes.edit if kind == "deal" else drafts.save

    def change(**changes):
        nonlocal one
        new, brand = replace(one.content, **changes), brands.get("nordlicht")
        one = save(one, new, version=one.version, brand=brand, by=EDITOR, now=NOW)

    def known():
        return {item["PK"] for item in table.scan_all(consistent=True) if item["type"] == "DealBy"}

    assert len(known()) == 1
    change(title="Another")
    assert len(known()) == 1
    change(article_number="B-1")
    change(title="Again", article_number=" b-1")
    assert (len(known()), display_names.known_by(display_names.same_number("B-1"))) == (2, [one.id])
    change(article_number="")
    change(article_number="C1", link=OTHERS[0])
    assert (len(known()), display_names.known_by(display_names.same_number("c1"))) == (4, [one.id])
    assert checks.find(retired=True) == []


def test_a_deal_keeps_its_article_number_wherever_it_goes():
    deal = make_deal(live_at=NOW + DAY, article_number="B-1")
    moved = publishing.reschedule(deal, NOW + 2 * DAY, new_id=make_id(NOW + 2 * DAY), by=EDITOR, now=NOW)
    deal_changes.delete(moved, by=EDITOR, now=NOW)
    trash.restore("deal", moved.id, by=EDITOR, now=NOW)
    assert deals.get(moved.id).content.article_number == "B-1"
    assert set(display_names.known_by(display_names.same_number("b-1"))) == {deal.id, moved.id}
    assert checks.find(retired=True) == []


def test_what_releases_before_stored_is_no_damage_and_can_be_added():
    deal, draft = make_deal(link=LINK, article_number="B 1"), make_draft(article_number="b 1", link=LINK)
    for one in (deal, draft):
        for name in display_names.names_of(LINK, "B 1"):
            table.write(Delete(key=keys.deal_by(name, one.id)))
    assert (found(LINK), checks.find()) == (set(), [])
    repaired, left = checks.repair_all()
    assert (len(repaired), left, found(LINK)) == (4, [], {deal.id, draft.id})
    assert set(display_names.known_by(display_names.same_number("B 1"))) == {deal.id, draft.id}
