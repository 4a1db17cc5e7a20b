"""What views of the CMS have in common: their request, how they are declared, and *Undo* in a note."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy

from dealsite.accounts.requests import UserRequest, is_safe
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import is_new

View = Callable[..., HttpResponseBase]
OPEN_FOR_LONG = gettext_lazy("This page was open for long. Please look at it, and send it again.")
STALE = gettext_lazy("This form is damaged, or its page was open for long. Load the page again.")


class EditorRequest(UserRequest):
    """Of an editor, somebody of the back office, or an admin."""


def new_id_in(request: EditorRequest, name: str) -> str:
    """Return the id that a button brought for what it makes; Invalid for none, and once it is too old."""
    sent: str = request.POST.get(name, "")
    if not is_new(sent, timezone.now()):
        raise Invalid(STALE)
    return sent


def next_address(request: EditorRequest, otherwise: str = "", *, within: str = "") -> str:
    """Return the page of the CMS, or `within` a part of it, that a form goes on with; another where it says none."""
    given: str = (request.POST if request.method == "POST" else request.GET).get("next", "")
    home, path = reverse("cms_home"), given.partition("?")[0]
    is_ours = path.startswith(within or home) and ".." not in path and "//" not in path
    return given if is_ours and is_safe(given) else otherwise or home


TAG = "way-back "  # begins the tags of a message that has a way back
MOST_CHARACTERS = 400  # of the note: a cookie that is too large is lost, with its way back


@dataclass(frozen=True, slots=True)
class UndoAction:
    """A form with one button: where it is sent, and its hidden fields."""

    address: str
    fields: dict[str, str]


def offer_undo(request: HttpRequest, text: str, address: str, **fields: object) -> None:
    """Say on the next page what was done, with a button that POSTs the fields to an address of the CMS."""
    values = {name: str(value) for name, value in fields.items()}
    way_back = {"address": address, "fields": values}
    note = Truncator(text).chars(MOST_CHARACTERS)
    messages.success(request, note, extra_tags=TAG + json.dumps(way_back))


def offer_undo_for(request: HttpRequest, text: str, job_id: str, then: str) -> None:
    """The same for what a verb did, by its job; `then` is where its undo leads."""
    offer_undo(request, text, reverse("cms_undo_bulk", args=[job_id]), next=then)


def undo_from_tags(tags: str) -> UndoAction | None:
    """Return the way back that a message's tags hold, None if it has none."""
    if not tags.startswith(TAG):
        return None
    way_back = json.loads(tags.removeprefix(TAG))
    return UndoAction(way_back["address"], way_back["fields"])  # builds before said a label, too
