"""What a web process answered within an hour: bounded counts of requests, slow pages and refusals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from dealsite.data.jobs.processes import PageTimes
from dealsite.data.table import errors, meters
from dealsite.middleware import MeterMiddleware, RequestIdMiddleware
from dealsite.web import traffic
from dealsite.web.traffic import SPAN_SECONDS, SPANS, Traffic


class Ticks:
    """Time that passes when it is told to."""

    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def counts(ticks: Ticks) -> Traffic:
    return Traffic(ticks)


@pytest.fixture
def of_process(monkeypatch: pytest.MonkeyPatch) -> Traffic:
    monkeypatch.setattr(traffic, "of_process", Traffic())
    return traffic.of_process


def test_the_pages_that_take_longest_on_average_come_first(counts: Traffic):
    for milliseconds in (20, 40):
        counts.note("front", milliseconds / 1000)
    counts.note("deal", 0.05)
    counts.note("", 9)  # an address that leads nowhere is no page
    assert counts.last_hour() == {
        "requests": 4,
        "pages": (PageTimes("deal", 1, 50, 50), PageTimes("front", 2, 60, 40)),
        "refused": {},
    }


def test_what_is_older_than_an_hour_is_forgotten(counts: Traffic, ticks: Ticks):
    counts.note("front", 0.02)
    counts.refuse("table")
    for _ in range(SPANS - 1):
        ticks.seconds += SPAN_SECONDS
        counts.note("deal", 0.01)
    assert (counts.last_hour()["requests"], counts.last_hour()["refused"]) == (SPANS, {"table": 1})
    ticks.seconds += SPAN_SECONDS
    counts.note("deal", 0.01)
    assert (counts.last_hour()["requests"], counts.last_hour()["refused"]) == (SPANS, {})
    ticks.seconds += 2 * SPAN_SECONDS * SPANS  # nobody came for long
    assert counts.last_hour() == {"requests": 0, "pages": (), "refused": {}}


def test_there_is_room_for_ten_pages_and_twelve_spans(counts: Traffic, ticks: Ticks):
    for number in range(1000):
        counts.note(f"page_{number % 30}", number / 1000)
        ticks.seconds += SPAN_SECONDS
    assert len(counts.last_hour()["pages"]) == 10
    assert len(counts._spans) == SPANS


def test_threads_lose_no_request(counts: Traffic):
    with ThreadPoolExecutor(8) as pool:
        for _ in range(800):
            pool.submit(counts.note, "front", 0.001)
    assert counts.last_hour()["pages"] == (PageTimes("front", 800, 800, 1),)


@pytest.mark.parametrize(
    ("failure", "cause"),
    [
        (errors.Unavailable(), "table"),
        (errors.Busy(), "busy"),
        (errors.Misconfigured(), "misconfigured"),
        (None, "shortage"),
    ],
)
def test_each_refusal_has_a_cause(failure: errors.Unavailable | None, cause: str):
    assert traffic.cause_of(failure) == cause


def test_requests_are_counted_by_their_view_and_probes_are_not(of_process: Traffic):
    browser = Client()
    browser.get("/account/sign-in/")
    browser.get("/nothing/here/")
    browser.get("/healthz")
    found = of_process.last_hour()
    assert (found["requests"], [page.view for page in found["pages"]]) == (2, ["sign_in"])


def test_a_page_that_fails_with_its_table_is_counted_with_the_cause(of_process: Traffic):
    def page(request: HttpRequest) -> HttpResponse:
        meters.note(errors.Busy())
        return HttpResponse(status=503)

    RequestIdMiddleware(MeterMiddleware(page))(RequestFactory().get("/"))
    assert of_process.last_hour()["refused"] == {"busy": 1}
