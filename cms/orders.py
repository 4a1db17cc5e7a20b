"""Orders: those that wait, those of one shopper, one with its lines and where it goes, packing slips; finding one."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from cms.lists.deal_list import id_in, query
from cms.payments import ALL, MOST_EXPORTED_DAYS, address_to, read_span, with_addresses
from cms.shared.requests import EditorRequest, next_address
from dealsite.accounts.decorators import back_office
from dealsite.accounts.order_parts import answer_address
from dealsite.data.catalogue import deals
from dealsite.data.commerce import orders, payments
from dealsite.data.commerce.carts import Line
from dealsite.data.commerce.order_lines import history, open_return
from dealsite.data.commerce.order_record import Order, OrderCard
from dealsite.data.commerce.orders import PAGE_SIZE, IncompleteOrder, OrdersPage
from dealsite.data.editing import audit
from dealsite.data.entities.commerce import FAILED, ORDER_STATUSES as STATUSES, PLACED, SHIPPED
from dealsite.data.names import DAMAGED_FORM, is_username, normalise_username
from dealsite.data.people import users
from dealsite.data.people.users import User
from dealsite.data.table.errors import BadCursor, Invalid, NotFound
from dealsite.data.table.ids import first_ulid_of, is_ulid, iso, new_ulid
from dealsite.data.table.parallel import together
from dealsite.templatetags.design import state_words
from dealsite.text.stored_words import Text
from dealsite.worker.exports import every, exported, in_batches
from dealsite.worker.mails import subject_of

LISTS = {"placed": (PLACED, gettext_lazy("To ship")), "shipped": (SHIPPED, gettext_lazy("On the way"))}
LATE = timedelta(seconds=10)  # more than an order comes into the index after its time
NUMBER = re.compile("[0-9]{1,5}")


def _listed(query: QueryDict) -> str:
    listed = query.get("list", "placed")
    if listed not in LISTS:
        raise NotFound(_("There is no such list of orders."))
    return listed


def _all_orders(query: QueryDict, now: datetime) -> Iterator[dict[str, Any] | None]:
    """Yield the orders of a list, or of all states those that were placed on some days.

    2 batch gets for each 100, beside what the list costs.
    """
    cards: Iterable[OrderCard] = []
    if query.get("list") == ALL:
        span = read_span(query, timezone.localdate(now), most_days=MOST_EXPORTED_DAYS)
        if span.error:
            raise Invalid(span.error)
        found: list[OrderCard] = []
        for some in orders.placed_between(_midnight(span.first), _midnight(span.last + timedelta(days=1))):
            found += some
            yield None
        cards = sorted(found, key=lambda card: (card.placed_at, card.id))
    else:
        cards = every(partial(orders.waiting, LISTS[_listed(query)][0]))
    for batch in in_batches(cards):
        whole = orders.get_many((card.username, card.id) for card in batch)
        shoppers = users.get_many(order.username for order in whole)
        for order in whole:
            email = address_of_today(order, shoppers.get(order.username))
            yield {"order": order, "email": email, "currency": settings.DEALSITE_CURRENCY}


def address_of_today(order: Order, shopper: User | None) -> str:
    """Return the shopper's e-mail address, confirmed or not; of one who is gone, what stands on the order."""
    return shopper.email or shopper.pending_email if shopper else order.email


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=timezone.get_current_timezone()).astimezone(UTC)


@back_office.page("4 queries", at=("", "?list=shipped"))
@exported(
    gettext_lazy("Orders"),
    "Order=order.id, State=order.status, @Placed=order.placed_at, @State since=order.closed_at, "
    "User name=order.username, E-mail=email, Name=order.address.name, Street=order.address.street, "
    "Extra=order.address.extra, Postcode=order.address.postcode, City=order.address.city, "
    "Country=order.address.country, Pieces=order.card.pieces, Lines=order.card.lines, Total=order.total, "
    "Currency=currency, Instalments=order.card.plan, Paid=order.card.money.processed, "
    "To be paid=order.card.money.open, Failed=order.card.money.failed, Refunded=order.card.money.refunded, "
    "Tracking number=order.tracking",
    _all_orders,
)
def order_list(request: EditorRequest) -> HttpResponse:
    """One page of the orders that wait to be shipped, or to arrive, oldest first."""
    listed = _listed(request.GET)
    status, _label = LISTS[listed]
    now = timezone.now()
    after, before = request.GET.get("after") or None, request.GET.get("before") or None
    page = orders.waiting(status, after=after, before=before)
    chosen = {"list": listed}
    context = {
        "listed": listed,
        "status": status,
        "lists": order_lists(),
        "page": page,
        "token": new_ulid(now),
        "here": reverse("cms_orders") + query(chosen | {"after": after or "", "before": before or ""}),
        "news": reverse("cms_order_news") + query(_marks(listed, page, now)),
        "after": page.after and query(chosen | {"after": page.after}),
        "before": page.before and query(chosen | {"before": page.before}),
    }
    return render(request, "cms/orders/orders.html", context)


