"""Which entities go into the lake, and with which columns: what is named here, and nothing else.

Left out is whatever could let somebody in or tell who they are: passwords, session keys and visitors' cookies (also
their hashes), reset tokens (they stand in the payload of jobs), a gateway's name for a card, names, addresses but
for the country and the beginning of the postcode. An e-mail address is there as a keyed hash only: equal ones can be
told, none can be guessed and tried without the site's key.

Each table names the role that may ask it, its audience; admins may ask all of them, and they alone those that name
none. Columns named in `for_admins` are theirs, too.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property

from django.utils.crypto import salted_hmac

from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso, time_of
from dealsite.lake.columns import KINDS, Column, Source, attribute

OFFICE, ADMIN = "back office", "admin"  # audiences
TIMELESS = date(2000, 1, 1)  # the partition of what has no day of its creation


@dataclass(frozen=True)
class Entity:
    """A type of item and its table; `created` tells the day (UTC) of an item's creation, by which it is partitioned.

    `is_partial`: some of its columns are kept from whoever it was made for.
    """

    type: str
    table: str
    columns: tuple[Column, ...]
    created: Callable[[Item], datetime] | None = None
    audience: str = ADMIN
    is_partial: bool = False

    def seen_by(self, roles: Collection[str]) -> "Entity | None":
        """Return it with the columns that somebody with some roles may ask; None if that is none."""
        if ADMIN in roles:
            return self
        if self.audience not in roles:
            return None
        columns = tuple(column for column in self.columns if not column.is_for_admins)
        return replace(self, columns=columns, is_partial=len(columns) < len(self.columns))

    def day(self, item: Item) -> date:
        """Return the day of an item's partition, the same for as long as the item is there."""
        if self.created is None:
            return TIMELESS
        try:
            return self.created(item).date()
        except (AttributeError, LookupError, TypeError, ValueError):
            return TIMELESS

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kinds of its columns by their names."""
        return {column.name: column.kind for column in self.columns}


def columns(text: str, for_admins: str = "", **sources: Source) -> tuple[Column, ...]:
    """Return columns from `name` or `name:kind`; `sources` says where a value comes from, if not its own attribute."""
    kept = set(for_admins.split())
    made = []
    for word in text.split():
        name, _, kind = word.partition(":")
        if kind and kind not in KINDS:
            raise ValueError(f"There is no kind of column {kind!r}.")
        source = sources.get(name) or RENAMED.get(name) or attribute(name)
        made.append(Column(name, kind or "text", source, name in kept))
    if unknown := (sources.keys() | kept) - {column.name for column in made}:
        raise ValueError(f"No column is named {', '.join(unknown)}.")
    return tuple(made)


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


# Where columns come from that are called the same in every table, and otherwise in the items.
RENAMED: Mapping[str, Source] = {
    "email_hash": hashed_email,
    "featured": attribute("order"),
    "is_visitor": is_there("visitor"),
    "order_id": attribute("order"),
}


def _entity(
    type_: str,
    table: str,
    created: Callable[[Item], datetime] | None,
    text: str,
    *,
    audience: str = ADMIN,
    for_admins: str = "",
    **sources: Source,
) -> Entity:
    return Entity(type_, table, columns(text, for_admins, **sources), created, audience)


def _relation(type_: str, table: str, more: str = "") -> Entity:
    text = f"slug username created_at:time {more}"
    return _entity(type_, table, by_creation, text, audience=OFFICE, for_admins="username")


ENTITIES: tuple[Entity, ...] = (
    _entity(
        "Deal",
        "deals",
        by_id,
        "id title brand brand_name category price:money was_price:money voucher_code live_at:time "
        "expires_at:time sold_out:flag featured_on:json link description version:integer created_at:time "
        "created_by updated_at:time updated_by",
        live_at=by_id,
        audience=OFFICE,
    ),
    _entity(
        "Offer",
        "offers",
        by_id,
        "id brand category price:money expires_at:time stock:integer",
        audience=OFFICE,
    ),
    _entity(
        "Price", "prices", by_beginning, "id deal since:time price:money was_price:money", audience=OFFICE
    ),
    _entity(
        "Draft",
        "drafts",
        by_id,
        "id title brand brand_name category price:money was_price:money voucher_code expires_at:time link "
        "description stock:integer version:integer published_as created_by updated_at:time updated_by",
    ),
    _entity(
        "Brand",
        "brands",
        by_creation,
        "slug name description version:integer created_at:time updated_at:time updated_by",
        audience=OFFICE,
    ),
    _entity(
        "BrandCounts",
        "brand_counts",
        None,
        "slug deals:integer likes:integer watches:integer",
        audience=OFFICE,
    ),
    _entity(
        "Category",
        "categories",
        None,
        "slug name description featured:json featured_at:time featured_by version:integer updated_at:time "
        "updated_by",
        audience=OFFICE,
    ),
    _entity(
        "CategoryCounts",
        "category_counts",
        None,
        "slug deals:integer likes:integer watches:integer",
        audience=OFFICE,
    ),
    _entity("FrontPage", "front_pages", None, "featured:json featured_at:time featured_by", audience=OFFICE),
    _entity(
        "EditorsChoicePage",
        "editors_choice_pages",
        None,
        "featured:json featured_at:time featured_by",
        audience=OFFICE,
    ),
    _relation("BrandLike", "brand_likes"),
    _relation("BrandWatch", "brand_watches", "muted:flag"),
    _relation("CategoryLike", "category_likes"),
    _relation("CategoryWatch", "category_watches", "muted:flag"),
    _entity(
        "User",
        "users",
        by_creation,
        "username email_hash roles:json timezone created_at:time deleted_at:time suspended_at:time",
    ),
    _entity(
        "Message",
        "messages",
        by_id,
        "id username kind headline deal order_id unread:flag sent_at:time",
        unread=is_there("GSI1PK"),
        sent_at=by_id,
    ),
    _entity(
        "Job", "jobs", by_id, "id kind state tries:integer progress:json created_at:time", created_at=by_id
    ),
    _entity(
        "CartHead",
        "cart_heads",
        None,
        "username is_visitor:flag active:integer saved:integer version:integer",
        audience=OFFICE,
    ),
    _entity(
        "CartLine",
        "cart_lines",
        by_id,
        "id deal username is_visitor:flag status status_at:time order_id title brand brand_name category "
        "price:money quantity:integer added_at:time",
        status_at=attribute("at"),
        added_at=by_id,
        audience=OFFICE,
    ),
    _entity(
        "Order",
        "orders",
        by_id,
        "id username email_hash status placed_at:time status_at:time status_note total:money "
        "pieces:integer lines:integer plan:integer country postcode_area payments:json timeline:json "
        "version:integer",
        status_at=last_step("at"),
        status_note=last_step("note"),
        country=of_address("country"),
        postcode_area=of_address("postcode", 2),
        audience=OFFICE,
        for_admins="email_hash",
    ),
    _entity(
        "Payment",
        "payments",
        by_id,
        "id account order_id instalment:integer instalments:integer amount:money due_at:time status "
        "next_at:time tries:integer final:flag closed:flag transaction_id processed_at:time reason "
        "timeline:json version:integer",
        instalment=attribute("number"),
        instalments=attribute("of"),
        audience=OFFICE,
    ),
    _entity(
        "AuditEntry",
        "audit_entries",
        by_id,
        "id done_at:time done_by kind subject what note",
        done_at=attribute("at"),
        done_by=attribute("by"),
    ),
    _entity(
        "SecurityEvent",
        "security_events",
        by_id,
        "id happened_at:time event username network page detail request",
        happened_at=attribute("at"),
    ),
)

BY_TYPE: Mapping[str, Entity] = {entity.type: entity for entity in ENTITIES}
