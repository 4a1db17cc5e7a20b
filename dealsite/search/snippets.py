"""The words of a description that somebody looked for, marked, where the title does not say them already."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from dealsite.data.catalogue.cards import DealCard
from dealsite.search.words import fold, stem, words_of

BEFORE, AFTER = 40, 110  # characters around the first word found
ENDING = 4  # letters that an ending may have


def snippet(description: str, card: DealCard, words: Sequence[str]) -> SafeString:
    """Return a piece of a plain description as HTML, or '' where title and brand hold every word."""
    said = {stem(word) for word in words_of(f"{card.title} {card.brand_name}")}
    wanted = tuple(root for root in map(stem, words) if root not in said)
    folded = fold(description)
    if not wanted or len(folded) != len(description):  # else no place in one is one in the other
        return SafeString("")
    pattern = _pattern(wanted)
    first = pattern.search(folded)
    if first is None:
        return SafeString("")
    start, end = _bounds(description, first.start(), first.end())
    html, position = ["…" if start else ""], start
    for match in pattern.finditer(folded, start, end):
        html += [escape(description[position : match.start()]), "<mark>"]
        html += [escape(description[match.start() : match.end()]), "</mark>"]
        position = match.end()
    html += [escape(description[position:end]), "…" if end < len(description) else ""]
    return mark_safe("".join(html))  # noqa: S308 - all but the marks is escaped above


@lru_cache(maxsize=512)
def _pattern(roots: tuple[str, ...]) -> re.Pattern[str]:
    """Matches each word that is one of these with an ending."""
    choices = "|".join(map(re.escape, roots))
    return re.compile(rf"(?<![^\W_])(?:{choices})[^\W_]{{0,{ENDING}}}(?![^\W_])")


def _bounds(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return where the piece around a word begins and ends, between words."""
    start = max(begin - BEFORE, 0)
    if start:
        start = text.find(" ", start, begin) + 1 or begin
    stop = end + AFTER
    if stop < len(text):
        stop = max(text.rfind(" ", end, stop), end)
    return start, min(stop, len(text))
