"""The words of the page of operations: for parts, jobs and projections."""

from collections.abc import Mapping

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from cms.jobs.jobs import KINDS, MAIL
from cms.operations import problems
from cms.operations.switch_site import STATES as SWITCH_STATES
from dealsite.data.entities.operations import SwitchState
from dealsite.data.jobs.processes import PartRestarts, ProjectionState
from dealsite.templatetags.design import grouped
from dealsite.text.lazy import Text

PARTS: dict[str, Text] = {
    "web": gettext_lazy("Web process"),
    "web process": gettext_lazy("Web process"),  # as the launcher calls it
    "worker": gettext_lazy("Worker"),
    "engine": gettext_lazy("Engine"),
}
PROJECTIONS: dict[str, Text] = {"search": gettext_lazy("Search index"), "lake": gettext_lazy("Lake")}
STATES: dict[str, Text] = {
    "following": gettext_lazy("up to date"),
    "building": gettext_lazy("is being built"),
    "failing": gettext_lazy("fails, and is tried again"),
    "none": gettext_lazy("nobody feeds it"),
}

WORTH_SAYING = 10  # seconds that a projection is behind
register = template.Library()
register.filter(problems.failed_address)


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
def projection_name(name: str) -> Text:
    """What a projection is called at the beginning of a line."""
    return PROJECTIONS.get(name, name)


@register.filter
def projection_state(one: ProjectionState) -> str:
    """What a projection does, by how much it is behind, and how many changes it skipped."""
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
