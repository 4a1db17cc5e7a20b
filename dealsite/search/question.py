"""What somebody looks for, and the query that says so to the index: made from words, never from a query language."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Literal, Self

from dealsite.data.catalogue.cards import ENDING_SOON
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.names import normalise, slugify
from dealsite.search.documents import (
    COMPOUND,
    DEAL,
    DRAFT,
    LETTERS_FOR_A_TYPO,
    MOST_CHARACTERS as MOST_CHARACTERS,
    NEVER,
    RUN,
    SECOND_BITS,
    STOP_WORDS,
    UNPRICED,
    WORD,
    StoredDocument,
    fold,
    milliseconds,
    pairs,
    pieces,
    stem,
    words_of,
)
from dealsite.search.queries import (
    Query,
    Searcher,
    all_of,
    any_of,
    begins,
    between,
    both,
    close,
    fixed,
    phrase,
    term,
)

MOST_WORDS = 12
BOOSTS = {"title": 3.0, "brand": 2.0, "description": 1.0}
PHRASE_BOOST = 4.0
# Where a word may be only like the one asked for, and what it counts.
FUZZY = (("words", 0.1), ("title", 1.0))
LETTERS_OF_A_BEGINNING, LETTERS_OF_A_WRONG_BEGINNING = 2, 6
LETTERS_FOR_TWO_TYPOS = 8
RARE = 5  # a word of fewer deals than that may be a mistake, here or there

How = Literal["exact", "close", "some"]
Kind = Literal["deal", "draft", "either", "any"]


@dataclass(frozen=True)
class Question:
    """Words and filters; what is empty filters nothing.

    `categories` and `brands` are slugs and `sold` kinds of sellers, of which one has to fit; prices are Decimal,
    `off_at_least` whole percents. Shoppers never find what is scheduled, nor drafts; with the state live they do not
    see what is over either.

    For editors only: `state` is also ending, expired or scheduled; `kind` any finds deals and drafts, either only
    those that have not expired; `lacks` is what they lack: picture, alt, link or stock; `featured` is the id of a
    page; `live_until` is when they go live at the latest.
    """

    text: str = ""
    categories: tuple[str, ...] = ()
    brands: tuple[str, ...] = ()
    sold: tuple[str, ...] = ()
    off_at_least: int = 0
    price_from: Decimal | None = None
    price_to: Decimal | None = None
    state: str = ""
    kind: Kind = "deal"
    for_editors: bool = False
    lacks: str = ""
    featured: str = ""
    live_until: datetime | None = None

    @cached_property
    def units(self) -> list[str]:
        """The text's words as typed, those that hang together by hyphens or dots as one; at most twelve."""
        text = fold(normalise(self.text[: MOST_CHARACTERS * 4]))[:MOST_CHARACTERS]
        units = COMPOUND.findall(text)[:MOST_WORDS]
        return [unit for unit in units if unit not in STOP_WORDS] or units

    @cached_property
    def words(self) -> list[str]:
        """The words to look for, folded."""
        return [word for unit in self.units for word in WORD.findall(unit)]

    def without(self, *names: str) -> Self:
        """Return the same question without some of its filters."""
        return replace(self, **{name: getattr(type(self)(), name) for name in names})


def query_of(
    question: Question,
    searcher: Searcher[StoredDocument],
    now: datetime,
    *,
    how: How,
    unwritten: bool = True,
    scored: bool = True,
) -> Query:
    """Return the query for everything that a question asks for.

    `how`: exact wants every word, close forgives typos in rare ones (without `unwritten` only in those that
    some deal holds), some wants half of the words. Without `scored` it is answered sooner, and does not
    say what fits best.
    """
    musts = filters(question, now)
    units = question.units
    if not question.text.strip():
        return all_of(musts)
    wanted = []
    for n, unit in enumerate(units):
        may_be_wrong = searcher if how != "exact" else None
        words = _Words(may_be_wrong, n == len(units) - 1, unwritten, scored)
        wanted.append(words.unit(unit))
    fitting = _all_or_half(wanted, how)
    if brand := _brand_named(question.text, searcher):
        fitting = any_of([fitting, fixed(term("brand_slug", brand), 1.0)])
    roots = [root for word in question.words for root in pairs(word)[:-1] or [stem(word)]]
    together = [phrase("title", roots, PHRASE_BOOST, slop=2)] if len(roots) > 1 else []
    return both(fitting, *musts, better=together)


def _brand_named(text: str, searcher: Searcher[StoredDocument]) -> str:
    """Return the slug of the brand that a text names, '' for none."""
    found = searcher.search(term("named", slugify(text)), 1).rows
    return found[0].slug if found else ""


def filters(question: Question, now: datetime) -> list[Query]:
    """Return what must hold whatever the words are, without any say in how well something fits."""
    moment = milliseconds(now)
    kind = question.kind if question.for_editors else "deal"
    if kind == "either":
        deals = all_of([term("kind", DEAL), live(now, sold_out=True)])
        found = [any_of([term("kind", DRAFT), deals])]
    elif kind == "any":
        found = [any_of([term("kind", DRAFT), term("kind", DEAL)])]
    else:
        found = [term("kind", kind)]
    if kind == "deal":
        if question.state == "scheduled" and question.for_editors:
            found.append(between("live_at", moment + 1, NEVER))
        elif question.state or not question.for_editors:
            found.append(between("live_at", 0, moment))
    if question.for_editors:
        found += _of_editors(question, now)
    for field, chosen in (
        ("category", question.categories),
        ("brand_slug", question.brands),
        ("sold", question.sold),
    ):
        if chosen:
            found.append(any_of(term(field, value) for value in chosen))
    if question.off_at_least:
        found.append(between("by_discount", question.off_at_least << SECOND_BITS, NEVER))
    if question.price_from is not None or question.price_to is not None:
        low = int(question.price_from * 100) if question.price_from is not None else 0
        high = int(question.price_to * 100) if question.price_to is not None else UNPRICED - 1
        found.append(between("cents", low, high))
    return found


