"""The account page: what is due and under way, the newest orders, and what is new of all that one watches."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from dealsite.accounts.decorators import signed_in
from dealsite.accounts.requests import UserRequest
from dealsite.data.catalogue import relations
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.relations import RelationEntry
from dealsite.data.commerce import orders, payment_lists
from dealsite.data.entities.commerce import FAILED, PLACED, SHIPPED
from dealsite.data.entities.people import NEW_DEAL
from dealsite.data.people import messages
from dealsite.data.table.parallel import together
from dealsite.search.finding import find
from dealsite.search.question import Question
from shopping.my.orders import order_rows

UNDER_WAY = (PLACED, SHIPPED)
ORDERS_SHOWN, DEALS_SHOWN = 5, 3
MOST_WATCHES = 100  # brands whose deals are looked for


@signed_in.page("5 queries")
def account(request: UserRequest) -> HttpResponse:
    """Show what is due and under way, orders, new deals, and the ways to all that is theirs. 4 to 6 queries."""
    username, now = request.user.username, timezone.now()
    (profile, buyer, newest), coming, unread, watched = together(
        partial(orders.account_page, username),
        partial(payment_lists.coming, username, now=now),
        partial(messages.unread, username),
        partial(relations.watched_by, username),
    )
    under_way = [order for order in newest if order.status in UNDER_WAY]
    first = sorted(newest, key=lambda order: order.status not in UNDER_WAY)[:ORDERS_SHOWN]
    context = {
        "profile": profile,
        "sends_mail": settings.DEALSITE_SENDS_MAIL,
        "under_way": under_way,
        "rows": order_rows([order.card for order in first]),
        "failed": [payment for payment in coming.rows if payment.status == FAILED],
        "due": next((payment for payment in coming.rows if payment.status != FAILED), None),
        "card": buyer.card,
        "unread": len(unread),
        "of_deals": sum(message.kind == NEW_DEAL for message in unread),
        "watches": bool(watched),
        "new_deals": new_deals(watched, now=now),
        "now": now,
    }
    return render(request, "shopping/my/account.html", context)


def new_deals(watched: Sequence[RelationEntry], *, now: datetime) -> list[DealCard]:
    """Return the newest live deals of what somebody watches, as search knows them. It asks nothing of the table."""
    found: dict[str, DealCard] = {}
    brands = tuple(one.slug for one in watched if one.target == "brand")[:MOST_WATCHES]
    categories = tuple(one.slug for one in watched if one.target == "category")
    for asked in (Question(brands=brands, state="live"), Question(categories=categories, state="live")):
        if asked.brands or asked.categories:
            page = find(asked, now=now, sort="newest", size=DEALS_SHOWN)
            found |= {card.id: card for card in page.cards}
    return [found[deal_id] for deal_id in sorted(found, reverse=True)[:DEALS_SHOWN]]
