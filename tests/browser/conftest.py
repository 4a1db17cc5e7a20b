"""What browser tests share: one Chromium and one server a session, an empty site and new windows for each test."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.core.handlers.wsgi import WSGIHandler
from django.core.servers.basehttp import ThreadedWSGIServer
from django.test.testcases import QuietWSGIRequestHandler
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from dealsite.accounts import passwords, requests
from dealsite.data.catalogue import categories
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.people import sessions, users
from dealsite.data.people.users import User
from dealsite.install import system
from dealsite.web import page_cache
from tests import people
from tests.browser.flaws import look_of_test
from tests.browser.troubles import Troubles
from tests.browser.windows import PATIENCE, Window, Windows

PASSWORD = "correct horse battery"
WITHOUT_BACKGROUND = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-gpu",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
]
# The address bar of each window is a page of its own that nobody sees, and takes half of a short test. The others are
# those that Playwright leaves out: the last list that Chromium is given counts.
WITHOUT_FEATURES = [
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup"),
    *("AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"),
    *("HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding"),
    *("ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints"),
    *("NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch"),
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture
def width() -> int:
    """The width of a phone or of a desk: another each day."""
    return look_of_test()[0]


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Drives browsers."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """The one browser of this session of tests."""
    program = system.chromium()
    assert program, "There is no Chromium: run make setup-dev, or install Debian's package chromium."
    arguments = [*WITHOUT_BACKGROUND, f"--disable-features={','.join(WITHOUT_FEATURES)}"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    browser = playwright.chromium.launch(executable_path=program, args=arguments)
    expect.set_options(timeout=PATIENCE)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The site's address; its threads are this process's, so that tests can change its settings and its clock."""
    server = ThreadedWSGIServer(("127.0.0.1", 0), QuietWSGIRequestHandler, allow_reuse_address=False)
    server.request_queue_size = 100
    server.set_app(WSGIHandler())
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def address(server: str, settings: Any, tmp_path: Path) -> str:
    """The server's address, which the site knows for its own; pictures go into a folder of this test's."""
    settings.DEALSITE_URL = server
    settings.MEDIA_ROOT = tmp_path / "media"
    page_cache.forget()
    category_names.forget()
    return server


@pytest.fixture
def site(whole_table: None, address: str) -> str:
    """An empty site with its eight categories; gives its address."""
    categories.create_all()
    return address


@pytest.fixture
def troubles(address: str) -> Iterator[Troubles]:
    """What windows do wrong; a test that ends with some has failed."""
    troubles = Troubles(address)
    yield troubles
    assert troubles.found == []


@pytest.fixture(scope="session")
def windows(chromium: Browser, server: str) -> Windows:
    """The windows that one test after the other uses."""
    return Windows(chromium, server)


@pytest.fixture
def window(windows: Windows, address: str, troubles: Troubles) -> Iterator[Callable[..., Page]]:
    """A function that opens a window of a new visitor, or of a user who is signed in.

    Test after test uses the same few windows, emptied of what they kept. One that is opened `alone`, or with options
    of its own, is closed for good: a test asks for that where it listens to the page or sets the page's clock.
    """
    opened: list[Window] = []

    def open_window(
        user: User | None = None,
        *,
        width: int = 1280,
        script: bool = True,
        alone: bool = False,
        **options: Any,
    ) -> Page:
        one = windows.open(script=script, **options) if alone or options else windows.take(script=script)
        opened.append(one)
        one.page.set_viewport_size({"width": width, "height": 844 if width < 768 else 800})
        if user:
            sign_in(one.context, user, address)
        troubles.watch(one.context)
        return one.page

    yield open_window
    for one in opened:
        troubles.leave(one.context)
        windows.put_back(one)


@pytest.fixture
def editor_window(site: str, window: Callable[..., Page]) -> Callable[..., Page]:
    """A function that opens a window of the editor eve, or of another."""

    def open_window(username: str = "eve", *, timezone: str = "", **options: Any) -> Page:
        user = users.find(username) or people.make_user(username, roles=["editor"], timezone=timezone)
        return window(user, **options)

    return open_window


def new_session(user: User) -> str:
    """Begin a session of a user; return what its cookie holds."""
    key = requests.new_key()
    sessions.start(user, key=key, user_agent="", address="127.0.0.1", now=timezone.now())
    return f"{user.username}:{key}"


def sign_in(context: BrowserContext, user: User, address: str) -> None:
    """Give a browser a session without the form."""
    cookie = {"name": site_settings.SESSION_COOKIE_NAME, "value": new_session(user), "url": address}
    context.add_cookies([cookie])  # type: ignore[list-item]


def sign_in_by_form(page: Page, name: str, password: str = PASSWORD) -> None:
    """Fill in the sign-in form of the page and send it."""
    page.get_by_label("User name or e-mail").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def make_user(username: str, **more: Any) -> User:
    """Create a user whose password is PASSWORD."""
    return people.make_user(username, password=passwords.hashed(PASSWORD), now=timezone.now(), **more)


def titles(page: Page, within: str = "") -> list[str]:
    """Return the titles of the deal cards of a page, or of a part of it, in order."""
    return page.locator(f"{within} .offer-link".strip()).all_inner_texts()