def _of_editors(question: Question, now: datetime) -> list[Query]:
    found = []
    if question.state in ("live", "ending"):
        found.append(live(now, sold_out=True))
    if question.state == "ending":
        found.append(between("expires_at", milliseconds(now) + 1, milliseconds(now + ENDING_SOON)))
    if question.state == "expired":
        found.append(between("expires_at", 0, milliseconds(now)))
    if question.lacks:
        found.append(term("lacks", question.lacks))
    if question.featured:
        found.append(term("featured", question.featured))
    if question.live_until is not None:
        found.append(between("live_at", 0, milliseconds(question.live_until)))
    return found


def live(now: datetime, *, sold_out: bool = False) -> Query:
    """What can still be had: not expired, and not sold out unless that is asked for, too."""
    parts = [between("expires_at", milliseconds(now) + 1, NEVER)]
    if not sold_out:
        parts.append(between("sold_out", 0, 0))
    return all_of(parts)


def over(now: datetime) -> Query:
    """What has expired, or is sold out."""
    return any_of([between("expires_at", 0, milliseconds(now)), between("sold_out", 1, 1)])


def _all_or_half(asked: Sequence[Query], how: How) -> Query:
    if how == "some":
        return any_of(asked, at_least=(len(asked) + 1) // 2)
    return all_of(asked)


@dataclass(frozen=True)
class _Words:
    """Makes queries of words.

    With `begins` the last one may be unfinished; with a `searcher` rare ones may be so, or misspelt.
    """

    searcher: Searcher[StoredDocument] | None
    begins: bool
    unwritten: bool
    scored: bool

    def unit(self, unit: str) -> Query:
        """One word as typed, in each of its spellings: wi-fi is also wifi, rtx4070 is also rtx 4070."""
        parts = WORD.findall(unit)
        spellings = [parts]
        if len(parts) > 1:
            spellings.append(["".join(parts)])
        elif apart := pieces(unit):
            spellings.append(apart)
        found = [
            all_of(self._word(word, n == len(parts) - 1) for n, word in enumerate(parts))
            for parts in spellings
        ]
        return found[0] if len(found) == 1 else any_of(found)

    def _word(self, word: str, last: bool) -> Query:
        """A word, wherever in a deal it may stand."""
        if RUN.match(word):
            return self._run(word)
        root, unfinished = stem(word), self.begins and last
        found = [term(field, root, boost) for field, boost in BOOSTS.items()]
        found.append(fixed(term("words", word), 0.5))
        found += [
            fixed(term("category", slug), 1.0)
            for slug, name in category_names.names().items()
            if root in roots_of(name)
        ]
        rare = self._is_rare(word)
        if (unfinished or rare) and len(word) >= LETTERS_OF_A_BEGINNING:
            found.append(begins("words", word, 0.3))
        if rare and (wrong := self._wrong_letters(word)):
            for field, score in FUZZY if self.scored else FUZZY[:1]:
                beginning = unfinished and len(word) >= LETTERS_OF_A_WRONG_BEGINNING
                found.append(close(field, word, wrong, score, beginning=beginning))
        return any_of(found)

    def _run(self, run: str) -> Query:
        """A run without spaces, wherever it stands in another one."""
        if len(run) == 1:
            return begins("runs", run)
        parts = pairs(run)[:-1]
        found = [phrase("title", parts, BOOSTS["title"]), phrase("runs", parts)]
        found += [
            fixed(term("category", slug), 1.0)
            for slug, name in category_names.names().items()
            if run in fold(name)
        ]
        if self.searcher and len(run) >= LETTERS_FOR_A_TYPO:
            # One wrong character spoils two of them.
            found.append(fixed(any_of((term("runs", part) for part in parts), at_least=len(parts) - 2), 0.1))
        return any_of(found)

    def _is_rare(self, word: str) -> bool:
        if self.searcher is None:
            return False
        return (0 if self.unwritten else 1) <= self.searcher.frequency("words", word) < RARE

    def _wrong_letters(self, word: str) -> int:
        """How many letters of a rare word may be wrong; none in numbers, where each one counts."""
        if any(c.isdigit() for c in word):
            return 0
        known = self._has(term("words", word))
        length = len(word) - (1 if known else 0)
        # Two take five times as long as one.
        if length >= LETTERS_FOR_TWO_TYPOS and not self._has(close("words", word, 1)):
            return 2
        return 1 if length >= LETTERS_FOR_A_TYPO else 0

    def _has(self, query: Query) -> bool:
        return bool(self.searcher and self.searcher.search(query, 1).rows)


@lru_cache(maxsize=64)
def roots_of(name: str) -> frozenset[str]:
    """The words of a name without their endings."""
    return frozenset(stem(word) for word in words_of(name))
