"""The form of a deal, as an editor sees it."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping

from PIL import Image
from playwright.sync_api import FilePayload, Locator, Page, expect

TEXTS = {
    "Title": "Cordless drill, 18 V",
    "Link to the shop": "https://shop.example/drill",
    "Price": "89.90",
    "Compared with": "149.00",
    "Voucher code": "DRILL18",
    "Description": "Two batteries, **one** charger.",
}
CATEGORY = "Home & Furniture"


def field(page: Page, label: str) -> Locator:
    """Return the text field with a label, whether or not it is needed."""
    return page.get_by_role("textbox", name=re.compile(rf"^{re.escape(label)}( \(|$)"))


def brand_field(page: Page) -> Locator:
    """Return the field of the brand, which offers names where there is script."""
    return page.get_by_role("combobox", name=re.compile("^Brand")).or_(field(page, "Brand"))


def category_field(page: Page) -> Locator:
    """Return the field of the category, which offers the eight once its script has run: before, it is a select."""
    return page.get_by_role("combobox", name=re.compile("^Category")).and_(page.locator("input"))


def fill_in(page: Page, texts: Mapping[str, str] = TEXTS, *, brand: str = "", category: str = "") -> None:
    """Type texts into fields by their labels, and choose brand and category."""
    if "Voucher code" in texts:
        page.get_by_label("At a shop, with a code").check()
    for label, text in texts.items():
        field(page, label).fill(text)
    if brand:
        brand_field(page).fill(brand)
    if category:
        choose_category(page, category)


def choose_category(page: Page, name: str) -> None:
    """Choose a category, by typing its name where there is script."""
    select = page.get_by_role("combobox", name=re.compile("^Category")).and_(page.locator("select"))
    if select.is_visible():
        select.select_option(name)
        return
    category_field(page).fill(name)
    category_field(page).press("Enter")
    expect(page.get_by_role("listbox")).to_be_hidden()


def create_brand(page: Page, name: str) -> None:
    """Type the name of a brand that is to be created, and say so."""
    brand_field(page).fill(name)
    box = page.get_by_label("This is a new brand")
    if box.is_visible():
        box.check()
    else:
        page.get_by_role("option", name=f"Create “{name}”").click()


def picture_bytes() -> bytes:
    """Return a picture as a file holds it."""
    file = io.BytesIO()
    Image.new("RGB", (800, 600), "teal").save(file, "PNG")
    return file.getvalue()


def choose_picture(page: Page, alt: str, *, label: str = "Text for the picture") -> None:
    """Choose a picture, with its text."""
    page.locator("input[type=file]").set_input_files(
        FilePayload(name="picture.png", mimeType="image/png", buffer=picture_bytes())
    )
    field(page, label).fill(alt)


def open_focal_point(page: Page) -> None:
    """Unfold what says how the picture is cropped."""
    page.get_by_text("Focal point, crops, remove").click()


def said(page: Page, text: str) -> Locator:
    """Return the message that the site shows after something was done."""
    return page.locator("#messages").get_by_text(text)


def is_paste_taken(place: Locator, text: str) -> bool:
    """Paste a text into a field, and tell whether a script took it."""
    taken: bool = place.evaluate(
        """(field, text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text/plain", text);
            const options = { clipboardData, bubbles: true, cancelable: true };
            return !field.dispatchEvent(new ClipboardEvent("paste", options));
        }""",
        text,
    )
    return taken
