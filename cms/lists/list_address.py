"""What the address of the list of deals says: filters, columns and page."""

from collections.abc import Mapping

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from cms.shared.requests import EditorRequest, editor_action
from dealsite.data.entities.work import FILTERS

PLACES = ("after", "before", "page")  # of the page shown
NAMES = (*FILTERS, "columns", *PLACES)
LONGEST = 2_000  # characters of a value
COLUMNS = {
    "picture": _("Picture"),
    "brand": _("Brand"),
    "category": _("Category"),
    "price": _("Price"),
    "was_price": _("Was-price"),
    "discount": _("Discount"),
    "state": _("State"),
    "live": _("Published"),
    "expires": _("Expires"),
    "voucher": _("Voucher"),
    "id": _("Id"),
}
USUAL = ("picture", "brand", "price", "was_price", "state", "live", "expires")
WITH_THE_TITLE = ("picture", "brand")  # stand in the title's own column
WITH_THE_PRICE = ("was_price", "discount")  # stand in the price's, if that is shown


def list_query(text: str) -> str:
    """Return the query string of the list that a text holds, its own names only; '' or starting with `?`."""
    try:
        given = QueryDict(text.removeprefix("?")[:10_000])
    except ValueError:
        return ""
    return query_of(given)


def query_of(given: Mapping[str, str]) -> str:
    """Return the query string of what is given of the list's filters, columns and page."""
    values = {name: given.get(name, "")[:LONGEST] for name in NAMES}
    text = urlencode({name: value for name, value in values.items() if value})
    return f"?{text}" if text else ""


def columns_of(named: str) -> tuple[str, ...]:
    """Return the columns that an address names (`price,state`), in their order; the usual ones for none."""
    wanted = set(named[:400].split(","))
    return tuple(name for name in COLUMNS if name in wanted) or USUAL


def own_columns(columns: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return (name, heading) of what stands in a column of its own."""
    beside = WITH_THE_TITLE + (WITH_THE_PRICE if "price" in columns else ())
    return [(name, str(COLUMNS[name])) for name in columns if name not in beside]


@editor_action
def choose_columns(request: EditorRequest) -> HttpResponse:
    """Lead to the list with the columns that were ticked."""
    columns = columns_of(",".join(request.POST.getlist("column")))
    given = QueryDict(list_query(request.POST.get("back", "")).removeprefix("?")).dict()
    chosen = {} if columns == USUAL else {"columns": ",".join(columns)}
    return redirect(reverse("cms_deals") + query_of({**given, "columns": "", **chosen}))
