"""How a deal is shown in a list and on its page."""

from datetime import datetime
from functools import lru_cache
from urllib.parse import urlsplit

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from dealsite.data.catalogue.cards import DealCard
from dealsite.pictures import renditions
from dealsite.templatetags.design import time_left

register = template.Library()


@register.simple_tag
def deal_card(card: DealCard, now: datetime, *, large: bool = False, lazy: bool = True) -> SafeString:
    """One card of a list. The large one leads a page; the first ones of a page load at once."""
    left = time_left(card.expires_at, now) if card.expires_at else ""
    made = card.picture is not None and renditions.are_made(card.picture.name)
    return _rendered(card, card.state(now), left, large, lazy, made, get_language())


@lru_cache(maxsize=4096)
def _rendered(
    card: DealCard, state: str, left: str, large: bool, lazy: bool, made: bool, language: str | None
) -> SafeString:
    # Two thirds of a page's time is the rendering of cards, and the same cards are shown again and again.
    # `made` and `language` are part of what one is kept under: the files that it shows of its picture, and its words.
    context = {"card": card, "state": state, "left": left, "large": large, "lazy": lazy}
    return render_to_string("shopping/shared/_deal_card.html", context)


@register.filter
def host(link: str) -> str:
    """The shop's name as its address says it: www.shop.example becomes shop.example."""
    return (urlsplit(link).hostname or "").removeprefix("www.")


@register.filter
def is_over(state: str) -> bool:
    """Whether the deal can no longer be had."""
    return state in ("expired", "sold_out")
