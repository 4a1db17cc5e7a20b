"""What a soak does to a site: shoppers, editors, the back office, each at a pace of their own, over HTTP."""

from __future__ import annotations

import contextlib
import http.client
import io
import itertools
import os
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from urllib.parse import urlencode

BRANDS, DEALS, SHOPPERS, LINES = 8, 60, 6, 2
EDITOR, OFFICE = "soak-editor", "soak-office"
CSRF = "soak" * 8  # a form is sent with what its cookie says
CONTROL = "nothing but an answer"  # tells how busy the machine is otherwise
QUESTION = "SELECT status, count(*) AS orders, sum(total) AS total FROM orders GROUP BY status"
ADDRESS = {"name": "Ada Ash", "street": "1 High Street", "extra": "", "postcode": "10115", "city": "Berlin"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One thing done: its kind, when it began, seconds it took, and the status that was not expected (0 if none)."""

    kind: str
    at: float
    seconds: float
    wrong: int = 0
    path: str = ""


@dataclass
class Content:
    """What the load is about: names of brands, ids of deals, and the session cookies of who is signed in."""

    brands: list[str]
    deals: list[str]
    sessions: dict[str, str] = field(default_factory=dict)


def seed(now: datetime) -> Content:
    """Make brands, deals and people through the data layer, which has joined the site's engine."""
    from dealsite.accounts import requests
    from dealsite.data.catalogue import brands, categories, publishing
    from dealsite.data.catalogue.content import DealContent
    from dealsite.data.commerce.order_record import PaymentCard, save_card
    from dealsite.data.people import sessions, users
    from dealsite.data.table.ids import new_ulid

    categories.create_all()
    category = categories.all_categories()[0].slug
    made = [brands.create(f"Soak {number}", by=EDITOR, now=now) for number in range(BRANDS)]
    content = Content([brand.slug for brand in made], [])
    for number in range(DEALS):
        brand, deal_id = made[number % BRANDS], new_ulid(now - timedelta(hours=1), number)
        what = DealContent(
            title=f"Lamp {number}",
            brand=brand.slug,
            category=category,
            price=Decimal("9.90"),
            sold="here",
            description="Bright, and quiet.",
        )
        publishing.publish(what, deal_id=deal_id, brand=brand, by=EDITOR, now=now)
        content.deals.append(deal_id)
    roles = {EDITOR: ["editor"], OFFICE: ["back office"]}
    for name in (EDITOR, OFFICE, *(f"shopper{number}" for number in range(SHOPPERS))):
        user = users.create(
            username=name,
            email=f"{name}@example.org",
            password="!",  # noqa: S106 - nobody signs in with it
            registration=new_ulid(now),
            roles=roles.get(name, []),
            now=now,
        )
        key = requests.new_key()
        sessions.start(user, key=key, user_agent="", address="", now=now)
        content.sessions[name] = f"{name}:{key}"
        if name not in roles:
            save_card(name, PaymentCard("test", "test:approve", "Visa"), job_id=new_ulid(now), now=now)
    return content


class Browser:
    """One connection of one user, or of a visitor; what it does is noted."""

    def __init__(self, port: int, session: str, note: Callable[[Sample], None]) -> None:
        self._port, self._note = port, note
        self._headers = {"Origin": f"http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-origin"}
        cookies = [f"session-{port}={session}", f"csrftoken-{port}={CSRF}"] if session else []
        if cookies:
            self._headers |= {"Cookie": "; ".join(cookies), "X-CSRFToken": CSRF}
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def close(self) -> None:
        self._connection.close()

    def get(self, kind: str, path: str) -> str:
        return self._ask(kind, "GET", path, b"", {}, (200,))

    def post(self, kind: str, path: str, form: dict[str, str], expected: tuple[int, ...] = (302,)) -> str:
        encoded = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._ask(kind, "POST", path, urlencode(form).encode(), encoded, expected)

    def upload(self, kind: str, path: str, picture: bytes) -> str:
        head = (
            'Content-Disposition: form-data; name="picture_file"; filename="a.png"\r\nContent-Type: image/png'
        )
        body = b"--soak\r\n" + head.encode() + b"\r\n\r\n" + picture + b"\r\n--soak--\r\n"
        more = {"Content-Type": "multipart/form-data; boundary=soak", "HX-Request": "true"}
        return self._ask(kind, "POST", path, body, more, (200,))

    def _ask(
        self, kind: str, method: str, path: str, body: bytes, more: dict[str, str], expected: tuple[int, ...]
    ) -> str:
        """Ask once; return the page, or where a redirect leads."""
        began = time.monotonic()
        try:
            self._connection.request(method, path, body or None, self._headers | more)
            answer = self._connection.getresponse()
            page, status = answer.read(), answer.status
            where = answer.getheader("Location") or ""
        except (OSError, http.client.HTTPException):
            self._connection.close()
            page, status, where = b"", -1, ""
        wrong = 0 if status in expected else status
        self._note(Sample(kind, began, time.monotonic() - began, wrong, path))
        if wrong:
            raise Refused(f"{method} {path}: {status}")
        return where or page.decode()


class Refused(Exception):
    """A request was not answered as it should be; what would have followed it is left out."""


class Load:
    """Everybody at once, each in a thread of their own, until `stop`; `samples` are what they did."""

    def __init__(self, port: int, content: Content) -> None:
        self.samples: list[Sample] = []
        self._stop = threading.Event()
        self._content = content
        self._port = port
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin; the pauses make about 35 requests a second, which one process serves with ease."""
        for name in self._content.sessions:
            if name.startswith("shopper"):
                self._begin(name, 1.0, self._shop)
        for _ in range(3):
            self._begin("", 0.2, self._visit)
        self._begin("", 0.5, self._look)
        self._begin(EDITOR, 1.0, self._publish)
        self._begin(EDITOR, 3.0, self._illustrate)
        self._begin(OFFICE, 4.0, self._answer)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _begin(self, name: str, pause: float, act: Callable[[Browser, int], None]) -> None:
        browser = Browser(self._port, self._content.sessions.get(name, ""), self.samples.append)

        def run() -> None:
            for turn in itertools.count():
                with contextlib.suppress(Refused):
                    act(browser, turn)
                if self._stop.wait(pause):
                    return

        self._threads.append(threading.Thread(target=run, name=f"{name}-{act.__name__}", daemon=True))
        self._threads[-1].start()

    def _look(self, browser: Browser, turn: int) -> None:
        browser.get(CONTROL, "/healthz")

    def _visit(self, browser: Browser, turn: int) -> None:
        brand, deal = self._some(self._content.brands, turn), self._some(self._content.deals, turn)
        number = turn % DEALS
        pages = ("/", f"/brands/{brand}/", f"/deals/{deal}/lamp-{number}/", f"/search/?q=lamp+{number}")
        browser.get("public page", pages[turn % len(pages)])

    def _shop(self, browser: Browser, turn: int) -> None:
        """Like a brand, fill the cart, order."""
        from dealsite.data.table.ids import new_ulid

        brand = self._some(self._content.brands, turn // 2)
        browser.post("like", f"/brands/{brand}/{'unlike' if turn % 2 else 'like'}/", {})
        for number in range(LINES):
            offer = f"{self._some(self._content.deals, turn * LINES + number)}:9.90"
            form = {"offer": offer, "quantity": "1", "token": new_ulid(datetime.now(UTC))}
            browser.post("cart", "/cart/add/", form)
        page = browser.get("checkout", "/checkout/")
        hidden = dict(re.findall(r'name="(order|version|total)"\s+value="([^"]*)"', page))
        browser.post("order", "/checkout/", ADDRESS | hidden | {"country": "Germany", "plan": "1"})

    def _publish(self, browser: Browser, turn: int) -> None:
        """Look at the lists; publish a deal, every tenth with a message to who watches."""
        from dealsite.data.table.ids import new_ulid

        browser.get("CMS page", "/cms/deals/" if turn % 2 else "/cms/")
        form = {
            "title": f"Candle {turn}",
            "brand": f"Soak {turn % BRANDS}",
            "category": "",
            "price": "9.90",
            "link": f"https://shop.example/candles/{turn}",
            "description": "Bright, and quiet.",
            "version": "0",
            "action": "publish",
        }
        page = browser.get("CMS page", "/cms/deals/new/")
        form["category"] = re.findall(r'<option value="([a-z-]+)"', page.partition('name="category"')[2])[0]
        if turn % 10 == 0:
            form["announce"] = "on"
        browser.post("publish", f"/cms/drafts/{new_ulid(datetime.now(UTC))}/", form)

    def _illustrate(self, browser: Browser, turn: int) -> None:
        """Upload a picture, of which the worker makes smaller ones."""
        browser.upload("picture", "/cms/pictures/?noun=picture", _picture())

    def _answer(self, browser: Browser, turn: int) -> None:
        """Look at orders; ask a question; now and then want the list as a file."""
        from dealsite.data.table.ids import new_ulid

        browser.get("CMS page", "/cms/orders/")
        answer = browser.post("question", "/cms/ask/", {"sql": QUESTION, "title": ""})
        browser.get("CMS page", answer.partition("#")[0])
        if turn % 5 == 0:
            now = datetime.now(UTC)
            form = {"token": new_ulid(now), "address": "/cms/orders/?"}
            browser.post("export", "/cms/jobs/export/", form, (200, 302))

    @staticmethod
    def _some(names: list[str], turn: int) -> str:
        return names[turn % len(names)]


def _picture() -> bytes:
    """A picture that no other is equal to."""
    from PIL import Image

    file = io.BytesIO()
    Image.frombytes("RGB", (80, 60), os.urandom(80 * 60 * 3)).resize((800, 600)).save(file, "PNG")
    return file.getvalue()
