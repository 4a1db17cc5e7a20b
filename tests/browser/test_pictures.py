"""Pictures of a form: chosen, dropped or pasted, sent at once; their focal point by mouse and by keyboard."""

from __future__ import annotations

import base64
import re

import pytest
from django.utils import timezone
from playwright.sync_api import FilePayload, Page, Route, expect

from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.deals import Deal
from dealsite.pictures import renditions
from dealsite.pictures.uploads import store_picture
from tests.browser.content import feature, now_deal
from tests.browser.deal_form import field, open_focal_point, picture_bytes, said
from tests.browser.flaws import flaws
from tests.jobs import run_next

GIVE = """([kind, data, name, type]) => {
    const bytes = Uint8Array.from(atob(data), character => character.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name, {type}));
    if (kind === "paste with text") transfer.setData("text/plain", "12.90");
    if (kind === "drop") {
        const target = document.querySelector("[data-picture-drop]");
        target.dispatchEvent(new DragEvent("dragover", {bubbles: true, cancelable: true, dataTransfer: transfer}));
        target.dispatchEvent(new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: transfer}));
    } else if (kind === "miss") {
        const missed = new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: transfer});
        document.querySelector("h1").dispatchEvent(missed);
        return missed.defaultPrevented;
    } else {
        document.querySelector("[name=title]").dispatchEvent(
            new ClipboardEvent("paste", {bubbles: true, cancelable: true, clipboardData: transfer}));
    }
}"""
NEW = "/cms/deals/new/"
# How much wider than drawn each picture is asked for, in percent: a browser takes `sizes` for its natural width.
OFF = """async () => {
    const off = {};
    for (const image of document.querySelectorAll("picture img, img[srcset]")) {
        if (!image.checkVisibility()) continue;
        image.loading = "eager";
        await image.decode();
        const style = getComputedStyle(image), shape = image.naturalWidth / image.naturalHeight;
        const width = image.clientWidth - 2 * parseFloat(style.paddingLeft);
        const height = image.clientHeight - 2 * parseFloat(style.paddingTop);
        const fit = { contain: Math.min, cover: Math.max }[style.objectFit];
        const drawn = fit ? fit(width, height * shape) : width;
        const more = Math.round(100 * (image.naturalWidth / drawn - 1));
        const sizes = (image.previousElementSibling ?? image).sizes;
        if (!(Math.abs(off[sizes]) > Math.abs(more))) off[sizes] = more;
    }
    return off;
}"""


def give(page: Page, kind: str, data: bytes | None = None, name: str = "drill.png", type_: str = "image/png"):
    """Drop or paste a file."""
    content = base64.b64encode(data if data is not None else picture_bytes()).decode()
    return page.evaluate(GIVE, [kind, content, name, type_])


def crops(page: Page):
    return page.locator("figure .crop img")


@pytest.mark.parametrize("kind", ["drop", pytest.param("paste", marks=pytest.mark.sample(quick=0, whole=3))])
def test_a_picture_is_sent_as_soon_as_it_is_dropped_or_pasted(editor_window, kind):
    page: Page = editor_window()
    page.goto(NEW)
    give(page, kind)
    expect(crops(page)).to_have_count(3)
    expect(page.locator("#announce")).to_have_text("The picture is there.")
    field(page, "Title").fill("Cordless drill")
    field(page, "Price").fill("a lot")
    field(page, "Text for the picture").fill("A drill in its case")
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_role("alert").first).to_be_visible()  # the price; the picture is not asked for again
    expect(crops(page)).to_have_count(3)
    field(page, "Price").fill("89.90")
    page.get_by_role("button", name="Save draft").click()
    expect(said(page, "The draft is saved.")).to_be_visible()
    draft = drafts.get(page.url.rstrip("/").rpartition("/")[2])
    assert draft.content.picture is not None
    assert (draft.content.picture.width, draft.content.picture.alt) == (800, "A drill in its case")


