"""Looks at a page as people do: on a phone or on a desk, in the light or in the dark, and with axe's eyes."""

from __future__ import annotations

import os
from typing import Literal
from zlib import crc32

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

AXE = Axe().axe_script
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
EVERYTHING = {"runOnly": STANDARDS, "resultTypes": ["violations"], "selectors": False}
Scheme = Literal["light", "dark"]
LOOKS: list[tuple[int, Scheme]] = [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")]
# Of this width and in these colours, with all that it fetches by itself; asked for by a timer, since Chromium now and
# then draws no frame for a window at all.
IS_LAID_OUT = """([width, scheme]) => innerWidth === width
  && matchMedia(`(width: ${width}px) and (prefers-color-scheme: ${scheme})`).matches
  && matchMedia("(prefers-reduced-motion: reduce)").matches
  && document.fonts.status === "loaded"
  && !document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling, .htmx-added")
  && document.getAnimations().every((animation) => animation.playState !== "running")"""
VIOLATIONS = """options => axe.run(document, options).then(({ violations }) => violations.flatMap((rule) =>
  rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`)))"""
# Content that sticks out at the side, past what scrolls by itself.
OVERHANG = "document.documentElement.scrollWidth - innerWidth"


def drawn(name: str, of: int) -> int:
    """Return a number below another, which a name has for a day."""
    return crc32(f"{name} {os.environ['SEED']}".encode()) % of


def look_of_test() -> tuple[int, Scheme]:
    """Return the width and the theme in which the test that runs looks at pages."""
    test = os.environ["PYTEST_CURRENT_TEST"].partition(" (")[0].partition("@")[0]
    return LOOKS[drawn(test, len(LOOKS))]


def flaws(page: Page) -> list[str]:
    """Return what is wrong with the page that is open, in the look of this test; it is as wide as before then."""
    before = page.viewport_size
    page.wait_for_load_state()  # a page without its style sheet has other flaws
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    width, scheme = look_of_test()
    lay_out(page, width, scheme)
    page.evaluate("scrollTo(0, 0)")  # where a bar that sticks lies over nothing
    found = page.evaluate(VIOLATIONS, EVERYTHING)
    overhang = page.evaluate(OVERHANG)
    if overhang > 0:
        found.append(f"sticks out by {overhang} pixels")
    if before:
        page.set_viewport_size(before)
    return [f"{page.url} ({width} wide, {scheme}): {flaw}" for flaw in found]


def lay_out(page: Page, width: int, scheme: Scheme) -> None:
    """Make the page that is open so wide, in these colours, and wait until it is."""
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.wait_for_function(IS_LAID_OUT, arg=[width, scheme], polling=50)
