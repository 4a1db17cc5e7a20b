"""The back office looks at payments, and tries them again, cancels and refunds them."""

import csv
import io
import re
from html import unescape

import pytest
from django.urls import reverse
from django.utils import translation

from cms import payments as payment_pages
from cms.payments import address_of
from dealsite.data import table
from dealsite.data.commerce import charging, payment_lists, payment_record, payments
from dealsite.data.table.ids import iso, new_ulid
from dealsite.gateways.testing import TestGateway
from tests.builders import DAY, HOUR, NOW
from tests.jobs import run_next
from tests.payments import close_day, lower, owe, read, run
from tests.people import calls as of_page
from tests.slow_table import SlowTable

LIST = "/cms/payments/"
MONTH = {"list": "failed", "first": "2026-11-01", "last": "2026-12-01"}


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch):
    monkeypatch.setattr(charging, "THREADS", 1)


@pytest.fixture
def paid():
    """A payment that the gateway took."""
    (payment,) = owe(method="test:approve", account="ada", first=NOW - HOUR)
    run(TestGateway(), NOW)
    return read(payment)


@pytest.fixture
def failed():
    """A payment that the gateway declined."""
    (payment,) = owe(method="test:decline", account="bob", order_number=2, first=NOW - HOUR)
    run(TestGateway(), NOW)
    return read(payment)


def text(response):
    return " ".join(unescape(response.content.decode()).split())


def ids(response):
    return re.findall(r'id="payment-([0-9A-Z]{26})"', response.content.decode())


def change(browser, what, payment, **data):
    address = reverse(f"cms_{what}_payment", args=[payment.id])
    return browser.post(address, {"account": payment.account, "due": iso(payment.due_at)} | data)


# Lists


def test_payments_are_listed_by_state_and_day(office, paid, failed):
    (today,) = owe(account="cyd", order_number=3, first=NOW + HOUR)
    (later,) = owe(account="dan", order_number=4, first=NOW + 2 * DAY)
    (next_week,) = owe(account="eve", order_number=5, first=NOW + 7 * DAY)
    assert ids(office.get(LIST)) == [today.id, later.id]
    assert ids(office.get(LIST, {"first": "2026-11-21"})) == [today.id]
    assert ids(office.get(LIST, {"last": "2026-11-28"})) == [next_week.id]
    assert ids(office.get(LIST, {"first": "2026-11-21", "last": "2026-11-23"})) == [today.id, later.id]
    assert ids(office.get(LIST, {"last": "2026-11-23"})) == [later.id]
    assert ids(office.get(LIST, {"list": "processed"})) == [paid.id]
    assert ids(office.get(LIST, {"list": "failed"})) == [failed.id]  # its next try is tomorrow
    assert ids(office.get(LIST, {"list": "failed", "first": "2026-11-21"})) == []
    assert ids(office.get(LIST, {"list": "closed"})) == []


def test_a_week_without_payments_leads_to_a_month(office):
    (later,) = owe(account="cyd", first=NOW + 30 * DAY)
    month = re.search(
        r'href="([^"]+)"><svg[^>]*><use[^>]*></use></svg> Show a month', text(office.get(LIST))
    )[1]
    page = office.get(unescape(month))
    assert ids(page) == [later.id]
    assert "Show a month" not in text(office.get(unescape(month).replace("scheduled", "closed")))


def test_a_list_says_what_the_time_means_that_it_is_sorted_by(office, paid, failed):
    head = r'aria-sort="ascending"> <span [^>]*> <svg[^>]*><use[^>]*></use></svg> ([^<]+) </span>'
    times = head + '.*<time datetime="([^"]+)"'
    paid_list = office.get(LIST, {"list": "processed"})
    assert re.search(times, text(paid_list)).groups() == ("Paid", "2026-11-21T12:00:00Z")
    failed_list = office.get(LIST, {"list": "failed", "first": "2026-11-22"})
    assert re.search(times, text(failed_list)).groups() == ("Next try", "2026-11-22T12:00:00Z")
    owe(account="cyd", order_number=3, first=NOW + HOUR)
    assert re.search(times, text(office.get(LIST))).groups() == ("Due", "2026-11-21T13:00:00Z")


