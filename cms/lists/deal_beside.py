"""The deal before or after one in the list that it was opened from, found only when somebody goes there."""

from datetime import datetime
from functools import partial

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from cms.lists.deal_list import deal_rows, filter_of
from cms.lists.list_address import ROWS, SORTS, list_query, position_of, query_of
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import lists
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.cursors import PAGE_SIZE
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.table.errors import BadCursor
from dealsite.data.table.ids import is_ulid
from dealsite.search.lists import find_deals, is_found, page_number
from dealsite.web.pages import part

BY_EXPIRY = ("ending", "expired")
# What stands there, and what changes in the list's address; None for that where no place of the deal is known.
Beside = tuple[DealCard | None, dict[str, str] | None]


@part(
    "2 queries or 3 queries + 1 get + 1 batch get",
    at=("?way=next&back=&at={live.id}", "?way=previous&back=&at={live.id}"),
)
@role("editor")
@require_safe
def deal_beside(request: EditorRequest) -> HttpResponse:
    """Lead to the previous or next one of a list, from a place in it (`at`); at its end, to the list."""
    way, at, now = request.GET.get("way", ""), request.GET.get("at", ""), timezone.now()
    given = QueryDict(list_query(request.GET.get("back", "")).removeprefix("?")).dict()
    matching = filter_of(given)
    if way not in ("previous", "next") or not is_ulid(at[-26:]):
        raise BadCursor()
    is_sorted = given.get("sort") in SORTS
    read = _found if is_found(matching) or is_sorted else _listed
    card, changed = read(matching, given, at, way == "next", now)
    back = query_of(given | (changed or {}))
    if card:
        (row,) = deal_rows([card], matching.state, now)
        return redirect(f"{row.address}?{urlencode({'back': back})}")
    if not changed:
        end = _("That was the last one.") if way == "next" else _("That was the first one.")
        messages.info(request, _("It was not found in this list any more.") if changed is None else end)
    return redirect(reverse("cms_deals") + back)


def _listed(matching: DealFilter, given: dict[str, str], at: str, onward: bool, now: datetime) -> Beside:
    """Return what an index of the table has beside a place, whether or not the deal still stands there."""
    by_expiry = matching.state in BY_EXPIRY
    if by_expiry and at == at[-26:]:  # it has no end, so it is in no such list
        return None, None
    place, size = at if by_expiry else at[-26:], PAGE_SIZE if matching.is_narrowed else 2
    read = partial(lists.cms_list, matching, now=now, size=size)
    page = read(after=place) if onward else read(before=place)
    if cards := [card for card in page.cards if card.id != at[-26:]]:  # itself, where its end has moved
        return cards[0 if onward else -1], {}
    further = page.after if onward else page.before  # where it stopped looking
    places = {"after": "", "before": "", "after" if onward else "before": further or ""}
    return None, places if further else {}


def _found(matching: DealFilter, given: dict[str, str], at: str, onward: bool, now: datetime) -> Beside:
    """Return what search finds beside a deal; where it finds it no more, beside its place, if the order tells."""
    number, sort = page_number(given.get("page", "1")), SORTS.get(given.get("sort", ""), "")
    if not number:
        raise BadCursor()
    size = int(given["rows"] if given.get("rows") in ROWS else ROWS[0])
    read = partial(find_deals, matching, now=now, size=size, sort=sort)
    page, by_expiry = read(page=number), matching.state in BY_EXPIRY
    ids = [card.id for card in page.cards]
    if at[-26:] in ids:
        before = ids.index(at[-26:])
        after = before + 1
    elif matching.words or sort or not page.ready:
        return None, None
    else:
        places = [position_of(card) if by_expiry else card.id for card in page.cards]
        place = at if by_expiry else at[-26:]
        before = after = sum(one < place if matching.state == "ending" else one > place for one in places)
    if 0 <= (index := after if onward else before - 1) < len(ids):
        return page.cards[index], {}
    number += 1 if onward else -1
    cards = read(page=number).cards if 0 < number <= page.pages else []
    return (cards[0 if onward else -1], {"page": str(number)}) if cards else (None, {})
