"""Looks at a page as people do: on a phone and on a desk, in the light and in the dark, and with axe's eyes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

AXE = Axe().axe_script
STANDARDS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
EVERYTHING = {"runOnly": STANDARDS, "resultTypes": ["violations"], "selectors": False}
# What a size or a theme can change; the rest is the same page.
LOOKS = {"runOnly": ["color-contrast", "target-size", "link-in-text-block", "scrollable-region-focusable"]}
Scheme = Literal["light", "dark"]
View = tuple[int, Scheme, dict[str, Any]]  # width, theme, what axe is asked for
PHONE: View = (390, "light", EVERYTHING)
DESK: View = (1280, "dark", LOOKS)
FIRST_VIEWS = [PHONE]
OTHER_VIEWS: list[View] = [DESK, (390, "dark", LOOKS), (1280, "light", LOOKS)]
VIEWS = FIRST_VIEWS + OTHER_VIEWS
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


def flaws(page: Page, views: Sequence[View] = VIEWS) -> list[str]:
    """Return what is wrong with the page that is open, in some sizes and themes."""
    page.wait_for_load_state()  # a page without its style sheet has other flaws
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = []
    for width, scheme, options in views:
        lay_out(page, width, scheme)
        where = f"{page.url} ({width} wide, {scheme})"
        found += [f"{where}: {flaw}" for flaw in page.evaluate(VIOLATIONS, options)]
        overhang = page.evaluate(OVERHANG)
        if overhang > 0:
            found.append(f"{where}: sticks out by {overhang} pixels")
    return found


def lay_out(page: Page, width: int, scheme: Scheme) -> None:
    """Make the page that is open so wide, in these colours, and wait until it is."""
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.wait_for_function(IS_LAID_OUT, arg=[width, scheme], polling=50)