def test_what_is_being_charged_is_listed_by_when_it_was_due(office):
    (old,) = owe(account="ada", first=NOW - 7 * DAY)
    (row,) = charging.due(now=NOW)
    charging.claim(row, now=NOW)
    assert ids(office.get(LIST, {"list": "pending"})) == []
    page = office.get(LIST, {"list": "pending", "first": "2026-11-14"})
    assert (ids(page), "14 Nov 2026, 12:00 UTC" in text(page)) == ([old.id], True)
    assert sorted(of_page(page)) == [*["BatchGetItem"] * 2, *["Query"] * 10]


def test_what_is_due_in_a_span_is_summed(office, paid, failed):
    owe(total="10.50", account="cyd", order_number=3, first=NOW + HOUR)
    page = text(office.get(LIST, {"first": "2026-11-21"}))
    sums = r"<dt[^>]*>([^<]+)</dt> <dd> ([^ ]+) .*?<span class=\"sr-only\"> *([^<]+?) *</span>"
    assert re.findall(sums, page)[:3] == [
        ("To be paid", "€10.50", "1 payment"),
        ("Failed", "€90.00", "1 payment"),
        ("Paid", "€90.00", "1 payment"),
    ]
    assert "Due on 21 Nov 2026" in page
    page = text(office.get(LIST, {"first": "2026-11-22", "last": "2026-11-23"}))
    assert re.findall(sums, page)[0] == ("To be paid", "€0.00", "0 payments")
    assert "Due from 22 Nov 2026 to 23 Nov 2026" in page


def test_a_list_costs_ten_queries_and_its_sums_a_batch_get_for_ten_days(office):
    assert sorted(of_page(office.get(LIST))) == [*["BatchGetItem"] * 2, *["Query"] * 10]
    assert "Due from 21 Nov 2026 to 27 Nov 2026" in text(office.get(LIST))
    month = office.get(LIST, MONTH)
    assert sorted(of_page(month)) == [*["BatchGetItem"] * 5, *["Query"] * 20]


def test_a_month_of_failed_payments_takes_five_calls_one_after_the_other(office, monkeypatch):
    assert SlowTable(monkeypatch).calls_of(lambda: office.get(LIST, MONTH)) <= 5


def test_pages_of_25_skip_and_repeat_nothing(office):
    made = [owe(order_number=number, account=f"user{number}", first=NOW)[0].id for number in range(1, 31)]
    first = office.get(LIST)
    onward = unescape(re.search(r'href="([^"]+)" rel="next"', first.content.decode())[1])
    second = office.get(LIST + onward)
    assert sorted(ids(first) + ids(second)) == sorted(made)
    assert (len(ids(first)), len(ids(second))) == (25, 5)
    assert "First page" in text(second)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"first": "x"}, "Enter days such as 2026-11-27."),
        ({"first": "2026-11-22", "last": "2026-11-21"}, "The last day is before the first one."),
        ({"first": "2026-11-01", "last": "2026-12-02"}, "Up to 31 days are shown at once"),
        ({"first": "2026-11-01" * 30}, "Enter days such as 2026-11-27."),
    ],
)
def test_a_span_that_cannot_be_shown_is_refused(office, query, words):
    answer = office.get(LIST, query)
    assert answer.status_code == 422
    assert words in text(answer)


@pytest.mark.parametrize(("query", "status"), [({"list": "lost"}, 404), ({"after": "x"}, 400)])
def test_what_no_link_asks_is_refused(office, query, status):
    assert office.get(LIST, query).status_code == status


def test_the_payments_of_a_closed_day_are_found_as_before(office, paid):
    assert close_day(NOW.date()) == 1
    span = {"list": "closed", "first": "2026-11-21"}
    assert ids(office.get(LIST, span)) == [paid.id]
    assert ids(office.get(LIST, span | {"list": "processed"})) == []
    assert ids(office.get("/cms/payments/account/", {"account": "ada", "closed": "yes"})) == [paid.id]
    answer = office.get("/cms/payments/find/", {"q": "ada"})
    assert answer["Location"] == "/cms/payments/account/?account=ada&closed=yes"
    assert office.get("/cms/payments/find/", {"q": paid.transaction_id})["Location"] == address_of(paid)
    assert "Refund payment" in text(office.get(address_of(paid)))


