"""A site behind the proxy: what it answers, what that changes in the table, and how it is put back as it was."""

from __future__ import annotations

import contextlib
import random
import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client, override_settings

from dealsite import middleware
from dealsite.accounts import limits
from dealsite.accounts.security_log import failures
from dealsite.data import table
from dealsite.data.catalogue import buckets
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.integrity import checks
from dealsite.data.table import client
from dealsite.data.table.writes import Delete, Put
from dealsite.web import page_cache
from tests.builders import NOW
from tests.faults.forms import Prepared
from tests.faults.proxy import FAULTS, HITS, WAITING, Hits, Proxy
from tests.faults.unkind import ItemKey
from tests.people import signed_in
from tests.seeded import Content

REAL = client.READ_TIMEOUT, middleware.DATA_SECONDS
PATIENT = 15.0, 30.0  # seconds for an answer, and for a page: a machine busy with tests is no fault
SCALE = 0.1  # of all times, where a fault waits
SHORT = REAL[0] * SCALE, REAL[1] * SCALE
BESIDE = ("THROTTLE#", "SECURITY#")  # partitions of what is noted beside: tries that count twice do no harm
# What it cost, signed moments, and the forms' tokens.
TIMES = re.compile(
    r"(?<=This page: ).*|(?<=:)1[a-zA-Z0-9]{5}:[\w-]{40,}|(?<=name=\"csrfmiddlewaretoken\" value=\")\w+"
)

Row = dict[str, Any]
Changes = dict[ItemKey, Row | None]


@dataclass(frozen=True)
class Seen:
    """What a visitor got, and what became of the table."""

    status: int
    text: str
    cookies: dict[str, str]
    retry_after: str
    cache: str
    calls: int
    hit: int
    seconds: float
    changes: Changes = field(default_factory=dict)

    @property
    def is_503(self) -> bool:
        return self.status == 503

    def same_page(self, other: Seen) -> bool:
        return (self.status, self.text, self.cookies) == (other.status, other.text, other.cookies)

    def unlike(self, other: Seen) -> str:
        """Say how it is not the same page: its status, or the first line that differs."""
        if self.status != other.status:
            return f"{self.status} instead of {other.status}"
        lines = zip(self.text.splitlines(), other.text.splitlines(), strict=False)
        one = next(((mine, its) for mine, its in lines if mine != its), (self.cookies, other.cookies))
        return f"another page: {one}"


