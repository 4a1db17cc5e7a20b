"""What pages of the CMS need: its menu and shortcuts, the export of a list, the way back from a change."""

from typing import Any

from django import template
from django.template.loader_tags import BLOCK_CONTEXT_KEY
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from cms.shared.navigation import open_to
from cms.shared.undo import UndoAction, from_tags
from dealsite.data.entities.work import VIEW_NAME_CHARACTERS
from dealsite.data.table.ids import new_ulid
from dealsite.worker.list_export import PLACES

register = template.Library()


@register.simple_tag(takes_context=True)
def block_again(context: template.Context, name: str) -> SafeString:
    """The text of another block of the page: its title says what its heading says, unless it says more."""
    block = context.render_context[BLOCK_CONTEXT_KEY].get_block(name)
    return SafeString(block.render(context))


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


@register.inclusion_tag("cms/shared/_list_actions.html", takes_context=True)
def list_actions(context: template.Context, address: str = "") -> dict[str, Any]:
    """What exports and saves the list of this page, or the one that an address shows."""
    query = context["request"].GET.copy()
    for name in PLACES:
        query.pop(name, None)
    return {
        "address": address or f"{context['request'].path}?{query.urlencode()}",
        "longest_name": VIEW_NAME_CHARACTERS,
        "token": new_ulid(timezone.now()),
        "csrf_token": context.get("csrf_token"),
    }


@register.filter
def way_back(tags: str | None) -> UndoAction | None:
    """The way back that a message offers; None for other messages."""
    return from_tags(tags or "")
