"""The pages that shoppers see."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from itertools import groupby
from statistics import mode
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dealsite.accounts import cookies
from dealsite.accounts.requests import SiteRequest
from dealsite.data.catalogue import brands as stored_brands
from dealsite.data.catalogue import deals, lists, prices
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.categories import Category, Counts, Kind
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.catalogue.relations import RelationState
from dealsite.data.entities.deals import HERE, NAME_CHARACTERS
from dealsite.data.names import normalise, slugify
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import is_ulid
from dealsite.search.counts import FEW, cheapest, live_deals, of_other_brands
from dealsite.search.finding import find, related
from dealsite.search.question import Question
from dealsite.text import markdown
from dealsite.web import clicks
from dealsite.web.deal_page import deal_context
from dealsite.web.page_cache import ending, for_visitors
from dealsite.web.pages import page, part
from shopping.catalogue.page_metadata import absolute, canonical, deal_path, picture, product

TOP_BRANDS = 4
MORE = 4  # deals of its brand below a deal

View = Callable[..., HttpResponse]
TABS = {
    lists.NEW: (gettext_lazy("New"), "clock"),
    lists.HOT: (gettext_lazy("Hot"), "flame"),
    lists.ENDING: (gettext_lazy("Ending soon"), "alarm-clock"),
}


def with_look(view: View) -> View:
    """Let a link with `look` in it choose how lists look from now on, and lead back to where it stands."""

    @wraps(view)
    def chosen(request: SiteRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        look = request.GET.get("look")
        if look is None:
            return view(request, *args, **kwargs)
        left = request.GET.copy()
        del left["look"]
        response = redirect(request.path + (f"?{left.urlencode()}" if left else ""))
        if look in cookies.LOOKS:
            cookies.set_look(response, look)
        add_never_cache_headers(response)
        return response

    return chosen


@page(
    "1 batch get + 1 query or 2 batch gets + 1 query or 2 batch gets",
    at=("", "?after={live.id}", "?tab=ending", "?tab=hot"),
)
@require_safe
@for_visitors
@with_look
def front_page(request: SiteRequest) -> HttpResponse:
    """What the editors feature, and the deals of a tab."""
    now = timezone.now()
    featured, page = lists.front_page(now=now, **_asked(request))
    lead = next((card for card in [*featured, *page.cards] if card.picture), None)
    context: dict[str, object] = {
        "featured": featured,
        "page": page,
        "now": now,
        "feed": reverse("front_page_feed"),
    }
    if lead and lead.picture:
        context |= {"image": picture(lead.picture), "image_alt": lead.picture.alt}
    response = _list_page(request, "shopping/catalogue/front_page.html", context)
    return ending(response, [*featured, *page.cards])


@page("1 get")
@require_safe
@for_visitors
def editors_choice(request: SiteRequest) -> HttpResponse:
    """The deals that the editors chose, whatever the day."""
    now = timezone.now()
    _, featured = lists.editors_choice(now=now)
    context = {"featured": featured, "now": now, "address": canonical(request)}
    return ending(render(request, "shopping/catalogue/editors_choice.html", context), featured)


@page("1 query", at=("", "?q=nordlicht"))
@require_safe
@for_visitors
def brands(request: SiteRequest) -> HttpResponse:
    """All brands by their first letter, or those of a name, and the ones that have most live deals."""
    now = timezone.now()
    typed = normalise(request.GET.get("q", "")[:NAME_CHARACTERS])
    found = [one for one in stored_brands.all_brands() if one.holds(slugify(typed))]
    counted = live_deals(now=now) or []
    numbers = {one.slug: one.number for one in counted}
    rows = [(one, numbers.get(one.slug)) for one in found]
    top = [] if typed else [(one, cheapest(one.slug, now=now)) for one in counted[:TOP_BRANDS]]
    context = {
        "letters": [(letter, list(some)) for letter, some in groupby(rows, key=lambda row: row[0].letter)],
        "found": len(found),
        "top": top,
        "typed": typed,
        "address": canonical(request),
    }
    response = render(request, "shopping/catalogue/brands.html", context)
    return ending(response, [card for _, card in top if card])


@page(
    "1 batch get + 1 query or 2 batch gets + 1 query or 2 batch gets + 1 get",
    at=("", "?tab=ending", "?tab=hot", "/brands/nobody/"),
)
@require_safe
@for_visitors
@with_look
def brand(request: SiteRequest, slug: str) -> HttpResponse:
    """A brand and its latest deals."""
    now = timezone.now()
    try:
        found, page = lists.brand_page(slug, now=now, **_asked(request))
    except NotFound:
        return to_brand_named("brand", slug)
    context = _of_target(request, "brand", found, now) | {"page": page, "now": now}
    context["trail"] = [
        (reverse("front_page"), _("Deals")),
        (reverse("brands"), _("Brands")),
        ("", found.name),
    ]
    context["summary"] = _("All deals of %(name)s, newest first.") % {"name": found.name}
    others: list[DealCard] = []
    if page.cards and context["live"] in range(FEW):
        most = mode(card.category for card in page.cards)
        others = of_other_brands(found.slug, most, now=now)
        context |= {"others": others, "others_in": category_names.names().get(most, most)}
    response = _list_page(request, "shopping/catalogue/deals_of.html", context)
    return ending(response, [*page.cards, *others])


def to_brand_named(url_name: str, slug: str) -> HttpResponse:
    """Lead to the brand that another name, or that of a merged one, finds; NotFound. 1 get, and up to 2 batch gets."""
    found = stored_brands.named(slug)
    if found.slug == slug:  # it was made a moment ago
        raise NotFound(_("There is no such brand."))
    return redirect(url_name, found.slug, permanent=True)


@page(
    "1 batch get + 1 query or 2 batch gets + 1 query or 2 batch gets",
    at=("", "?tab=ending", "?tab=hot", "/categories/toys-hobbies/"),
)
@require_safe
@for_visitors
@with_look
def category(request: SiteRequest, slug: str) -> HttpResponse:
    """A category: what the editors feature in it, and its latest deals."""
    now = timezone.now()
    found, featured, page = lists.category_page(slug, now=now, **_asked(request))
    context = _of_target(request, "category", found, now) | {"page": page, "now": now, "featured": featured}
    context["trail"] = [(reverse("front_page"), _("Deals")), ("", found.name)]
    context["summary"] = _("All deals in %(name)s, newest first.") % {"name": found.name}
    response = _list_page(request, "shopping/catalogue/deals_of.html", context)
    return ending(response, [*featured, *page.cards])


@page(
    "1 batch get + 1 query",
    at=(
        "/deals/{live.id}/{live.card.slug}/",
        "/deals/{ending.id}/{ending.card.slug}/",
        "/deals/{expired.id}/{expired.card.slug}/",
        "/deals/{sold_out.id}/{sold_out.card.slug}/",
    ),
)
@require_safe
@for_visitors
def deal(request: SiteRequest, deal_id: str, slug: str = "") -> HttpResponse:
    """All about one deal; an address with another slug leads to the one that it has now."""
    if not is_ulid(deal_id.upper()):
        raise Http404(_("There is no such deal."))
    now = timezone.now()
    found = deals.get_visible(deal_id.upper(), now=now)
    card, content = found.card, found.content
    if (deal_id, slug) != (card.id, card.slug):
        return redirect(deal_path(card))  # not for good: a title may be changed back
    of_user: RelationState | None = request.visit.relation_state("deal", card.id)
    history = prices.of_deal(card.id)
    shown = deal_context(card, content, history, now=now)
    names = {"title": card.title, "brand_name": card.brand_name}
    summary = markdown.excerpt(content.description) or _("%(title)s, a deal of %(brand_name)s.") % names
    address = absolute(deal_path(card))
    of_brand = Question(brands=(card.brand,), state="live")
    of_brand_too = [] if shown["over"] else find(of_brand, now=now, sort="newest", size=MORE + 1).cards
    more = [other for other in of_brand_too if other.id != card.id][:MORE]
    similar = related(card, now=now, without=more)
    context = shown | {
        "more": more,
        "similar": similar,
        "relation_state": of_user or RelationState("deal", card.id, found.likes),
        "summary": summary,
        "address": address,
        "image": picture(card.picture),
        "structured_data": product(card, state=shown["state"], summary=summary, address=address),
        "trail": [
            (reverse("front_page"), _("Deals")),
            (
                reverse("category", args=[card.category]),
                category_names.names().get(card.category, card.category),
            ),
            ("", card.title),
        ],
    }
    return ending(render(request, "shopping/catalogue/deal.html", context), [card, *more, *similar])


@part("1 batch get", at="/go/{live.id}/")
@require_safe
@never_cache
def go(request: SiteRequest, deal_id: str) -> HttpResponse:
    """The way to the shop of a deal, which counts who goes there; to the deal's page where the site itself sells it."""
    now = timezone.now()
    found = deals.get_visible(deal_id.upper(), now=now)
    if found.content.sold == HERE:
        return redirect(deal_path(found.card))
    clicks.note(request, found.id, now=now)
    response = redirect(found.content.link)
    response["X-Robots-Tag"] = "noindex"
    return response


