"""Lists of orders: all of them, those that wait, those of one shopper; found by words, numbers and amounts."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.vary import vary_on_headers

from cms.lists.deal_list import id_in, places, query
from cms.lists.list_address import Columns, Tab
from cms.orders import address_of_today
from cms.payments import payment_address
from cms.shared.fields import PriceField
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import back_office
from dealsite.data.commerce import orders
from dealsite.data.commerce.countries import country_name
from dealsite.data.commerce.order_record import PAYMENT_STATES, OrderCard
from dealsite.data.commerce.orders import PAGE_SIZE, IncompleteOrder, OrdersPage
from dealsite.data.entities.commerce import PLACED, SHIPPED
from dealsite.data.people import users
from dealsite.data.table.errors import BadCursor, Invalid, NotFound
from dealsite.data.table.ids import first_ulid_of, folded, iso
from dealsite.search import office_finding
from dealsite.search.lists import NOT_READY, page_number, words_in
from dealsite.search.office import CUSTOMER, ORDER, PAYMENT, OfficeDocument
from dealsite.search.office_finding import (
    OrdersFound,
    OrdersQuestion,
    find_by_text,
    find_orders,
    in_use,
    known_orders,
)
from dealsite.templatetags.design import state_words
from dealsite.text.stored_words import Text
from dealsite.worker.exports import every, exported, in_batches

WAITING = {"placed": PLACED, "shipped": SHIPPED}  # read from the table, and right at once
LISTS = {
    "": gettext_lazy("All"),
    "placed": gettext_lazy("To ship"),
    "shipped": gettext_lazy("On the way"),
    "delivered": gettext_lazy("Delivered"),
    "cancelled": gettext_lazy("Cancelled"),
    "returned": gettext_lazy("Returned"),
    office_finding.FAILED: gettext_lazy("Payment failed"),
}
NOTHING_IN = {
    "": gettext_lazy("There are no orders yet."),
    "placed": gettext_lazy("There are no orders to ship."),
    "shipped": gettext_lazy("Nothing is on the way."),
}
COLUMNS = Columns(
    {
        "bought": gettext_lazy("Bought"),
        "tags": gettext_lazy("Tags"),
        "state": gettext_lazy("State"),
        "payment": gettext_lazy("Payment"),
        "pieces": gettext_lazy("Pieces"),
        "total": gettext_lazy("Total"),
        "paid": gettext_lazy("Paid"),
        "open": gettext_lazy("To be paid"),
        "plan": gettext_lazy("Instalments"),
        "place": gettext_lazy("Goes to"),
        "user": gettext_lazy("User name"),
        "id": gettext_lazy("Id"),
    },
    ("bought", "tags", "state", "payment", "pieces", "total", "place"),
)
OF_CUSTOMER = ("bought", "tags", "state", "payment", "pieces", "total")  # in a list of one customer's orders
WITH_THE_CUSTOMER = ("bought", "tags")  # stand in the customer's own column
KINDS = {"state": "state", "payment": "note", "total": "amount", "place": "place"} | dict.fromkeys(
    ("pieces", "paid", "open", "plan"), "number"
)
LATE = timedelta(seconds=10)  # more than an order comes into the index after its time
NUMBER = re.compile("[0-9]{1,5}")
BESIDE = 5  # customers and payments that are named beside the orders


def _payments() -> list[tuple[str, str]]:
    return [("", _("Any")), *((state, state_words(state)) for state in PAYMENT_STATES)]


SHOWN: Mapping[str, Callable[[str], Text]] = {"payment": state_words, "country": country_name}
DAY = forms.DateInput({"type": "date"}, format="%Y-%m-%d")


class FilterForm(forms.Form):
    """What orders are narrowed down by; what is wrong narrows nothing."""

    payment = forms.ChoiceField(label=gettext_lazy("Payment"), choices=_payments, required=False)
    country = forms.CharField(label=gettext_lazy("Country"), required=False, widget=forms.Select)
    tag = forms.CharField(label=gettext_lazy("Tag"), required=False, widget=forms.Select)
    product = forms.CharField(label=gettext_lazy("Deal: words of its title, or its id"), required=False)
    first = forms.DateField(label=gettext_lazy("Placed from"), required=False, widget=DAY)
    last = forms.DateField(label=gettext_lazy("Placed to"), required=False, widget=DAY)
    least = PriceField(label=gettext_lazy("Amount from"), required=False)
    most = PriceField(label=gettext_lazy("Amount to"), required=False)

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data, auto_id="filter-%s")
        for field in self.fields.values():
            field.widget.attrs["form"] = "orders-filter"


@dataclass(frozen=True)
class OrdersList:
    """A list of orders as its address asks for it."""

    listed: str
    words: str
    form: FilterForm
    columns: str

    @classmethod
    def of(cls, query: QueryDict) -> "OrdersList":
        """Return what an address asks for; NotFound for what no list has."""
        listed = query.get("list", "")
        if listed not in LISTS:
            raise NotFound(_("There is no such list of orders."))
        form = FilterForm(query)
        form.is_valid()
        columns = COLUMNS.in_address(query.get("columns", ""))
        return cls(listed, words_in(query.get("q", "")), form, columns)

    @property
    def filters(self) -> dict[str, Any]:
        """What it is narrowed down by, by the names of fields."""
        return {name: value for name, value in self.form.cleaned_data.items() if value not in ("", None)}

    @property
    def chosen(self) -> dict[str, str]:
        """What its address says."""
        chosen = {name: str(value) for name, value in self.filters.items()}
        return {"list": self.listed, "q": self.words, **chosen, "columns": self.columns}

    @property
    def waits(self) -> str:
        """The status of the orders of a list that the table has as it is, '' for others."""
        return "" if self.words or self.filters else WAITING.get(self.listed, "")

    def question(self) -> OrdersQuestion:
        """Return what search is asked."""
        found = self.filters
        last = found.get("last")
        return OrdersQuestion(
            self.words,
            listed=self.listed,
            payment_state=found.get("payment", ""),
            country=found.get("country", ""),
            tag=found.get("tag", ""),
            product=found.get("product", ""),
            first=_midnight(found["first"]) if "first" in found else None,
            until=_midnight(last + timedelta(days=1)) if last else None,
            least=found.get("least"),
            most=found.get("most"),
        )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=timezone.get_current_timezone()).astimezone(UTC)


@dataclass(frozen=True)
class OrderRow:
    """An order as a list shows it: the table's card, and what was bought and where it goes as search knows it."""

    card: OrderCard
    known: OfficeDocument

    @property
    def bought(self) -> str:
        """The title of the first deal."""
        return next(iter(self.known.lines.values()), "")

    @property
    def more(self) -> int:
        """How many other deals there are."""
        return max(len(self.known.lines) - 1, 0)


