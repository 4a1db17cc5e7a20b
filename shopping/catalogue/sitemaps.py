"""What search engines may visit: an index of small files, one a day of deals, and robots.txt."""

from collections.abc import Iterable

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from dealsite.data.catalogue import brands, feeds
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.web.pages import feed
from shopping.catalogue.page_metadata import absolute, deal_path

for_an_hour = cache_control(public=True, max_age=3600)


@feed("1 query")
@require_safe
@for_an_hour
def sitemap(request: HttpRequest) -> HttpResponse:
    """The index: the pages, the brands, and a file for each day that has deals."""
    files = [reverse("sitemap_pages"), reverse("sitemap_brands")]
    files += [reverse("sitemap_day", args=[day.isoformat()]) for day in feeds.past_days(now=timezone.now())]
    context = {"addresses": [absolute(file) for file in files]}
    return render(request, "shopping/sitemap_index.xml", context, content_type="application/xml")


@feed("none")
@require_safe
@for_an_hour
def sitemap_pages(request: HttpRequest) -> HttpResponse:
    """The few pages that are always there."""
    paths = [reverse(name) for name in ("front_page", "editors_choice", "brands")]
    paths += [reverse("category", args=[slug]) for slug in CATEGORIES]
    return _urlset(request, ((path, "") for path in paths))


@feed("1 query")
@require_safe
@for_an_hour
def sitemap_brands(request: HttpRequest) -> HttpResponse:
    """The page of each brand."""
    return _urlset(request, ((reverse("brand", args=[brand.slug]), "") for brand in brands.all_brands()))


@feed("2 queries")
@require_safe
@for_an_hour
def sitemap_day(request: HttpRequest, day: str) -> HttpResponse:
    """The deals published on a day."""
    now = timezone.now()
    known = {past.isoformat(): past for past in feeds.past_days(now=now)}
    if day not in known:
        raise Http404(_("That day has no deals."))
    cards = list(feeds.deals_of_day(known[day], now=now))
    return _urlset(request, ((deal_path(card), card.live_at.isoformat(timespec="seconds")) for card in cards))


@feed("none")
@require_safe
@for_an_hour
def robots(request: HttpRequest) -> HttpResponse:
    """All may be read but what is behind a sign-in."""
    lines = [
        "User-agent: *",
        "Disallow: /account/",
        "Disallow: /cms/",
        "",
        f"Sitemap: {absolute(reverse('sitemap'))}",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


def _urlset(request: HttpRequest, pages: Iterable[tuple[str, str]]) -> HttpResponse:
    addresses = [(absolute(path), changed) for path, changed in pages]
    return render(request, "shopping/sitemap.xml", {"addresses": addresses}, content_type="application/xml")