@pytest.mark.sample(quick=0, whole=3)
def test_a_picture_is_chosen_by_the_keyboard_and_sent_at_once(editor_window):
    page: Page = editor_window(alone=True)
    page.on(
        "filechooser", lambda chooser: None
    )  # from now on: Chromium is told a moment after one begins to listen
    page.goto(NEW)
    page.get_by_label("Picture", exact=False).and_(page.locator("input[type=file]")).focus()
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(FilePayload(name="drill.png", mimeType="image/png", buffer=picture_bytes()))
    expect(crops(page)).to_have_count(3)
    assert (
        page.locator("input[type=file]").evaluate("input => input.files.length") == 0
    )  # it is there already


@pytest.mark.sample(quick=0, whole=3)
def test_text_pasted_with_its_picture_stays_text(editor_window):
    page: Page = editor_window()
    page.goto(NEW)
    give(page, "paste with text")
    give(page, "paste")
    expect(crops(page)).to_have_count(3)
    assert (
        page.evaluate(
            "performance.getEntriesByType('resource').filter(e => e.name.includes('/cms/pictures/')).length"
        )
        == 1
    )


@pytest.mark.sample(quick=0, whole=3)
def test_a_file_that_misses_its_place_does_not_take_the_form_away(editor_window):
    page: Page = editor_window()
    page.goto(NEW)
    field(page, "Title").fill("Cordless drill")
    assert give(page, "miss") is True
    expect(field(page, "Title")).to_have_value("Cordless drill")
    expect(crops(page)).to_have_count(0)


@pytest.mark.sample(quick=0, whole=3)
def test_what_is_no_picture_is_said_beside_the_field(editor_window):
    page: Page = editor_window()
    page.goto(NEW)
    give(page, "drop", b"no picture", "notes.txt", "text/plain")
    expect(page.locator("#picture-error")).to_contain_text("This file is not a picture")
    give(page, "drop", b"\0" * 10_000_001)
    expect(page.locator("#picture-error")).to_contain_text("larger than 10 MB")
    give(page, "drop")
    expect(crops(page)).to_have_count(3)
    expect(page.locator("#picture-error")).to_be_empty()


@pytest.mark.sample(quick=0, whole=3)
def test_a_picture_that_cannot_be_sent_goes_along_with_the_form(editor_window, troubles):
    page: Page = editor_window()
    page.goto(NEW)

    def fail(route: Route) -> None:
        route.abort()

    page.route(re.compile("/cms/pictures/"), fail)
    give(page, "paste")
    expect(page.locator("#picture-error")).to_contain_text("could not be sent")
    troubles.found.clear()
    field(page, "Title").fill("Cordless drill")
    page.get_by_role("button", name="Save draft").click()
    expect(said(page, "The draft is saved.")).to_be_visible()
    expect(crops(page)).to_have_count(3)


def with_picture() -> Deal:
    return now_deal(title="Cordless drill", picture=store_picture(picture_bytes(), "A drill"))


@pytest.mark.sample(quick=0, whole=3)
def test_the_focal_point_is_set_by_the_arrow_keys(editor_window):
    deal = with_picture()
    page: Page = editor_window()
    page.goto(f"/cms/deals/{deal.id}/")
    open_focal_point(page)
    mark = page.get_by_role("button", name="Focal point")
    mark.focus()
    for key in ("ArrowLeft", "Shift+ArrowLeft", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.get_by_label("From the left, %")).to_have_value("39")
    expect(page.get_by_label("From the top, %")).to_have_value("51")
    expect(page.locator("#announce")).to_have_text("Focal point 39% from the left, 51% from the top")
    assert crops(page).first.evaluate("image => getComputedStyle(image).objectPosition") == "39% 51%"
    for _ in range(6):
        page.keyboard.press("Shift+ArrowLeft")
    expect(page.get_by_label("From the left, %")).to_have_value("0")
    page.get_by_role("button", name="Publish changes").click()
    expect(said(page, "The deal is saved.")).to_be_visible()
    picture = deals.get(deal.id).content.picture
    assert picture is not None
    assert (picture.focal_x, picture.focal_y) == (0, 51)
    page.goto(f"/deals/{deal.id}/cordless-drill/")
    shown = page.get_by_alt_text("A drill").first
    assert shown.evaluate("image => getComputedStyle(image).objectPosition") == "0% 50%"


