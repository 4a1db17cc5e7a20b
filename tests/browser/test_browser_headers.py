"""What answers say to Chromium is understood: features are shut, and Back shows nothing after signing out."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dealsite.middleware import DENIED, OWN
from dealsite.pictures.uploads import store_picture, url
from tests.browser.conftest import make_user, sign_in_by_form
from tests.browser.deal_form import picture_bytes
from tests.builders import make_deal

# Whether a file came over the network, and not from the cache.
FETCHED = """async (url) => {
  performance.clearResourceTimings();
  await (await fetch(url)).arrayBuffer();
  while (true) {
    const [entry] = performance.getEntriesByName(new URL(url, location.href).href);
    if (entry) return entry.transferSize > 0;
    await new Promise((resume) => setTimeout(resume, 10));
  }
}"""
ALLOWED = "names => names.filter((name) => document.featurePolicy.allowsFeature(name))"


@pytest.mark.sample(quick=0, whole=3)
def test_chromium_knows_every_feature_and_shuts_those_that_no_page_uses(site, window):
    """It warns of one that it does not know, and a window that warns has failed."""
    page: Page = window()
    page.goto("/account/sign-in/")
    known = page.evaluate("document.featurePolicy.features()")
    assert {*DENIED, *OWN} <= set(known)
    assert page.evaluate(ALLOWED, [*DENIED, *OWN]) == [*OWN]


@pytest.mark.sample(quick=0, whole=3)
def test_signing_out_empties_the_browsers_cache(site, window):
    picture = url(store_picture(picture_bytes(), "A square"), 480)
    make_user("ada")
    page: Page = window(alone=True)
    page.goto("/account/sign-in/")
    sign_in_by_form(page, "ada")
    expect(page.locator("header summary").filter(has_text="account menu")).to_be_visible()
    assert [page.evaluate(FETCHED, picture) for _ in range(3)] == [True, False, False]
    page.locator("header summary").filter(has_text="account menu").click()
    page.locator("header").get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    assert page.evaluate(FETCHED, picture)


def test_back_shows_nothing_of_an_account_after_signing_out(site, window):
    make_deal(title="A lamp")
    make_user("ada")
    page: Page = window(alone=True)
    page.goto("/account/sign-in/")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    sign_in_by_form(page, "ada")
    expect(page.locator("header summary").filter(has_text="account menu")).to_be_visible()
    for path in ("/account/profile/", "/", "/account/orders/"):
        page.goto(path)
    cookies = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    page.locator("header summary").filter(has_text="account menu").click()
    page.locator("header").get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{site}/")
    expect(page.get_by_role("link", name="Sign in")).to_be_visible()
    left = {cookie["name"]: cookie["value"] for cookie in page.context.cookies()}
    assert {name.split("-")[0] for name in cookies.keys() - left.keys()} == {"session"}
    assert left.items() <= cookies.items()
    assert page.evaluate("localStorage.getItem('theme')") == "dark"
    for _ in range(3):
        page.go_back()
        expect(
            page.get_by_role("link", name="Sign in").or_(page.get_by_label("Password", exact=True)).first
        ).to_be_visible()
        expect(page.locator("header summary").filter(has_text="account menu")).to_have_count(0)
        assert "ada@example.org" not in page.content()
