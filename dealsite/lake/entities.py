"""Which entities go into the lake, and with which columns: what is named here, and nothing else.

Left out is whatever could let somebody in or tell who he is: passwords, session keys and visitors' cookies (also
their hashes), reset tokens (they stand in the payload of jobs), a gateway's name for a card, names, addresses but
for the country and the beginning of the postcode. An e-mail address is there as a keyed hash only: equal ones can be
told, none can be guessed and tried without the site's key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from django.utils.crypto import salted_hmac

from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, time_of
from dealsite.lake.columns import SQL, Column, Kind, Source, attribute

TIMELESS = date(2000, 1, 1)  # the partition of what has no day of its creation


@dataclass(frozen=True)
class Entity:
    """A type of item and its table; `created` tells the day (UTC) of an item's creation, by which it is partitioned."""

    type: str
    table: str
    columns: tuple[Column, ...]
    created: Callable[[Item], datetime] | None = None

    def day(self, item: Item) -> date:
        """Return the day of an item's partition, the same for as long as the item is there."""
        if self.created is None:
            return TIMELESS
        try:
            return self.created(item).date()
        except (AttributeError, LookupError, TypeError, ValueError):
            return TIMELESS

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def columns(text: str, **sources: Source) -> tuple[Column, ...]:
    """Return columns from `name` or `name:kind`; `sources` says where a value comes from, if not its own attribute."""
    made = []
    for word in text.split():
        name, _, kind = word.partition(":")
        made.append(Column(name, _kind(kind or "text"), sources.get(name, attribute(name))))
    if unknown := sources.keys() - {column.name for column in made}:
        raise ValueError(f"No column is named {', '.join(unknown)}.")
    return tuple(made)


def _kind(name: str) -> Kind:
    if name not in SQL:
        raise ValueError(f"There is no kind of column {name!r}.")
    return name  # type: ignore[return-value] # it is one of them


# Where values come from


def by_id(item: Item) -> datetime:
    """When the item's id was made."""
    return time_of(item["id"])


def by_creation(item: Item) -> datetime:
    return from_iso(item["created_at"])


def by_beginning(item: Item) -> datetime:
    return from_iso(item["since"])


def hashed_email(item: Item) -> str | None:
    """The e-mail address as a hash with the site's key (64 hexadecimal digits)."""
    email = item.get("email")
    return hash_of_email(email) if email else None


def hash_of_email(email: str) -> str:
    return salted_hmac("dealsite.lake.email", email, algorithm="sha256").hexdigest()


def of_address(name: str, characters: int = 120) -> Source:
    return lambda item: item["address"][name][:characters]


def last_step(name: str) -> Source:
    """A field of the newest entry of a timeline."""
    return lambda item: item["timeline"][-1].get(name)


def is_there(name: str) -> Source:
    return lambda item: name in item


def _relation(type_: str, table: str, more: str = "") -> Entity:
    return Entity(type_, table, columns(f"slug username created_at:time {more}"), by_creation)


