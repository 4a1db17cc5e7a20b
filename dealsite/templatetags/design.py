"""The small pieces that every page is made of: icons, form controls, money, times. docs/design.md shows them."""

import math
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django import forms, template
from django.forms import BoundField
from django.http import HttpRequest
from django.template.defaultfilters import stringfilter
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from dealsite.data.catalogue.cards import DealCard
from dealsite.data.commerce import order_record
from dealsite.data.commerce.payment_lists import PaymentRow
from dealsite.data.commerce.payment_record import Payment
from dealsite.data.entities import commerce
from dealsite.data.table.ids import iso
from dealsite.templatetags import kept
from dealsite.text.writing import currency_sign, grouped, money, percent, price

register = template.Library()
for one in (money, price, percent, grouped):
    register.filter(one)
register.simple_tag(currency_sign)

CATEGORY_ICONS = {
    "computers-components": "cpu",
    "peripherals-networking": "router",
    "audio-tv-photo": "headphones",
    "office-software": "printer",
    "home-furniture": "sofa",
    "grocery-household": "shopping-basket",
    "fashion-beauty": "shirt",
    "toys-hobbies": "puzzle",
}
MENU_PAGES = ("front_page", "brands", "editors_choice", "category")
MESSAGE_LOOKS = {
    "success": ("alert-success", "circle-check"),
    "warning": ("alert-warning", "triangle-alert"),
    "error": ("alert-error", "circle-alert"),
}

# The first that fits: a field's widget is most often a subclass of another of these.
CONTROL_CLASSES = (
    (forms.CheckboxSelectMultiple, "checkbox"),
    (forms.RadioSelect, "radio"),
    (forms.CheckboxInput, "checkbox"),
    (forms.FileInput, "file-input"),
    (forms.Select, "select"),
    (forms.Textarea, "textarea"),
    (forms.Widget, "input"),
)


STATES = {  # of orders, of their payments together, and of each payment: the words, and the look for `data-state`
    commerce.PLACED: (gettext_lazy("Placed"), "scheduled"),
    commerce.SHIPPED: (gettext_lazy("Shipped"), "ending"),
    commerce.DELIVERED: (gettext_lazy("Delivered"), "live"),
    commerce.CANCELLED: (gettext_lazy("Cancelled"), ""),
    commerce.RETURNED: (gettext_lazy("Returned"), ""),
    commerce.REDUCED: (gettext_lazy("Costs less"), ""),
    commerce.RETURN_ASKED: (gettext_lazy("Return asked for"), "ending"),
    commerce.RETURN_DECLINED: (gettext_lazy("Return declined"), ""),
    order_record.UNKNOWN: (gettext_lazy("Not added up yet"), "draft"),
    order_record.NOTHING: (gettext_lazy("Nothing to pay"), "draft"),
    order_record.UNPAID: (gettext_lazy("Not paid yet"), "scheduled"),
    order_record.PART_PAID: (gettext_lazy("Part paid"), "ending"),
    order_record.PAID: (gettext_lazy("Paid"), "live"),
    order_record.DECLINED: (gettext_lazy("Payment failed"), "failed"),
    order_record.OWED_BACK: (gettext_lazy("To be refunded"), "ending"),
    order_record.GIVEN_BACK: (gettext_lazy("Refunded"), "draft"),
    commerce.SCHEDULED: (gettext_lazy("Scheduled"), "scheduled"),
    commerce.PENDING: (gettext_lazy("Being charged"), "ending"),
    commerce.PROCESSED: (gettext_lazy("Paid"), "live"),
    commerce.FAILED: (gettext_lazy("Failed"), "failed"),
    commerce.REFUNDED: (gettext_lazy("Refunded"), ""),
}


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str, extra_class: str = "") -> SafeString:
    """One of the icons of static/icons.txt, hidden from screen readers: words stand beside it."""
    svg = '<svg class="{}" aria-hidden="true"><use href="{}#{}"></use></svg>'
    return format_html(svg, f"icon {extra_class}".rstrip(), static("icons.svg"), name)


@register.filter
def category_icon(slug: str) -> str:
    """The name of the icon that stands for a category."""
    return CATEGORY_ICONS.get(slug, "tag")


@register.filter
def menu_path(request: HttpRequest | None) -> str:
    """The path of one of the pages that the site's menus lead to; '' for another page."""
    match = request.resolver_match if request else None
    return request.path if request and match and match.url_name in MENU_PAGES else ""


@register.simple_tag(takes_context=True)
def nav_link(
    context: template.Context, url_name: str, text: str, icon_name: str = "", also: str = ""
) -> SafeString:
    """A link of a menu, marked where it is the current page, or stands for it (`also`, by name): "account#settings".

    In a kept part, the current page is the one at `path`.
    """
    name, *part = url_name.split("#")
    href = "#".join([reverse(name), *part])
    request = None if "path" in context else context.get("request")
    path, match = context.get("path") or (request and request.path), request and request.resolver_match
    mark = "page" if path == href else match and match.url_name in also.split() and "true"
    current = format_html(' aria-current="{}"', mark) if mark else ""
    return format_html('<a href="{}"{}>{}{}</a>', href, current, icon(icon_name) if icon_name else "", text)


@register.filter
def message_class(level: str) -> str:
    """The look of a message of Django's messages."""
    return MESSAGE_LOOKS.get(level, ("alert-info", "info"))[0]


