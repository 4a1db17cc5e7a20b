"""Numbers that come as text: in a field, a button or an address, where anything may stand."""


def number_in(text: str, *, most: int) -> int | None:
    """Return the number that a text of at most so many digits (0 to 9) writes, None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= most else None
