"""What the index holds of a deal or a draft: its words, what lists are filtered and sorted by, and its card."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Self

import orjson
import tantivy
from ulid import ULID

from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.editing.links import check_of
from dealsite.data.entities.deals import HERE
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import EPOCH, from_iso
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

FORMAT = 9  # counts up when fields, or words, change: an index of another format is made anew

DEAL, DRAFT, GONE, CHECKPOINT = "deal", "draft", "gone", "checkpoint"
NEVER = 2**63 - 1  # when a deal expires that does not
DESCRIPTION_CHARACTERS = 2_000  # kept to show where words were found; all of it is searched
SECOND_BITS, CENT_BITS = 34, 30
UNPRICED = 2**CENT_BITS - 1  # after all prices
BRAND_SEPARATOR = "\n"
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
    for name in ("live_at", "expires_at", "cents", "sold_out", "newest", "by_price", "by_discount"):
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
    """What the index gives back of a document: the change that wrote it, its kind, a card, plain words to show."""

    sequence: str
    kind: str = ""
    card: DealCard | None = None
    words: str = ""
    checkpoint: str | None = None
    changed_at: datetime | None = None
    changed_by: str = ""

    @classmethod
    def of(cls, document: tantivy.Document) -> Self:
        kept = orjson.loads(document.get_first("stored") or b"{}")
        card = kept.get("card")
        return cls(
            sequence=kept.get("sequence", ""),
            kind=kept.get("kind", ""),
            card=DealCard.from_item(card) if card else None,
            words=kept.get("words", ""),
            checkpoint=kept.get("checkpoint"),
            changed_at=from_iso(kept["changed_at"]) if kept.get("changed_at") else None,
            changed_by=kept.get("changed_by", ""),
        )


def stored_of(searcher: tantivy.Searcher, key: str) -> StoredDocument | None:
    """Return what the index has under a key."""
    found = searcher.search(tantivy.Query.term_query(SCHEMA, "key", key), limit=1, count=False).hits
    return StoredDocument.of(searcher.doc(found[0][1])) if found else None


def is_indexed(item: Item | None) -> bool:
    """Tell whether an item is found by search: a deal or a draft; of a published draft only a pointer is left."""
    return item is not None and item.get("type") in ("Deal", "Draft") and bool(item.get("card"))


def document_of(key: str, item: Item, sequence: str) -> tantivy.Document:
    """Return the document of a deal's or a draft's item."""
    card = DealCard.from_item(item["card"])
    plain = markdown.to_plain(item.get("description") or "")
    number = int(ULID.from_str(card.id))
    seconds = min((number >> 80) // 1000, 2**SECOND_BITS - 1)
    cents = min(int(card.price * 100), UNPRICED - 1) if card.price is not None else UNPRICED
    category = category_names.names().get(card.category, "")
    spelled = " ".join((card.title, card.brand_name, category, plain))
    kind = DEAL if item["type"] == "Deal" else DRAFT
    words = plain[:DESCRIPTION_CHARACTERS]
    kept = {
        "sequence": sequence,
        "kind": kind,
        "card": item["card"],
        "words": words,
        "changed_at": item.get("updated_at"),
        "changed_by": item.get("updated_by"),
    }
    label = [f"{card.brand}{BRAND_SEPARATOR}{card.brand_name}"] if card.brand else []
    fields = {
        "key": key,
        "kind": kind,
        "category": card.category,
        "brand_slug": card.brand,
        "brand_label": label,
        "lacks": lacking(item, card),
        "featured": [*item.get("featured_on", ())],
        "sold": [card.sold] if card.sold else [],
        "title": " ".join(words_of(card.title)),
        "brand": " ".join(words_of(card.brand_name)),
        "description": " ".join(words_of(plain)),
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
        "stored": orjson.dumps(kept, default=_number),
    }
    return tantivy.Document.from_dict(fields, SCHEMA)


def lacking(item: Item, card: DealCard) -> list[str]:
    """Return what a deal or draft lacks: a picture, or the alt text of the one it has; a link that works; stock; use of
    the link that it has.
    """
    found = []
    if card.picture is None:
        found.append(PICTURE)
    elif not card.picture.alt.strip():
        found.append(ALT)
    if (check := check_of(item)) and check.is_broken:
        found.append(LINK)
    if card.sold_out:
        found.append(STOCK)
    if card.sold == HERE and item.get("link"):
        found.append(USE)
    return found


def note_of(key: str, kind: str, **kept: Any) -> tantivy.Document:
    """Return a document that no search finds: where the stream was read to, or that an item is gone."""
    fields = {"key": key, "kind": kind, "stored": orjson.dumps(kept)}
    return tantivy.Document.from_dict(fields, SCHEMA)


def milliseconds(moment: datetime) -> int:
    """Return a moment as the index counts it: milliseconds since 1970, 0 for what was before."""
    return max((moment - EPOCH) // timedelta(milliseconds=1), 0)


def _number(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"A {type(value).__name__} is no part of a card.")
