"""How a deal is shown in a list and on its page, and how the lines of a cart are."""

from datetime import datetime

from django import template
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, ngettext

from dealsite.accounts.ordering import WrongQuantity
from dealsite.data.catalogue import hot
from dealsite.data.catalogue.cards import OVER, DealCard
from dealsite.data.jobs.site_switch import Known
from dealsite.data.table.errors import DataError
from dealsite.data.table.ids import new_ulid
from dealsite.templatetags import kept
from dealsite.templatetags.dealsite import has_all_files
from dealsite.templatetags.design import time_left
from shopping.cart import RemovedLine

HOT_NOW = 10  # two lines of a desk
IN_VIEW = {"card": 12, "line": 12, "strip": 5}  # on a desk before one scrolls
register = template.Library()


@register.simple_tag
def deal_card(card: DealCard, now: datetime, place: str = "card", number: int = 0) -> SafeString:
    """A deal in a list; its place is "strip" above the list, or "side" beside a page, or "line" of a list.

    The pictures of the first numbers, which are in view, load at once, that of a list's first before all. A line says
    when it was published, and leads to its shop at once.
    """
    first, lazy = number == 1 and place != "strip", not 0 < number <= IN_VIEW.get(place, 0)
    shown = {
        "card": card,
        "state": card.state(now),
        "left": time_left(card.expires_at, now) if card.expires_at else "",
        "ago": time_ago(card.live_at, now) if place == "line" else "",
        "likes": hot.likes(card.id),
        "place": place,
        "first": first,
        "lazy": lazy,
        "has_all_files": has_all_files(card.picture),
    }
    template = "shopping/shared/_side_offer.html" if place == "side" else "shopping/shared/_deal_card.html"
    return kept.of_process.get(template, shown, lambda: render_to_string(template, shown))


def time_ago(at: datetime, now: datetime) -> str:
    """The time since, in the largest unit that has passed: 3 days ago, 5 hours ago, just now."""
    minutes = int((now - at).total_seconds()) // 60
    hours, days = minutes // 60, minutes // 1440
    if minutes < 1:
        return _("just now")
    if hours < 1:
        return ngettext("%(count)d minute ago", "%(count)d minutes ago", minutes) % {"count": minutes}
    if days < 1:
        return ngettext("%(count)d hour ago", "%(count)d hours ago", hours) % {"count": hours}
    if days < 31:
        return ngettext("%(count)d day ago", "%(count)d days ago", days) % {"count": days}
    if days < 365:
        return ngettext("%(count)d month ago", "%(count)d months ago", days // 31) % {"count": days // 31}
    return ngettext("%(count)d year ago", "%(count)d years ago", days // 365) % {"count": days // 365}


def _read_hot() -> list[DealCard]:
    try:
        return hot.hot_deals(now=timezone.now()).cards[:HOT_NOW]
    except DataError:  # a page that leads nowhere shows without them
        return []


hot_of_process = Known(_read_hot, list[DealCard](), seconds=2.0)


@register.simple_tag
def hot_now(now: datetime) -> list[DealCard]:
    """The hottest live deals, as a process knows them: however many ask, it reads them every two seconds."""
    return [card for card in hot_of_process.current() if card.is_live(now)]


@register.filter
def is_over(state: str) -> bool:
    """Whether the deal can no longer be had."""
    return state in OVER


@register.filter
def state_at(card: DealCard, now: datetime) -> str:
    """The state of a deal at a time."""
    return card.state(now)


@register.filter
def names_brand(card: DealCard) -> bool:
    """Whether a deal's title says the brand already."""
    return card.brand_name.casefold() in card.title.casefold()


@register.simple_tag
def form_token() -> str:
    """What marks one showing of a form: sent twice, it counts once."""
    return new_ulid(timezone.now())


@register.filter
def initials(name: str) -> str:
    """Two letters that stand in for a brand's logo: of its first two words, or of its only one."""
    words = [word for word in name.split() if word[0].isalnum()]
    letters = words[0][0] + words[1][0] if len(words) > 1 else name[:2]
    return letters[0].upper() + letters[1:]


@register.filter
def of_deal(wrong: dict[str, WrongQuantity], deal_id: str) -> WrongQuantity | None:
    """What is wrong with the number of pieces that was typed for a deal; None if nothing is."""
    return wrong.get(deal_id) if wrong else None


@register.filter
def removed(tags: str) -> RemovedLine | None:
    """What a message says was removed, for the button that takes that back; None for other messages."""
    return RemovedLine.from_tags(tags or "")
