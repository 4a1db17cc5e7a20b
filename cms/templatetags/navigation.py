"""The CMS's menu, made of the places that somebody's roles open to him."""

from typing import Any

from django import template
from django.urls import reverse

from cms.shared.navigation import open_to

register = template.Library()


@register.inclusion_tag("cms/shared/_navigation.html", takes_context=True)
def cms_navigation(context: template.Context) -> dict[str, Any]:
    """The links of the menu, the page itself marked."""
    request = context["request"]
    places = [place for place in open_to(request.user) if not place.is_new]
    links = [(place, reverse(place.url_name)) for place in places]
    return {"links": links, "path": request.path}


@register.inclusion_tag("cms/shared/_new_things.html", takes_context=True)
def new_things(context: template.Context) -> dict[str, Any]:
    """Links to what begins something new, for shortcuts alone: pages have buttons of their own for it."""
    places = [place for place in open_to(context["request"].user) if place.is_new and place.shortcut]
    return {"links": [(place, reverse(place.url_name)) for place in places]}


@register.inclusion_tag("cms/shared/_shortcuts.html", takes_context=True)
def shortcut_list(context: template.Context) -> dict[str, Any]:
    """The shortcuts that every page has."""
    return {"places": open_to(context["request"].user)}
