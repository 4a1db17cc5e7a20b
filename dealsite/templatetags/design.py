"""The small pieces that every page is made of: icons, form controls, money, times. docs/design.md shows them."""

from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache

from django import forms, template
from django.conf import settings
from django.forms import BoundField
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

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
CURRENCY_SIGNS = {"EUR": "€", "GBP": "£", "USD": "$"}

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


@register.simple_tag
@lru_cache(maxsize=256)
def icon(name: str, extra_class: str = "") -> SafeString:
    """One of the icons of static/icons.txt, hidden from screen readers: words stand beside it."""
    return format_html(
        '<svg class="{}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        f"icon {extra_class}".rstrip(),
        static("icons.svg"),
        name,
    )


@register.filter
def category_icon(slug: str) -> str:
    """The name of the icon that stands for a category."""
    return CATEGORY_ICONS.get(slug, "tag")


@register.simple_tag(takes_context=True)
def nav_link(context: template.Context, url_name: str, text: str, icon_name: str = "") -> SafeString:
    """A link of a menu, marked as the current page where it is."""
    request = context.get("request")
    href = reverse(url_name)
    return format_html(
        '<a href="{}"{}>{}{}</a>',
        href,
        SafeString(' aria-current="page"') if request and request.path == href else "",
        icon(icon_name) if icon_name else "",
        text,
    )


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
def money(amount: Decimal | None) -> str:
    """€1,299.00, in the site's currency; nothing for no amount."""
    if amount is None:
        return ""
    currency = settings.DEALSITE_CURRENCY
    return f"{CURRENCY_SIGNS.get(currency, f'{currency} ')}{amount:,.2f}"


@register.filter
def price(amount: Decimal) -> SafeString:
    """The same as money, with the cents set smaller."""
    whole, _, cents = money(amount).rpartition(".")
    return format_html('{}<span class="price-cents">.{}</span>', whole, cents)


@register.filter
def grouped(number: int) -> str:
    """A number with its thousands apart, 100,000."""
    return f"{number:,}"


@register.filter
def moment(when: datetime | None) -> SafeString | str:
    """A time in words with its zone, 24 Nov 2026, 18:00 UTC.

    Script rewrites it to the browser's own zone, unless the user has chosen one in his profile.
    """
    if when is None:
        return ""
    zone = timezone.get_current_timezone()
    local = when.astimezone(zone)
    return format_html(
        '<time datetime="{}"{}>{} {}</time>',
        when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "" if getattr(zone, "chosen", False) else SafeString(" data-moment"),
        f"{local.day} {local:%b %Y, %H:%M}",
        local.tzname() or "UTC",
    )


def time_left(expires_at: datetime, now: datetime) -> str:
    """The time between, as a visitor would say it: 3 days left, 5 hours left, 12 minutes left."""
    minutes = max(int((expires_at - now).total_seconds()) // 60, 0)
    if minutes < 1:
        return "Less than a minute left"
    for size, unit in ((1440, "day"), (60, "hour"), (1, "minute")):
        # 36 hours say more than "1 day".
        if minutes >= size * (2 if size > 1 else 1) or size == 1:
            count = minutes // size
            return f"{count} {unit}{'' if count == 1 else 's'} left"
    raise AssertionError("a minute or more is always counted")