# Overdue ones


def test_overdue_payments_are_shown_by_age(office):
    for number, days in enumerate((0, 1, 7, 8, 30, 31), 1):
        owe(total=f"{number}.00", order_number=number, account="ada", first=NOW - days * DAY)
    page = text(office.get("/cms/payments/overdue/"))
    cells = '<td class="column-note[^>]*> ([^<]+) </td> <td[^>]*> ([^<]+) </td>'
    assert re.findall(f'id="overdue-.".*?<span[^>]*>([^<]+)</span>.*?{cells}', page) == [
        ("Today", "1 payment", "€1.00"),
        ("1 to 7 days", "2 payments", "€5.00"),
        ("8 to 30 days", "2 payments", "€9.00"),
        ("Older", "1 payment", "€6.00"),
    ]


@pytest.mark.parametrize("days", [0, 7, 22])
def test_the_links_of_what_failed_lead_to_what_is_tried_again_on_a_later_day(office, days):
    (payment,) = owe(method="test:decline", account="bob", first=NOW - days * DAY)
    run(TestGateway(), NOW)
    page = unescape(office.get("/cms/payments/overdue/").content.decode())
    links = re.findall(r'href="([^"]+list=failed[^"]*)"', page.split("<tbody")[1])
    lists = [ids(office.get(link)) for link in links]
    assert lists == [[payment.id], [payment.id], [payment.id], []]


def test_a_count_that_is_cut_off_says_so(office, monkeypatch):
    for number in range(1, 4):
        owe(order_number=number, account="ada", first=NOW - 40 * DAY)
    assert "at least" not in (whole := text(office.get("/cms/payments/overdue/")))
    assert "3 payments" in whole
    monkeypatch.setattr(payment_lists, "COUNTED", 1)  # in a shard, of which the three have one to three
    assert re.search(r"at least [123] payment", text(office.get("/cms/payments/overdue/")))


# Finding


def test_a_payment_is_found_by_its_transaction_id(office, paid):
    answer = office.get("/cms/payments/find/", {"q": f" {paid.transaction_id} "})
    assert answer["Location"] == address_of(paid)


def test_the_payments_of_an_account_are_found(office, paid):
    owe(account="ada", order_number=7, first=NOW + 40 * DAY)
    answer = office.get("/cms/payments/find/", {"q": "ada"}, follow=True)
    assert answer.status_code == 200
    assert len(ids(answer)) == 2
    assert "Payments of ada" in text(answer)


@pytest.mark.parametrize("account", ["Müller & Söhne / 7", "<b>", "../..", "a?b=c", "x" * 120])
def test_an_account_of_any_name_can_be_looked_at(office, account):
    made = payment_record.Payment(
        id=new_ulid(NOW), account=account, amount=owe()[0].amount, due_at=NOW, next_at=NOW
    )
    table.write(payments.insert_write(made))
    answer = office.get("/cms/payments/find/", {"q": account}, follow=True)
    assert ids(answer) == [made.id]
    assert "<b>" not in answer.content.decode()
    assert office.get(address_of(made)).status_code == 200


@pytest.mark.parametrize(
    "typed",
    ["nobody", "a#b", "\x00", "x" * 300, new_ulid(NOW)],
    ids=["a name", "a hash", "NUL", "long", "an id"],
)
def test_what_is_not_found_is_said(office, typed):
    answer = office.get("/cms/payments/find/", {"q": typed})
    assert answer.status_code == 404
    assert "No payment has this transaction id" in text(answer)


@pytest.mark.parametrize("query", [{"account": "a#b"}, {}, {"account": "nobody", "closed": "yes"}])
def test_an_account_without_payments_has_an_empty_list(office, query):
    assert "There are no such payments." in text(office.get("/cms/payments/account/", query))


def test_an_account_s_list_costs_one_query(office, paid):
    for closed in ("", "yes"):
        answer = office.get("/cms/payments/account/", {"account": "ada", "closed": closed})
        assert of_page(answer) == ["BatchGetItem", "Query"]


