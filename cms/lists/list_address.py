"""What addresses of lists say: their columns, of deals also filters and page; and addresses saved under a name."""

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy

from cms.shared import requests
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import sent_again, staff
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.editing import saved_views
from dealsite.data.editing.saved_views import SavedView
from dealsite.data.entities.work import FILTERS
from dealsite.data.table.errors import Invalid, NotFound
from dealsite.data.table.ids import iso
from dealsite.text.stored_words import Text
from dealsite.worker.exports import list_at


class Tab(NamedTuple):
    """One of the lists that a page can show, and how many there are in it, if that is known."""

    name: str
    label: Text
    address: str
    number: int | None = None


PLACES = ("after", "before", "page")  # of the page shown
NAMES = (*FILTERS, "sort", "rows", "columns", *PLACES)
ROWS = ("25", "50", "100")  # of a page
LONGEST = 2_000  # characters of a value


class Columns(NamedTuple):
    """The columns that a list can show, by their names in its address, and those that it shows if none are named."""

    labels: Mapping[str, Text]
    usual: Sequence[str]

    def named(self, text: str, sort: str = "") -> tuple[str, ...]:
        """Return the columns that an address names (`price,state`), in their order; the usual ones for none.

        The one that a list is sorted by is always shown.
        """
        wanted = set(text[:400].split(",")) & {*self.labels} or {*self.usual}
        return tuple(name for name in self.labels if name in wanted or name == sort)

    def in_address(self, text: str) -> str:
        """Return what an address says of the columns that it names; '' for the usual ones."""
        shown = self.named(text)
        return "" if {*shown} == {*self.usual} else ",".join(shown)

    def choices(self, shown: Container[str]) -> list[tuple[str, Text, bool]]:
        """Return (name, label, whether it is shown) of each."""
        return [(name, label, name in shown) for name, label in self.labels.items()]


OF_DEALS = Columns(
    {
        "picture": _("Picture"),
        "brand": _("Brand"),
        "state": _("State"),
        "price": _("Price"),
        "was_price": _("Compared"),
        "discount": pgettext_lazy("discount", "Off"),
        "expires": _("Ends"),
        "category": _("Category"),
        "live": _("Live"),
        "changed": _("Changed"),
        "likes": _("Likes"),
        "sold": pgettext_lazy("seller", "Sold"),
        "stock": _("Stock"),
        "voucher": _("Voucher"),
        "article_number": _("Article number"),
        "id": _("Id"),
    },
    ("picture", "brand", "state", "price", "was_price", "discount", "expires", "category", "live", "changed"),
)
WIDE = ("was_price", "category", "changed")  # of the usual ones, those for which a narrow window has no room
WITH_THE_TITLE = ("picture", "brand")  # stand in the title's own column
SORTS = {  # column -> an order of search
    "price": "price",
    "discount": "discount",
    "expires": "ending",
    "live": "newest",
    "changed": "changed",
    "likes": "likes",
}
UPWARDS = ("price", "expires")  # of the sorted columns, those with the least first


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


def own_columns(columns: tuple[str, ...]) -> list[str]:
    """Return what stands in a column of its own."""
    return [name for name in columns if name not in WITH_THE_TITLE]


def position_of(card: DealCard) -> str:
    """Return where a deal stands in lists: by its id, or by its end, as cursors say it."""
    return f"{iso(card.expires_at)}~{card.id}" if card.expires_at else card.id


def in_list(request: EditorRequest, address: str, place: str = "") -> str:
    """Return an address that keeps from which list a page was opened, and at which place; as it is if from none.

    The place is that of when it was opened, so that what leaves the list by a change still has neighbours.
    """
    if "back" not in request.GET:
        return address
    back, at = list_query(request.GET["back"]), (request.GET.get("at") or place)[:60]
    return f"{address}{'&' if '?' in address else '?'}{urlencode({'back': back, 'at': at})}"


def after_saving(request: EditorRequest, address: str) -> HttpResponse:
    """Lead to what was saved, or where the button said so to the next one of its list or to a new one."""
    then = request.POST.get("action", "").partition("-")[2]
    if then == "next" and request.GET.get("at"):
        address = f"{reverse('cms_deal_beside')}?way=next"
    elif then == "new":
        address = reverse("cms_new_draft")
    return redirect(in_list(request, address))


@staff.action
def choose_columns(request: EditorRequest) -> HttpResponse:
    """Lead to a list with the columns that were ticked."""
    path, _mark, given = list_at(request.POST.get("list", "")).address.partition("?")
    chosen = QueryDict(given).dict() | {"columns": ",".join(request.POST.getlist("column"))}
    return redirect(f"{path}?{urlencode(chosen)}")


@staff.page("1 get")
def view_list(request: EditorRequest) -> HttpResponse:
    """A user's saved views: to open and delete."""
    views = [(view, _is_list(view.address)) for view in saved_views.of(request.user.username)]
    return render(request, "cms/lists/saved_views.html", {"views": views})


@staff.action
@sent_again
def save_view(request: EditorRequest) -> HttpResponse:
    """Keep a list under a name; also what brings a deleted or replaced view back."""
    view = SavedView(request.POST.get("name", ""), list_at(request.POST.get("list", "")).address)
    try:
        replaced = saved_views.save(request.user.username, view, now=timezone.now())
    except Invalid as error:
        messages.error(request, str(error))
        return redirect("cms_views")
    name = view.name.strip()
    if replaced:
        _offer(request, gettext("“%(name)s” now shows this list.") % {"name": name}, replaced)
    else:
        messages.success(request, gettext("The view “%(name)s” is saved.") % {"name": name})
    return redirect(view.address)


@staff.action
def delete_view(request: EditorRequest) -> HttpResponse:
    """Delete a view; a notice brings it back."""
    deleted = saved_views.delete(request.user.username, request.POST.get("name", ""), now=timezone.now())
    if deleted:
        _offer(request, gettext("The view “%(name)s” is deleted.") % {"name": deleted.name}, deleted)
    return redirect("cms_views")


def _offer(request: EditorRequest, text: str, view: SavedView) -> None:
    """Say what was done, with a button that brings a view back if its list still exists."""
    if _is_list(view.address):
        requests.offer_undo(request, text, reverse("cms_save_view"), name=view.name, list=view.address)
    else:
        messages.success(request, text)


def _is_list(address: str) -> bool:
    try:
        list_at(address)
    except NotFound:
        return False
    return True