def order_lists() -> list[tuple[str, Text, str]]:
    """Return the name, words and address of each list of orders."""
    found = [
        (name, words, reverse("cms_orders") + query({"list": name})) for name, (_, words) in LISTS.items()
    ]
    return [*found, ("returns", gettext_lazy("Returns"), reverse("cms_returns"))]


# New orders come at the end of the list. Where its last page is open and has room, they are put there, below
# what stands there with all that is ticked and typed; else a line says how many came, and leads to them.


def _marks(listed: str, page: OrdersPage, now: datetime) -> dict[str, str]:
    """Return what the page says when it asks for news: from where on, what it shows of that, and its room."""
    if page.after or not page.rows:
        return {"list": listed, "since": _position(now)}
    return _room_marks(listed, page.rows, PAGE_SIZE - len(page.rows))


def _room_marks(listed: str, shown: Sequence[OrderCard], room: int) -> dict[str, str]:
    since = max(card.placed_at for card in shown) - LATE
    seen = [card.id for card in shown if card.placed_at >= since]
    return {"list": listed, "since": _position(since), "seen": ",".join(seen), "room": str(room)}


def _position(moment: datetime) -> str:
    return f"{iso(moment)}#{first_ulid_of(moment)}"


@back_office.part("4 queries")
def order_news(request: EditorRequest) -> HttpResponse:
    """What came into a list since its page was shown: 204 if nothing did, else rows for its end, or a line."""
    listed, since = request.GET.get("list", "placed"), request.GET.get("since", "")
    room, told = request.GET.get("room", "0"), request.GET.get("told", "0")
    if listed not in LISTS or not all(NUMBER.fullmatch(number) for number in (room, told)):
        raise BadCursor()
    page = orders.waiting(LISTS[listed][0], after=since or _position(timezone.now()))
    seen = set(request.GET.get("seen", "").split(","))
    new = [card for card in page.rows if card.id not in seen]
    if not new:
        return HttpResponse(status=204)
    number = int(told) + len(new)
    if not page.after and len(new) <= int(room):
        rows, marks, address = new, _room_marks(listed, page.rows, int(room) - len(new)), ""
    else:  # counted once: the mark moves on, and what came later is added
        first = request.GET.get("first") or since
        rows, address = [], reverse("cms_orders") + query({"list": listed, "after": first})
        marks = {"list": listed, "first": first, "told": str(number)}
        if page.after:
            marks |= {"since": page.after}
        else:
            marks |= {"since": since, "seen": ",".join(card.id for card in page.rows)}
    context = {
        "status": LISTS[listed][0],
        "rows": rows,
        "number": number,
        "address": address,
        "news": reverse("cms_order_news") + query(marks),
        "here": _shown_page(request),
    }
    return render(request, "cms/orders/_order_news.html", context)


def _shown_page(request: EditorRequest) -> str:
    """Return the page that asked, which its button loads anew."""
    address = request.htmx.current_url_abs_path or ""
    return address if address.startswith(reverse("cms_orders")) else reverse("cms_orders")


@back_office.page("none", at="?q=nothing")
def find_order(request: EditorRequest) -> HttpResponse:
    """Lead to an order or to who has a deal, by id or link, or to a user's orders, by name or e-mail address."""
    text = request.GET.get("q", "")[:2000].strip()
    order_id, username = id_in(text), ""
    if order_id:
        if card := _order_card(order_id):
            return redirect("cms_order", card.username, card.id)
        if deals.get_many([order_id]):
            return redirect("cms_buyers", order_id)
    elif "@" in text:
        found = users.find(text)
        username = found.username if found else ""
    else:
        username = _username(text)
    if username:
        return redirect("cms_shopper_orders", username)
    page = {"text": text, "order_id": order_id}
    return render(request, "cms/orders/find_order.html", page, status=404 if text else 200)


def _order_card(order_id: str) -> OrderCard | None:
    try:
        return orders.get_with_lines(order_id)[0]
    except IncompleteOrder as error:
        return error.card
    except NotFound:
        return None


def _username(text: str) -> str:
    try:
        return normalise_username(text)
    except Invalid:
        return ""


@back_office.page("1 query", at=("", "/cms/orders/of/nobody/"))
def shopper_orders(request: EditorRequest, username: str) -> HttpResponse:
    """One page of a user's orders, newest first, all or of a status."""
    if not is_username(username):
        raise NotFound(_("There is no such user."))
    status = request.GET.get("status", "").upper()
    if status and status not in STATUSES:
        raise NotFound(_("There is no such list of orders."))
    after, before = request.GET.get("after") or None, request.GET.get("before") or None
    page = orders.of_user(username, status=status, after=after, before=before)
    chosen = {"status": status.lower()}
    context = {
        "username": username,
        "status": status,
        "lists": [
            ("", _("All"), "?"),
            *((name, state_words(name), f"?status={name.lower()}") for name in STATUSES),
        ],
        "page": page,
        "here": request.get_full_path(),
        "after": page.after and query(chosen | {"after": page.after}),
        "before": page.before and query(chosen | {"before": page.before}),
        "trail": [(reverse("cms_orders"), _("Orders")), ("", username)],
    }
    return render(request, "cms/orders/shopper_orders.html", context)


