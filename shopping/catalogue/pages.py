"""The pages that shoppers see.

The pages about the site: terms, withdrawal, privacy, imprint, how prices are compared and deals are ordered.

What a page says of itself to search engines, feed readers and other sites: its whole address, picture and data.
"""

import json
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from itertools import groupby
from statistics import mode
from typing import Any
from urllib.parse import urlencode, urljoin

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.utils.encoding import escape_uri_path
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache

from dealsite.accounts import requests
from dealsite.accounts.requests import SiteRequest
from dealsite.data.catalogue import brands as stored_brands, deals, lists
from dealsite.data.catalogue.brands import LETTERS, Brand
from dealsite.data.catalogue.cards import DealCard, Picture
from dealsite.data.catalogue.categories import Category, Counts, Kind
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.catalogue.relations import RelationState, Target
from dealsite.data.editing import site_pages
from dealsite.data.entities.deals import HERE, NAME_CHARACTERS
from dealsite.data.names import normalise
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import is_ulid
from dealsite.pictures import uploads
from dealsite.search.brands import FEW, BrandCount, brands_like, cheapest, live_deals, of_other_brands
from dealsite.search.finding import find, related
from dealsite.search.question import Question
from dealsite.text import markdown
from dealsite.web import deal_page
from dealsite.web.deal_page import deal_context
from dealsite.web.page_cache import ending, for_visitors, shared
from dealsite.web.pages import everyone

AVAILABILITY = {"expired": "Discontinued", "sold_out": "SoldOut"}

# A title must not end the script element that it stands in.
ESCAPES = {ord(character): f"\\u{ord(character):04X}" for character in "<>&\u2028\u2029"}


def absolute(path: str) -> str:
    """The whole address of a path of the site; one that is whole already stays as it is."""
    return urljoin(str(settings.DEALSITE_URL), path)


def canonical(request: HttpRequest, **which: str) -> str:
    """A page's own address: without anything in the query string but which list it is, and the place in it."""
    return absolute(escape_uri_path(request.path)) + (f"?{urlencode(which)}" if which else "")


def deal_path(card: DealCard) -> str:
    return reverse("deal", args=[card.id, card.slug])


def picture(image: Picture | None) -> str:
    """The address of a picture as other sites show it; empty where there is none."""
    return absolute(uploads.url(image, 1200)) if image else ""


def product(card: DealCard, *, state: str, summary: str, address: str) -> SafeString:
    """A deal's Product with its Offer in the words of schema.org, as JSON-LD that is safe inside a script element."""
    offer: dict[str, Any] = {
        "@type": "Offer",
        "url": address,
        "availability": f"https://schema.org/{AVAILABILITY.get(state, 'InStock')}",
    }
    if card.price is None:
        offer["description"] = card.condition
    else:
        offer |= {"price": str(card.price), "priceCurrency": settings.DEALSITE_CURRENCY}
    if seller := card.shop or (card.sold and settings.DEALSITE_NAME):
        offer["seller"] = {"@type": "Organization", "name": seller}
    if card.percent_off and state not in AVAILABILITY:
        offer["priceSpecification"] = {
            "@type": "UnitPriceSpecification",
            "priceType": "https://schema.org/StrikethroughPrice",
            "price": str(card.low),
            "priceCurrency": settings.DEALSITE_CURRENCY,
        }
    if card.expires_at:
        offer["priceValidUntil"] = card.expires_at.isoformat(timespec="seconds")
    data: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "Product",
        "name": card.title,
        "description": summary,
        "sku": card.id,
        "url": address,
        "brand": {"@type": "Brand", "name": card.brand_name},
        "offers": offer,
    }
    if image := picture(card.picture):
        data["image"] = absolute(image)
    return mark_safe(json.dumps(data, ensure_ascii=False).translate(ESCAPES))  # noqa: S308 - escaped above


TOP_BRANDS = 4
BRANDS_A_PAGE = 120
A_MINUTE = 60.0  # for which numbers of live deals are good enough
BRANDS_HERE = 8  # that a category's page names
MORE = 4  # deals of its brand below a deal

