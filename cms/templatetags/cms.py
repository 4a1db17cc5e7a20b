"""What pages of the CMS need: its menu and shortcuts, the export of a list, the way back, the words of operations."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.conf import settings
from django.template.loader_tags import BLOCK_CONTEXT_KEY
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from cms import site_state
from cms.jobs import KINDS, MAIL
from cms.lists.list_address import list_query
from cms.numbers import amount_of
from cms.operations import STATES as SWITCH_STATES
from cms.order_list import LISTS
from cms.shared.navigation import UNLISTED, at_hand, menu_of, open_to, place_of
from cms.shared.requests import UndoAction, undo_from_tags
from dealsite.data.entities.operations import SwitchState
from dealsite.data.entities.work import VIEW_NAME_CHARACTERS
from dealsite.data.jobs import task_counts
from dealsite.data.jobs.processes import PartRestarts, ProjectionState
from dealsite.data.jobs.task_counts import MOST, TaskCounts
from dealsite.data.table.ids import new_ulid
from dealsite.text.stored_words import Text
from dealsite.text.writing import grouped
from dealsite.worker.exports import PLACES

register = template.Library()
register.filter(amount_of)


@register.simple_tag(takes_context=True)
def block_again(context: template.Context, name: str) -> SafeString:
    """The text of another block of the page: its title says what its heading says, unless it says more."""
    block = context.render_context[BLOCK_CONTEXT_KEY].get_block(name)
    return SafeString(block.render(context))


@register.simple_tag(takes_context=True)
def cms_frame(context: template.Context) -> dict[str, Any]:
    """Where in the menu a page stands, the page above it (its address and title), and how much there is to do.

    A page whose trail is empty is the place itself.
    """
    request = context["request"]
    here = place_of(request.path)
    above = [step for step in context.get("trail") or () if step[0]]
    if "trail" not in context and here and here.address != request.path:
        above = [(here.address + list_query(request.GET.get("back", "")), here.title)]
    return {
        "here": here.url_name if here else "",
        "is_itself": here is not None and here.address == request.path,
        "back": above[-1] if above else None,
        "counts": task_counts.of_process.current(),
        "languages": settings.LANGUAGES,  # each by its own name
    }


@register.simple_tag
def cms_menu(roles: frozenset[str]) -> dict[str, Any]:
    """The places that somebody's roles open to them: of the menu, those that it does not list, those of a phone."""
    return {"groups": menu_of(roles), "unlisted": open_to(roles, UNLISTED), "bottom": at_hand(roles)}


@register.filter
def to_do(counts: TaskCounts, name: str) -> str:
    """How much of something there is to do; '' for nothing."""
    number = getattr(counts, name) if name else 0
    return f"{MOST - 1}+" if number >= MOST else str(number or "")


@register.inclusion_tag("cms/shared/_shortcuts.html")
def shortcut_list(roles: frozenset[str]) -> dict[str, Any]:
    """The shortcuts that every page has."""
    return {"places": open_to(roles)}


@register.inclusion_tag("cms/shared/_list_actions.html", takes_context=True)
def list_actions(context: template.Context, address: str = "") -> dict[str, Any]:
    """What exports and saves the list of this page, or the one that an address shows."""
    query = context["request"].GET.copy()
    for name in PLACES:
        query.pop(name, None)
    return {
        "address": address or f"{context['request'].path}?{query.urlencode()}",
        "column_choices": context.get("column_choices"),
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
def list_of_order(status: str) -> Text:
    """The list that an order of a status is in."""
    return LISTS[status.lower()]


@register.filter
def way_back(tags: str | None) -> UndoAction | None:
    """The way back that a message offers; None for other messages."""
    return undo_from_tags(tags or "")


PARTS: dict[str, Text] = {
    "web": gettext_lazy("Web process"),
    "web process": gettext_lazy("Web process"),  # as the launcher calls it
    "worker": gettext_lazy("Worker"),
    "engine": gettext_lazy("Engine"),
}
STATES: dict[str, Text] = {
    "following": gettext_lazy("up to date"),
    "building": gettext_lazy("is being built"),
    "failing": gettext_lazy("fails, and is tried again"),
    "none": gettext_lazy("nobody feeds it"),
}

WORTH_SAYING = 10  # seconds that a projection is behind
register.filter(site_state.failed_address)


@register.filter
def job_name(kind: str) -> Text:
    """What a job or a command does; all kinds that the list of jobs does not know are mails."""
    return KINDS.get(kind, MAIL)


@register.filter
def switch_state(state: SwitchState) -> Text:
    """How the site's switch stands, as its form says it."""
    return SWITCH_STATES[state]


@register.filter
def part_name(part: str) -> Text:
    """What a process is."""
    return PARTS.get(part, part)


@register.filter
def index_state(one: ProjectionState) -> str:
    """What is done with a search index, by how much it is behind, and how many changes it skipped."""
    is_behind = one.state == "following" and one.lag and one.lag > WORTH_SAYING
    said = [
        _("%(seconds)s s behind") % {"seconds": grouped(one.lag or 0)}
        if is_behind
        else str(STATES.get(one.state, one.state))
    ]
    if one.skipped:
        words = ngettext("%(number)d change skipped", "%(number)d changes skipped", one.skipped)
        said.append(words % {"number": one.skipped})
    return ", ".join(said)


@register.filter
def restarts(parts: Mapping[str, PartRestarts]) -> str:
    """Which parts a launcher started again, how often, and how each ended last."""
    said = [
        ngettext("%(part)s: once", "%(part)s: %(number)d times", one.restarts)
        % {"part": part_name(name.rstrip(" 0123456789")), "number": one.restarts}
        + (f" ({one.ended})" if one.ended else "")
        for name, one in sorted(parts.items())
        if one.restarts
    ]
    return ", ".join(said) or _("none")