@dataclass
class Site:
    """The site; `more` is what `forms.prepare` added to its content."""

    proxy: Proxy
    content: Content
    more: dict[str, Any] = field(default_factory=dict)
    before: dict[ItemKey, Row] = field(default_factory=dict)
    cookies: dict[str, Any] = field(default_factory=dict)
    references: dict[str, Seen] = field(default_factory=dict)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Be the site of the settings."""
        with override_settings(DYNAMODB_ENDPOINT_URL=self.proxy.url, **self.content.settings):
            if client.connect().endpoint_url != self.proxy.url:
                table.reset()
            self.forget()
            brand_names.forget()  # those that another test's site has
            category_names.forget()
            category_names.names()
            try:
                yield
            finally:
                brand_names.forget()
                category_names.forget()

    def begin(self) -> None:
        """Remember the table as it is, and sign everybody in."""
        for name, user in self.content.users.items():
            self.cookies[name] = signed_in(user, now=NOW).cookies
        self.before = dict(self._rows())

    def end(self) -> None:
        assert dict(self._rows()) == self.before

    def _rows(self) -> Iterator[tuple[ItemKey, Row]]:
        for item in table.scan_all(consistent=True):
            yield (item["PK"], item["SK"]), item

    def forget(self) -> None:
        """Let the process know nothing of earlier looks but the names of brands and categories."""
        page_cache.forget()
        buckets.forget()  # else a day that was put back costs another try, with ids of its own
        limits.forget()
        failures.forget()

    def repaired(self) -> None:
        """Let the client know nothing of what was broken: its gate stands open."""
        client.connect().gate.answered(now=time.monotonic())

    def browser(self, who: str) -> Client:
        browser = Client(raise_request_exception=False)
        if who:
            browser.cookies.load({name: morsel.value for name, morsel in self.cookies[who].items()})
        return browser

    # Looking

    @property
    def prepared(self) -> Prepared:
        return Prepared(self.content, self.more)

    def ask(self, who: str | Client, request: Callable[[Client], Any]) -> Seen:
        """Have a browser ask; random numbers are the same each time."""
        browser = who if isinstance(who, Client) else self.browser(who)
        with limits_of_client(*PATIENT), same_secrets(), self.proxy.counting():
            return self._asked(browser, request)

    def ask_broken(
        self,
        who: str | Client,
        request: Callable[[Client], Any],
        fault: str,
        hits: str | Hits,
        calls: int,
        *,
        limits: tuple[float, float] | None = None,
    ) -> Seen:
        """The same while something is broken; if the fault waits, all times are short but what `limits` says."""
        browser = who if isinstance(who, Client) else self.browser(who)
        is_short = fault in WAITING and limits is None
        answer, page = limits or (SHORT if is_short else PATIENT)
        self.proxy.scale = SCALE if is_short else 1.0
        hit = HITS[hits] if isinstance(hits, str) else hits
        broken = self.proxy.broken(FAULTS[fault], hit, calls)
        with limits_of_client(answer, page), same_secrets(), broken:
            return self._asked(browser, request)

    def _asked(self, browser: Client, request: Callable[[Client], Any]) -> Seen:
        given = {name: morsel.value for name, morsel in browser.cookies.items()}
        started = time.monotonic()
        answer = request(browser)
        try:
            body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        finally:
            answer.close()
        seconds = time.monotonic() - started
        got = {
            name: "deleted" if not morsel.value or morsel["max-age"] == 0 else "set"
            for name, morsel in answer.cookies.items()
            if given.get(name) != morsel.value
        }
        return Seen(
            answer.status_code,
            TIMES.sub("", f"{answer.get('Location', '')}\n{body.decode('utf-8', 'replace')}"),
            got,
            answer.get("Retry-After", ""),
            answer.get("Cache-Control", ""),
            self.proxy.calls,
            self.proxy.hit,
            seconds,
        )

    # Changing

    def changes(self, *, all_of_them: bool = False) -> Changes:
        """Return what was written since the table was last as at the beginning; None is an item that is gone."""
        written = [*self.proxy.written]
        now = table.batch_get(written)
        return {
            key: now.get(key)
            for key in written
            if now.get(key) != self.before.get(key) and (all_of_them or not key[0].startswith(BESIDE))
        }

    def put_back(self) -> None:
        """Let the table be as at the beginning."""
        for key in self.changes(all_of_them=True):
            item = self.before.get(key)
            table.write(Put(key=key, item=item) if item else Delete(key=key))
        self.proxy.written.clear()

    def problems(self) -> list[str]:
        """Return what check_table finds."""
        return [str(problem) for problem in checks.find()]


@contextlib.contextmanager
def same_secrets() -> Iterator[None]:
    """Let what is random be the same each time, so that two looks can be compared."""
    dice = random.Random(13)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "randbits", dice.getrandbits)
        patch.setattr(secrets, "token_bytes", lambda count=32: dice.randbytes(count or 32))
        patch.setattr(secrets, "randbelow", dice.randrange)
        patch.setattr(secrets, "choice", dice.choice)
        yield


@contextlib.contextmanager
def limits_of_client(answer: float, page: float) -> Iterator[None]:
    """Let the client wait so many seconds for an answer, and so many for all of a page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "READ_TIMEOUT", answer)
        patch.setattr(middleware, "DATA_SECONDS", page)
        yield
