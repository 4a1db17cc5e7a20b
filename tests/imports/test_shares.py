"""Which rows of a file belong together, and how it is cut."""

from types import SimpleNamespace
from typing import Any

from hypothesis import given, strategies as st

from dealsite.data.catalogue.content import DealContent
from dealsite.imports.rows import NewDeal, Shares, part_of

LINES = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=60
)


def row_of(line, link="", number="", row_id="", named=""):
    content = DealContent("Lamp", "lampadine", "home-furniture", link=link, article_number=number)
    return NewDeal(line, row_id or f"id {line}", content, "", named=named)


def shares_of(rows, there=None):
    shares = Shares()
    for row in rows:
        shares.add(row, (there or {}).get(row.line))
    return shares


def test_a_file_is_cut_evenly_where_its_rows_have_nothing_to_do_with_each_other():
    rows = [row_of(2 * n + 2) for n in range(10)]
    starts = shares_of(rows).starts(3)
    assert starts == [(2, 0), (10, 1), (18, 2)]
    assert [part_of(line, starts) for line in (1, 2, 9, 10, 11, 17, 18, 99)] == [0, 0, 0, 1, 1, 1, 2, 2]


def test_rows_go_with_the_first_one_that_may_mean_the_same_deal():
    deal: Any = SimpleNamespace(id="there")
    rows = [
        row_of(2, link="https://www.shop.example/a?utm_source=x"),
        row_of(3, number="A 1"),
        row_of(4, named="there"),
        row_of(5, row_id="same"),
        row_of(6),
        row_of(7, link="http://shop.example/a"),
        row_of(8, number="ａ 1"),
        row_of(9),
        row_of(10, row_id="same"),
        row_of(11, link="https://shop.example/b", number="A 1"),
        row_of(12),
    ]
    assert shares_of(rows, {9: deal}).starts(2) == [(2, 0), (12, 1)]
    assert [start for start, _ in shares_of(rows[:5] + rows[6:]).starts(2)] == [2, 9, 10, 12]


@given(LINES, st.integers(1, 5))
def test_what_is_linked_by_any_chain_is_in_one_part(found, parts):
    rows = [
        row_of(line, f"https://a.example/{link}" if link else "", f"N{number}" if number else "", f"i{one}")
        for line, (link, number, one) in enumerate(found, 2)
    ]
    starts = shares_of(rows).starts(parts)
    owners = [part_of(row.line, starts) for row in rows]
    assert {*owners} <= {*range(parts)}
    for row, owner in zip(rows, owners, strict=True):
        for other, its in zip(rows, owners, strict=True):
            same = (row.id == other.id, row.content.link == other.content.link != "")
            if any(same) or row.content.article_number == other.content.article_number != "":
                assert owner == its