def order_table(columns: Sequence[str]) -> dict[str, Any]:
    """Return what a table of orders and its rows need to know of its columns."""
    own = [
        (name, KINDS.get(name, name), COLUMNS.labels[name])
        for name in columns
        if name not in WITH_THE_CUSTOMER
    ]
    return {"columns": columns, "own_columns": own}


def order_rows(cards: Sequence[OrderCard]) -> list[OrderRow]:
    """Return the rows of some orders."""
    known = known_orders(cards)
    return [OrderRow(card, known.get(card.id, OfficeDocument())) for card in cards]


def _all_orders(query: QueryDict, now: datetime) -> Iterator[dict[str, Any]]:
    """Yield the orders of a list, the oldest first; Unavailable while there is no index, but for those that wait.

    2 batch gets for each 100, beside what the list costs.
    """
    asked = OrdersList.of(query)
    if asked.form.errors:
        raise Invalid(_first_error(asked.form))
    listed: Iterable[OrderCard | OfficeDocument]
    if asked.waits:
        listed = every(partial(orders.waiting, asked.waits))
    else:
        listed = office_finding.every_order(asked.question())
    for batch in in_batches(listed):
        whole = orders.get_many((one.username, one.id) for one in batch)
        shoppers = users.get_many(order.username for order in whole)
        for order in whole:
            email = address_of_today(order, shoppers.get(order.username))
            yield {"order": order, "email": email, "currency": settings.DEALSITE_CURRENCY}