@pytest.mark.sample(quick=0, whole=3)
def test_the_focal_point_is_set_by_clicking_and_dragging(editor_window):
    deal = with_picture()
    page: Page = editor_window()
    page.goto(f"/cms/deals/{deal.id}/")
    open_focal_point(page)
    picture = page.locator("[data-focal-picture]")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.4)
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + box["height"] * 0.25)
    page.mouse.up()
    expect(page.get_by_label("From the left, %")).to_have_value("20")
    expect(page.get_by_label("From the top, %")).to_have_value("25")


@pytest.mark.sample(quick=0, whole=3)
def test_without_script_the_focal_point_is_two_numbers_and_the_picture_goes_along(editor_window):
    page: Page = editor_window(script=False)
    page.goto(NEW)
    field(page, "Title").fill("Cordless drill")
    page.locator("input[type=file]").set_input_files(
        FilePayload(name="drill.png", mimeType="image/png", buffer=picture_bytes())
    )
    page.get_by_role("button", name="Save draft").click()
    expect(said(page, "The draft is saved.")).to_be_visible()
    expect(page.get_by_role("button", name="Focal point")).to_have_count(0)
    open_focal_point(page)
    page.get_by_label("From the left, %").fill("10")
    page.get_by_role("button", name="Save draft").click()
    expect(said(page, "The draft is saved.")).to_be_visible()
    assert crops(page).first.evaluate("image => getComputedStyle(image).objectPosition") == "10% 50%"


@pytest.mark.sample(quick=0, whole=3)
def test_a_deal_shows_avif_once_the_worker_has_made_it(editor_window):
    deal = with_picture()
    page: Page = editor_window()
    page.goto("/")
    shown = page.get_by_alt_text("A drill").first
    assert shown.evaluate("image => image.decode().then(() => image.currentSrc)").endswith(".webp")
    picture = deal.content.picture
    assert picture is not None
    renditions.make(picture.name)
    while run_next(now=timezone.now()):
        pass
    page.goto(f"/deals/{deal.id}/cordless-drill/")
    shown = page.get_by_alt_text("A drill").first
    assert shown.evaluate("image => image.decode().then(() => image.currentSrc)").endswith(".avif")


@pytest.mark.parametrize("width", [390, 1280, 1600])
def test_a_page_asks_for_pictures_as_wide_as_it_draws_them_and_for_its_first_one_once(editor_window, width):
    picture = store_picture(picture_bytes(), "A drill")
    renditions.make(picture.name)
    chosen = [
        now_deal(title=f"A drill with a long name and {n} batteries", picture=picture) for n in range(3)
    ]
    feature("front", chosen)
    feature("editors-choice", chosen)
    page: Page = editor_window(width=width, alone=True)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    card = chosen[0].card
    found = {}
    for path in (
        "/",
        "/?look=list",
        "/?look=cards",
        "/editors-choice/",
        f"/brands/{card.brand}/",
        "/cms/deals/",
    ):
        page.goto(path)
        found[path] = page.evaluate(OFF)
    shapes = page.locator(".thumb").evaluate_all("all => all.map(one => one.clientWidth / one.clientHeight)")
    assert shapes == [1] * len(chosen)
    page.goto(f"/deals/{card.id}/{card.slug}/")
    asked = "performance.getEntriesByType('resource').filter(e => e.name.includes('/media/')).length"
    assert page.evaluate(asked) == 1  # what the head preloads is what the page shows
    found["deal"] = page.evaluate(OFF)
    assert all(found.values())
    assert {(path, *one) for path, off in found.items() for one in off.items() if abs(one[1]) > 20} == set()
    assert said == []


@pytest.mark.sample(quick=0, whole=3)
def test_a_form_with_a_picture_is_flawless(editor_window):
    page: Page = editor_window()
    page.goto(f"/cms/deals/{with_picture().id}/")
    open_focal_point(page)
    expect(page.get_by_role("button", name="Focal point")).to_be_visible()
    assert flaws(page) == []
