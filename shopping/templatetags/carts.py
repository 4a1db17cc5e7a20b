"""How a cart's lines are shown."""

from django import template
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dealsite.data.commerce.carts import LineView
from dealsite.data.table.ids import new_ulid
from dealsite.templatetags.design import money
from shopping.cart.cart_forms import RemovedLine

register = template.Library()


@register.simple_tag
def form_token() -> str:
    """What marks one showing of a form: sent twice, it counts once."""
    return new_ulid(timezone.now())


@register.filter
def problems(shown: LineView) -> list[str]:
    """What changed about a line since the shopper last looked, and what taking it would mean: a sentence each."""
    line = shown.line
    sentences = {
        "price_up": _("The price went up from %(price)s to %(price_2)s.")
        % {"price": money(line.price), "price_2": money(shown.price)},
        "price_down": _("The price went down from %(price)s to %(price_2)s.")
        % {"price": money(line.price), "price_2": money(shown.price)},
        "fewer_left": ngettext(
            "Only %(left)d is left. You wanted %(wanted)d.",
            "Only %(left)d are left. You wanted %(wanted)d.",
            shown.left or 0,
        )
        % {"left": shown.left or 0, "wanted": line.quantity},
        "sold_out": _("This deal is sold out."),
        "expired": _("This deal has expired."),
        "gone": _("This deal is not offered any more."),
    }
    told = [problem for problem in shown.problems if not (shown.unavailable and problem.startswith("price"))]
    return [sentences[problem] for problem in told]


@register.filter
def removed(tags: str) -> RemovedLine | None:
    """What a message says was removed, for the button that takes that back; None for other messages."""
    return RemovedLine.from_tags(tags or "")
