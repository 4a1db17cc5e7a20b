"""The ready questions and the numbers of the first page, asked of a small lake whose answers are known."""

from __future__ import annotations

from decimal import Decimal

from dealsite.ask import numbers, runs
from dealsite.ask.charts import chart_of
from dealsite.data import keys
from dealsite.data.table.ids import iso, new_ulid
from tests.ask.lakes import DAY, TODAY, Shop, card, deal_id, write


def answer(ask, slug):
    run = ask(runs.ready_questions()[slug].sql)
    assert (run.state, run.why) == ("answered", "")
    return run.answer()


def day(days):
    return f"{TODAY + days * DAY:%Y-%m-%d}"


def test_there_are_a_dozen_and_each_says_what_it_is_about():
    found = runs.ready_questions()
    assert len(found) >= 12
    for question in found.values():
        assert question.title
        assert question.about.endswith(".")
        assert question.sql.startswith(("SELECT", "WITH"))


def test_each_ready_question_is_answered_with_rows(ask, subtests):
    for slug in sorted(runs.ready_questions()):
        with subtests.test(slug=slug):
            assert answer(ask, slug).rows


def test_best_selling_deals(ask):
    rows = answer(ask, "best-selling-deals").rows
    assert rows == [
        ["Keyboard", "320.00", 4, 2, "Aurora", deal_id("Keyboard")],
        ["Kettle", "40.00", 2, 1, "Nordlicht", deal_id("Kettle")],
    ]


def test_revenue_by_day_leaves_cancelled_orders_out(ask):
    found = answer(ask, "revenue-by-day")
    assert found.rows == [[day(-10), "120.00", 1, "120.00"], [day(-1), "240.00", 1, "240.00"]]
    assert chart_of(found).kind == "line"


def test_conversion_by_category(ask):
    assert answer(ask, "conversion-by-category").rows == [
        ["peripherals-networking", 100.0, 2, 2],
        ["home-furniture", 50.0, 2, 1],
        ["toys-hobbies", 0.0, 1, 0],
    ]


def test_abandoned_carts(ask):
    assert answer(ask, "abandoned-carts").rows == [["ann", "22.00", 4, f"{day(-5)} 00:00:00", "=Robot"]]


def test_watchers_against_sales(ask):
    assert answer(ask, "watchers-against-sales").rows == [
        ["Aurora", 2, 0, 4, "320.00"],
        ["Nordlicht", 0, 0, 2, "40.00"],
    ]


def test_instalments_overdue(ask):
    rows = answer(ask, "instalments-overdue").rows
    assert [row[:6] for row in rows] == [
        ["ann", "30.00", 4, f"{day(-4)} 00:00:00", "FAILED", "2 of 4"],
        ["ann", "30.00", 3, f"{day(-3)} 00:00:00", "SCHEDULED", "3 of 4"],
    ]


def test_price_history_of_the_deal_whose_price_changed_most(ask):
    rows = answer(ask, "price-history-of-a-deal").rows
    assert [row[1:] for row in rows] == [
        ["80.00", None, None],
        ["90.00", "80.00", None],
        ["80.00", "90.00", None],
    ]


def test_cohorts_of_sign_ups_count_each_user_once(ask):
    rows = answer(ask, "cohorts-of-sign-ups").rows
    assert sum(row[1] for row in rows) == 2
    assert sum(sum(row[2:]) for row in rows) == 2  # each of them ordered in one month


def test_orders_by_country(ask):
    assert answer(ask, "orders-by-country").rows == [
        ["FR", 1, "240.00", "240.00", 1],
        ["DE", 1, "120.00", "120.00", 1],
    ]


def test_cancelled_orders_and_why(ask):
    (row,) = answer(ask, "cancelled-orders").rows
    assert row[1:6] == ["bob", "20.00", "bob", "Ordered twice.", 2.0]


def test_why_payments_fail(ask):
    (row,) = answer(ask, "payment-failures").rows
    assert row[:5] == ["card expired", 1, "30.00", 2.0, 1]


def test_stock_running_out(ask):
    rows = answer(ask, "stock-running-out").rows
    assert [row[:4] for row in rows] == [
        ["Keyboard", 10, 3, 23.3],
        ["Kettle", 0, 0, None],
        ["=Robot", 20, 0, None],
    ]


def test_how_many_messages_are_read(ask):
    assert answer(ask, "messages-read").rows == [["Hot", 2, 1, 50.0, "hot_deal"]]


def test_best_customers(ask):
    rows = answer(ask, "best-customers").rows
    assert [row[:3] for row in rows] == [["bob", "240.00", 1], ["ann", "120.00", 1]]


def test_the_numbers_are_of_the_30_days_before_a_snapshots(lake):
    found = numbers.of(lake.folder)
    assert {name: number.total for name, number in found.items()} == {
        "orders": 2,
        "revenue": Decimal("360.00"),
        "sign_ups": 1,
        "live_deals": 3,
        "interests": 1,
        "cart_lines": 5,
        "new_deals": 0,
        "messages": 2,
    }
    assert len(found["orders"].days) == 30
    yesterday = found["orders"].last
    assert (str(yesterday.day), yesterday.value) == (day(-1), Decimal(1))
    assert found["revenue"].chart.kind == "line"
    assert found["revenue"].chart.series[0].values[-1] == 240.0


def test_new_deals_count_on_the_day_they_go_live_and_not_before(tmp_path):
    shop = Shop()
    for number, days in enumerate((-4, -4, -1, 0, -40)):
        deal = new_ulid(TODAY + days * DAY, number)
        shop.put(keys.deal(deal), type="Deal", id=deal, version=1, card=card("Kettle", id=deal))
    for number, key in enumerate(
        (keys.brand_like("aurora", "ann"), keys.category_watch("toys-hobbies", "ann"))
    ):
        kind = ("BrandLike", "CategoryWatch")[number]
        shop.put(key, type=kind, slug="x", username="ann", created_at=iso(TODAY - (number + 1) * DAY))
    found = numbers.of(write(tmp_path, shop))
    counted = [(str(one.day), int(one.value)) for one in found["new_deals"].days if one.value]
    assert counted == [(day(-4), 2), (day(-1), 1)]
    assert [one.value for one in found["interests"].days[-2:]] == [1, 1]
    # One has been live for long, two came four days ago, one yesterday, one comes today.
    assert [int(one.value) for one in found["live_deals"].days[-5:]] == [1, 3, 3, 3, 4]
    assert found["live_deals"].total == 4


def test_a_folder_without_numbers_has_none(tmp_path):
    assert numbers.of(tmp_path) == {}