ENTITIES: tuple[Entity, ...] = (
    Entity(
        "Deal",
        "deals",
        columns(
            "id title brand brand_name category price:money was_price:money voucher_code live_at:time expires_at:time "
            "sold_out:flag featured_on:json link description version:integer created_at:time created_by "
            "updated_at:time updated_by",
            live_at=by_id,
        ),
        by_id,
    ),
    Entity("Offer", "offers", columns("id brand category price:money expires_at:time stock:integer"), by_id),
    Entity("Price", "prices", columns("id deal since:time price:money was_price:money"), by_beginning),
    Entity(
        "Draft",
        "drafts",
        columns(
            "id title brand brand_name category price:money was_price:money voucher_code expires_at:time link "
            "description stock:integer version:integer published_as created_by updated_at:time updated_by"
        ),
        by_id,
    ),
    Entity(
        "Brand",
        "brands",
        columns("slug name description version:integer created_at:time updated_at:time updated_by"),
        by_creation,
    ),
    Entity("BrandCounts", "brand_counts", columns("slug deals:integer likes:integer watches:integer")),
    Entity(
        "Category",
        "categories",
        columns(
            "slug name description featured:json featured_at:time featured_by version:integer updated_at:time "
            "updated_by",
            featured=attribute("order"),
        ),
    ),
    Entity("CategoryCounts", "category_counts", columns("slug deals:integer likes:integer watches:integer")),
    Entity(
        "FrontPage",
        "front_pages",
        columns("featured:json featured_at:time featured_by", featured=attribute("order")),
    ),
    Entity(
        "EditorsChoicePage",
        "editors_choice_pages",
        columns("featured:json featured_at:time featured_by", featured=attribute("order")),
    ),
    _relation("BrandLike", "brand_likes"),
    _relation("BrandWatch", "brand_watches", "muted:flag"),
    _relation("CategoryLike", "category_likes"),
    _relation("CategoryWatch", "category_watches", "muted:flag"),
    Entity(
        "User",
        "users",
        columns(
            "username email_hash roles:json timezone created_at:time deleted_at:time", email_hash=hashed_email
        ),
        by_creation,
    ),
    Entity(
        "Message",
        "messages",
        columns(
            "id username kind headline deal order_id unread:flag sent_at:time",
            order_id=attribute("order"),
            unread=is_there("GSI1PK"),
            sent_at=by_id,
        ),
        by_id,
    ),
    Entity(
        "Job",
        "jobs",
        columns("id kind state tries:integer progress:json created_at:time", created_at=by_id),
        by_id,
    ),
    Entity(
        "CartHead",
        "cart_heads",
        columns(
            "username is_visitor:flag active:integer saved:integer version:integer",
            is_visitor=is_there("visitor"),
        ),
    ),
    Entity(
        "CartLine",
        "cart_lines",
        columns(
            "id deal username is_visitor:flag status status_at:time order_id title brand brand_name category "
            "price:money quantity:integer added_at:time",
            is_visitor=is_there("visitor"),
            status_at=attribute("at"),
            order_id=attribute("order"),
            added_at=by_id,
        ),
        by_id,
    ),
    Entity(
        "Order",
        "orders",
        columns(
            "id username email_hash status placed_at:time status_at:time status_note total:money pieces:integer "
            "lines:integer plan:integer country postcode_area payments:json timeline:json version:integer",
            email_hash=hashed_email,
            status_at=last_step("at"),
            status_note=last_step("note"),
            country=of_address("country"),
            postcode_area=of_address("postcode", 2),
        ),
        by_id,
    ),
    Entity(
        "Payment",
        "payments",
        columns(
            "id account order_id instalment:integer instalments:integer amount:money due_at:time status "
            "next_at:time tries:integer final:flag closed:flag transaction_id processed_at:time reason "
            "timeline:json version:integer",
            order_id=attribute("order"),
            instalment=attribute("number"),
            instalments=attribute("of"),
        ),
        by_id,
    ),
    Entity(
        "AuditEntry",
        "audit_entries",
        columns(
            "id done_at:time done_by kind subject what note",
            done_at=attribute("at"),
            done_by=attribute("by"),
        ),
        by_id,
    ),
)

# What is in the table but not in the lake, and why.
LEFT_OUT: Mapping[str, str] = {
    "Session": "its key is as good as a password",
    "TwoFactor": "it holds what signing in is checked with",
    "Presence": "who has a form open just now is gone a minute later",
    "Throttle": "who tried to sign in is nobody's question",
    "EmailGuard": "it is an e-mail address",
    "Profile": "it repeats the user, with name and address",
    "UserCount": "it counts users",
    "BrandLetter": "it lists brands",
    "Days": "it lists days with deals",
    "DayCount": "it counts deals",
    "Years": "it lists years with deals",
    "JobSegment": "it says how far a job has come",
    "BulkChunk": "it says what a job is to change",
    "BulkRow": "it repeats the audit log for as long as the change can be undone",
    "PaymentTotals": "it adds up payments",
    "PaymentLoad": "it says how far a file of payments was read",
    "PaymentLoadSegment": "it says so of a part of the file",
    "TransactionGuard": "it repeats a payment's transaction",
    "TestCharge": "it is what the gateway for trials remembers",
    "Version": "it repeats what a deal or draft was, whose changes are there",
    "DealChanges": "nobody is offered it before it is published",
    "Trash": "it repeats a deal or draft whose deletion is a change like others",
    "Import": "it says what became of a file; whose deals they are stands in the audit log",
    "ImportLayout": "it says how files are read",
    "SavedQuestion": "questions about the data are no data",
    "FeaturedVersion": "the audit log says what a list was before",
    "FeaturedPlan": "the audit log says what was planned",
    "SavedViews": "how an editor looks at deals is his own business",
}

BY_TYPE: Mapping[str, Entity] = {entity.type: entity for entity in ENTITIES}
