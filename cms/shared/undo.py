"""A way back from what was just done: a button in the note that says so, instead of a question before."""

import json
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import Truncator

TAG = "way-back "  # begins the tags of a message that has a way back
MOST_CHARACTERS = 400  # of the note: a cookie that is too large is lost, with its way back


@dataclass(frozen=True, slots=True)
class UndoAction:
    """A form with one button: where it is sent, and its hidden fields."""

    address: str
    fields: dict[str, str]


def offer(request: HttpRequest, text: str, address: str, **fields: object) -> None:
    """Say on the next page what was done, with a button that POSTs the fields to an address of the CMS."""
    values = {name: str(value) for name, value in fields.items()}
    way_back = {"address": address, "fields": values}
    note = Truncator(text).chars(MOST_CHARACTERS)
    messages.success(request, note, extra_tags=TAG + json.dumps(way_back))


def offer_for(request: HttpRequest, text: str, job_id: str, then: str) -> None:
    """The same for what a verb did, by its job; `then` is where its undo leads."""
    offer(request, text, reverse("cms_undo_bulk", args=[job_id]), next=then)


def from_tags(tags: str) -> UndoAction | None:
    """Return the way back that a message's tags hold, None if it has none."""
    if not tags.startswith(TAG):
        return None
    way_back = json.loads(tags.removeprefix(TAG))
    return UndoAction(way_back["address"], way_back["fields"])  # builds before said a label, too
