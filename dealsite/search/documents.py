"""What the index holds of a deal or draft, words, what lists are filtered and sorted by, its card; of a brand, names.

Words are folded the same way where they are indexed, asked for and shown: case, accents and punctuation.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, ClassVar, Self

import orjson
import tantivy
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from rapidfuzz import fuzz

from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.deals import LinkCheck, check_of
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.entities.deals import HERE
from dealsite.data.names import UNSEEN, slugify
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import EPOCH, from_iso, iso, number_of
from dealsite.text import markdown

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
# Letters that are no letter with an accent to Unicode, and are typed as one.
PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe"}
)
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
    return unicodedata.normalize("NFKC", folded).translate(PLAIN)


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


def stemming_analyser() -> tantivy.TextAnalyzer:
    """Takes folded words apart at their spaces, and their endings away."""
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


FORMAT = 17  # counts up when words are made in another way: an index of another format is made anew

DEAL, DRAFT, BRAND, GONE, CHECKPOINT = "deal", "draft", "brand", "gone", "checkpoint"
NEVER = 2**63 - 1  # when a deal expires that does not
DESCRIPTION_CHARACTERS = 2_000  # kept to show where words were found; all of it is searched
SECOND_BITS, CENT_BITS, CHANGE_BITS, END_BITS = 34, 30, 22, 29
UNPRICED = 2**CENT_BITS - 1  # after all prices
BRAND_SEPARATOR = "\n"
AS_ITEMS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
# What a deal or draft may lack.
PICTURE, ALT, LINK, STOCK, FEW, USE = "picture", "alt", "link", "stock", "few", "use"
LOW_STOCK = 5  # pieces


@dataclass(frozen=True, slots=True, eq=False)  # it is looked up by itself, often
class Fields:
    """By which fields documents are found: names, also `counted` ones; words, `stemmed` ones, those whose `places` are
    known and those whose `beginnings` may be misspelt; numbers, by which they are sorted, too.
    """

    names: tuple[str, ...]
    counted: tuple[str, ...]
    words: tuple[str, ...]
    numbers: tuple[str, ...]
    stemmed: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ()


FIELDS = Fields(
    names=("key", "named"),  # `named`: the slugs of a brand's names
    counted=("kind", "category", "brand_slug", "lacks", "featured", "sold", "brand_label"),
    words=("title", "brand", "description", "words", "runs", "names"),  # `names`: a brand's words
    stemmed=("title", "brand", "description"),
    places=("title", "runs"),
    beginnings=("title", "words"),
    numbers=(
        *("live_at", "expires_at", "cents", "sold_out"),
        *("newest", "by_price", "by_discount", "by_likes", "by_change", "by_end"),
    ),
)


@dataclass(frozen=True, slots=True)
class Stored:
    """What an index keeps under a key, all that its document is made of; of what is gone, nothing.

    `sequence` is the change of the item that it holds. Each kind stands in a `part` of its own.
    """

    part: ClassVar[str]
    fields: ClassVar[Fields]
    read: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}  # how attributes are read that are no plain data

    sequence: str = ""
    kind: str = GONE

    @classmethod
    def of(cls, stored: bytes | str) -> Self:
        """Return what `document` made of it."""
        kept = orjson.loads(stored)
        for name in cls.read.keys() & kept.keys():
            kept[name] = cls.read[name](kept[name])
        return cls(**kept)

    def document(self, key: str) -> dict[str, Any]:
        """Return the document under a key, whose `stored` is what `of` reads."""
        kept = {name: value for name in self.__match_args__ if (value := getattr(self, name))}
        stored = orjson.dumps(kept, default=_packed, option=AS_ITEMS)
        return {"key": key, "kind": self.kind, "stored": stored, **self.searched()}

    def searched(self) -> dict[str, Any]:
        """Return the fields by which it is found and sorted."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class StoredDocument(Stored):
    """What the index keeps of a deal, draft or brand.

    `counted` is the change of how many like it, `offered` that of whether `few` are left. `description` is plain text.
    `slug` and `names` are a brand's, its own name first.
    """

    part, fields = "", FIELDS
    read: ClassVar = {"card": DealCard.from_item, "changed_at": from_iso}

    card: DealCard | None = None
    description: str = ""
    lacks: Sequence[str] = ()
    featured: Sequence[str] = ()
    changed_at: datetime | None = None
    changed_by: str = ""
    likes: int = 0
    counted: str = ""
    few: bool = False
    offered: str = ""
    checkpoint: str | None = None
    slug: str = ""
    names: Sequence[str] = ()

    @classmethod
    def of_item(cls, item: Item) -> Self:
        """Return what is to be kept of an item that is indexed."""
        if item["type"] == "Brand":
            return cls(kind=BRAND, slug=item["slug"], names=[item["name"], *item.get("also", ())])
        card = DealCard.from_item(item["card"])
        return cls(
            kind=DEAL if item["type"] == "Deal" else DRAFT,
            card=card,
            description=markdown.to_plain(item.get("description") or ""),
            lacks=lacking(card, item.get("link") or "", check_of(item)),
            featured=sorted(item.get("featured_on", ())),
            changed_at=from_iso(item["updated_at"]) if item.get("updated_at") else None,
            changed_by=item.get("updated_by", ""),
        )

    def searched(self) -> dict[str, Any]:
        """Return its fields; no search finds that of a note, which has no card."""
        if self.card:
            return _searched(self, self.card)
        if not self.names:
            return {}
        slugs, named = map(slugify, self.names), " ".join(self.names)
        words = [*words_of(named), *other_spellings(named)]
        return {"named": [*dict.fromkeys([self.slug, *slugs])], "names": " ".join(words)}

    @property
    def words(self) -> str:
        """The beginning of the description, to show where words were found."""
        return self.description[:DESCRIPTION_CHARACTERS]