# One payment


def test_a_payment_is_shown_with_what_happened_to_it(office, paid):
    answer = office.get(address_of(paid))
    page = text(answer)
    for words in (
        "Payment of €90.00",
        "Paid",
        paid.transaction_id,
        f"/cms/orders/ada/{paid.order}/",
        "Refund payment",
    ):
        assert words in page
    assert "Try again now" not in page
    assert of_page(answer) == ["BatchGetItem", "BatchGetItem"]


def test_a_declined_payment_says_why_and_when_it_is_tried_again(office, failed):
    page = text(office.get(address_of(failed)))
    for words in (
        failed.reason,
        "Will be tried again",
        "22 Nov 2026, 12:00 UTC",
        "1 time",
        "Try again now",
        "Cancel payment",
    ):
        assert words in page


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?account=ada",
        "?account=ada&due=x",
        "?account=bob&due={due}",
        "?account=a%23b&due={due}",
        "?account=ada&due=2026-11-21T11:00:00",
        "?account=ada&due=0001-01-01T00:00:00%2B23:00",
    ],
)
def test_a_payment_under_another_name_or_day_is_not_found(office, paid, query):
    for name in ("cms_payment", "cms_retry_payment", "cms_cancel_payment", "cms_refund_payment"):
        address = reverse(name, args=[paid.id]) + query.format(due=iso(paid.due_at))
        assert office.get(address).status_code == 404, address
    assert office.get(address_of(paid).replace(paid.id, "x")).status_code == 404


# Changes


def test_a_failed_payment_is_tried_again(office, failed):
    answer = change(office, "retry", failed)
    assert answer["Location"] == address_of(failed)
    assert read(failed).next_at == NOW
    assert read(failed).timeline[-1].by == "olga"
    assert "The payment is tried again within seconds." in text(office.get(address_of(failed)))


def test_a_payment_is_cancelled_with_a_reason(office, failed):
    change(office, "cancel", failed, reason=" Agreed   by phone ")
    now = read(failed)
    assert (now.status, now.reason, now.timeline[-1].by) == ("CANCELLED", "Agreed by phone", "olga")


def test_a_payment_is_refunded_with_a_reason(office, paid):
    change(office, "refund", paid, reason="Broken")
    assert read(paid).refunds[0].reason == "Broken"
    assert "Refund payment" not in text(office.get(address_of(paid)))
    while run_next(now=NOW):
        pass
    assert read(paid).status == "REFUNDED"
    assert "Refunded" in text(office.get(address_of(paid)))


@pytest.mark.parametrize(
    ("reason", "words"), [("", "Say why"), (" \u200b ", "Say why"), ("x" * 501, "Shorten this to 500")]
)
def test_calling_off_and_giving_back_need_a_reason(office, paid, failed, reason, words):
    for what, payment in (("cancel", failed), ("refund", paid)):
        answer = change(office, what, payment, reason=reason)
        assert answer.status_code == 422
        assert words in text(answer)
        assert read(payment) == payment


def test_what_cannot_be_done_is_said_and_not_done(office, paid):
    for what in ("retry", "cancel"):
        address = reverse(f"cms_{what}_payment", args=[paid.id])
        query = {"account": "ada", "due": iso(paid.due_at)}
        assert office.get(address, query)["Location"] == address_of(paid)
        change(office, what, paid, reason="x")
    assert "This payment is paid." in text(office.get(address_of(paid)))
    assert read(paid).status == "PROCESSED"


def test_a_second_click_is_harmless(office, paid):
    for _ in range(2):
        assert change(office, "refund", paid, reason="Broken").status_code == 302
    assert len(read(paid).timeline) == len(paid.timeline) + 1


# Files


def exported(office, **sent):
    answer = office.post("/cms/jobs/export/", {"token": new_ulid(NOW), **sent})
    content = b"".join(answer.streaming_content).decode("utf-8-sig")
    return {row["Account"]: row for row in csv.DictReader(io.StringIO(content, newline=""))}


