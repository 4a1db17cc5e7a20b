"""What a deal or draft costs and until when it holds, changed in the list itself.

The form says for each field what it showed when it was opened. A field that was left as it was keeps
what is stored by now; one that was changed here and by somebody else, too, comes back with both.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.vary import vary_on_headers

from cms.lists.deal_list import back_to_list, deal_rows, row_context
from cms.lists.list_address import columns_of, list_query
from cms.shared import undo
from cms.shared.edit_form import Difference
from cms.shared.field_merge import base_of, merge
from cms.shared.fields import LocalTimeField, PriceField
from cms.shared.forms import show_zone, typed_deal
from cms.shared.requests import EditorRequest, editor_form
from dealsite.accounts.decorators import sent_again
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.content import DealContent, problems, text_problems
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Draft
from dealsite.data.editing import bulk_progress
from dealsite.data.editing.verbs.verb import Entry
from dealsite.data.table.errors import Busy, Invalid, VersionConflict

FIELDS = ("price", "was_price", "expires_at")
TRIES = 5


class TermsForm(forms.Form):
    """Price, was-price and expiry."""

    price = PriceField(required=False, label=gettext_lazy("Price"))
    was_price = PriceField(required=False, label=gettext_lazy("RRP"))
    expires_at = LocalTimeField(required=False, label=gettext_lazy("Expires"))


@dataclass
class Work:
    """A form as it was sent or is first shown; `seen` is what its fields showed, `conflicts` what others changed."""

    form: TermsForm
    seen: dict[str, str]
    conflicts: dict[str, Difference] = field(default_factory=dict)

    @property
    def fields(self) -> list[tuple[Any, str, Difference | None]]:
        """Each field with what it showed, and with both values where they contest it."""
        return [(self.form[name], self.seen[name], self.conflicts.get(name)) for name in FIELDS]


@editor_form("1 batch get")
@sent_again
@vary_on_headers("HX-Request")
def deal_terms(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Price and expiry of a deal, as a form in its row or on a page of its own; changed by POST."""
    return _terms(request, lambda: deals.get(deal_id))


@editor_form("1 get")
@sent_again
@vary_on_headers("HX-Request")
def draft_terms(request: EditorRequest, draft_id: str) -> HttpResponse:
    """The same for a draft."""
    return _terms(request, lambda: drafts.get(draft_id))


def _terms(request: EditorRequest, read: Callable[[], Entry]) -> HttpResponse:
    stored = read()
    if isinstance(stored, Draft) and stored.published_as:
        return redirect("cms_deal_terms", stored.published_as)
    if request.method != "POST":
        if request.htmx and "row" in request.GET:
            return _row(request, stored)
        shown = typed_terms(stored.content)
        return _form_page(request, stored, Work(_form(stored, initial=shown), shown))
    for _try in range(TRIES):
        try:
            return _change(request, stored)
        except VersionConflict:  # whether it concerns us is seen when the fields are compared anew
            stored = read()
    raise Busy


def typed_terms(content: DealContent) -> dict[str, str]:
    """Return price, was-price and expiry as the form's inputs hold them."""
    typed = typed_deal(content, "")
    return {name: typed[name] for name in FIELDS}


def _change(request: EditorRequest, stored: Entry) -> HttpResponse:
    work = _sent(request.POST, stored)
    form, now = work.form, timezone.now()
    if work.conflicts:
        return _form_page(request, stored, work, status=409)
    if not form.is_valid():
        return _form_page(request, stored, work, status=422)
    content = replace(stored.content.with_rrp(form.cleaned_data["was_price"]), **form.cleaned_data)
    if content == stored.content:
        messages.info(request, _("Nothing was to be changed."))
        return _done(request, stored)
    try:
        changed, job_id = _save(stored, content, by=request.user.username, now=now)
    except Invalid as error:
        for name, sentence in error.fields.items():
            form.add_error(name if name in FIELDS else None, sentence)
        return _form_page(request, stored, work, status=422)
    title = changed.content.title or _("Without a title")
    said = _("“%(title)s” is changed.") % {"title": title}
    undo.offer_for(request, said, job_id, back_to_list(request))
    return _done(request, changed)


def _sent(data: QueryDict, stored: Entry) -> Work:
    """Return what was sent, with the stored text where nothing was changed or "theirs" was chosen."""
    current = typed_terms(stored.content)
    seen = {name: data.get(f"seen_{name}", current[name])[:100] for name in FIELDS}
    mine = {name: data.get(name, "")[:100].strip() for name in FIELDS}
    choices = {name: data.get(f"choice_{name}", "") for name in FIELDS}
    merged = merge(base_of(seen), mine, current, choices)
    form = _form(stored, data=merged.result)
    conflicts = {
        name: Difference(name, str(form[name].label), one.theirs, one.mine, one.choice, form[name])
        for name, one in merged.conflicts.items()
    }
    return Work(form, current if conflicts else seen, conflicts)


def _form(stored: Entry, **arguments: Any) -> TermsForm:
    form = TermsForm(auto_id=f"%s-{stored.id}", **arguments)
    show_zone(form)
    form.fields["price"].required = isinstance(stored, Deal) and not stored.content.condition
    expires_at = form.fields["expires_at"]
    if isinstance(expires_at, LocalTimeField):
        expires_at.stored = stored.content.expires_at
    return form


def _save(stored: Entry, content: DealContent, *, by: str, now: datetime) -> tuple[Entry, str]:
    brand = Brand(stored.card.brand, stored.card.brand_name) if content.brand else None
    if isinstance(stored, Draft):  # less than publishing asks for, but no was-price below the price
        found = text_problems(content)
        if content.price is not None and (said := problems(content, live_at=now).get("was_price")):
            found.setdefault("was_price", said)
        if found:
            raise Invalid(**found)
    return bulk_progress.edit_alone(stored, content, brand=brand, by=by, now=now)


def _done(request: EditorRequest, stored: Entry) -> HttpResponse:
    """The row as it is now, or for a page without script the list."""
    return _row(request, stored, is_answer=True) if request.htmx else redirect(back_to_list(request))


def _row(request: EditorRequest, stored: Entry, *, is_answer: bool = False) -> HttpResponse:
    row = _context(request, stored) | {"focused": True, "is_answer": is_answer}
    return render(request, "cms/lists/_deal_row_alone.html", row)


def _form_page(request: EditorRequest, stored: Entry, work: Work, *, status: int = 200) -> HttpResponse:
    first = next((n for n in FIELDS if n in work.conflicts or n in work.form.errors), FIELDS[0])
    work.form.fields[first].widget.attrs["autofocus"] = True
    template = "cms/lists/_price_and_expiry_row.html" if request.htmx else "cms/lists/price_and_expiry.html"
    return render(request, template, _context(request, stored) | {"work": work}, status=status)


def _context(request: EditorRequest, stored: Entry) -> dict[str, Any]:
    (row,) = deal_rows([stored.card], "all" if isinstance(stored, Deal) else "draft", timezone.now())
    given = request.POST if request.method == "POST" else request.GET
    back = list_query(given.get("back", ""))
    columns = columns_of(QueryDict(back.removeprefix("?")).get("columns", ""))
    return {"deal": row, "card": row.card, "state": row.state, "back": back, **row_context(columns)}
