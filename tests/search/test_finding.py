"""What is found, in which order, and what is never found."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from dealsite.data.catalogue.display_names import category_names
from dealsite.search import reader
from dealsite.search.documents import StoredDocument
from dealsite.search.finding import ENOUGH, NEAR, PAGE_SIZE, related
from dealsite.search.question import Question
from dealsite.search.site_index import search_index
from tests.builders import CONDITION, DAY, HOUR, NOW, STATED
from tests.hostile import EXAMPLES, huge, texts
from tests.search.conftest import deal_item, draft_item, in_a_folder, search, titles

SYNTAX = [
    '"unclosed',
    "title:keyboard",
    "+keyboard -keyboard",
    "keyboard AND",
    "(((",
    "[a TO b]",
    "key*",
    "*",
    "keyboard~2",
    "keyboard^9",
    "/.*/",
    "\\",
    "kind:draft OR kind:deal",
    "\x00",
    "\u202ekeyboard",
    "\ud800",
    "'" * 300,
]


def near(found):
    return [hit.card.title for hit in found.near]


# Words


def test_a_deal_is_found_by_words_of_its_title_brand_category_and_description(index, subtests):
    index(
        deal_item(description="Very *quiet* switches."),
        deal_item("Lamp", brand="Vela", category="home-furniture"),
    )
    for text in (
        *("keyboard", "KEYBOARD", "keyboards", "mechanical keyboard", "keyboard mechanical", "the keyboard"),
        *("Nordlicht", "nordlïcht", "quiet", "peripherals", "key", "mechanical key"),
    ):
        with subtests.test(text=text):
            found = search(text)
            assert ([hit.card.title for hit in found.hits], found.total) == (["Mechanical keyboard"], 1)


def test_typos_are_forgiven_and_what_was_read_is_said(index, subtests):
    index(deal_item(), deal_item("Lamp", brand="Vela", category="home-furniture"))
    for text, spelled in [
        *((text, "keyboard") for text in ("keybord", "keybaord", "kyeboard")),
        ("mechanicl keybord", "mechanical keyboard"),
        ("nordlict", "nordlicht"),
        ("mekanical", "mechanical"),
        ("mech keybord", "mech keyboard"),
    ]:
        with subtests.test(text=text):
            found = search(text)
            assert (found.hits, near(found), found.total) == ([], ["Mechanical keyboard"], 0)
            assert (found.spelled, found.left_out) == (spelled, [])
            assert found.spelled_total == (0 if text == "mech keybord" else 1)
            editors = search(text, for_editors=True)
            assert (titles(editors), editors.how) == (["Mechanical keyboard"], "close")


def test_numbers_have_no_typos(index):
    index(deal_item("GeForce RTX 4070"), deal_item("GeForce RTX 4080"))
    found = search("rtx 4070")
    assert ([hit.card.title for hit in found.hits], found.left_out) == (["GeForce RTX 4070"], ["4070"])
    assert titles(search("4079")) == []


def test_a_common_word_is_not_taken_for_a_typo(index):
    index(*(deal_item(f"Mouse {n}") for n in range(6)), deal_item("Doll house"))
    assert "Doll house" not in titles(search("mouse"))


def test_a_word_that_is_misspelt_in_a_deal_finds_the_others_too(index):
    index(deal_item("Office sofware"), *(deal_item(f"Office software {n}") for n in range(6)))
    found = search("sofware", sort="price")
    assert ([hit.card.title for hit in found.hits], found.total) == (["Office sofware"], 1)
    assert sorted(near(found)) == [f"Office software {n}" for n in range(6)]
    assert (found.spelled, found.spelled_total) == ("software", 6)


def test_the_beginning_of_a_word_is_no_misspelt_word(index):
    index(deal_item("Lampadine"), deal_item("Laptop"), deal_item("Clamp"))
    found = search("lamp")
    assert [hit.card.title for hit in found.hits] == ["Lampadine"]
    assert "Laptop" not in near(found)


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Wi-Fi router", "wifi"),
        ("WiFi router", "wi-fi"),
        ("GeForce RTX4070", "rtx 4070"),
        ("GeForce RTX 4070", "rtx4070"),
        ("SSD 1 TB", "1tb"),
        ("Café crème", "cafe creme"),
        ("Lap\u00adtop", "laptop"),
        ("Laptop", "lap\u00adtop\u200b"),
        (
            "Rinderkennzeichnungsfleischetikettierungsgesetz",
            "rinderkennzeichnungsfleischetikettierungsgesetz",
        ),
        ("Rindfleisch-Etikettierungs-Überwachungs-Aufgaben", "rindfleischetikettierungsuberwachungsaufgaben"),
        ("x" * 250, "x" * 250),
    ],
)
def test_a_word_is_found_however_it_is_spelled(index, title, text):
    index(deal_item(title), deal_item("Lamp"))
    assert titles(search(text)) == [title]


JAPANESE = "Sony ワイヤレスヘッドホン WH-1000XM5 ノイズキャンセリング"
THAI = "หูฟังไร้สาย Tonrausch ตัดเสียงรบกวน"
CHINESE = "小米无线蓝牙耳机4代"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *(
            (text, [JAPANESE])
            for text in (
                "ヘッドホン",
                "ワイヤレス",
                "ﾍｯﾄﾞﾎﾝ",
                "Sony ワイヤレス",
                "ワイヤレス ヘッドホン",
                "ン",
            )
        ),
        *((text, [THAI]) for text in ("หูฟัง", "ไร้สาย", "tonrausch ไร้สาย", "เสียง")),
        *((text, [CHINESE]) for text in ("耳机", "蓝牙耳机", "无线 耳机", "机")),
        ("音響", ["Boxed"]),  # in a description
        *(
            (text, [])
            for text in ("ホンヘッド", "ワイヤドホン", "テレビ", "สายหู", "耳牙", "米蓝", "Bose ワイヤレス")
        ),
    ],
)
def test_words_inside_writing_without_spaces_are_found(index, text, found):
    index(
        *(deal_item(title) for title in (JAPANESE, THAI, CHINESE)), deal_item("Boxed", description="高音響学")
    )
    assert [hit.card.title for hit in search(text).hits] == found


def test_a_wrong_character_of_writing_without_spaces_is_forgiven(index):
    index(deal_item(JAPANESE), deal_item(THAI))
    found = search("ヘッドフホン")
    assert (found.hits, near(found), found.spelled) == ([], [JAPANESE], "")


def test_a_run_without_spaces_is_marked_where_it_stands(index):
    index(
        deal_item("Boxed", description="これは高音響学です。"),
        deal_item("高音質機", description="音質機です。"),
    )
    assert search("音質機").hits[0].snippet == ""
    assert str(search("音響").hits[0].snippet) == "これは高<mark>音響</mark>学です。"
    assert search("Boxed").hits[0].snippet == ""


@pytest.mark.parametrize(
    ("text", "left_out", "found"),
    [
        ("red keyboard zzzz", ["zzzz"], ["Red keyboard"]),
        ("zzzz red keybord", ["zzzz"], ["Red keyboard"]),  # a typo besides
        ("blue keyboard", ["keyboard"], ["Blue chair", "Blue lamp"]),  # the rarer one goes
        (
            "blue lamp keyboard",
            ["keyboard"],
            ["Blue lamp"],
        ),  # as rare as lamp, without which nothing is found
        ("blue zzzz qqqq lamp", ["zzzz", "qqqq"], ["Blue lamp"]),
        ("zzzz qqqq lamp", [], []),
        ("zzzz zzzz", [], []),
        ("red lamp chair blue", ["red", "lamp"], ["Blue chair"]),  # no single one will do
        ("zzzz qqqq wwww", [], []),
        ("zzzz", [], []),
    ],
)
def test_where_nothing_holds_all_words_the_rarest_that_can_be_is_left_out_and_named(
    index, text, left_out, found
):
    index(deal_item("Red keyboard"), deal_item("Blue lamp"), deal_item("Blue chair"))
    asked = search(text)
    assert (asked.hits, asked.left_out, sorted(near(asked))) == ([], left_out, found)
    assert asked.spelled == ("red keyboard" if "keybord" in text else "")
    assert near(search("chair chair")) == []


def test_editors_find_what_holds_half_of_their_words(index):
    index(deal_item("Red keyboard"), deal_item("Blue lamp"))
    found = search("red keyboard zzzz", for_editors=True)
    assert (titles(found), found.how) == (["Red keyboard"], "some")


def test_near_ones_are_live_bounded_none_of_the_exact_ones_and_only_where_these_are_few(index, subtests):
    lamps = [deal_item(f"Brass lamp {n}") for n in range(ENOUGH - 1)]
    index(
        *lamps,
        deal_item("Brass lamp of old", expires_at=NOW),
        *(deal_item(f"Brass chair {n}") for n in range(NEAR + 3)),
        deal_item("Brass sold out", stock=0),
        deal_item("Brass to come", live_at=NOW + HOUR),
    )
    found = search("brass lamp")
    assert (found.total, found.total_over, found.left_out) == (ENOUGH - 1, 1, ["lamp"])
    assert [title[:12] for title in near(found)] == ["Brass chair "] * NEAR
    assert near(search("brass lamp", page=2)) == []
    assert {hit.card.brand for hit in search("brass lamp", brands=("vela",)).near} == set()
    index(*lamps, deal_item("Brass lamp of today"), deal_item("Brass chair"))
    assert (search("brass lamp").total, near(search("brass lamp"))) == (ENOUGH, [])
    assert near(search("")) == []


def test_near_ones_come_by_how_near_they_are_and_none_is_over(index):
    index(
        deal_item("Chair of brass", brand="Brass", price=Decimal(90)),
        deal_item("Chair", description="Some brass.", price=Decimal(10)),
        deal_item("Brass, all sold", stock=0),
    )
    assert near(search("brass zzzz", sort="price")) == ["Chair of brass", "Chair"]


def test_a_category_is_found_by_the_name_that_it_has_now(index, monkeypatch):
    index(deal_item(category="toys-hobbies"))
    monkeypatch.setattr(category_names, "names", lambda: {"toys-hobbies": "Playroom"})
    assert titles(search("playrooms")) == ["Mechanical keyboard"]
    monkeypatch.setattr(category_names, "names", lambda: {"toys-hobbies": "おもちゃ遊び"})
    assert titles(search("遊び")) == ["Mechanical keyboard"]


def test_the_title_counts_more_than_the_description(index):
    index(deal_item("Desk", description="Room for a keyboard."), deal_item("Keyboard"), deal_item("Chair"))
    assert titles(search("keyboard")) == ["Keyboard", "Desk"]


@settings(max_examples=EXAMPLES * 4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts | huge)
def test_no_text_is_an_error(index, text):
    if not search_index().checkpoint():
        index(deal_item(), draft_item())
    found = search(text)
    assert found.ready
    assert all(card.title == "Mechanical keyboard" for card in found.cards)


def test_there_is_no_query_language(index, subtests):
    index(deal_item(), draft_item("Draft of a keyboard"), deal_item("Secret keyboard", live_at=NOW + DAY))
    for text in SYNTAX:
        with subtests.test(text=text):
            assert set(titles(search(text))) <= {"Mechanical keyboard"}


def test_words_of_which_nothing_is_left_find_nothing(index):
    index(deal_item())
    assert titles(search("!!! ---")) == []
    assert titles(search("   ")) == ["Mechanical keyboard"]


# What shoppers must not know of


def test_shoppers_find_neither_what_is_scheduled_nor_drafts(index, subtests):
    item = deal_item("Secret lamp", live_at=NOW + HOUR, expires_at=NOW + 2 * HOUR, stock=0)
    index(deal_item("Other"), item, draft_item("Secret draft"))
    states = ("", "live", "ending", "expired", "scheduled", "draft", "nonsense")
    for text, kind, state in product(("", "secret", "secert"), ("deal", "draft"), states):
        with subtests.test(state=state, kind=kind, text=text):
            found = search(text, state=state, kind=kind)
            assert not [title for title in titles(found) if "ecret" in title]
            assert sum(found.categories.values()) + sum(number for _, number in found.brands.values()) <= 2


def test_a_scheduled_deal_is_found_from_its_minute_on(index):
    index(deal_item("Secret lamp", live_at=NOW + HOUR))
    assert titles(search("lamp", now=NOW + HOUR - timedelta(milliseconds=1))) == []
    assert titles(search("lamp", now=NOW + HOUR)) == ["Secret lamp"]


def test_editors_find_scheduled_deals_and_drafts(index):
    index(deal_item("Lamp to come", live_at=NOW + HOUR), deal_item("Lamp"), draft_item("Draft of a lamp"))
    assert set(titles(search("lamp", for_editors=True))) == {"Lamp", "Lamp to come"}
    assert titles(search("lamp", for_editors=True, state="scheduled")) == ["Lamp to come"]
    assert titles(search("lamp", for_editors=True, state="live")) == ["Lamp"]
    assert titles(search("lamp", for_editors=True, kind="draft")) == ["Draft of a lamp"]


# States, filters, order


@pytest.fixture
def lamps(index):
    index(
        deal_item("Lamp live", price=Decimal(40), was_price=Decimal(80), **STATED, live_at=NOW - 3 * HOUR),
        deal_item("Lamp ending", price=Decimal(10), was_price=None, expires_at=NOW + HOUR, brand="Vela"),
        deal_item(
            "Lamp expired", price=Decimal(5), was_price=Decimal(50), expires_at=NOW, category="toys-hobbies"
        ),
        deal_item("Lamp sold out", price=Decimal(20), was_price=Decimal(90), stock=0, live_at=NOW - 9 * HOUR),
    )


@pytest.mark.usefixtures("lamps")
def test_what_is_over_comes_after_all_that_can_be_had(subtests):
    for text in ["", "lamp"]:
        for sort, order in [
            ("newest", ["Lamp ending", "Lamp live", "Lamp expired", "Lamp sold out"]),
            ("price", ["Lamp ending", "Lamp live", "Lamp expired", "Lamp sold out"]),
            ("discount", ["Lamp live", "Lamp ending", "Lamp expired", "Lamp sold out"]),
        ]:
            with subtests.test(sort=sort, order=order, text=text):
                found = search(text, sort=sort)
                assert titles(found) == order
                assert [hit.card.title for hit in found.over] == ["Lamp expired", "Lamp sold out"]
                assert (found.total, found.total_over, found.pages) == (2, 2, 1)


@pytest.mark.usefixtures("lamps")
def test_what_is_over_can_be_hidden_and_is_still_counted(subtests):
    for text in ("", "lamp"):
        with subtests.test(text=text):
            found = search(text, state="live")
            assert set(titles(found)) == {"Lamp live", "Lamp ending"}
            assert (found.total, found.total_over, found.pages) == (2, 2, 1)


@pytest.mark.usefixtures("lamps")
@pytest.mark.parametrize(
    ("state", "listed"),
    [
        ("live", {"Lamp live", "Lamp ending", "Lamp sold out"}),
        ("ending", {"Lamp ending"}),
        ("expired", {"Lamp expired"}),
    ],
)
def test_a_state_hides_the_others_from_editors(state, listed):
    assert set(titles(search("lamp", state=state, for_editors=True))) == listed


SELLERS = {"sold": {"here": 2, "shop": 2, "code": 1}, "reductions": {10: 2, 20: 1, 30: 1, 50: 1}}
PLACES = {
    "categories": {"peripherals-networking": 3, "toys-hobbies": 2},
    "brands": {"nordlicht": ("Nordlicht", 3), "vela": ("Vela", 2)},
}


@pytest.mark.parametrize(
    ("filters", "found", "counts"),
    [
        ({}, "ABCDE", SELLERS | PLACES),
        (
            {"brands": ("vela",)},
            "DE",
            {"sold": {"shop": 1, "code": 1}, "categories": {"toys-hobbies": 2}, "brands": PLACES["brands"]},
        ),
        ({"brands": ("vela", "nordlicht")}, "ABCDE", SELLERS | PLACES),
        ({"brands": ("nobody",)}, "", {"sold": {}, "brands": PLACES["brands"]}),
        (
            {"sold": ("here", "code"), "categories": ("toys-hobbies",)},
            "E",
            {"sold": {"shop": 1, "code": 1}, "categories": {"peripherals-networking": 2, "toys-hobbies": 1}},
        ),
        ({"off_at_least": 10}, "AB", {"reductions": SELLERS["reductions"], "sold": {"here": 2}}),
        (
            {
                "off_at_least": 10,
                "sold": ("here",),
                "brands": ("nordlicht",),
                "categories": ("peripherals-networking",),
            },
            "AB",
            {
                "sold": {"here": 2},
                "brands": {"nordlicht": ("Nordlicht", 2)},
                "reductions": SELLERS["reductions"],
            },
        ),
        ({"off_at_least": 20}, "A", {"reductions": SELLERS["reductions"], "sold": {"here": 1}}),
    ],
)
def test_filters_narrow_down_and_each_is_counted_as_if_it_were_not_there(index, filters, found, counts):
    in_a_shop: dict[str, Any] = {"link": "https://vela.example/x", "stock": None, "was_price": None}
    toys: dict[str, Any] = {"category": "toys-hobbies", "brand": "Vela"}
    index(
        deal_item("Lamp A", sold="here", price=Decimal(40), was_price=Decimal(80), **STATED),
        deal_item("Lamp B", sold="here", price=Decimal(90), was_price=Decimal(100), **STATED),
        deal_item("Lamp C", sold="shop", **in_a_shop),
        deal_item("Lamp D", sold="shop", **in_a_shop, **toys),
        deal_item("Lamp E", sold="code", voucher_code="SAVE", **in_a_shop, **toys),
        deal_item("Lamp over", sold="shop", expires_at=NOW, **in_a_shop),  # counts nowhere
    )
    for text in ("", "lamp"):
        page = search(text, state="live", **filters)
        assert sorted(title.removeprefix("Lamp ") for title in titles(page)) == [*found]
        assert {name: getattr(page, name) for name in counts} == counts


@pytest.mark.usefixtures("lamps")
@pytest.mark.parametrize(
    ("low", "high", "listed"),
    [
        ("10", "20", {"Lamp ending", "Lamp sold out"}),
        ("10.01", None, {"Lamp live", "Lamp sold out"}),
        (None, "9.99", {"Lamp expired"}),
        ("20", "10", set()),
    ],
)
def test_prices_are_bounds_that_count_in(low, high, listed):
    found = search(price_from=low and Decimal(low), price_to=high and Decimal(high))
    assert set(titles(found)) == listed


def test_what_has_no_price_comes_after_all_prices_and_lies_in_no_bounds(index):
    index(deal_item("Lamp dear", price=Decimal("999999.99")), deal_item("Lamp words", **CONDITION))
    assert titles(search("lamp", sort="price")) == ["Lamp dear", "Lamp words"]
    assert titles(search("lamp", price_from=Decimal(1))) == ["Lamp dear"]
    assert titles(search("lamp", price_to=Decimal(1))) == []


def test_pages_repeat_and_skip_nothing(index, subtests):
    items = [
        deal_item(f"Lamp {n}", live_at=NOW - HOUR, expires_at=NOW - HOUR / 2 if n % 3 else None)
        for n in range(57)
    ]
    index(*items)
    for text, sort in product(("", "lamp"), ("", "newest", "price", "discount", "ending")):
        with subtests.test(sort=sort, text=text):
            pages = [search(text, sort=sort, page=page) for page in (1, 2, 3, 4)]
            assert [len(found.cards) for found in pages] == [25, 25, 7, 0]
            assert {(found.pages, found.total, found.total_over) for found in pages} == {(3, 19, 38)}
            seen = [card.id for found in pages for card in found.cards]
            assert sorted(seen) == sorted(item["id"] for item in items)
            assert search(text, sort=sort, state="live").pages == 1
            over = [found.over != [] for found in pages]
            assert over == [True, True, True, False]  # 19 can be had


def test_of_one_price_the_newest_comes_first(index):
    index(*(deal_item(f"Lamp {n}", live_at=NOW - n * HOUR) for n in range(1, 5)))
    assert titles(search(sort="price")) == [f"Lamp {n}" for n in range(1, 5)]


def test_of_one_end_the_newest_comes_first(index):
    lamps = [deal_item(f"Lamp {n}", live_at=NOW - n * HOUR, expires_at=NOW + HOUR) for n in (3, 1, 4, 2)]
    index(*(deal_item(f"Mug {n}", live_at=NOW - n * HOUR) for n in (3, 1, 2)), *lamps)
    in_order = [*(f"Lamp {n}" for n in range(1, 5)), *(f"Mug {n}" for n in range(1, 4))]
    assert titles(search(sort="ending")) == in_order


# Snippets


def test_words_found_in_the_description_are_marked(index):
    index(deal_item(description="\u2764\ufe0f **quiet** switches, <b>quietly</b> made."))
    (hit,) = search("quiet").hits
    marked = "\u2764\ufe0f <mark>quiet</mark> switches, &lt;b&gt;<mark>quietly</mark>&lt;/b&gt; made."
    assert str(hit.snippet) == marked


def test_words_of_the_title_need_no_marks(index):
    index(deal_item(description="A keyboard."))
    assert search("keyboard").hits[0].snippet == ""


def test_a_long_description_is_cut_around_the_word(index):
    index(deal_item(description="before " * 50 + "quiet " + "after " * 50))
    snippet = str(search("quiet").hits[0].snippet)
    assert snippet.startswith("…before")
    assert snippet.endswith("after…")
    assert len(snippet) < 200


@settings(max_examples=EXAMPLES * 4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts)
def test_no_description_brings_markup_of_its_own(index, text):
    from html import unescape

    from dealsite.text import markdown as site_text

    stored = text.replace("\ud800", "")  # lone surrogates cannot be stored
    description = f"{stored} quiet <script>alert(1)</script>"
    index(deal_item(description=description))
    hits = search("quiet").hits
    if not hits:  # the word hangs together with a letter before it
        return
    rest = str(hits[0].snippet).replace("<mark>", "").replace("</mark>", "")
    assert "<" not in rest
    assert unescape(rest).strip("…") in site_text.to_plain(description) + "…"


# Deals like another


def test_related_deals_can_be_had_and_are_like_it(index):
    over = deal_item("Desk lamp brass", expires_at=NOW, category="home-furniture")
    index(
        over,
        deal_item("Desk lamp steel", category="home-furniture"),
        deal_item("Desk lamp brass old", expires_at=NOW - HOUR / 2, category="home-furniture"),
        deal_item("Desk lamp brass to come", live_at=NOW + HOUR, category="home-furniture"),
        deal_item("Chocolate", category="grocery-household", brand="Vela"),
        draft_item("Desk lamp draft", category="home-furniture"),
    )
    card = search("brass").over[0].card
    assert [other.title for other in related(card, now=NOW)] == ["Desk lamp steel"]
    assert related(card, now=NOW, size=0) == []


# No index, an empty one, a broken one


def test_without_an_index_nothing_is_ready_and_nothing_fails():
    assert not search("lamp").ready
    assert search("lamp").cards == []


def test_an_empty_index_is_not_ready(index):
    index()
    assert not search("lamp").ready
    index(draft_item())
    assert not search("lamp").ready


@in_a_folder
@pytest.mark.parametrize("damage", ["meta.json", "current", "segments", "format", "elsewhere"])
def test_a_broken_index_is_not_ready_and_no_error(index, damage):
    index(deal_item())
    root = reader.index_root()
    generation = reader.current_generation(root)
    if damage == "meta.json":
        (generation / "meta.json").write_text("{")
    elif damage == "current":
        (root / reader.CURRENT).write_bytes(b"../../etc\xff")
    elif damage == "format":
        (root / reader.CURRENT).write_text("0-000001")
        generation.rename(root / "0-000001")
    elif damage == "elsewhere":
        (root / reader.CURRENT).write_text("../elsewhere")
        generation.rename(root.parent / "elsewhere")
    else:
        for path in generation.iterdir():
            if path.is_file() and path.name != "meta.json":
                path.unlink()
    reader.forget()
    assert not search("keyboard").ready


@pytest.mark.parametrize("error", [OSError("A file is gone."), ValueError("A segment is damaged.")])
def test_an_index_that_breaks_while_it_is_read_is_no_error(index, monkeypatch, error):
    index(deal_item(), deal_item("Lamp"))
    card = search("keyboard").hits[0].card

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(StoredDocument, "of", fail)
    assert not search("keyboard").ready
    assert related(card, now=NOW) == []


def test_a_question_asks_nothing_of_what_it_leaves_out():
    assert Question().units == []
    assert Question(brands=("a",), categories=("b",)).without("brands") == Question(categories=("b",))


def test_a_page_holds_25():
    assert PAGE_SIZE == 25