EXAMPLES = ("", "?list=placed", "?list=shipped", "?q=nothing", "?first=2026-11-01&least=1")


@back_office.page("1 batch get or 4 queries", at=EXAMPLES)
@vary_on_headers("HX-Request")
@exported(
    gettext_lazy("Orders"),
    "Order=order.id, State=order.status, @Placed=order.placed_at, @State since=order.closed_at, "
    "User name=order.username, E-mail=email, Name=order.address.name, Street=order.address.street, "
    "Extra=order.address.extra, Postcode=order.address.postcode, City=order.address.city, "
    "Country=order.address.country_name, Pieces=order.card.pieces, Lines=order.card.lines, Total=order.total, "
    "Currency=currency, Instalments=order.card.plan, Paid=order.card.money.processed, "
    "To be paid=order.card.money.open, Failed=order.card.money.failed, Refunded=order.card.money.refunded, "
    "Tracking number=order.tracking, Province=order.address.state, Country code=order.address.country_code, "
    "Telephone=order.address.phone, Bill to=order.bill_to.in_short, Cancelled=order.card.money.cancelled",
    _all_orders,
)
def order_list(request: EditorRequest) -> HttpResponse:
    """One page of orders: those that wait, oldest first; of others that were found, the newest first."""
    asked, now = OrdersList.of(request.GET), timezone.now()
    if asked.words and not request.htmx and (leads := _led_to(asked.words)):
        return redirect(leads)
    own, chosen = reverse("cms_orders"), asked.chosen
    context = _waiting(request, asked, now) if asked.waits else _found(request, asked)
    found: OrdersFound = context["found"]
    cards = (row.card for row in context["rows"])
    columns = COLUMNS.named(asked.columns)
    to_pack = [card for card in cards if card.to_ship and card.may_ship]
    context |= {
        "listed": asked.listed,
        "status": WAITING.get(asked.listed, ""),
        "to_pack": to_pack,
        "slips": slips_address(to_pack),
        "sorted": "ascending" if asked.listed in WAITING else "descending",
        "words": asked.words,
        "chosen": chosen,
        "form": asked.form,
        "trouble": _first_error(asked.form),
        "chips": _chips(asked),
        "lists": order_lists(found, chosen),
        "here": own
        + query(chosen | {name: request.GET.get(name, "") for name in ("after", "before", "page")}),
        "export_address": own + query(chosen),
        "column_choices": COLUMNS.choices(columns),
        **order_table(columns),
    }
    if not request.htmx:
        for name, values in in_use().items():
            shown = sorted(
                ((one, SHOWN.get(name, str)(one)) for one in values), key=lambda one: folded(str(one[1]))
            )
            asked.form.fields[name].widget.choices = [("", _("Any")), *shown]
        return render(request, "cms/orders/orders.html", context)
    response = render(request, "cms/orders/_orders_found.html", context)
    response["HX-Replace-Url"] = own + query(chosen)
    return response


def slips_address(cards: Iterable[OrderCard]) -> str:
    """Return the address of the packing slips of some orders."""
    chosen = QueryDict(mutable=True)
    chosen.setlist("order", [f"{card.username}/{card.id}" for card in cards])
    return f"{reverse('cms_packing_slips')}?{chosen.urlencode()}"


def _waiting(request: EditorRequest, asked: OrdersList, now: datetime) -> dict[str, Any]:
    after, before = request.GET.get("after") or None, request.GET.get("before") or None
    page = orders.waiting(asked.waits, after=after, before=before)
    return {
        "found": find_orders(asked.question(), size=1),
        "rows": order_rows(page.rows),
        "news": reverse("cms_order_news") + query(_marks(asked.listed, page, now)),
        "after": page.after and query(asked.chosen | {"after": page.after}),
        "before": page.before and query(asked.chosen | {"before": page.before}),
        "empty": NOTHING_IN[asked.listed],
    }


