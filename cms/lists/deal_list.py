"""The list of deals and drafts, by state, brand, category and words; finding one, and the one before or after it."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.vary import vary_on_headers

from cms.bulk_form import bulk_bar, filter_of
from cms.lists.list_address import (
    OF_DEALS,
    ROWS,
    SORTS,
    UPWARDS,
    WIDE,
    list_query,
    own_columns,
    position_of,
    query_of,
)
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import editors
from dealsite.data.catalogue import deals, drafts, lists
from dealsite.data.catalogue.buckets import PAGE_SIZE, Page
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.editing import saved_views
from dealsite.data.editing.saved_views import Views
from dealsite.data.table.errors import BadCursor, NotFound
from dealsite.data.table.ids import is_ulid
from dealsite.data.table.parallel import together
from dealsite.search.documents import StoredDocument
from dealsite.search.finding import SearchPage, known_of
from dealsite.search.lists import LACKS, NOT_READY, every_found, find_deals, is_found, page_number, totals
from dealsite.templatetags.dealsite import has_all_files
from dealsite.templatetags.design import brief
from dealsite.text.stored_words import Text
from dealsite.worker.exports import AT_ONCE, every, exported, in_batches

STATES = {
    "all": gettext_lazy("All"),
    "draft": gettext_lazy("Drafts"),
    "scheduled": gettext_lazy("Scheduled"),
    "live": gettext_lazy("Live"),
    "ending": gettext_lazy("Ending soon"),
    "expired": gettext_lazy("Expired"),
}
TABS = ("all", "live", "ending", "scheduled", "draft", "expired")
NOTHING_IN = {
    "all": gettext_lazy("There are no deals yet. A deal starts as a draft, which only editors see."),
    "draft": gettext_lazy("There are no drafts. A draft can be saved half-finished and published later."),
    "scheduled": gettext_lazy("Nothing is scheduled. Give a draft a time, and it goes live automatically."),
    "live": gettext_lazy("Nothing is live. Publish a draft, and shoppers see it at once."),
    "ending": gettext_lazy("Nothing ends within 48 hours. Deals that are about to expire show up here."),
    "expired": gettext_lazy("Nothing has expired. Deals that are over stay here and can be taken up again."),
}
NOTHING_FOUND = gettext_lazy("No deal fits all of these filters. Take one away to see more.")
FOUND_AT_ONCE = 500  # that search finds, for a file
EXPORTED = (
    "title=card.title, picture=card.picture.name, brand=card.brand_name, category=category_name, price=card.price, "
    "was_price=card.was_price, discount=card.percent_off, state, @live=card.live_at, "
    "@expires=card.expires_at, @changed=known.changed_at, likes=known.likes, sold=card.sold, stock, "
    "voucher=card.voucher_code, article_number=card.article_number, id=card.id"
)
ID_PATTERN = re.compile(r"(?<![0-9A-Za-z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Za-z])", re.IGNORECASE)


@dataclass(frozen=True)
class DealRow:
    """A deal or draft as the list shows it."""

    card: DealCard
    kind: Literal["deal", "draft"]
    state: str
    known: StoredDocument  # what the index has of it
    stock: int | None

    @property
    def category_name(self) -> str:
        return category_names.names().get(self.card.category, "")

    @property
    def address(self) -> str:
        return reverse(f"cms_{self.kind}", args=[self.card.id])

    @property
    def price_and_expiry_address(self) -> str:
        return reverse("cms_price_and_expiry", args=[self.kind, self.card.id])

    def shown(self, now: datetime) -> "ShownDeal":
        """Return what its row is drawn from."""
        card, known = self.card, self.known
        return ShownDeal(
            card,
            self.kind,
            self.state,
            category=self.category_name,
            changed_by=known.changed_by,
            likes=known.likes,
            stock=self.stock,
            has_all_files=has_all_files(card.picture),
            live=brief(card.live_at, now),
            expires=brief(card.expires_at, now),
            changed=brief(known.changed_at, now),
        )


@dataclass(frozen=True)
class ShownDeal:
    """All that a row of the list is drawn from: plain values, its times in words."""

    card: DealCard
    kind: str
    state: str
    category: str
    changed_by: str
    likes: int
    stock: int | None
    has_all_files: bool
    live: str
    expires: str
    changed: str


def _exported_columns(query: QueryDict) -> str:
    """Return the title, the columns that the list shows, and the id, by which an import finds the deals again."""
    shown = ("title", *OF_DEALS.named(query.get("columns", ""), query.get("sort", "")), "id")
    return ", ".join(one for one in EXPORTED.split(", ") if one.partition("=")[0].removeprefix("@") in shown)


def _all_rows(query: QueryDict, now: datetime) -> Iterator[DealRow]:
    """Yield the rows of all pages; Unavailable while there is no index to ask."""
    matching, sort = filter_of(query), SORTS.get(query.get("sort", ""), "")
    if is_found(matching) or sort:
        cards = every_found(partial(find_deals, matching, now=now, size=FOUND_AT_ONCE, sort=sort), "cards")
    else:
        cards = every(partial(lists.cms_list, matching, now=now, size=AT_ONCE), "cards")
    with suppress(NotFound):  # no such brand
        columns = OF_DEALS.named(query.get("columns", ""))
        for batch in in_batches(cards):
            yield from deal_rows(batch, matching.state, now, columns)


EXAMPLES = ("", "?state=draft", "?brand=nobody", "?q=deal", f"?columns={','.join(OF_DEALS.labels)}")


@editors.page("3 queries + 1 get or 3 batch gets + 1 get or 3 queries + 1 get + 1 batch get", at=EXAMPLES)
@vary_on_headers("HX-Request")
@exported(gettext_lazy("Deals"), _exported_columns, _all_rows)
def deal_list(request: EditorRequest) -> HttpResponse:
    """One page of deals, newest first; of those that hold some words, by how well they fit."""
    matching = filter_of(request.GET)
    state, brand, category = matching.state, matching.brand, matching.category
    sort, rows = request.GET.get("sort", ""), request.GET.get("rows", "")
    chosen = {
        "state": state,
        "brand": brand,
        "category": category,
        "sort": sort if sort in SORTS else "",
        "rows": rows if rows in ROWS[1:] else "",
        "columns": OF_DEALS.in_address(request.GET.get("columns", "")),
    }
    if is_found(matching) or chosen["sort"]:
        chosen = {"q": matching.words, **chosen, "lacks": matching.lacks}
        return found_deals(request, matching, chosen)
    now, not_found = timezone.now(), ""
    after, before = request.GET.get("after") or None, request.GET.get("before") or None
    size, columns = int(chosen["rows"] or ROWS[0]), OF_DEALS.named(chosen["columns"])
    read = partial(lists.cms_list, matching, now=now, after=after, before=before, size=size)
    beside = [] if request.htmx else [partial(saved_views.of, request.user.username)]
    try:
        page, *views = together(read, *beside)
    except NotFound:
        page, views = Page([]), []
        not_found = _("There is no brand “%(name)s”.") % {"name": request.GET.get("brand", "")[:80]}
    context: dict[str, Any] = {
        "page": page,
        "deals": [row.shown(now) for row in deal_rows(page.cards, state, now, columns)],
        "after": page.after and query(chosen | {"after": page.after}),
        "before": page.before and query(chosen | {"before": page.before}),
        "empty": NOTHING_FOUND if brand or category else NOTHING_IN[state],
        "teaches": not (brand or category),
        "not_found": not_found,
    }
    status = 404 if not_found else 200
    return _list_page(request, matching, chosen, context, now, status=status, views=views)


def found_deals(request: EditorRequest, matching: DealFilter, chosen: dict[str, str]) -> HttpResponse:
    """One page of the deals or drafts that search finds: those that fit best first, or without words the newest."""
    words, state = matching.words, matching.state
    if id_in(words) and not request.htmx:
        return redirect(reverse("cms_find_deal") + query({"q": words}))
    number = page_number(request.GET.get("page", "1"))
    if not number:
        raise BadCursor()
    now = timezone.now()
    size, sort = int(chosen["rows"] or ROWS[0]), SORTS.get(chosen["sort"], "")
    columns = OF_DEALS.named(chosen["columns"])
    found = find_deals(matching, now=now, page=number, size=size, sort=sort)
    nothing_fits = _("Nothing here holds the words “%(words)s”.") % {"words": words}
    empty: Text = nothing_fits if words else NOTHING_FOUND
    if id_in(words):
        found, empty = SearchPage(), _("Press Enter to open the deal with this id.")
    cards, views = found.cards, []
    if not request.htmx:  # as they are now, since the index is behind what one has just done
        many = partial(drafts.get_many if state == "draft" else deals.get_many, [card.id for card in cards])
        stored, *views = together(many, partial(saved_views.of, request.user.username))
        cards = [one.card for card in cards if (one := stored.get(card.id)) and not drafts.became(one)]
    context: dict[str, Any] = {
        "words": words,
        "deals": [row.shown(now) for row in deal_rows(cards, state, now, columns)],
        "empty": empty if found.ready else NOT_READY,
        **places(chosen, number, found.pages, len(found.cards), size),
    }
    return _list_page(request, matching, chosen, context, now, views=views)


def _list_page(
    request: EditorRequest,
    matching: DealFilter,
    chosen: dict[str, str],
    context: dict[str, Any],
    now: datetime,
    *,
    status: int = 200,
    views: Sequence[Views] = (),
) -> HttpResponse:
    """The whole page, or for htmx the list and the tabs over it; `views` are the saved ones, if they were read."""
    columns = OF_DEALS.named(chosen["columns"], chosen["sort"])
    typed = request.GET.get("brand", "")[:80]
    shown = brand_names.names([matching.brand])[matching.brand] if matching.brand else ""
    brand = typed if shown == matching.brand else shown
    numbers = totals(matching, now=now, is_sorted=bool(chosen["sort"]))
    context |= {
        "state": matching.state,
        "category": chosen["category"],
        "brand": brand,
        "chosen": chosen,
        "states": [(name, STATES[name], query(chosen | {"state": name}), numbers.get(name)) for name in TABS],
        "total": numbers.get(matching.state),
        "chips": _chips(matching, chosen, brand),
        "heads": _heads(columns, chosen),
        "row_choices": [(rows, query(chosen | {"rows": rows})) for rows in ROWS],
        "rows": chosen["rows"] or ROWS[0],
        "category_choices": category_names.names(),
        "lacks": chosen.get("lacks", ""),
        "lacking_choices": LACKS,
        "sort_choices": [(name, OF_DEALS.labels[name]) for name in SORTS],
        "column_choices": OF_DEALS.choices(columns),
        "back": query_of(request.GET.dict()),
        "here": reverse("cms_deals") + query_of(request.GET.dict()),
        "export_address": reverse("cms_deals") + query(chosen),
        **row_context(columns, chosen["sort"]),
        **bulk_bar(matching, numbers.get(matching.state)),
    }
    if not request.htmx:
        (context["saved_views"],) = views or [saved_views.of(request.user.username)]
        return render(request, "cms/lists/deals.html", context, status=status)
    response = render(request, "cms/lists/_deals_found.html", context, status=status)
    response["HX-Replace-Url"] = request.path + query(chosen)
    return response


def _chips(matching: DealFilter, chosen: dict[str, str], brand: str) -> list[tuple[str, Text, str]]:
    """Return (label, value, the list without it) of each filter but the state and the words."""
    set_to: dict[str, tuple[str, Text]] = {
        "brand": (_("Brand"), brand),
        "category": (_("Category"), category_names.names().get(matching.category, matching.category)),
        "lacks": (_("Problem"), LACKS.get(matching.lacks, "")),
    }
    return [
        (label, value, query(chosen | {name: ""}))
        for name, (label, value) in set_to.items()
        if chosen.get(name)
    ]


def _heads(columns: tuple[str, ...], chosen: dict[str, str]) -> list[tuple[str, Text, str, str]]:
    """Return (name, heading, the list sorted by it or no more, how it is sorted now) of each column of its own."""
    heads: list[tuple[str, Text, str, str]] = []
    for name in own_columns(columns):
        is_on = chosen["sort"] == name
        address = query(chosen | {"sort": "" if is_on else name}) if name in SORTS else ""
        order = ("ascending" if name in UPWARDS else "descending") if is_on else ""
        heads.append((name, OF_DEALS.labels[name], address, order))
    return heads


def row_context(columns: tuple[str, ...], sort: str) -> dict[str, Any]:
    """Return what a row of the list needs to know of its table."""
    own = own_columns(columns)
    is_usual = {*columns, sort} == {*OF_DEALS.usual, sort}
    wide = [name for name in WIDE if name != sort] if is_usual else []
    return {"columns": columns, "own_columns": own, "width": len(own) + 2, "wide": wide}


def deal_rows(
    cards: list[DealCard], state: str, now: datetime, columns: Container[str] = ()
) -> list[DealRow]:
    """Return the cards of a list with their states now; those of a list of drafts are drafts. 1 batch get for stock."""
    ids, nothing = [card.id for card in cards], StoredDocument("")
    known, is_draft = known_of(ids), state == "draft"
    stocks: Mapping[str, int | None] = {}
    if "stock" in columns and is_draft:
        stocks = {id_: draft.content.stock for id_, draft in drafts.get_many(ids).items()}
    elif "stock" in columns:
        stocks = deals.stocks_of(ids)
    return [
        DealRow(
            card,
            "draft" if is_draft else "deal",
            state if is_draft else card.state(now),
            known.get(card.id, nothing),
            stocks.get(card.id),
        )
        for card in cards
    ]


def query(values: dict[str, str]) -> str:
    """Return a query string of what is set."""
    return "?" + urlencode({name: value for name, value in values.items() if value})


def places(
    chosen: dict[str, str], number: int, pages: int, shown: int, size: int = PAGE_SIZE
) -> dict[str, Any]:
    """Return which rows the page of a number shows of a list, from 1 on, and the addresses of those beside it."""
    first = (number - 1) * size + 1
    return {
        "first": first,
        "last": first + shown - 1,
        "after": query(chosen | {"page": str(number + 1)}) if number < pages else "",
        "before": query(chosen | {"page": str(number - 1)}) if number > 1 else "",
    }


def back_to_list(request: EditorRequest) -> str:
    """Return the address of the list that a form was opened from."""
    return reverse("cms_deals") + list_query(request.POST.get("back", "") or request.GET.get("back", ""))


@editors.page("none", at="?q=nothing")
def find_deal(request: EditorRequest) -> HttpResponse:
    """Lead to the deal or draft whose id or link was pasted."""
    text = request.GET.get("q", "")[:2000].strip()
    deal_id = id_in(text)
    if deal_id:
        if deal_id in deals.get_many([deal_id]):
            return redirect("cms_deal", deal_id)
        if drafts.get_many([deal_id]):
            return redirect("cms_draft", deal_id)
    context = {"text": text, "deal_id": deal_id}
    return render(request, "cms/lists/find_deal.html", context, status=404 if text else 200)


def id_in(text: str) -> str:
    """Return the id of a deal or draft in a pasted id or link, '' if there is none."""
    found = ID_PATTERN.search(text)
    return found.group().upper() if found else ""


BY_EXPIRY = ("ending", "expired")
# What stands there, and what changes in the list's address; None for that where no place of the deal is known.
Beside = tuple[DealCard | None, dict[str, str] | None]


@editors.part(
    "2 queries or 3 queries + 1 get + 1 batch get",
    at=("?way=next&back=&at={live.id}", "?way=previous&back=&at={live.id}"),
)
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