def is_indexed(item: Item | None) -> bool:
    """Tell whether search finds an item: a deal, a draft that is not just a pointer, a brand that was not merged."""
    if item is None:
        return False
    if item.get("type") == "Brand":
        return "merged_into" not in item
    return item.get("type") in ("Deal", "Draft") and bool(item.get("card"))


def _searched(stored: StoredDocument, card: DealCard) -> dict[str, Any]:
    number = number_of(card.id)
    seconds = min((number >> 80) // 1000, 2**SECOND_BITS - 1)
    ends = milliseconds(card.expires_at) if card.expires_at else NEVER
    cents = min(int(card.price * 100), UNPRICED - 1) if card.price is not None else UNPRICED
    changed = milliseconds(stored.changed_at) if stored.changed_at else 0
    category = category_names.names().get(card.category, "")
    spelled = " ".join((card.title, card.brand_name, category, stored.description))
    return {
        "category": card.category,
        "brand_slug": card.brand,
        "brand_label": [f"{card.brand}{BRAND_SEPARATOR}{card.brand_name}"] if card.brand else [],
        "lacks": [*stored.lacks, *[FEW] * stored.few],
        "featured": [*stored.featured],
        "sold": [card.sold] if card.sold else [],
        "title": " ".join(words_of(card.title)),
        "brand": " ".join(words_of(card.brand_name)),
        "description": " ".join(words_of(stored.description)),
        "words": " ".join([*words_of(spelled), *other_spellings(spelled)]),
        "runs": " ".join(pair for word in WORD.findall(fold(spelled)) for pair in pairs(word)),
        "live_at": number >> 80,
        "expires_at": ends,
        "cents": cents,
        "sold_out": int(card.sold_out),
        # Each of these alone puts deals into one order that no two share: of one price, the newest comes first.
        "newest": number >> 64,
        "by_price": (cents << SECOND_BITS) | (2**SECOND_BITS - 1 - seconds),
        "by_discount": ((card.percent_off or 0) << SECOND_BITS) | seconds,
        "by_likes": (stored.likes << SECOND_BITS) | seconds,
        "by_change": (changed << CHANGE_BITS) | number % 2**CHANGE_BITS,
        "by_end": (min(ends // 60_000, 2**END_BITS - 1) << SECOND_BITS) | (2**SECOND_BITS - 1 - seconds),
    }


def lacking(card: DealCard, link: str, check: LinkCheck | None) -> list[str]:
    """Return what a deal or draft lacks: a picture, or the alt text of the one it has; a link that works; stock; use of
    the link that it has.
    """
    found = []
    if card.picture is None:
        found.append(PICTURE)
    elif not card.picture.alt.strip():
        found.append(ALT)
    if check and check.is_broken:
        found.append(LINK)
    if card.sold_out:
        found.append(STOCK)
    if card.sold == HERE and link:
        found.append(USE)
    return found


def is_few(stock: int | None) -> bool:
    """Tell whether what is left of a deal will soon be sold."""
    return stock is not None and 0 < stock <= LOW_STOCK


def milliseconds(moment: datetime) -> int:
    """Return a moment as the index counts it: milliseconds since 1970, 0 for what was before."""
    return max((moment - EPOCH) // timedelta(milliseconds=1), 0)


def _packed(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    return iso(value) if isinstance(value, datetime) else value.as_item()