def _found(request: EditorRequest, asked: OrdersList) -> dict[str, Any]:
    number = page_number(request.GET.get("page", "1"))
    if not number:
        raise BadCursor()
    found = find_orders(asked.question(), page=number)
    cards = {
        order.id: order.card for order in orders.get_many((one.username, one.id) for one in found.orders)
    }
    rows = [OrderRow(cards[one.id], one) for one in found.orders if one.id in cards]
    empty = NOTHING_IN.get(asked.listed, _("There are no orders in this list."))
    if asked.words or asked.filters:
        empty = _("No order fits.")
    is_first = number == 1 and bool(asked.words)
    return {
        "found": found,
        "rows": rows,
        "customers": find_by_text(asked.words, CUSTOMER, size=BESIDE).rows if is_first else [],
        "payments": payments_found(asked.words) if is_first else [],
        "empty": empty if found.ready else NOT_READY,
        **places(asked.chosen, number, found.pages, len(found.orders)),
    }


def payments_found(words: str) -> list[tuple[OfficeDocument, str]]:
    """Return the newest payments that have some words, each with its address. No requests."""
    found = find_by_text(words, PAYMENT, size=BESIDE).rows
    return [(one, payment_address(one.id, one.username, one.at)) for one in found]


def _led_to(words: str) -> str:
    """Return the address of the order whose id, link or number was typed, or of the orders of a deal; '' for others.

    1 query for an id.
    """
    if id_ := id_in(words):
        try:
            card = orders.get_with_lines(id_)[0]
        except IncompleteOrder as error:
            card = error.card
        except NotFound:
            return reverse("cms_orders") + query({"product": id_})
        return reverse("cms_order", args=[card.username, card.id])
    found = find_by_text(words, ORDER, size=2).rows
    is_it = len(found) == 1 and found[0].is_named(words)
    return reverse("cms_order", args=[found[0].username, found[0].id]) if is_it else ""


def order_lists(found: OrdersFound, chosen: dict[str, str]) -> list[Tab]:
    """Return the lists of orders, each with how many of those that were found are in it."""
    own, numbers = reverse("cms_orders"), found.numbers
    tabs = [
        Tab(name, words, own + query(chosen | {"list": name}), numbers.get(name, 0) if found.ready else None)
        for name, words in LISTS.items()
    ]
    return [*tabs, Tab("returns", gettext_lazy("Returns"), reverse("cms_returns"))]


def _chips(asked: OrdersList) -> list[tuple[str, Text, str]]:
    """Return (label, value, the list without it) of each filter."""
    return [
        (str(asked.form[name].label), SHOWN.get(name, str)(value), query(asked.chosen | {name: ""}))
        for name, value in asked.filters.items()
    ]


def _first_error(form: forms.Form) -> str:
    """Return what is wrong with the first field that is."""
    return next((f"{form.fields[name].label}: {errors[0]}" for name, errors in form.errors.items()), "")


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
    if listed not in WAITING or not all(NUMBER.fullmatch(number) for number in (room, told)):
        raise BadCursor()
    page = orders.waiting(WAITING[listed], after=since or _position(timezone.now()))
    seen = set(request.GET.get("seen", "").split(","))
    new = [card for card in page.rows if card.id not in seen]
    if not new:
        return HttpResponse(status=204)
    number = int(told) + len(new)
    if not page.after and len(new) <= int(room):
        rows, marks, address = order_rows(new), _room_marks(listed, page.rows, int(room) - len(new)), ""
    else:  # counted once: the mark moves on, and what came later is added
        first = request.GET.get("first") or since
        rows, address = [], reverse("cms_orders") + query({"list": listed, "after": first})
        marks = {"list": listed, "first": first, "told": str(number)}
        if page.after:
            marks |= {"since": page.after}
        else:
            marks |= {"since": since, "seen": ",".join(card.id for card in page.rows)}
    here = _shown_page(request)
    context = {
        "status": WAITING[listed],
        "rows": rows,
        "number": number,
        "address": address,
        "news": reverse("cms_order_news") + query(marks),
        "here": here,
        **order_table(COLUMNS.named(QueryDict(urlsplit(here).query).get("columns", ""))),
    }
    return render(request, "cms/orders/_order_news.html", context)


def _shown_page(request: EditorRequest) -> str:
    """Return the page that asked, which its button loads anew."""
    address = request.htmx.current_url_abs_path or ""
    return address if address.startswith(reverse("cms_orders")) else reverse("cms_orders")
