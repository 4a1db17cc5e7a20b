"""What watches the windows sees what it should."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.flaws import flaws

POLICY = {"Content-Security-Policy": "default-src 'self'; img-src *"}
SCRIPTS = (
    '<!doctype html><title>x</title><script>document.title = "y"</script><script src="/broken.js"></script>'
)
PICTURES = (
    '<!doctype html><title>x</title><img src="/no/such.png"><img src="https://elsewhere.example/x.png">'
)
PALE = '<!doctype html><html lang=en><title>x</title><main><h1 style="color: #eee; width: 2000px">Pale</h1>'


def test_errors_refused_scripts_lost_files_and_calls_elsewhere_are_noticed(window, troubles):
    page: Page = window()
    page.context.route("https://elsewhere.example/**", lambda route: route.abort())
    page.route("**/broken.js", lambda route: route.fulfill(body="missing()", content_type="text/javascript"))
    page.route(
        "**/scripts/", lambda route: route.fulfill(body=SCRIPTS, headers=POLICY, content_type="text/html")
    )
    page.route("**/pictures/", lambda route: route.fulfill(body=PICTURES, content_type="text/html"))
    page.goto("/scripts/")
    page.goto("/pictures/")
    found, troubles.found = " ".join(troubles.found), []
    assert "Script error: missing is not defined" in found
    assert "Content Security Policy" in found
    assert "404 for" in found
    assert "A call elsewhere: https://elsewhere.example/x.png" in found


@pytest.mark.sample(quick=0, whole=3)
def test_what_is_hard_to_read_or_sticks_out_is_noticed(window):
    page: Page = window()
    page.route("**/pale/", lambda route: route.fulfill(body=PALE, content_type="text/html"))
    page.goto("/pale/")
    found = " ".join(flaws(page))
    assert "color-contrast" in found
    assert "sticks out by" in found