def _of_target(
    request: SiteRequest, target: Kind, found: Brand | Category, now: datetime
) -> dict[str, object]:
    """What the pages of brands and categories show alike: texts, what is live, how the visitor stands to it.

    The last is known of users, and for all, how many like and watch it. The part with deals shows neither this nor
    what is live. Called before the first text, whose language is the user's, it reads both in one request.
    """
    state, counts = RelationState(target, found.slug), found.counts or Counts()
    counted = None
    if not request.htmx:
        of_user: RelationState | None = request.visit.relation_state(target, found.slug)
        state = of_user or RelationState(target, found.slug, counts.likes, counts.watches)
        counted = live_deals(now=now, **{target: found.slug})
    return {
        "noun": found,
        "about": markdown.to_html(found.description),
        "excerpt": markdown.excerpt(found.description),
        "page_title": _("%(name)s deals") % {"name": found.name},
        "relation_state": state,
        "live": None if counted is None else sum(one.number for one in counted),
        "brands_here": counted if target == "category" else None,
        "feed": reverse(f"{target}_feed", args=[found.slug]),
        "image": picture(found.logo),
        "image_alt": found.name,
    }


def _asked(request: SiteRequest) -> dict[str, Any]:
    """What of a list the visitor asks for; the data layer refuses what is no place in it."""
    tab, live_only = request.GET.get("tab", ""), not cookies.look(request).endswith(".all")
    place = {"after": request.GET.get("after"), "before": request.GET.get("before")}
    return {"tab": tab if tab in TABS else lists.NEW, "live_only": live_only, **place}


def _list_page(request: SiteRequest, template: str, context: dict[str, object]) -> HttpResponse:
    """The whole page, or for htmx the part of it that holds a page of deals."""
    asked = _asked(request)
    layout, _, over = cookies.look(request).partition(".")
    here = {name: asked[name] for name in ("after", "before") if asked[name]}
    if asked["tab"] != lists.NEW:
        here["tab"] = asked["tab"]

    def look(layout: str, over: str) -> str:
        return "?" + urlencode({**here, "look": f"{layout}.{over}".rstrip(".")})

    context |= {
        "first": not (asked["after"] or asked["before"]),
        "address": canonical(request),
        "tabs": TABS,
        "tab": asked["tab"],
        "place": "?" if asked["tab"] == lists.NEW else f"?tab={asked['tab']}&",
        "as_list": layout == "list",
        "with_over": bool(over),
        "to_cards": look("cards", over),
        "to_list": look("list", over),
        "to_over": look(layout, "" if over else "all"),
    }
    part = "shopping/catalogue/_deals.html" if request.htmx else template
    response = render(request, part, context)
    patch_vary_headers(response, ["HX-Request"])
    return response
