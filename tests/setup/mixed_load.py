"""People who use a whole site over HTTP at the same time, and a ledger of what the site acknowledged to them.

Each sends a form again, exactly as it was, until it gets an answer other than 503: what browsers' users do.
"""

from __future__ import annotations

import http.client
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from http.cookies import SimpleCookie
from typing import Any, Self
from urllib.parse import urlencode

from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.utils import timezone

from dealsite.accounts import requests
from dealsite.data.catalogue import deals, drafts, relations
from dealsite.data.commerce import order_record, orders
from dealsite.data.commerce.order_record import save_card
from dealsite.data.people import sessions
from dealsite.data.table.ids import new_ulid
from tests.builders import make_deal
from tests.people import make_user
from tests.shopping.shoppers import ADDRESS, CARD

LIMITS = " ".join(
    f"{name}{part}=1000000/1h"
    for name in ("order", "like", "cart", "question", "search")
    for part in ("", "-network", "-total")
)
SHOPPERS = ("ann", "bob")
PRICE = "12.50"
STOCK = 100_000
TOKEN = "a" * 32
WHOLE = {
    "brand": "Nordlicht",
    "category": "peripherals-networking",
    "price": "79.90",
    "description": "Quiet switches.",
    "action": "publish",
    "version": "0",
}
NO_ANSWER = 0


@dataclass
class Answer:
    """What came back; NO_ANSWER stands for a connection that was refused or broke off."""

    status: int
    location: str = ""
    text: str = ""


@dataclass
class Browser:
    """A user's browser at a site; every request has a connection of its own."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, username: str, port: int, roles: Iterable[str] = ()) -> Self:
        """The browser of a new user with a card, signed in without the form."""
        now, key = timezone.now(), requests.new_key()
        user = make_user(username, roles=roles, now=now)
        save_card(username, CARD, job_id=new_ulid(now), now=now)
        sessions.start(user, key=key, user_agent="", address="127.0.0.1", now=now)
        return cls(port, {f"session-{port}": f"{username}:{key}", f"csrftoken-{port}": TOKEN})

    def at(self, port: int) -> Self:
        """The same user's browser at another machine."""
        named = {f"{name.rpartition('-')[0]}-{port}": value for name, value in self.cookies.items()}
        return type(self)(port, named)

    def send(self, path: str, form: dict[str, Any] | None = None) -> Answer:
        """Read a page, or send a form, which may hold files."""
        own = f"http://127.0.0.1:{self.port}"
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"Cookie": cookie, "Origin": own, "X-CSRFToken": TOKEN}
        holds_files = any(not isinstance(value, str) for value in (form or {}).values())
        kind = MULTIPART_CONTENT if holds_files else "application/x-www-form-urlencoded"
        headers["Content-Type"] = kind
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            if form is None:
                connection.request("GET", path, headers=headers)
            else:
                body = encode_multipart(BOUNDARY, form) if holds_files else urlencode(form)
                connection.request("POST", path, body, headers)
            got = connection.getresponse()
            text = got.read().decode()
        except (OSError, http.client.HTTPException):
            return Answer(NO_ANSWER)
        finally:
            connection.close()
        for header in got.headers.get_all("Set-Cookie") or ():
            self.cookies |= {name: one.value for name, one in SimpleCookie(header).items()}
        return Answer(got.status, got.getheader("Location") or "", text)


class MixedLoad:
    """Readers, shoppers and an editor, each in a thread, for the time of a block; `check` compares with the table."""

    def __init__(self, port: int) -> None:
        now = timezone.now()
        self.deal = make_deal(price=Decimal(PRICE), was_price=None, stock=STOCK, now=now)
        self.likes: dict[str, bool] = {}
        self.orders: dict[str, list[str]] = {name: [] for name in SHOPPERS}
        self.published: list[str] = []
        self.answers: Counter[int] = Counter()
        self.wrong: list[str] = []
        self._over = threading.Event()
        self._threads = [self._thread(self._shop, name, Browser.of(name, port)) for name in SHOPPERS] + [
            self._thread(self._publish, Browser.of("eve", port, ["editor"])),
            self._thread(self._read, Browser(port)),
        ]

    def _thread(self, work: Callable[..., None], *arguments: object) -> threading.Thread:
        return threading.Thread(target=work, args=arguments, daemon=True)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def _until_answered(self, browser: Browser, path: str, form: dict[str, str] | None, good: int) -> Answer:
        """Send the same again and again, whether or not the load is over: then all that was begun is finished."""
        while True:
            answer = browser.send(path, form)
            self.answers[answer.status] += 1
            if answer.status not in (NO_ANSWER, 503):
                break
            self._over.wait(0.02)
        if answer.status != good:
            self.wrong.append(f"{path}: {answer.status} {answer.location} {answer.text[:200]}")
        return answer

    def _shop(self, name: str, browser: Browser) -> None:
        while not self._over.is_set():
            like = not self.likes.get(name, False)
            self._until_answered(browser, f"/brands/nordlicht/{'like' if like else 'unlike'}/", {}, 302)
            self.likes[name] = like
            token = new_ulid(timezone.now())
            added = {"offer": f"{self.deal.id}:{PRICE}", "quantity": "1", "token": token}
            self._until_answered(browser, "/cart/add/", added, 302)
            page = self._until_answered(browser, "/checkout/", None, 200)
            hidden = dict(re.findall(r'name="(order|version|total)"\s+value="([^"]*)"', page.text))
            placed = self._until_answered(browser, "/checkout/", ADDRESS | hidden | {"plan": "1"}, 302)
            self.orders[name].append(placed.location.split("/")[2] if placed.location else "none")

    def _publish(self, browser: Browser) -> None:
        while not self._over.is_set():
            draft_id = new_ulid(timezone.now())
            form = WHOLE | {"title": f"Deal of {draft_id}", "link": f"https://shop.example/{draft_id}"}
            self._until_answered(browser, f"/cms/drafts/{draft_id}/", form, 302)
            self.published.append(draft_id)
            self._over.wait(0.1)

    def _read(self, browser: Browser) -> None:
        while not self._over.is_set():
            for path in ("/", "/brands/nordlicht/", f"/deals/{self.deal.id}/{self.deal.card.slug}/"):
                self._until_answered(browser, path, None, 200)

    def check(self) -> None:
        """Fail unless what was acknowledged is in the table, once."""
        assert self.wrong == []
        sold = 0
        for name in SHOPPERS:
            stored = [order.id for order in orders_of(name)]
            assert sorted(stored) == sorted(self.orders[name])
            sold += len(stored)
            assert [entry.slug for entry in relations.likes_of(name)] == ["nordlicht"] * self.likes[name]
        assert deals.get(self.deal.id).stock == STOCK - sold
        made = [drafts.get(draft_id).published_as for draft_id in self.published]
        assert len(set(made)) == len(self.published)
        assert len(deals.get_many(made)) == len(made)


def orders_of(username: str) -> list[order_record.OrderCard]:
    page = orders.of_user(username)
    found = page.rows
    while page.after:
        page = orders.of_user(username, after=page.after)
        found = [*found, *page.rows]
    return found
