"""Which entities go into a snapshot, and with which columns: what is named here, and nothing else.

Left out is whatever could let somebody in or tell who they are: passwords, session keys and visitors' cookies (also
their hashes), reset tokens (they stand in the payload of jobs), a gateway's name for a card, names, addresses but
for the country and the beginning of the postcode. An e-mail address is there as a keyed hash only: equal ones can be
told, none can be guessed and tried without the site's key.

Each table names the role that may ask it, its audience; admins may ask all of them, and they alone those that name
none. What is personal is theirs, too, unless the table is made `with_people`, and so is what `for_admins` names.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dealsite.data.entities import chart
from dealsite.data.entities.attributes import Map, Shape
from dealsite.lake.columns import (
    Column,
    Source,
    attribute,
    by_id,
    country,
    hashed_email,
    is_there,
    last_step,
    postcode_area,
)

OFFICE, ADMIN = "back office", "admin"  # audiences


@dataclass(frozen=True)
class Entity:
    """A type of item and its table, for whom the table is."""

    type: str
    table: str
    columns: tuple[Column, ...]
    audience: str = ADMIN

    def seen_by(self, roles: Collection[str]) -> "Entity | None":
        """Return it with the columns that somebody with some roles may ask; None if that is none."""
        if ADMIN in roles:
            return self
        if self.audience not in roles:
            return None
        return replace(self, columns=tuple(column for column in self.columns if not column.is_for_admins))

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kinds of its columns by their names."""
        return {column.name: column.kind for column in self.columns}


def columns(
    shape: Shape, text: str, for_admins: str = "", *, with_people: bool = False, **sources: Source | str
) -> tuple[Column, ...]:
    """Return the columns of what has such attributes; each is of the kind of its attribute, or of one of its card's.

    `sources` names the attribute of one that is called otherwise, or says where a value comes from that is none: its
    kind has to be told, `name:kind`. What is secret is refused, and what is personal is for admins, unless those for
    whom the table was made work `with_people`.
    """
    kept, made = set(for_admins.split()), list[Column]()
    card = shape.get("card")
    declared = {**(card.shape if isinstance(card, Map) else {}), **shape}
    for word in text.split():
        name, _, told = word.partition(":")
        source = sources.get(name) or RENAMED.get(name, name)
        if isinstance(source, str):
            if declared[source].secret:
                raise ValueError(f"{source} is secret and has no place in a snapshot.")
            if declared[source].personal and not with_people:
                kept.add(name)
            told, source = declared[source].column, attribute(source)
        made.append(Column(name, told or "text", source, name in kept))
    if unknown := (sources.keys() | kept) - {column.name for column in made}:
        raise ValueError(f"No column is named {', '.join(unknown)}.")
    return tuple(made)


# Where columns come from that are called the same in every table, and otherwise in the items.
RENAMED: Mapping[str, Source | str] = {
    "email_hash": hashed_email,
    "featured": "order",
    "is_visitor": is_there("visitor"),
    "order_id": "order",
}


def _entity(
    type_: str,
    table: str,
    text: str,
    *,
    audience: str = ADMIN,
    for_admins: str = "",
    with_people: bool = False,
    **sources: Source | str,
) -> Entity:
    shape, for_all = chart.ENTITIES[type_].shape, with_people or audience == ADMIN
    made = columns(shape, text, for_admins, with_people=for_all, **sources)
    return Entity(type_, table, made, audience)


def _relation(type_: str, table: str, more: str = "") -> Entity:
    text = f"slug username created_at {more}"
    return _entity(type_, table, text, audience=OFFICE)


ENTITIES: tuple[Entity, ...] = (
    _entity(
        "Deal",
        "deals",
        "id title brand brand_name category price condition was_price low low_seen_at low_seen_on raised_from sold "
        "shop is_ad voucher_code article_number live_at:time expires_at sold_out featured_on link description version "
        "created_at created_by updated_at updated_by",
        live_at=by_id,
        with_people=True,
        audience=OFFICE,
    ),
    _entity("Offer", "offers", "id brand category price expires_at stock elsewhere", audience=OFFICE),
    _entity("Price", "prices", "id deal since price new_seller", audience=OFFICE),
    _entity(
        "Draft",
        "drafts",
        "id title brand brand_name category price condition was_price low_seen_at low_seen_on sold shop is_ad "
        "voucher_code article_number expires_at link description stock version published_as created_by "
        "updated_at updated_by",
    ),
    _entity(
        "Brand",
        "brands",
        "slug name description version created_at updated_at updated_by",
        with_people=True,
        audience=OFFICE,
    ),
    _entity("BrandCounts", "brand_counts", "slug deals likes watches", audience=OFFICE),
    _entity(
        "Category",
        "categories",
        "slug name description featured featured_at featured_by version updated_at updated_by",
        with_people=True,
        audience=OFFICE,
    ),
    _entity("CategoryCounts", "category_counts", "slug deals likes watches", audience=OFFICE),
    _entity(
        "FrontPage", "front_pages", "featured featured_at featured_by", with_people=True, audience=OFFICE
    ),
    _entity(
        "EditorsChoicePage",
        "editors_choice_pages",
        "featured featured_at featured_by",
        with_people=True,
        audience=OFFICE,
    ),
    _relation("BrandLike", "brand_likes"),
    _relation("BrandWatch", "brand_watches", "muted"),
    _relation("CategoryLike", "category_likes"),
    _relation("CategoryWatch", "category_watches", "muted"),
    _entity("DealLike", "deal_likes", "deal username created_at", audience=OFFICE, deal="slug"),
    _entity("User", "users", "username email_hash roles timezone created_at deleted_at suspended_at"),
    _entity(
        "Message",
        "messages",
        "id username kind headline deal order_id unread:flag sent_at:time",
        unread=is_there("GSI1PK"),
        sent_at=by_id,
    ),
    _entity("Job", "jobs", "id kind state tries progress created_at:time", created_at=by_id),
    _entity(
        "CartHead",
        "cart_heads",
        "username is_visitor:flag active saved version",
        with_people=True,
        audience=OFFICE,
    ),
    _entity(
        "CartLine",
        "cart_lines",
        "id deal username is_visitor:flag status status_at order_id title brand brand_name category "
        "price quantity added_at:time",
        status_at="at",
        added_at=by_id,
        with_people=True,
        audience=OFFICE,
    ),
    _entity(
        "Order",
        "orders",
        "id username email_hash status placed_at status_at:time status_note total "
        "pieces lines plan country postcode_area payments timeline "
        "version",
        status_at=last_step("at"),
        status_note=last_step("note"),
        country=country,
        postcode_area=postcode_area,
        with_people=True,
        audience=OFFICE,
        for_admins="email_hash",
    ),
    _entity(
        "Payment",
        "payments",
        "id account order_id instalment instalments amount cut due_at status "
        "next_at tries final closed transaction_id processed_at reason "
        "refunds timeline version",
        instalment="number",
        instalments="of",
        with_people=True,
        audience=OFFICE,
    ),
    _entity(
        "AuditEntry", "audit_entries", "id done_at done_by kind subject what note", done_at="at", done_by="by"
    ),
    _entity(
        "SecurityEvent",
        "security_events",
        "id happened_at event username network page detail request",
        happened_at="at",
    ),
)

BY_TYPE: Mapping[str, Entity] = {entity.type: entity for entity in ENTITIES}
