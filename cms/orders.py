"""Orders: one with its lines and where it goes, and packing slips."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import NamedTuple

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from cms.payments import address_to, with_addresses
from cms.shared.requests import EditorRequest, next_address
from dealsite.accounts.decorators import back_office
from dealsite.accounts.order_parts import answer_address
from dealsite.data.commerce import orders, payments
from dealsite.data.commerce.carts import Line
from dealsite.data.commerce.order_lines import history, open_return
from dealsite.data.commerce.order_notes import NOTED
from dealsite.data.commerce.order_record import Order
from dealsite.data.commerce.orders import PAGE_SIZE
from dealsite.data.editing import audit
from dealsite.data.entities.commerce import FAILED
from dealsite.data.names import DAMAGED_FORM, is_username
from dealsite.data.people import users
from dealsite.data.people.users import User
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import is_ulid, new_id
from dealsite.data.table.parallel import together
from dealsite.search.office_finding import sums_of
from dealsite.worker.mails import subject_of


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
    """One order: what was bought, where it goes, how it is paid, what happened to it, its mails, notes and tags."""
    return order_page(request, username, order_id)


def order_page(
    request: EditorRequest, username: str, order_id: str, *, refused: Mapping[str, str] | None = None
) -> HttpResponse:
    """Return the page of an order, with why the fields of its forms were refused."""
    stored = orders.get(username, order_id)
    (stored, lines, incomplete), paid, shopper, entries = together(
        partial(orders.found_lines, stored),
        lambda: payments.of_order(username, stored.payments) if stored.payments else [],
        partial(users.find, username),
        partial(audit.of_target, "order", stored.id),
    )
    mails = orders.mails_of_order(stored, paid)
    became, asked = history(stored, lines), open_return(stored)
    events = [
        *((event, became.of(event)) for event in stored.timeline[::-1]),
        *((entry, ()) for entry in entries if entry.what == NOTED),
    ]
    context = {
        "order": stored,
        "ref": OrderRef(username, stored.id),
        "history": became,
        "can_take_back": any(one.sent for one in became.lines),
        "events": sorted(events, key=lambda one: one[0].at, reverse=True),
        "token": new_id(request.POST.get("token", ""), timezone.now()),
        "refused": refused,
        "asked": asked,
        "asked_lines": became.of(asked) if asked else [],
        "failed": next(((one, address_to("retry", one)) for one in paid if one.status == FAILED), None),
        "email": address_of_today(stored, shopper),
        "is_confirmed": bool(shopper and shopper.email),
        "mails": [(subject_of(one.status, one.headline), one) for one in mails],
        "sums": sums_of([username]).get(username),
        "incomplete": incomplete,
        "payments": with_addresses(paid),
        "entries": entries,
        "here": reverse("cms_order", args=[username, stored.id]),
        "trail": [
            (reverse("cms_orders"), _("Orders")),
            (reverse("cms_customer", args=[username]), username),
            ("", stored.id),
        ],
    }
    return render(request, "cms/orders/order.html", context, status=422 if refused else 200)


def address_of_today(order: Order, shopper: User | None) -> str:
    """Return the shopper's e-mail address, confirmed or not; of one who is gone, what stands on the order."""
    return shopper.email or shopper.pending_email if shopper else order.email


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
