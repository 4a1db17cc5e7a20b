"""What pages of the CMS need: its menu and shortcuts, the export of a list, the way back from a change."""

from typing import Any

from django import template
from django.conf import settings
from django.template.loader_tags import BLOCK_CONTEXT_KEY
from django.utils import timezone
from django.utils.safestring import SafeString

from cms.home.numbers import amount_of
from cms.lists.list_address import list_query
from cms.shared.navigation import UNLISTED, at_hand, menu_of, open_to, place_of
from cms.shared.undo import UndoAction, from_tags
from dealsite.data.entities.work import VIEW_NAME_CHARACTERS
from dealsite.data.table.ids import new_ulid
from dealsite.worker.list_export import PLACES

register = template.Library()
register.filter(amount_of)


@register.simple_tag(takes_context=True)
def block_again(context: template.Context, name: str) -> SafeString:
    """The text of another block of the page: its title says what its heading says, unless it says more."""
    block = context.render_context[BLOCK_CONTEXT_KEY].get_block(name)
    return SafeString(block.render(context))


@register.simple_tag(takes_context=True)
def cms_menu(context: template.Context) -> dict[str, Any]:
    """What the frame of a page shows: the menu, where in it the page stands, and the page above it.

    That is an address and a title; a page whose trail is empty is the place itself.
    """
    request = context["request"]
    here = place_of(request.path)
    above = [step for step in context.get("trail") or () if step[0]]
    if "trail" not in context and here and here.address != request.path:
        above = [(here.address + list_query(request.GET.get("back", "")), here.title)]
    return {
        "groups": menu_of(request.user),
        "unlisted": open_to(request.user, UNLISTED),
        "bottom": at_hand(request.user),
        "here": here,
        "languages": settings.LANGUAGES,  # each by its own name
        "back": above[-1] if above else None,
    }


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
        "comes_along": context["request"].htmx,
    }


@register.inclusion_tag("cms/lists/_heads.html")
def list_heads(*plain: str, **kinds: str) -> dict[str, Any]:
    """The head of a list: first plain columns, then those of a kind (`time=`, `amount=`), with `actions=`, `wide=`, and
    by `ascending=` or `descending=` the time that the list is sorted by."""
    return {"plain": plain, "kinds": kinds.items()}


@register.filter
def way_back(tags: str | None) -> UndoAction | None:
    """The way back that a message offers; None for other messages."""
    return from_tags(tags or "")
