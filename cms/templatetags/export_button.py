"""The button below a list that writes it into a file."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils import timezone

from dealsite.data.table.ids import new_ulid

register = template.Library()


@register.inclusion_tag("cms/shared/_export_button.html", takes_context=True)
def export_button(context: template.Context, what: str, **filters: object) -> dict[str, Any]:
    """A form that has a list exported, with the filters that are set."""
    return {
        "what": what,
        "filters": {name: value for name, value in filters.items() if value},
        "token": new_ulid(timezone.now()),
        "csrf_token": context.get("csrf_token"),
    }
