"""Words as they are indexed and asked for: case, accents and punctuation folded, the same way on both sides."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import tantivy

WORD = re.compile(r"[^\W_]+")
MARKS = re.compile("[\u0300-\u036f]+")
# Words that hyphens, dots or apostrophes hold together; people also write them as one word, or apart.
COMPOUND = re.compile(r"[^\W_]+(?:[-.'’\u2010\u2011][^\W_]+)*")
PARTS = re.compile(r"\d+|[^\W\d_]+")
MOST_CHARACTERS = 40  # of a word: what is longer is no word that anybody looks for

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
    """Return a text's words, folded."""
    return [word for word in WORD.findall(fold(text)) if len(word) <= MOST_CHARACTERS]


def other_spellings(text: str) -> list[str]:
    """Return what a text's words are also looked for by: `wi-fi` as wifi, `rtx4070` as rtx and 4070."""
    found = []
    for compound in COMPOUND.findall(fold(text)):
        parts = WORD.findall(compound)
        if len(parts) > 1:
            found.append("".join(parts))
        found += [piece for part in parts for piece in pieces(part)]
    return [word for word in found if len(word) <= MOST_CHARACTERS]


def pieces(word: str) -> list[str]:
    """Return the letters and the digits of a word that holds both; nothing for any other word."""
    parts = PARTS.findall(word)
    return parts if len(parts) > 1 else []


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return an English word without its ending: keyboards and keyboard are one."""
    stems = _ANALYSER.analyze(word)
    return stems[0] if stems else word


def join(words: Iterable[str]) -> str:
    """Return words as the text that the index takes apart at its spaces."""
    return " ".join(words)


def plain_analyser() -> tantivy.TextAnalyzer:
    """Takes folded words apart at their spaces."""
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


def stemming_analyser() -> tantivy.TextAnalyzer:
    """The same, and takes their endings away."""
    analyser = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return analyser.filter(tantivy.Filter.stemmer("english")).build()


_ANALYSER = stemming_analyser()
