"""An address as somebody types it into the form of an order."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

ADDRESS = {
    "Name": "Ada Ash",
    "Street and house number": "1 High Street",
    "Postcode": "10115",
    "Town": "Berlin",
}


def type_address(page: Page, street: str = ADDRESS["Street and house number"]) -> None:
    """Fill in an address in Germany, its country first; without script the page has the fields of any country."""
    page.get_by_label("Country").select_option(label="Germany")
    expect(page.locator(".htmx-request, .htmx-settling, .htmx-added")).to_have_count(0)
    for label, text in (ADDRESS | {"Street and house number": street}).items():
        page.get_by_label(re.compile(rf"^\s*{label}")).fill(text)
