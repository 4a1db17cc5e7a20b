"""What templates need to show the way back from what was just done."""

from __future__ import annotations

from django import template

from cms.shared.undo import UndoAction, from_tags

register = template.Library()


@register.filter
def way_back(tags: str | None) -> UndoAction | None:
    """The way back that a message offers; None for other messages."""
    return from_tags(tags or "")
