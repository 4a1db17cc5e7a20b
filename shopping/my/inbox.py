"""The inbox: messages to a user, read one by one or all at once."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from django.contrib import messages as notes
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_cache_control
from django.utils.formats import date_format
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from dealsite.accounts.decorators import signed_in
from dealsite.accounts.requests import SiteRequest, UserRequest, destination
from dealsite.data.catalogue import deals
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.commerce.order_record import HEADLINES, PART_HEADLINES
from dealsite.data.entities.attributes import CENT
from dealsite.data.entities.commerce import CANCELLED, DELIVERED, RETURNED, SHIPPED
from dealsite.data.entities.people import HOT_DEAL, NEW_DEAL, ORDER_NEWS, PAYMENT_NEWS
from dealsite.data.jobs import site_switch
from dealsite.data.people import messages
from dealsite.data.people.messages import Message
from dealsite.data.table.errors import BadCursor, DataError
from dealsite.data.table.ids import is_ulid, last_ulid_until
from dealsite.data.table.parallel import together
from dealsite.web.pages import everyone

MOST_AT_ONCE = 100  # more are marked read by the worker
AMOUNT = re.compile(r"\D")  # what is no digit of an amount, which has two behind its point
ICONS = {  # by kind, and by what a message says of an order
    HOT_DEAL: "flame",
    NEW_DEAL: "bell",
    PAYMENT_NEWS: "wallet",
    ORDER_NEWS: "package",
    HEADLINES[SHIPPED]: "truck",
    HEADLINES[DELIVERED]: "circle-check",
    HEADLINES[CANCELLED]: "circle-x",
    PART_HEADLINES[SHIPPED]: "truck",
    HEADLINES[RETURNED]: "undo-2",
}


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message in the list; `card` is that of its deal, where shoppers can see it."""

    message: Message
    icon: str
    card: DealCard | None

    @property
    def unread(self) -> bool:
        return self.message.unread


@dataclass(frozen=True, slots=True)
class MessageGroup:
    """A message, or all of a day that say the same of orders or payments; `total` is what the payments come to."""

    says: str
    rows: list[MessageRow]

    @property
    def unread(self) -> bool:
        return any(row.unread for row in self.rows)

    @property
    def total(self) -> Decimal | None:
        amounts = [AMOUNT.sub("", row.message.headline.rpartition(": ")[2]) for row in self.rows]
        is_money = self.rows[0].message.kind == PAYMENT_NEWS and all(amounts)
        return sum(map(Decimal, amounts), Decimal(0)) * CENT if is_money else None


class MessageDay(NamedTuple):
    """The messages of a day, in the zone of who reads them."""

    name: str
    groups: list[MessageGroup]


def by_day(rows: Iterable[MessageRow], today: date) -> list[MessageDay]:
    """Return messages by day, like ones of a day in one group, where the newest of them stands."""
    days: dict[date, dict[str, MessageGroup]] = {}
    for row in rows:
        message = row.message
        groups = days.setdefault(timezone.localdate(message.sent_at), {})
        says = (message.kind == PAYMENT_NEWS and message.headline.rpartition(": ")[0]) or message.headline
        alike = f"{message.kind} {says}" if message.kind in (ORDER_NEWS, PAYMENT_NEWS) else message.id
        groups.setdefault(alike, MessageGroup(says, [])).rows.append(row)
    names = {today: _("Today"), today - timedelta(days=1): _("Yesterday")}
    return [
        MessageDay(names.get(day) or date_format(day), [*groups.values()]) for day, groups in days.items()
    ]


@signed_in.page("2 queries + 1 batch get", at=("", "?show=unread"))
def inbox(request: UserRequest) -> HttpResponse:
    """Show a page of the user's messages by day, or with `show=unread` of those that they have not read.

    2 queries, and 1 batch get for deals.
    """
    username, now = request.user.username, timezone.now()
    unread = request.GET.get("show") == "unread"
    places = {"after": request.GET.get("after"), "before": request.GET.get("before")}
    page, all_unread = together(
        partial(messages.inbox, username, unread=unread, **places), partial(messages.unread, username)
    )
    told_of = {message.deal for message in page.rows if message.deal}
    stored = deals.get_many(told_of) if told_of else {}
    cards = {deal.id: deal.card for deal in stored.values() if deal.card.is_visible(now)}
    rows = [
        MessageRow(one, ICONS.get(one.headline) or ICONS[one.kind], cards.get(one.deal)) for one in page.rows
    ]
    chosen = {"show": "unread"} if unread else {}
    until = (last_ulid_until(now), *(message.id for message in page.rows))
    context = {
        "days": by_day(rows, timezone.localdate(now)),
        "count": len(all_unread),
        "now": now,
        "unread": unread,
        "until": max(until),  # by this site's clock, or that of the machine that sent it
        "before": page.before and f"?{urlencode(chosen | {'before': page.before})}",
        "after": page.after and f"?{urlencode(chosen | {'after': page.after})}",
    }
    return render(request, "shopping/my/inbox.html", context)


@signed_in.page("1 get")
def open_message(request: UserRequest, message_id: str) -> HttpResponse:
    """Show a message, which is read with that. 1 get, and 1 update the first time."""
    message = messages.get(request.user.username, message_id)
    looked_ahead = "prefetch" in request.headers.get("Sec-Purpose", "")
    is_open = site_switch.of_process.current().is_open
    if message.unread and request.method == "GET" and not looked_ahead and is_open:
        messages.mark_read(request.user.username, message_id, now=timezone.now())
    return render(request, "shopping/my/message.html", {"message": message})


@signed_in.action
def mark_read(request: UserRequest, message_id: str) -> HttpResponse:
    """Mark a message read without opening it. 1 update."""
    messages.mark_read(request.user.username, message_id, now=timezone.now())
    return HttpResponseRedirect(destination(request, reverse("inbox")))


@signed_in.action
def mark_all_read(request: UserRequest) -> HttpResponse:
    """Mark all messages read that were there when the page was made: up to 100 at once, more by a job."""
    username, until = request.user.username, request.POST.get("until", "")
    if not is_ulid(until):
        raise BadCursor()
    if len(messages.unread(username)) < MOST_AT_ONCE:
        messages.mark_all_read(username, until=until, limit=MOST_AT_ONCE, now=timezone.now())
        notes.success(request, _("All your messages are marked read."))
    else:
        messages.mark_all_read_later(username, until=until, now=timezone.now())
        notes.success(request, _("Your messages are being marked read. There are many: it takes a moment."))
    return HttpResponseRedirect(reverse("inbox"))


@signed_in.action
def delete_message(request: UserRequest, message_id: str) -> HttpResponse:
    """Delete a message. 1 delete."""
    messages.delete(request.user.username, message_id)
    notes.success(request, _("The message is deleted."))
    return HttpResponseRedirect(destination(request, reverse("inbox")))


@everyone.part("none or 1 query")
def unread_badge(request: SiteRequest) -> HttpResponse:
    """Show how many messages are unread, on any page. 1 query.

    Each page asks for it in the background: whatever is wrong, the page does not need to hear of it.
    """
    response = HttpResponse(status=204)
    with suppress(DataError):
        if request.user.is_authenticated:
            count = len(messages.unread(request.user.username))
            response = render(request, "shopping/my/_unread_badge.html", {"count": count})
    patch_cache_control(response, private=True, no_store=True)
    return response
