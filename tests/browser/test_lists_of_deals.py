"""Lists of deals as a visitor scrolls, clicks, goes back, and listens."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.template.loader import render_to_string
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from tests.browser.content import MINUTE, feature, now_deal
from tests.browser.troubles import Troubles
from tests.builders import DAY

LATER = timezone.now() + 20 * DAY
# How far things moved while the page came, as browsers count it (CLS).
MOVES = """
window.moved = 0;
new PerformanceObserver((list) => { for (const one of list.getEntries()) window.moved += one.value; })
  .observe({ type: "layout-shift", buffered: true });
"""
PAINTED = (
    "new Promise(done => new PerformanceObserver(() => done()).observe({ type: 'paint', buffered: true }))"
)
pytestmark = pytest.mark.usefixtures("site")
Window = Callable[..., Page]
# Not Playwright's own way, which asks for a frame: Chromium now and then draws none for a window.
IN_VIEW = "card => { const { top, bottom } = card.getBoundingClientRect(); return bottom > 0 && top < innerHeight; }"


def make_deals(count: int) -> list[str]:
    """Publish deals a minute apart; returns their ids, newest first."""
    return [now_deal(age=MINUTE * (n + 1), title=f"Deal number {n}").id for n in range(count)]


def shown(page: Page) -> list[str]:
    """The ids of the deals in the list."""
    return page.locator("#deal-list [data-deal]").evaluate_all(
        "cards => cards.map(card => card.dataset.deal)"
    )


def scroll_down(page: Page, until: int) -> None:
    """Scroll to the end, page after page, until so many deals are there."""
    shown_now = len(shown(page))
    while shown_now < until:
        shown_now = min(shown_now + 25, until)
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        expect(page.locator("#deal-list > li")).to_have_count(shown_now)


@pytest.mark.parametrize(("width", "height", "most"), [(1280, 900, 14), (390, 844, 5)])
def test_the_first_screen_is_full_of_prices_and_nothing_moves_in_it(
    window: Window, width: int, height: int, most: int
):
    deals = [now_deal(title=f"Lamp number {n}, with a shade", expires_at=LATER) for n in range(20)]
    feature("front", deals[:5])
    page = window()
    page.set_viewport_size({"width": width, "height": height})
    page.add_init_script(MOVES)
    fonts: list[Route] = []
    page.route("**/*.woff2", lambda route: fonts.append(route))  # they come late
    with page.expect_request("**/*.woff2"):
        page.goto("/", wait_until="domcontentloaded")
    page.evaluate(PAINTED)
    for late in fonts:
        late.continue_()
    page.evaluate("document.fonts.ready.then(() => 0)")
    prices = page.locator(".price-now").evaluate_all(
        """all => all.map(one => one.getBoundingClientRect())
            .filter(({ right, bottom }) => right <= innerWidth && bottom <= innerHeight).length"""
    )
    assert prices >= most
    assert page.evaluate("window.moved") < 0.02
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_scrolling_brings_the_next_pages_and_says_so(window: Window):
    ids = make_deals(60)
    page = window()
    page.goto("/")
    assert shown(page) == ids[:25]
    scroll_down(page, 50)
    expect(page.locator("#announce")).to_have_text("More deals loaded: 25.")
    scroll_down(page, 60)
    assert shown(page) == ids
    expect(page.locator("#announce")).to_have_text("More deals loaded: 10. These were all the deals.")
    expect(page.locator("#pager [data-next]")).to_have_count(0)


@pytest.mark.sample(quick=0, whole=3)
def test_after_four_pages_the_visitor_asks_and_the_focus_goes_to_the_first_new_deal(window: Window):
    ids = make_deals(130)
    page = window()
    page.goto("/")
    scroll_down(page, 100)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(300)
    assert len(shown(page)) == 100
    page.locator("#pager-next").press("Enter")
    expect(page.locator("#deal-list > li")).to_have_count(125)
    focused = page.evaluate("document.activeElement.closest('[data-deal]')?.dataset.deal")
    assert focused == ids[100]


@pytest.mark.sample(quick=0, whole=3)
def test_back_from_a_deal_returns_to_its_card(window: Window):
    ids = make_deals(90)
    page = window()
    page.goto("/")
    scroll_down(page, 75)
    page.locator(f'[data-deal="{ids[60]}"] .offer-link').click()
    page.wait_for_url("**/deals/**")
    page.go_back()
    page.wait_for_url(f"**/?after={ids[49]}")
    card = page.locator(f'[data-deal="{ids[60]}"]')
    page.wait_for_function(IN_VIEW, arg=card.element_handle(), polling=50)
    expect(card.locator(".offer-link")).to_be_focused()
    page.wait_for_timeout(700)
    assert page.evaluate(IN_VIEW, card.element_handle())


@pytest.mark.sample(quick=0, whole=3)
def test_without_script_plain_links_and_back_do_it(window: Window):
    ids = make_deals(60)
    page = window(script=False)
    page.goto("/")
    page.get_by_role("link", name="Next deals").click()
    page.wait_for_url(f"**/?after={ids[24]}")
    page.get_by_role("link", name="Next deals").click()
    page.wait_for_url(f"**/?after={ids[49]}")
    page.get_by_role("link", name="Previous deals").first.click()
    page.wait_for_url(f"**/?before={ids[50]}")
    page.go_back()
    page.wait_for_url(f"**/?after={ids[49]}")
    expect(page.locator("[data-theme-toggle]")).to_be_hidden()


@pytest.mark.sample(quick=0, whole=3)
def test_a_click_for_a_new_tab_opens_a_new_tab(window: Window):
    ids = make_deals(130)
    page = window()
    page.goto("/")
    scroll_down(page, 100)
    with page.context.expect_page() as opened:
        page.locator("#pager-next").click(modifiers=["Control"])
    assert opened.value.url.endswith(f"/?after={ids[99]}")
    assert len(shown(page)) == 100


@pytest.mark.sample(quick=0, whole=3)
@pytest.mark.parametrize("status", [500, 429, 503])
def test_a_page_that_cannot_be_loaded_is_noted_and_the_list_stays(
    window: Window, troubles: Troubles, status: int
):
    ids = make_deals(30)
    page = window()
    troubles.allowed.add(status)
    body = render_to_string(f"{status}.html")
    page.goto("/brands/nordlicht/")
    page.route("**/?after=*", lambda route: route.fulfill(status=status, content_type="text/html", body=body))
    page.locator("#pager-next").dispatch_event("click")  # does not scroll, which would ask once more
    note = page.get_by_role("alert")
    expect(note).to_contain_text("try again")
    assert shown(page) == ids[:25]
    page.keyboard.press("Escape")
    expect(note).to_be_hidden()
    troubles.found.clear()  # htmx says in the console what this test brought about


def test_a_broken_connection_is_noted_until_it_is_back(window: Window, troubles: Troubles):
    make_deals(30)
    page = window()
    broken = True

    def answer(route: Route) -> None:
        if broken:
            route.abort()
        else:
            route.continue_()

    page.route("**/?after=*", answer)
    page.goto("/brands/nordlicht/")
    page.locator("#pager-next").dispatch_event("click")  # does not scroll, which would ask once more
    expect(page.get_by_role("alert")).to_contain_text("did not answer")
    broken = False
    page.locator("#pager-next").dispatch_event("click")  # does not scroll, which would ask once more
    expect(page.locator("#deal-list > li")).to_have_count(30)
    expect(page.get_by_role("alert")).to_be_hidden()
    troubles.found.clear()  # htmx says in the console what this test brought about


def test_long_words_are_cut_where_they_end_and_whole_on_the_page_of_the_deal(window: Window):
    long = "Schifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaftsuniformknopfsammlung"
    words = "20 % off all shoes and boots of the whole winter season now"
    now_deal(title="Lamp", was_price=None, voucher_code=long[:60])
    now_deal(title="Sofa", voucher_code="COPPERLE10", link="https://a-shop-with-a-long-name.example/")
    shoes = now_deal(title=long, price=None, was_price=None, condition=words, link="https://shop.example/")
    page = window()
    for width, address in ((320, "/"), (1280, "/"), (1280, "/?look=list")):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(address)
        assert page.locator(".offer-link").evaluate_all("""links => links.every(link =>
            link.getClientRects()[0].bottom <= link.closest("h3").getBoundingClientRect().bottom + 2)""")
        assert page.locator(".price-said .code").evaluate("""code =>
            code.getBoundingClientRect().right <= code.closest("p").getBoundingClientRect().right""")
        assert page.locator(".offer-foot .code").evaluate("code => code.scrollWidth <= code.clientWidth")
    page.set_viewport_size({"width": 320, "height": 900})
    page.goto(f"/deals/{shoes.id}/")
    shown = page.locator(".price-large .price-words")
    assert shown.evaluate("said => said.scrollHeight <= said.clientHeight")
