"""What the index holds of a deal or a draft: its words, what lists are filtered and sorted by, and its card."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Self

import orjson
import tantivy
from ulid import ULID

from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.deals import LinkCheck, check_of
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.entities.deals import HERE
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import EPOCH, from_iso, iso
from dealsite.search.words import (
    WORD,
    fold,
    other_spellings,
    pairs,
    plain_analyser,
    stemming_analyser,
    words_of,
)
from dealsite.text import markdown

FORMAT = 10  # counts up when fields, or words, change: an index of another format is made anew

DEAL, DRAFT, GONE, CHECKPOINT = "deal", "draft", "gone", "checkpoint"
NEVER = 2**63 - 1  # when a deal expires that does not
DESCRIPTION_CHARACTERS = 2_000  # kept to show where words were found; all of it is searched
SECOND_BITS, CENT_BITS, CHANGE_BITS = 34, 30, 22
UNPRICED = 2**CENT_BITS - 1  # after all prices
BRAND_SEPARATOR = "\n"
AS_ITEMS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
PICTURE, ALT, LINK, STOCK, USE = "picture", "alt", "link", "stock", "use"  # what a deal or draft may lack


def _schema() -> tantivy.Schema:
    fields = tantivy.SchemaBuilder()
    for name in ("key", "kind", "category", "brand_slug", "lacks", "featured", "sold"):
        fields.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=name != "key")
    fields.add_text_field("brand_label", tokenizer_name="raw", index_option="basic", fast=True)
    fields.add_text_field("title", tokenizer_name="stems", index_option="position")
    fields.add_text_field("brand", tokenizer_name="stems", index_option="freq")
    fields.add_text_field("description", tokenizer_name="stems", index_option="freq")
    fields.add_text_field("words", tokenizer_name="plain", index_option="basic")
    fields.add_text_field("runs", tokenizer_name="plain", index_option="position")
    numbers = ("live_at", "expires_at", "cents", "sold_out")
    for name in (*numbers, "newest", "by_price", "by_discount", "by_likes", "by_change"):
        fields.add_unsigned_field(name, indexed=True, fast=True)
    fields.add_bytes_field("stored", stored=True)
    return fields.build()


SCHEMA = _schema()  # of every index of this FORMAT


def open_index(folder: str, *, create: bool = False) -> tantivy.Index:
    """Open the index of a folder, or make an empty one."""
    index = tantivy.Index(SCHEMA, path=folder) if create else tantivy.Index.open(folder)
    index.register_tokenizer("plain", plain_analyser())
    index.register_tokenizer("stems", stemming_analyser())
    return index


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What the index keeps of a deal or a draft, all of what its document is made of; a note that it is gone is empty.

    `sequence` is the change of the item that it holds, `counted` that of how many like it. `description` is plain text.
    """

    sequence: str = ""
    kind: str = GONE
    card: DealCard | None = None
    description: str = ""
    lacks: Sequence[str] = ()
    featured: Sequence[str] = ()
    changed_at: datetime | None = None
    changed_by: str = ""
    likes: int = 0
    counted: str = ""
    checkpoint: str | None = None

    @classmethod
    def of_item(cls, item: Item) -> Self:
        """Return what is to be kept of a deal's or a draft's item."""
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

    @classmethod
    def of(cls, document: tantivy.Document) -> Self:
        kept = orjson.loads(document.get_first("stored") or b"{}")
        for name, read in (("card", DealCard.from_item), ("changed_at", from_iso)):
            if kept.get(name):
                kept[name] = read(kept[name])
        return cls(**kept)

    def packed(self) -> bytes:
        """Return what `of` reads."""
        kept = {name: value for name in self.__slots__ if (value := getattr(self, name))}
        return orjson.dumps(kept, default=_packed, option=AS_ITEMS)

    @property
    def words(self) -> str:
        """The beginning of the description, to show where words were found."""
        return self.description[:DESCRIPTION_CHARACTERS]


def stored_of(searcher: tantivy.Searcher, key: str) -> StoredDocument | None:
    """Return what the index has under a key."""
    found = searcher.search(tantivy.Query.term_query(SCHEMA, "key", key), limit=1, count=False).hits
    return StoredDocument.of(searcher.doc(found[0][1])) if found else None


def is_indexed(item: Item | None) -> bool:
    """Tell whether an item is found by search: a deal or a draft; of a published draft only a pointer is left."""
    return item is not None and item.get("type") in ("Deal", "Draft") and bool(item.get("card"))


def document_of(key: str, stored: StoredDocument) -> tantivy.Document:
    """Return the document of what is to be kept; no search finds that of a note, which has no card."""
    fields = {"key": key, "kind": stored.kind, "stored": stored.packed()}
    if stored.card:
        fields |= _searched(stored, stored.card)
    return tantivy.Document.from_dict(fields, SCHEMA)


def _searched(stored: StoredDocument, card: DealCard) -> dict[str, Any]:
    number = int(ULID.from_str(card.id))
    seconds = min((number >> 80) // 1000, 2**SECOND_BITS - 1)
    cents = min(int(card.price * 100), UNPRICED - 1) if card.price is not None else UNPRICED
    changed = milliseconds(stored.changed_at) if stored.changed_at else 0
    category = category_names.names().get(card.category, "")
    spelled = " ".join((card.title, card.brand_name, category, stored.description))
    return {
        "category": card.category,
        "brand_slug": card.brand,
        "brand_label": [f"{card.brand}{BRAND_SEPARATOR}{card.brand_name}"] if card.brand else [],
        "lacks": [*stored.lacks],
        "featured": [*stored.featured],
        "sold": [card.sold] if card.sold else [],
        "title": " ".join(words_of(card.title)),
        "brand": " ".join(words_of(card.brand_name)),
        "description": " ".join(words_of(stored.description)),
        "words": " ".join([*words_of(spelled), *other_spellings(spelled)]),
        "runs": " ".join(pair for word in WORD.findall(fold(spelled)) for pair in pairs(word)),
        "live_at": number >> 80,
        "expires_at": milliseconds(card.expires_at) if card.expires_at else NEVER,
        "cents": cents,
        "sold_out": int(card.sold_out),
        # Each of these alone puts deals into one order that no two share: of one price, the newest comes first.
        "newest": number >> 64,
        "by_price": (cents << SECOND_BITS) | (2**SECOND_BITS - 1 - seconds),
        "by_discount": ((card.percent_off or 0) << SECOND_BITS) | seconds,
        "by_likes": (stored.likes << SECOND_BITS) | seconds,
        "by_change": (changed << CHANGE_BITS) | number % 2**CHANGE_BITS,
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


def milliseconds(moment: datetime) -> int:
    """Return a moment as the index counts it: milliseconds since 1970, 0 for what was before."""
    return max((moment - EPOCH) // timedelta(milliseconds=1), 0)


def _packed(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    return iso(value) if isinstance(value, datetime) else value.as_item()
