"""Windows that tests use one after the other: a new one costs more than most of what a test does in it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, BrowserContext, CDPSession, Error, Page

PATIENCE = 15_000  # milliseconds; a busy machine is slow, a broken page is broken for good
USUAL: dict[str, Any] = {"locale": "en-GB", "timezone_id": "UTC", "viewport": {"width": 1280, "height": 800}}
# The page that a test leaves saves nothing any more, and does not say that it was left.
SILENCE = """() => {
  for (const name of ["beforeunload", "pagehide", "visibilitychange"]) {
    window.addEventListener(name, (event) => event.stopImmediatePropagation(), true);
  }
  sessionStorage.clear();
}"""
PAINTED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
EMPTY = (
    "/robots.txt"  # of the site: a page of somewhere else would end the process that shows the site's pages
)


def press_when_shown(page: Page) -> None:
    """Let keys wait until their page has run its scripts and is painted: Chromium drops those that come before."""
    keyboard = page.keyboard
    press = keyboard.press

    def wait_and_press(key: str, **options: float) -> None:
        page.wait_for_load_state()
        with suppress(Error):  # another page comes just now
            page.evaluate(PAINTED)
        press(key, **options)

    keyboard.press = wait_and_press  # type: ignore[method-assign]


@dataclass(frozen=True)
class Window:
    """A window with a cookie jar of its own."""

    context: BrowserContext
    page: Page
    devtools: CDPSession | None  # none: it is closed after its test
    script: bool


class Windows:
    """Opens windows, and keeps those that the next test can use."""

    def __init__(self, chromium: Browser, address: str) -> None:
        self.chromium = chromium
        self.address = address
        self.free: list[Window] = []

    def take(self, *, script: bool) -> Window:
        """Return a window with the usual options that no test uses just now."""
        for window in self.free:
            if window.script == script:
                self.free.remove(window)
                return window
        return self.open(script=script, kept=True)

    def open(self, *, script: bool, kept: bool = False, **options: Any) -> Window:
        """Open a new window."""
        context = self.chromium.new_context(
            java_script_enabled=script, **({"base_url": self.address} | USUAL | options)
        )
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        if script:
            press_when_shown(page)
        return Window(context, page, context.new_cdp_session(page) if kept else None, script)

    def put_back(self, window: Window) -> None:
        """Empty a window that a test used and keep it, or close it."""
        try:
            if window.devtools:
                self._empty(window, window.devtools)
                self.free.append(window)
                return
        except Error:  # the test closed or broke it
            pass
        window.context.close()

    def _empty(self, window: Window, devtools: CDPSession) -> None:
        """Take from a window what its test left in it."""
        page = window.page
        for other in window.context.pages:
            if other != page:
                other.close()
        page.unroute_all()
        window.context.unroute_all()
        if window.script:
            page.evaluate(SILENCE)
        page.goto(EMPTY)
        page.emulate_media(media="null", color_scheme="null", reduced_motion="null")
        devtools.send("Storage.clearDataForOrigin", {"origin": self.address, "storageTypes": "all"})
        window.context.clear_cookies()
