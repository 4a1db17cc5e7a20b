"""How amounts and numbers are written for people, and cells that no spreadsheet takes for a formula."""

import unicodedata
from decimal import Decimal

from django.conf import settings
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

CURRENCY_SIGNS = {"EUR": "€", "GBP": "£", "USD": "$"}
FORMULA_SIGNS = frozenset("=+-@\N{MINUS SIGN}")
LEADING_BREAKS = ("\t", "\r", "\n")
UNSEEN = "CZM"  # categories of controls, formats, spaces and marks, which programs drop before they look


def money(amount: Decimal | None) -> str:
    """€1,299.00, in the site's currency and as the language writes it; nothing for no amount."""
    if amount is None:
        return ""
    return _with_currency(number_format(amount, 2, force_grouping=True))


def price(amount: Decimal | None) -> SafeString:
    """The same as money, with the cents set smaller."""
    if amount is None:
        return SafeString("")
    number = number_format(amount, 2, force_grouping=True)
    marked = format_html('{}<span class="price-cents">{}</span>', number[:-3], number[-3:])
    return SafeString(_with_currency(marked))


def percent(off: int | None) -> str:
    """−41%, as the language writes it; nothing for no reduction."""
    # Translators: how much a price is reduced by.
    return pgettext("reduction", "−%(percent)d%%") % {"percent": off} if off else ""


def _with_currency(number: str) -> str:
    # Translators: an amount of money, with the sign where the language puts it.
    amount = pgettext("money", "%(currency)s%(number)s")
    return (amount % {"currency": currency_sign(), "number": number}).rstrip()


def currency_sign() -> str:
    """The sign of the site's currency, or its name and a space."""
    currency = settings.DEALSITE_CURRENCY
    return CURRENCY_SIGNS.get(currency, f"{currency} ")


def grouped(number: int) -> str:
    """A number with its thousands apart, 100,000."""
    return number_format(number, force_grouping=True)


def number_in(text: str, *, most: int) -> int | None:
    """Return the number that a text of at most so many digits (0 to 9) writes, None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= most else None


def safe_cell(cell: object) -> str:
    """Return a cell as text that no spreadsheet takes for a formula: an apostrophe goes before what begins as one."""
    text = "" if cell is None else str(cell)
    return f"'{text}" if _looks_like_a_formula(text) else text


def unmarked(cell: str) -> str:
    """Return the text of which `safe_cell` made a cell."""
    return cell[1:] if cell.startswith("'") and _looks_like_a_formula(cell[1:]) else cell


def _looks_like_a_formula(text: str) -> bool:
    """Tell whether a text begins as a formula, behind apostrophes and what is not seen, in any width of its sign."""
    bare = text.lstrip("'")  # of its own, so that `unmarked` can tell them from ours
    if bare.startswith(LEADING_BREAKS):
        return True
    for character in bare:
        sign = unicodedata.normalize("NFKC", character)[:1]
        if unicodedata.category(sign)[0] not in UNSEEN and sign != "'":
            return sign in FORMULA_SIGNS
    return False
