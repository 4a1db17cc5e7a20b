"""The pages about the site: terms, withdrawal, privacy, imprint, how prices are compared and deals are ordered."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language
from django.views.decorators.http import require_safe

from dealsite.accounts.requests import SiteRequest
from dealsite.data.editing import site_pages
from dealsite.text import markdown
from dealsite.web.page_cache import for_visitors
from dealsite.web.pages import page
from shopping.catalogue.page_metadata import canonical


@page("1 get", at="/about/terms/")
@require_safe
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
