"""Cells of CSV files as spreadsheets open them, none taken for a formula; and numbers that come as text."""

import unicodedata


def number_in(text: str, *, most: int) -> int | None:
    """Return the number that a text of at most so many digits (0 to 9) writes, None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= most else None


FORMULA_SIGNS = frozenset("=+-@\N{MINUS SIGN}")
LEADING_BREAKS = ("\t", "\r", "\n")
UNSEEN = "CZM"  # categories of controls, formats, spaces and marks, which programs drop before they look


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