@register.filter
def message_icon(level: str) -> str:
    """The icon beside such a message, for those who cannot tell the colours apart."""
    return MESSAGE_LOOKS.get(level, ("alert-info", "info"))[1]


@register.filter
def control(field: BoundField) -> SafeString:
    """A form field's control with the classes of our design; Django adds the aria attributes itself."""
    widget = field.field.widget
    known = next(name for kind, name in CONTROL_CLASSES if isinstance(widget, kind))
    return field.as_widget(attrs={"class": f"{known} {widget.attrs.get('class', '')}".rstrip()})


@register.filter
def is_checkbox(field: BoundField) -> bool:
    """A single box to tick, whose label stands after it."""
    return isinstance(field.field.widget, forms.CheckboxInput)


@register.filter
def is_choices(field: BoundField) -> bool:
    """Several boxes or buttons under one legend."""
    return isinstance(field.field.widget, forms.CheckboxSelectMultiple | forms.RadioSelect)


@register.filter
def costs(card: DealCard) -> str:
    """What a deal costs, or what there is instead of a price."""
    return money(card.price) or card.condition


@register.filter
def compared(card: DealCard) -> str:
    """What a price may be compared with, in a few words; nothing for nothing."""
    if card.saving:
        return _("30-day low was %(price)s") % {"price": money(card.low)}
    if card.raised_from:
        return _("up from %(price)s") % {"price": money(card.raised_from)}
    return _("RRP %(price)s") % {"price": money(card.rrp)} if card.rrp else ""


@register.filter(is_safe=True)
@stringfilter
def one_line(text: str) -> str:
    """`{% filter one_line %}`: a title or a description without the line breaks of its template."""
    return " ".join(text.split())


@register.filter
def moment(when: datetime | None) -> SafeString | str:
    """A time in words with its zone, 24 Nov 2026, 18:00 UTC.

    Script rewrites it to the browser's own zone, unless the user has chosen one in their profile.
    """
    if when is None:
        return ""
    zone = timezone.get_current_timezone()
    local = when.astimezone(zone)
    return format_html(
        '<time datetime="{}"{}>{} {}</time>',
        when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "" if getattr(zone, "chosen", False) else SafeString(" data-moment"),
        f"{date_format(local)}, {local:%H:%M}",
        local.tzname() or "UTC",
    )


# Of times less than so many minutes off: after how many minutes other words hold, and the words.
SPANS = (
    (60, 1, gettext_lazy("%(minutes)d min")),
    (10 * 60, 1, gettext_lazy("%(hours)d h %(minutes)02d")),  # of those to come alone
    (48 * 60, 60, gettext_lazy("%(hours)d h")),
    (math.inf, 24 * 60, gettext_lazy("%(days)d d")),
)


@register.simple_tag
def brief(when: datetime | None, now: datetime, *, clock: object = False) -> SafeString | str:
    """How far off a time is, "in 3 h 18", "in 35 h", "16 d ago", or by the clock, with the whole time at hand."""
    if not when:
        return ""
    minutes, is_ahead = int(abs((when - now).total_seconds())) // 60, when > now
    span, step = next(
        (number, step)
        for number, (end, step, _words) in enumerate(SPANS)
        if minutes < end and (is_ahead or number != 1)
    )
    shown: dict[str, Any] = {"when": when, "minutes": minutes // step * step, "span": span}
    shown |= {"ahead": is_ahead, "clock": bool(clock)}
    return kept.of_process.get("brief", shown, lambda: _brief(**shown))


def _brief(when: datetime, minutes: int, span: int, *, ahead: bool, clock: bool) -> SafeString:
    numbers = {"minutes": minutes % 60, "hours": minutes // 60, "days": minutes // 1440}
    words = (_("in %(span)s") if ahead else _("%(span)s ago")) % {"span": SPANS[span][2] % numbers}
    local = timezone.localtime(when)
    whole = f"{date_format(local)}, {local:%H:%M} {local.tzname() or 'UTC'}"
    return format_html(
        '<time datetime="{}" title="{}">{}<span class="sr-only">: {}</span></time>',
        when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        whole,
        f"{local:%H:%M}" if clock else words,
        whole,
    )


@register.filter
def state_words(state: str) -> str:
    """A state of an order or a payment in words."""
    return str(STATES[state][0])


@register.filter
def state_look(state: str) -> str:
    """The look of a state of an order or a payment, for `data-state`."""
    return STATES[state][1]


@register.filter
def payment_state(payment: Payment | PaymentRow) -> str:
    """The state of a payment: its status, or that it is not paid yet where it waits for a card."""
    waits = payment.status == commerce.SCHEDULED and payment.reason
    return order_record.UNPAID if waits else payment.status


@register.filter
def key_time(when: datetime) -> str:
    """A time as keys and forms have it."""
    return iso(when)


def time_left(expires_at: datetime, now: datetime) -> str:
    """The time between, as a visitor would say it: 3 days left, 5 hours left, 12 minutes left."""
    minutes = max(int((expires_at - now).total_seconds()) // 60, 0)
    hours, days = minutes // 60, minutes // 1440
    if minutes < 1:
        return _("Less than a minute left")
    if days >= 2:  # 36 hours say more than "1 day"
        return ngettext("%(count)d day left", "%(count)d days left", days) % {"count": days}
    if hours >= 2:
        return ngettext("%(count)d hour left", "%(count)d hours left", hours) % {"count": hours}
    return ngettext("%(count)d minute left", "%(count)d minutes left", minutes) % {"count": minutes}