View = Callable[..., HttpResponse]
TABS = {
    lists.NEW: (gettext_lazy("New"), "clock"),
    lists.HOT: (gettext_lazy("Hot"), "flame"),
    lists.ENDING: (gettext_lazy("Ending soon"), "alarm-clock"),
}
LISTS = {
    lists.NEW: gettext_lazy("Latest deals"),
    lists.HOT: gettext_lazy("Hot deals"),
    lists.ENDING: gettext_lazy("Deals that end soon"),
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
        if look in requests.LOOKS:
            requests.set_look(response, look)
        add_never_cache_headers(response)
        return response

    return chosen


@everyone.page(
    "1 batch get + 1 query or 2 batch gets + 1 query or 2 batch gets",
    at=("", "?after={live.id}", "?tab=ending", "?tab=hot"),
)
@for_visitors
@with_look
def front_page(request: SiteRequest) -> HttpResponse:
    """What the editors feature, and the deals of a tab."""
    now = timezone.now()
    featured, page = shared(lists.front_page, now=now, **_asked(request))
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


@everyone.page("1 get")
@for_visitors
def editors_choice(request: SiteRequest) -> HttpResponse:
    """The deals that the editors chose, whatever the day."""
    now = timezone.now()
    _, featured = shared(lists.editors_choice, now=now)
    context = {"featured": featured, "now": now, "address": canonical(request)}
    return ending(render(request, "shopping/catalogue/editors_choice.html", context), featured)


@everyone.page("1 query", at=("", "?q=nordlicht", "?letter=N"))
@for_visitors
def brands(request: SiteRequest) -> HttpResponse:
    """Brands from A to Z, those of a letter or of a name; and the ones that have most live deals."""
    now, place = timezone.now(), {name: request.GET.get(name) for name in ("after", "before")}
    typed = normalise(request.GET.get("q", "")[:NAME_CHARACTERS])
    letter = request.GET.get("letter", "")
    letter = letter if letter in LETTERS and not typed else ""
    page = brands_like(typed, letter=letter, size=BRANDS_A_PAGE, **place)
    slugs = tuple(one.slug for one in page.rows)
    counted = shared(live_deals, now=now, brands=slugs, most=BRANDS_A_PAGE, for_seconds=A_MINUTE)
    numbers = {one.slug: one.number for one in counted.brands} if counted else {}
    is_first = not (typed or letter or any(place.values()))
    is_whole = is_first and not page.after
    top = shared(_top_brands, now=now, for_seconds=A_MINUTE) if is_first else []
    there = {one.letter for one in page.rows}
    chosen = {"q": typed} if typed else {"letter": letter} if letter else {}
    context = {
        "sections": [
            (heading, [(brand, numbers.get(brand.slug)) for brand in some])
            for heading, some in groupby(page.rows, key=lambda brand: "" if typed else brand.letter)
        ],
        "letters": [(one, one in there or not is_whole) for one in LETTERS],
        "letter": letter,
        "is_whole": is_whole,
        "found": len(page.rows),
        "before": page.before and "?" + urlencode(chosen | {"before": page.before}),
        "after": page.after and "?" + urlencode(chosen | {"after": page.after}),
        "top": top,
        "typed": typed,
        "address": canonical(
            request, **({} if typed else chosen | {name: at for name, at in place.items() if at})
        ),
    }
    response = render(request, "shopping/catalogue/brands.html", context)
    return ending(response, [card for _, card in top if card])


def _top_brands(*, now: datetime) -> list[tuple[BrandCount, DealCard | None]]:
    """Return the brands with most live deals, with the cheapest of each."""
    counted = live_deals(now=now, most=TOP_BRANDS)
    return [(one, cheapest(one.slug, now=now)) for one in counted.brands] if counted else []


@everyone.page(
    "1 batch get + 1 query or 2 batch gets + 1 query or 2 batch gets + 1 get",
    at=("", "?tab=ending", "?tab=hot", "/brands/nobody/"),
)
@for_visitors
@with_look
def brand(request: SiteRequest, slug: str) -> HttpResponse:
    """A brand and its latest deals."""
    now = timezone.now()
    try:
        found, page = shared(lists.brand_page, slug, now=now, **_asked(request))
    except NotFound:
        return to_brand_named("brand", slug)
    context = _of_target(request, "brand", found, now) | {"page": page, "now": now}
    context["trail"] = [
        (reverse("front_page"), _("Deals")),
        (reverse("brands"), _("Brands")),
        ("", found.name),
    ]
    context["summary"] = _("Deals of %(name)s.") % {"name": found.name}
    others: list[DealCard] = []
    if page.cards and context["live"] in range(FEW):
        most = mode(card.category for card in page.cards)
        others = shared(of_other_brands, found.slug, most, now=now)
        context |= {"others": others, "others_in": category_names.names().get(most, most)}
    response = _list_page(request, "shopping/catalogue/deals_of.html", context)
    return ending(response, [*page.cards, *others])


def to_brand_named(url_name: str, slug: str) -> HttpResponse:
    """Lead to the brand that another name, or that of a merged one, finds; NotFound. 1 get, and up to 2 batch gets."""
    found = stored_brands.named(slug)
    if found.slug == slug:  # it was made a moment ago
        raise NotFound(_("There is no such brand."))
    return redirect(url_name, found.slug, permanent=True)


@everyone.page(
    "1 batch get + 1 query or 2 batch gets + 1 query or 2 batch gets",
    at=("", "?tab=ending", "?tab=hot", "/categories/toys-hobbies/"),
)
@for_visitors
@with_look
def category(request: SiteRequest, slug: str) -> HttpResponse:
    """A category: what the editors feature in it, and its latest deals."""
    now = timezone.now()
    found, featured, page = shared(lists.category_page, slug, now=now, **_asked(request))
    context = _of_target(request, "category", found, now) | {"page": page, "now": now, "featured": featured}
    context["trail"] = [(reverse("front_page"), _("Deals")), ("", found.name)]
    context["summary"] = _("Deals in %(name)s.") % {"name": found.name}
    response = _list_page(request, "shopping/catalogue/deals_of.html", context)
    return ending(response, [*featured, *page.cards])


@everyone.page(
    "1 batch get + 1 query",
    at=(
        "/deals/{live.id}/{live.card.slug}/",
        "/deals/{ending.id}/{ending.card.slug}/",
        "/deals/{expired.id}/{expired.card.slug}/",
        "/deals/{sold_out.id}/{sold_out.card.slug}/",
    ),
)
@for_visitors
def deal(request: SiteRequest, deal_id: str, slug: str = "") -> HttpResponse:
    """All about one deal; an address with another slug leads to the one that it has now."""
    if not is_ulid(deal_id.upper()):
        raise Http404(_("There is no such deal."))
    now = timezone.now()
    found = shared(deals.get_visible, deal_id.upper(), now=now)
    card, content = found.card, found.content
    if (deal_id, slug) != (card.id, card.slug):
        return redirect(deal_path(card))  # not for good: a title may be changed back
    relation_state = _relation_state(request, "deal", card.id, Counts(likes=found.likes))
    history = shared(deals.prices_of, card.id)
    shown = deal_context(card, content, history, now=now)
    names = {"title": card.title, "brand_name": card.brand_name}
    summary = markdown.excerpt(content.description) or _("%(title)s, a deal of %(brand_name)s.") % names
    address = absolute(deal_path(card))
    of_brand = Question(brands=(card.brand,), state="live")
    of_brand_too = (
        [] if shown["over"] else shared(find, of_brand, now=now, sort="newest", size=MORE + 1).cards
    )
    more = [other for other in of_brand_too if other.id != card.id][:MORE]
    similar = related(card, now=now, without=more)
    context = shown | {
        "more": more,
        "similar": similar,
        "relation_state": relation_state,
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


@everyone.part("1 batch get", at="/go/{live.id}/")
@never_cache
def go(request: SiteRequest, deal_id: str) -> HttpResponse:
    """The way to the shop of a deal, which counts who goes there; to the deal's page where the site itself sells it."""
    now = timezone.now()
    found = deals.get_visible(deal_id.upper(), now=now)
    if found.content.sold == HERE:
        return redirect(deal_path(found.card))
    deal_page.note_click(request, found.id, now=now)
    response = redirect(found.content.link)
    response["X-Robots-Tag"] = "noindex"
    return response


def _of_target(
    request: SiteRequest, target: Kind, found: Brand | Category, now: datetime
) -> dict[str, object]:
    """What the pages of brands and categories show alike: texts, what is live, how the visitor stands to it.

    The part with deals shows neither this nor what is live. Called before the first text, whose language is the user's,
    it reads both in one request.
    """
    state = counted = None
    if not request.htmx:
        state = _relation_state(request, target, found.slug, found.counts or Counts())
        asked = {"brands": (found.slug,)} if target == "brand" else {"category": found.slug}
        counted = shared(live_deals, now=now, most=BRANDS_HERE + 1, for_seconds=A_MINUTE, **asked)
    return {
        "noun": found,
        "about": markdown.to_html(found.description),
        "excerpt": markdown.excerpt(found.description),
        "page_title": _("%(name)s deals") % {"name": found.name},
        "relation_state": state,
        "live": counted and counted.number,
        "brands_here": counted.brands if counted and target == "category" else None,
        "feed": reverse(f"{target}_feed", args=[found.slug]),
        "image": picture(found.logo),
        "image_alt": found.name,
    }


def _relation_state(request: SiteRequest, target: Target, slug: str, counts: Counts) -> RelationState:
    """How the visitor stands to a deal, brand or category, with the counts that all are shown.

    Who has just liked or watched something sees that counted.
    """
    known = None if requests.has_just_changed(request) else counts
    of_user: RelationState | None = request.visit.relation_state(target, slug, known)
    return of_user or RelationState(target, slug, counts.likes, counts.watches)


def _asked(request: SiteRequest) -> dict[str, Any]:
    """What of a list the visitor asks for; the data layer refuses what is no place in it."""
    tab, live_only = request.GET.get("tab", ""), not requests.look(request).endswith(".all")
    place = {"after": request.GET.get("after"), "before": request.GET.get("before")}
    return {"tab": tab if tab in TABS else lists.NEW, "live_only": live_only, **place}


def _list_page(request: SiteRequest, template: str, context: dict[str, object]) -> HttpResponse:
    """The whole page, or for htmx the part of it that holds a page of deals."""
    asked = _asked(request)
    layout, _, over = requests.look(request).partition(".")
    here = {name: asked[name] for name in ("after", "before") if asked[name]}
    if asked["tab"] != lists.NEW:
        here["tab"] = asked["tab"]

    def look(layout: str, over: str) -> str:
        return "?" + urlencode({**here, "look": f"{layout}.{over}".rstrip(".")})

    context |= {
        "first": not (asked["after"] or asked["before"]),
        "address": canonical(request, **here),
        "tabs": TABS,
        "tab": asked["tab"],
        "title": LISTS[asked["tab"]],
        "place": "?" if asked["tab"] == lists.NEW else f"?tab={asked['tab']}&",
        "look": "line" if layout == "list" else "card",
        "with_over": bool(over),
        "to_cards": look("cards", over),
        "to_list": look("list", over),
        "to_over": look(layout, "" if over else "all"),
    }
    part = "shopping/catalogue/_deals.html" if request.htmx else template
    response = render(request, part, context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@everyone.page("1 get", at="/about/terms/")
@for_visitors
def about(request: SiteRequest, slug: str) -> HttpResponse:
    """One of these pages, in the visitor's language: as an admin wrote it, else its sample."""
    found = site_pages.get(slug)
    text = found.text(get_language() or "")
    context = {
        "title": found.title,
        "text": markdown.to_html(text, top=2),
        "summary": markdown.excerpt(text),
        "changed_at": found.at if found.is_edited else None,
        "address": canonical(request),
    }
    return render(request, "shopping/catalogue/about.html", context)
