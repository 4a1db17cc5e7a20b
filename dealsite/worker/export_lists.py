"""The lists that can be exported: for whom, what narrows them down, where their rows come from, and their columns.

The CMS's buttons and forms, the jobs, and the files that the worker writes are made from this.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from dealsite.data.catalogue import featured_plans
from dealsite.data.catalogue.featured_versions import FeaturedEntry
from dealsite.data.editing import trash
from dealsite.data.editing.audit import Entry
from dealsite.data.entities.work import ADMINS_EXPORT, EDITORS_EXPORT, EXPORT
from dealsite.data.jobs.exports import AUDIT, DEALS, DRAFTS, ORDERS, PAYMENTS, Payload
from dealsite.data.people import announcements, users
from dealsite.data.table.errors import Text
from dealsite.worker import export_sources as sources
from dealsite.worker.export_sources import AT_ONCE, Export, every

CONTENT = (
    "title=deal.content.title, brand=deal.card.brand_name, category=deal.content.category, "
    "price=deal.content.price, was_price=deal.content.was_price, voucher_code=deal.content.voucher_code, "
    "url=deal.content.link, description=deal.content.description"
)
CHANGED = "@expires_at=deal.content.expires_at, @changed_at=deal.updated_at, changed_by=deal.updated_by"
COUNTED = "short_name=slug, name, deals=counts.deals, likes=counts.likes, watches=counts.watches"


@dataclass(frozen=True, slots=True)
class ExportList:
    """A list: its name in addresses, its source, its columns, and the kind of job that writes its file.

    A column is `title=where.its.value.stands`, or both in one word; an @ marks times. `cells` work out those of some
    titles. `filters` is what its page can narrow it down by, None for one that no page has the button for; without
    the `needed` ones there is no such list.
    """

    name: str
    title: Text
    source: Callable[[Export], Iterable[Any]]
    columns: str
    filters: tuple[str, ...] | None = ()
    needed: tuple[str, ...] = ()
    cells: Mapping[str, Callable[[Any], object]] = field(default_factory=dict)
    kind: str = EDITORS_EXPORT

    def titles(self, zone: str) -> list[str]:
        """Return the column titles; those of times name the zone."""
        titles = [column.partition("=")[0] for column in self.columns.split(", ")]
        return [f"{title[1:]} ({zone})" if title.startswith("@") else title for title in titles]

    def rows(self, payload: Payload, now: datetime, note: Callable[..., None]) -> Iterator[list[object]]:
        """Yield the rows; times are in the zone that was asked for."""
        show = partial(_shown, zone=ZoneInfo(payload.zone))
        columns = [column.removeprefix("@").partition("=") for column in self.columns.split(", ")]
        cells = [self.cells.get(title) or partial(_value, where or title) for title, _, where in columns]
        for one in self.source(Export(payload, now, note)):
            yield [show(cell(one)) for cell in cells]


def _value(where: str, one: Any) -> object:
    for name in where.split("."):
        if one is not None:
            one = one.get(name) if isinstance(one, Mapping) else getattr(one, name)
    return one


def _shown(cell: object, zone: ZoneInfo) -> object:
    match cell:
        case datetime():
            return f"{cell.astimezone(zone):%Y-%m-%d %H:%M:%S}"
        case bool():
            return "yes" if cell else "no"
        case tuple():
            return "; ".join(cell)
    return cell


def _currency(_one: object) -> str:
    return str(settings.DEALSITE_CURRENCY)


def _featured(deals: Iterable[FeaturedEntry]) -> str:
    return "; ".join(f"{n}. {deal.title} ({deal.id})" for n, deal in enumerate(deals, 1))


def _changes(entry: Entry) -> str:
    names = sorted({*entry.before, *entry.after})
    return "; ".join(f"{n}: {entry.before.get(n, '')} → {entry.after.get(n, '')}" for n in names)


LISTS = {
    one.name: one
    for one in (
        ExportList(
            ORDERS,
            _("Orders"),
            sources.all_orders,
            "Order=id, State=status, @Placed=placed_at, @State since=closed_at, User name=username, E-mail=email, "
            "Name=address.name, Street=address.street, Extra=address.extra, Postcode=address.postcode, "
            "City=address.city, Country=address.country, Pieces=card.pieces, Lines=card.lines, Total=total, "
            "Currency, Instalments=card.plan, Tracking number=tracking",
            None,
            cells={"Currency": _currency},
            kind=EXPORT,
        ),
        ExportList(
            PAYMENTS,
            _("Payments"),
            sources.all_payments,
            "Payment=id, Account=account, Order=order, Instalment=number, Of=of, State=status, Amount=amount, "
            "Currency, @Due=due_at, @State since=at, Transaction=transaction_id, Reason=reason, Day closed=closed",
            None,
            cells={"Currency": _currency},
            kind=EXPORT,
        ),
        ExportList(
            DEALS,
            _("Deals"),
            sources.all_deals,
            f"id=deal.id, state, {CONTENT}, @published_at=live_at, {CHANGED}",
            ("state", "brand", "category", "q", "lacks"),
        ),
        ExportList(
            DRAFTS,
            _("Drafts"),
            sources.all_drafts,
            f"id=deal.id, {CONTENT}, stock=deal.content.stock, {CHANGED}, started_by=deal.created_by",
            None,
        ),
        ExportList(
            "attention",
            _("Needs attention"),
            sources.what_needs_an_editor,
            f"id=deal.id, state, {CONTENT}, @published_at=live_at, {CHANGED}, lacks, link_error=check.reason, "
            "@link_broken_since=check.since, featured_on=page",
            ("topic",),
            ("topic",),
        ),
        ExportList(
            "trash",
            _("Trash"),
            every(trash.newest, "things"),
            "id, kind, title=card.title, brand=card.brand_name, category=card.category, price=card.price, "
            "was_price=card.was_price, @deleted_at=at, deleted_by=by, @kept_until=until",
        ),
        ExportList(
            "imports",
            _("Imports"),
            sources.all_imports,
            "id=import.id, @brought_at=import.at, brought_by=import.card.by, file=import.card.name, "
            "state=import.card.stage, job=import.job.state, rows=import.card.rows, new, imported, "
            "there_before=totals.there, refused=totals.refused",
        ),
        ExportList("brands", _("Brands"), sources.all_brands, COUNTED),
        ExportList("categories", _("Categories"), sources.all_categories, COUNTED),
        ExportList(
            "planned-lists",
            _("Planned lists"),
            lambda export: featured_plans.newest(),
            "id, page, @shown_from=at, state, deals, titles, planned_by=by, @changed_at=updated_at, why, left_out",
            cells={"deals": lambda plan: len(plan.deals), "titles": lambda plan: _featured(plan.deals)},
        ),
        ExportList(
            "messages",
            _("Messages"),
            every(announcements.newest, "rows"),
            "id, @goes_out_at=going_out_at, state, headline, deal, brand=audience.brand, category=audience.category",
        ),
        ExportList(
            "jobs", _("Jobs"), sources.jobs_of_month, "id, @created_at, kind, state, tries", ("month",)
        ),
        ExportList(
            "holders",
            _("Carts and buyers"),
            sources.carts_with,
            "@since=at, user_name=username, pieces=quantity, price, amount=total, order, deal, title",
            ("status", "day", "deal"),
            ("status", "deal"),
            kind=EXPORT,
        ),
        ExportList(
            "users",
            _("Users"),
            every(partial(users.page, limit=AT_ONCE), "users"),
            "user_name=username, name, email, roles, zone=timezone, two_factor, @created_at",
            cells={
                "roles": lambda user: ", ".join(user.roles_in_order),
                "two_factor": lambda user: bool(user.two_factor),
            },
            kind=ADMINS_EXPORT,
        ),
        ExportList(
            AUDIT,
            _("Audit log"),
            sources.audit_entries,
            "id, @at, person=by, kind, subject, what, note, changes",
            ("day", "by", "kind", "subject"),
            cells={"changes": _changes},
            kind=ADMINS_EXPORT,
        ),
    )
}
