"""What machines read: Atom feeds, the sitemap (a file for each day and letter), robots.txt, security.txt."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.feedgenerator import Atom1Feed
from django.utils.formats import date_format
from django.utils.html import escape
from django.utils.translation import get_language, gettext as _
from django.views.decorators.cache import cache_control

from dealsite.data.catalogue import brands, lists
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.entities.deals import CODE
from dealsite.data.entities.operations import SITE_PAGES
from dealsite.data.table.errors import NotFound
from dealsite.templatetags.design import compared, costs
from dealsite.web.page_cache import for_visitors
from dealsite.web.pages import everyone
from shopping.catalogue.pages import absolute, canonical, deal_path, to_brand_named
from shopping.templatetags.shopping import is_over

NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

MOST_ADDRESSES = 50_000  # of a file of a sitemap, as its format says
XML = "application/xml; charset=utf-8"
SECURITY_TXT_LIFETIME = timedelta(days=180)  # from each day on

for_some_minutes = cache_control(public=True, max_age=300)
for_an_hour = cache_control(public=True, max_age=3600)


@everyone.feed("1 batch get + 1 query")
@for_visitors
@for_some_minutes
def front_page_feed(request: HttpRequest) -> HttpResponse:
    """The latest deals of all."""
    _featured, page = lists.front_page(now=timezone.now())
    return _atom(request, _("Latest deals"), reverse("front_page"), page.cards)


@everyone.feed("1 batch get + 1 query")
@for_visitors
@for_some_minutes
def brand_feed(request: HttpRequest, slug: str) -> HttpResponse:
    """The latest deals of a brand."""
    try:
        brand, page = lists.brand_page(slug, now=timezone.now())
    except NotFound:
        return to_brand_named("brand_feed", slug)
    title = _("%(name)s deals") % {"name": brand.name}
    return _atom(request, title, reverse("brand", args=[slug]), page.cards)


@everyone.feed("1 batch get + 1 query")
@for_visitors
@for_some_minutes
def category_feed(request: HttpRequest, slug: str) -> HttpResponse:
    """The latest deals of a category."""
    category, _featured, page = lists.category_page(slug, now=timezone.now())
    title = _("%(name)s deals") % {"name": category.name}
    return _atom(request, title, reverse("category", args=[slug]), page.cards)


def _atom(request: HttpRequest, title: str, path: str, cards: list[DealCard]) -> HttpResponse:
    feed = Atom1Feed(
        title=f"{title} · {settings.DEALSITE_NAME}",
        link=absolute(path),
        description=None,
        language=(get_language() or "en").partition("-")[0],
        feed_url=canonical(request),
        feed_guid=absolute(path),
    )
    for card in cards:
        feed.add_item(
            title=_for_xml(card.title),
            link=absolute(deal_path(card)),
            description=escape(_for_xml(_in_words(card, timezone.now()))),  # Atom reads it as HTML
            # Stays the same when the title, and with it the address, changes.
            unique_id=absolute(reverse("deal", args=[card.id])),
            pubdate=card.live_at,
            updateddate=card.updated_at,
            author_name=_for_xml(card.brand_name),
            categories=[card.category],
        )
    return HttpResponse(feed.writeString("utf-8"), content_type=feed.content_type)


def _in_words(card: DealCard, now: datetime) -> str:
    words = f"{card.brand_name}: {costs(card)}"
    if (said := compared(card)) and not is_over(card.state(now)):
        words = f"{words} ({said})"
    if card.sold == CODE:
        words = _("%(words)s, voucher code %(code)s") % {"words": words, "code": card.voucher_code}
    if card.expires_at:
        until = f"{date_format(card.expires_at)}, {card.expires_at:%H:%M}"
        words = _("%(words)s, until %(until)s UTC") % {"words": words, "until": until}
    return words


def _for_xml(text: str) -> str:
    """A text without what XML cannot hold: one such character would spoil the whole feed."""
    return NOT_XML.sub("", text)


@everyone.feed("1 query")
@for_visitors
@for_an_hour
def sitemap(request: HttpRequest) -> HttpResponse:
    """The index: the pages, and a file for each letter of brands and for each day that has deals."""
    files = [reverse("sitemap_pages")]
    files += [reverse("sitemap_brands", args=[number]) for number in range(len(brands.LETTERS))]
    files += [reverse("sitemap_day", args=[day.isoformat()]) for day in lists.past_days(now=timezone.now())]
    context = {"addresses": [absolute(file) for file in files]}
    return render(request, "shopping/sitemap_index.xml", context, content_type=XML)


@everyone.feed("none")
@for_visitors
@for_an_hour
def sitemap_pages(request: HttpRequest) -> HttpResponse:
    """The few pages that are always there."""
    paths = [reverse(name) for name in ("front_page", "editors_choice", "brands")]
    paths += [reverse("category", args=[slug]) for slug in CATEGORIES]
    paths += [reverse("about", args=[slug]) for slug in SITE_PAGES]
    return _urlset(request, ((path, "") for path in paths))


@everyone.feed("1 query")
@for_visitors
@for_an_hour
def sitemap_brands(request: HttpRequest, number: int) -> HttpResponse:
    """The list of the brands of a letter, and the page of each."""
    if number >= len(brands.LETTERS):
        raise Http404(_("There is no such letter."))
    letter = brands.LETTERS[number]
    paths = [reverse("brands") + "?" + urlencode({"letter": letter})]
    pages = chain(paths, (reverse("brand", args=[brand.slug]) for brand in brands.of_letter(letter)))
    return _urlset(request, ((path, "") for path in pages))


@everyone.feed("2 queries")
@for_visitors
@for_an_hour
def sitemap_day(request: HttpRequest, day: str) -> HttpResponse:
    """The deals published on a day."""
    now = timezone.now()
    known = {past.isoformat(): past for past in lists.past_days(now=now)}
    if day not in known:
        raise Http404(_("That day has no deals."))
    cards = lists.deals_of_day(known[day], now=now)
    return _urlset(
        request, ((deal_path(card), card.updated_at.isoformat(timespec="seconds")) for card in cards)
    )


@everyone.feed("none")
@for_an_hour
def robots(request: HttpRequest) -> HttpResponse:
    """All may be read but what is behind a sign-in."""
    lines = [
        "User-agent: *",
        "Disallow: /account/",
        "Disallow: /cms/",
        "Disallow: /go/",
        "",
        f"Sitemap: {absolute(reverse('sitemap'))}",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


@everyone.feed("none")
@for_an_hour
def security_txt(request: HttpRequest) -> HttpResponse:
    """Where to report a hole in the site (RFC 9116); not there if DEALSITE_SECURITY_CONTACT is not set."""
    if not settings.DEALSITE_SECURITY_CONTACT:
        raise Http404
    until = (timezone.now() + SECURITY_TXT_LIFETIME).astimezone(UTC)
    lines = [
        f"Contact: {settings.DEALSITE_SECURITY_CONTACT}",
        f"Expires: {until:%Y-%m-%d}T00:00:00Z",
        f"Preferred-Languages: {', '.join(code.partition('-')[0] for code, _name in settings.LANGUAGES)}",
        f"Canonical: {absolute(reverse('security_txt'))}",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


def _urlset(request: HttpRequest, pages: Iterable[tuple[str, str]]) -> HttpResponse:
    addresses = [(absolute(path), changed) for path, changed in islice(pages, MOST_ADDRESSES)]
    return render(request, "shopping/sitemap.xml", {"addresses": addresses}, content_type=XML)