@dataclass(frozen=True, slots=True)
class OrderRef:
    """Which order a form means: `username/id`."""

    username: str
    id: str

    def __str__(self) -> str:
        return f"{self.username}/{self.id}"


def read_refs(texts: Sequence[str]) -> list[OrderRef]:
    """Return the orders that a form names, each once; Invalid for what no form of ours says, or for too many."""
    refs = []
    for text in dict.fromkeys(texts):
        username, _slash, order_id = text.partition("/")
        if not is_username(username) or not is_ulid(order_id):
            raise Invalid(DAMAGED_FORM)
        refs.append(OrderRef(username, order_id))
    if len(refs) > PAGE_SIZE:
        raise Invalid(_("Choose up to %(page_size)s orders at once.") % {"page_size": PAGE_SIZE})
    return refs


def back_to(request: EditorRequest) -> str:
    """Return the page that a form came from, or the list of orders."""
    own = reverse("cms_orders")
    return next_address(request, own, within=own)


def none_chosen(request: EditorRequest) -> HttpResponse:
    """Lead back from a button that was pressed with nothing ticked."""
    messages.warning(request, _("Choose at least one order first: tick the box before it."))
    return redirect(back_to(request))


@back_office.page("2 gets + 2 queries + 2 batch gets")
def order(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """One order: what was bought, where it goes, how it is paid, what happened to it, and its mails."""
    stored = orders.get(username, order_id)
    (stored, lines, incomplete), paid, shopper, entries = together(
        partial(orders.found_lines, stored),
        lambda: payments.of_order(username, stored.payments) if stored.payments else [],
        partial(users.find, username),
        partial(audit.of_target, "order", stored.id),
    )
    mails = orders.mails_of_order(stored, paid)
    became, asked = history(stored, lines), open_return(stored)
    context = {
        "order": stored,
        "ref": OrderRef(username, stored.id),
        "history": became,
        "can_take_back": any(one.sent for one in became.lines),
        "events": [(event, became.of(event)) for event in stored.timeline[::-1]],
        "asked": asked,
        "asked_lines": became.of(asked) if asked else [],
        "failed": next(((one, address_to("retry", one)) for one in paid if one.status == FAILED), None),
        "email": address_of_today(stored, shopper),
        "is_confirmed": bool(shopper and shopper.email),
        "mails": [(subject_of(one.status, one.headline), one) for one in mails],
        "incomplete": incomplete,
        "payments": with_addresses(paid),
        "entries": entries,
        "here": reverse("cms_order", args=[username, stored.id]),
        "trail": [
            (reverse("cms_orders"), _("Orders")),
            (reverse("cms_shopper_orders", args=[username]), username),
            ("", stored.id),
        ],
    }
    return render(request, "cms/orders/order.html", context)


class PackingSlip(NamedTuple):
    """What goes into a parcel, or went, each line with its number of pieces."""

    order: Order
    number: int
    lines: list[tuple[Line, int]]

    @property
    def pieces(self) -> int:
        return sum(pieces for _line, pieces in self.lines)


def _slips(order: Order, lines: Sequence[Line], parcel: str) -> list[PackingSlip]:
    """Return the slip of what is to be shipped of an order; where nothing is, those of its parcels; or of one."""
    became = history(order, lines)
    sent = [PackingSlip(order, one.number, one.lines) for one in became.parcels]
    if parcel:
        return [slip for slip in sent if str(slip.number) == parcel]
    to_ship = [(one.line, one.to_ship) for one in became.lines if one.to_ship]
    return [PackingSlip(order, len(sent) + 1, to_ship)] if to_ship else sent


@back_office.form("1 get")
def order_address(request: EditorRequest, username: str, order_id: str) -> HttpResponse:
    """Ask where an order that is not shipped yet goes instead, and change it."""
    found, back = orders.get(username, order_id), reverse("cms_order", args=[username, order_id])
    trail = [(reverse("cms_orders"), _("Orders")), (back, order_id), ("", _("Address"))]
    return answer_address(request, "cms/orders/order_address.html", found, back=back, trail=trail)


@back_office.page("1 batch get + 1 query", at="?order={shopper}/{order}")
def packing_slips(request: EditorRequest) -> HttpResponse:
    """The slips of up to 25 orders, each on a page of its own; none for an order whose lines do not add up.

    With `parcel`, by its number, that of what was shipped in it.
    """
    refs = read_refs(request.GET.getlist("order"))
    if not refs:
        return none_chosen(request)
    found = orders.get_many((ref.username, ref.id) for ref in refs)
    read = together(*(partial(orders.found_lines, order) for order in found))
    incomplete = [(order, problem) for order, _, problem in read if problem]
    parcel = request.GET.get("parcel", "")
    slips = [_slips(order, lines, parcel) for order, lines, problem in read if not problem]
    context = {
        "slips": list(chain.from_iterable(slips)),
        "nothing": sum(not some for some in slips),
        "incomplete": incomplete,
        "missing": len(refs) - len(found),
        "next": back_to(request),
    }
    return render(request, "cms/orders/packing_slips.html", context, status=409 if incomplete else 200)