def test_a_file_holds_the_payments_of_a_list(office, paid, failed, monkeypatch):
    monkeypatch.setattr(payment_pages, "EXPORTED_AT_ONCE", 2)
    for number in range(7):
        owe(account=f"user{number}", order_number=number, first=NOW + HOUR)
    span = "&first=2026-11-21&last=2026-11-23"
    found = exported(office, address=f"/cms/payments/?list=scheduled{span}")
    assert found.keys() == {f"user{number}" for number in range(7)}
    assert exported(office, address=f"/cms/payments/?list=processed{span}").keys() == {"ada"}
    assert exported(office, address=f"/cms/payments/?list=failed{span}").keys() == {"bob"}


def test_a_file_holds_payments_of_all_states_and_closed_days(office, paid, failed):
    owe(account="=cmd", order_number=9, first=NOW + HOUR)
    close_day(paid.due_at.date())
    form = {"address": "/cms/payments/?list=all", "first": "2026-11-21", "last": "2026-11-23"}
    assert f'value="{form["address"]}"' in text(office.get("/cms/payments/"))
    found = exported(office, **form)
    assert found.keys() == {"ada", "bob", "'=cmd"}
    assert (found["ada"]["State"], found["ada"]["Transaction"]) == ("PROCESSED", paid.transaction_id)
    assert (found["bob"]["State"], found["bob"]["Reason"]) == ("FAILED", failed.reason)
    assert found["bob"]["Due (UTC)"] == "2026-11-21 11:00:00"
    assert found["ada"]["Day closed"] == "yes"


def test_what_was_lowered_or_refunded_stands_beside_what_is_charged(office, wait_for_indexes):
    first, last = owe(3, "90.00", method="test:approve", account="ada", first=NOW - HOUR)[::2]
    lower(last, "42.00", NOW)
    wait_for_indexes()
    run(TestGateway(), NOW)
    lower(first, "19.50", NOW)
    page = text(office.get(address_of(first)))
    assert "Payment of €30.00" in page
    assert "€1.50 is on its way back" in page
    assert "€1.50, asked for by kim" in page
    assert "Refund €28.50" in text(office.get(reverse("cms_refund_payment", args=[first.id]), where(first)))
    while run_next(now=NOW):
        pass
    lower(first, "2.50", NOW)
    while run_next(now=NOW):
        pass
    assert "€4.00 refunded" in text(office.get(address_of(first)))
    wait_for_indexes()
    rows = text(office.get(reverse("cms_account_payments"), {"account": "ada"}))
    assert "€4.00 refunded" in rows
    found = exported(office, address="/cms/payments/?list=processed&first=2026-11-21&last=2026-11-23")["ada"]
    assert [found[name] for name in ("Amount", "Lowered by", "Refunded")] == ["30.00", "0.00", "4.00"]
    order = text(office.get(reverse("cms_order", args=["ada", first.order])))
    assert "€4.00 refunded" in order


def where(payment):
    return {"account": payment.account, "due": iso(payment.due_at)}


# Roles


@pytest.mark.parametrize(
    "path", ["", "overdue/", "find/", "account/", "x/", "x/retry/", "x/cancel/", "x/refund/"]
)
def test_an_editor_sees_no_payments(editor, path):
    assert editor.get(LIST + path).status_code == 403
    assert editor.post(LIST + path).status_code in (403, 405)


def test_nothing_is_changed_without_the_pages_token(sign_in, failed):
    browser = sign_in("back office", csrf=True)
    for what in ("retry", "cancel", "refund"):
        assert change(browser, what, failed, reason="x").status_code == 403
    assert read(failed) == failed


def test_looking_changes_no_payment(office, failed):
    query = {"account": "bob", "due": iso(failed.due_at), "reason": "x"}
    for what in ("retry", "cancel", "refund"):
        office.get(reverse(f"cms_{what}_payment", args=[failed.id]), query)
    assert read(failed) == failed


@pytest.mark.parametrize(("language", "said"), [("de", "Geplant"), ("en-gb", "Scheduled")])
def test_the_lists_are_named_in_the_readers_language(language, said):
    with translation.override(language):
        assert str(payment_pages.LISTS["scheduled"]) == said
