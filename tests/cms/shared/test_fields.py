from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from cms.shared.fields import LinkField, LocalTimeField, PriceField, typed_time


@pytest.mark.parametrize(
    ("text", "amount"), [("12", "12"), ("12.5", "12.5"), (" 1299.90 ", "1299.90"), ("0", "0")]
)
def test_a_price_is_digits_and_a_point(text, amount):
    assert PriceField().clean(text) == Decimal(amount)


@pytest.mark.parametrize(
    "text",
    [
        "12,50",
        "1,299.00",
        "1.299,00",
        "€12",
        "-1",
        "+1",
        "1e3",
        "NaN",
        "Infinity",
        "12.345",
        "١٢",
        ".5",
        "1" * 9,
    ],
)
def test_any_other_price_is_refused_with_an_example(text):
    with pytest.raises(ValidationError, match=r"such as 1299\.90"):
        PriceField().clean(text)


def test_an_optional_price_may_be_missing():
    assert PriceField(required=False).clean("") is None


@pytest.mark.parametrize(
    "text",
    [
        "javascript:alert(1)",
        "ftp://shop.example/",
        "shop.example",
        "//shop.example",
        "https://",
        "data:,x",
        "https://a b",
    ],
)
def test_a_link_is_http_or_https(text):
    with pytest.raises(ValidationError):
        LinkField().clean(text)


def test_a_time_is_taken_in_the_current_zone():
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert LocalTimeField().clean("2026-07-01T09:00") == datetime(2026, 7, 1, 7, 0, tzinfo=UTC)
        assert LocalTimeField().clean("2026-12-01T09:00:30") == datetime(2026, 12, 1, 8, 0, 30, tzinfo=UTC)


def test_a_time_that_clocks_leave_out_is_refused():
    with (
        timezone.override(ZoneInfo("Europe/Berlin")),
        pytest.raises(ValidationError, match=r"There is no 02:30 on 28 March 2027 in Europe/Berlin"),
    ):
        LocalTimeField().clean("2027-03-28T02:30")


def test_a_time_that_clocks_show_twice_is_refused():
    with (
        timezone.override(ZoneInfo("Europe/Berlin")),
        pytest.raises(ValidationError, match=r"02:30 on 25 October 2026 comes twice in Europe/Berlin"),
    ):
        LocalTimeField().clean("2026-10-25T02:30")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tomorrow", "Enter a date and a time of day"),
        ("2026-13-01T00:00", "Enter a date and a time of day"),
        ("2026-12-01T09:00Z", "Enter a date and a time of day"),
        ("2026-12-01T09:00+01:00", "Enter a date and a time of day"),
        ("0001-06-01T00:00", "The year should be from 2000 to 2100."),
        ("9999-12-31T23:59", "The year should be from 2000 to 2100."),
        ("2101-01-02T09:00", "The year should be from 2000 to 2100."),
        ("2000-01-01T00:30", "The year should be from 2000 to 2100."),  # 1999 where times are stored
    ],
)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Pacific/Kiritimati"])
def test_what_is_no_time_of_these_years_is_refused(text, said, zone):
    with timezone.override(ZoneInfo(zone)), pytest.raises(ValidationError, match=said):
        LocalTimeField().clean(text)


def test_the_year_is_that_of_the_stored_time():
    with timezone.override(ZoneInfo("America/New_York")):
        assert LocalTimeField().clean("1999-12-31T19:00") == datetime(2000, 1, 1, tzinfo=UTC)
        with pytest.raises(ValidationError):
            LocalTimeField().clean("2100-12-31T19:00")


def test_a_time_is_shown_as_the_input_wants_it():
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert typed_time(datetime(2026, 7, 1, 7, 0, tzinfo=UTC)) == "2026-07-01T09:00"
        assert typed_time(datetime(2026, 12, 1, 22, 59, 59, tzinfo=UTC)) == "2026-12-01T23:59:59"
        assert typed_time(None) == ""


@pytest.mark.parametrize(
    "address",
    [
        "/cms/payments/?first=9999-12-31",
        "/cms/payments/?list=processed&first=0001-01-01&last=0001-01-01",
        "/cms/deals/01M6B1YQ00GD9BHG5PNAJQ4MA0/buyers/?day=9999-12-31",
    ],
)
def test_a_day_at_the_end_of_the_calendar_is_no_fault_of_the_site(sign_in, address):
    assert sign_in("admin", "back office").get(address).status_code == 422
