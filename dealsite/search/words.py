"""Words as they are indexed, asked for and shown: case, accents and punctuation folded, the same way everywhere."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache

import tantivy
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from rapidfuzz import fuzz

from dealsite.data.catalogue.cards import DealCard
from dealsite.data.names import UNSEEN

# Scripts that set no spaces between words: kana and Han, Thai, Lao, Myanmar and Khmer, with the marks of their vowels.
UNSPACED = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3105-\u312f"
    "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u109d\u1780-\u17d3"
)
RUN = re.compile(rf"[{UNSPACED}]+")
LETTERS = rf"[^\W_{UNSPACED}]+"
WORD = re.compile(rf"[{UNSPACED}]+|{LETTERS}")
# Accents, and what is not seen but for selectors behind emoji: without them places in a text would move.
MARKS = re.compile(rf"(?:[\u0300-\u036f{UNSEEN}](?<![\ufe0e\ufe0f]))+")
# Words that hyphens, dots or apostrophes hold together; people also write them as one word, or apart.
COMPOUND = re.compile(rf"[{UNSPACED}]+|{LETTERS}(?:[-.'’\u2010\u2011]{LETTERS})*")
PARTS = re.compile(r"\d+|[^\W\d_]+")
BEFORE, AFTER = 40, 110  # characters of a snippet around the first word found
LETTERS_FOR_A_TYPO = 4
SPELT_ALIKE = 75  # percent of the letters of what is left of two titles without the words that both have
ENDING = 4  # letters that an ending may have
MOST_CHARACTERS = 200  # of a word, and of what is looked for: nothing longer can be asked whole

STOP_WORDS = {
    *("a", "an", "and", "at", "by", "for", "from", "in", "is"),
    *("it", "of", "on", "or", "that", "the", "this", "to", "with"),
}


def fold(text: str) -> str:
    """Return text in small letters without accents; look-alikes of a letter become that letter."""
    if text.isascii():
        return text.lower()
    folded = MARKS.sub("", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFKC", folded)


def words_of(text: str) -> list[str]:
    """Return a text's words, folded; of writing without spaces each character with the one after it."""
    return [part for word in WORD.findall(fold(text)) for part in (pairs(word) or [word[:MOST_CHARACTERS]])]


def pairs(run: str) -> list[str]:
    """Return each character of a run without spaces with the one after it, the last alone; nothing for other words."""
    return [run[n : n + 2] for n in range(len(run))] if RUN.match(run) else []


def other_spellings(text: str) -> list[str]:
    """Return what a text's words are also looked for by: `wi-fi` as wifi, `rtx4070` as rtx and 4070."""
    found = []
    for compound in COMPOUND.findall(fold(text)):
        parts = WORD.findall(compound)
        if len(parts) > 1:
            found.append("".join(parts))
        found += [piece for part in parts for piece in pieces(part)]
    return [word[:MOST_CHARACTERS] for word in found]


def pieces(word: str) -> list[str]:
    """Return the letters and the digits of a word that holds both; nothing for any other word."""
    parts = PARTS.findall(word)
    return parts if len(parts) > 1 and not RUN.match(word) else []


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return an English word without its ending: keyboards and keyboard are one."""
    stems = _ANALYSER.analyze(word)
    return stems[0] if stems else word


def closest(word: str, said: Sequence[str]) -> str:
    """Return which of some words a word may be a typo of, or itself; digits are none."""
    if len(word) < LETTERS_FOR_A_TYPO or RUN.match(word) or any(c.isdigit() for c in word):
        return word
    return next(iter(get_close_matches(word, said, 1)), word)


def is_said(word: str, said: Iterable[str]) -> bool:
    """Tell whether a word, or one that begins so, is among some words."""
    return any(stem(other) == stem(word) or other.startswith(word) for other in said)


def is_near(title: str, other: str, brand_name: str) -> bool:
    """Tell whether two titles of a brand are the same but for its name, the order, spelling, or a few more words.

    Other numbers make another product, and so do other words: black and white.
    """
    one, two = (Counter(_parts(text, brand_name)) for text in (title, other))
    mine, theirs, shared = one - two, two - one, (one & two).total()
    if any(part.isdigit() for part in (*mine, *theirs)):
        return False
    if mine and theirs:
        return shared > 0 and fuzz.ratio("".join(mine), "".join(theirs)) >= SPELT_ALIKE
    return 2 * (mine + theirs).total() <= shared


def _parts(title: str, brand_name: str) -> Iterator[str]:
    """Yield the words of a title without its brand's name; 18v is 18 and v."""
    without = {*words_of(brand_name)}
    for word in words_of(title):
        if word not in without:
            yield from PARTS.findall(word) or [word]


def plain_analyser() -> tantivy.TextAnalyzer:
    """Takes folded words apart at their spaces."""
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


def stemming_analyser() -> tantivy.TextAnalyzer:
    """The same, and takes their endings away."""
    analyser = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return analyser.filter(tantivy.Filter.stemmer("english")).build()


_ANALYSER = stemming_analyser()


def snippet(description: str, card: DealCard, words: Sequence[str]) -> SafeString:
    """Return a piece of a plain description as HTML, or '' where title and brand hold every word."""
    shown = f"{card.title} {card.brand_name}"
    said, runs = {stem(word) for word in words_of(shown)}, fold(shown)
    wanted = tuple(
        root for root in map(stem, words) if root not in said and not (RUN.match(root) and root in runs)
    )
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
    """Matches each word that is one of these with an ending, and runs without spaces wherever they stand."""
    whole, ending = r"(?<![^\W_])", rf"[^\W_]{{0,{ENDING}}}(?![^\W_])"
    choices = (root if RUN.match(root) else f"{whole}{re.escape(root)}{ending}" for root in roots)
    return re.compile("|".join(choices))


def _bounds(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return where the piece around a word begins and ends, between words."""
    start = max(begin - BEFORE, 0)
    if start:
        start = text.find(" ", start, begin) + 1 or begin
    stop = end + AFTER
    if stop < len(text):
        stop = max(text.rfind(" ", end, stop), end)
    return start, min(stop, len(text))
