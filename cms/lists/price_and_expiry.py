"""What a deal or draft costs and until when it holds, changed in the list itself."""

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.forms import BoundField
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.vary import vary_on_headers

from cms.lists.deal_list import back_to_list, deal_rows, row_context
from cms.lists.list_address import OF_DEALS, list_query
from cms.shared import requests
from cms.shared.edit_form import EditForm, Typed, until_saved
from cms.shared.fields import LocalTimeField, PriceField
from cms.shared.forms import NOUNS, keep_times, show_zone, typed_deal
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import editors, sent_again
from dealsite.data.catalogue import drafts
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.content import DealContent, problems
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.drafts import Entry, became
from dealsite.data.editing import bulk

FIELDS = ("price", "was_price", "expires_at")


class PriceAndExpiryForm(EditForm):
    """Price, was-price and expiry."""

    price = PriceField(required=False, label=gettext_lazy("Price"))
    was_price = PriceField(required=False, label=gettext_lazy("RRP"))
    expires_at = LocalTimeField(required=False, label=gettext_lazy("Ends"))

    compared = FIELDS

    def fit(self, stored: Entry) -> None:
        """Ask for what the deal or draft needs as it is now."""
        self.auto_id = f"%s-{stored.id}"
        show_zone(self)
        self.fields["price"].required = isinstance(stored, Deal) and not stored.content.condition
        keep_times(self, stored.content)

    @property
    def shown(self) -> list[BoundField]:
        """The fields that nobody contests."""
        return [self[name] for name in FIELDS if name not in self.conflicts]


@editors.form("1 batch get or 1 get", at=("", "/cms/drafts/{draft_id}/price-and-expiry/"))
@sent_again
@vary_on_headers("HX-Request")
def price_and_expiry(request: EditorRequest, kind: str, entry_id: str) -> HttpResponse:
    """Price and expiry of a deal or draft, as a form in its row or on a page of its own; changed by POST."""
    if request.method == "POST":
        form = PriceAndExpiryForm.posted(request.POST)
        return until_saved(lambda: _change(request, form, drafts.get_entry(kind, entry_id)))
    stored = drafts.get_entry(kind, entry_id)
    if deal := became(stored):
        return redirect("cms_price_and_expiry", "deal", deal)
    if request.htmx and "row" in request.GET:
        return _row(request, stored)
    opened = PriceAndExpiryForm.opened(typed_price_and_expiry(stored.content), stored.version)
    opened.fit(stored)
    return _form_page(request, stored, opened)


def typed_price_and_expiry(content: DealContent) -> Typed:
    """Return price, was-price and expiry as the form's inputs hold them."""
    typed = typed_deal(content, "")
    return {name: typed[name] for name in FIELDS}


def _change(request: EditorRequest, form: PriceAndExpiryForm, stored: Entry) -> HttpResponse:
    if deal := became(stored):
        return redirect("cms_price_and_expiry", "deal", deal)
    theirs = typed_price_and_expiry(stored.content)
    form.fit(stored)
    form.take_chosen(theirs)
    if not form.is_valid():
        return _form_page(request, stored, form, status=422)
    if not form.settle(theirs, stored.version):
        return _form_page(request, stored, form, status=409)
    values = {name: form.cleaned_data[name] for name in FIELDS}
    content = replace(stored.content.with_rrp(values["was_price"]), **values)
    if content == stored.content:
        messages.info(request, _("Nothing was to be changed."))
        return _done(request, stored)
    form.refuse(_refusals(stored, content))
    if form.errors:
        return _form_page(request, stored, form, status=422)
    brand = Brand(stored.card.brand, stored.card.brand_name) if content.brand else None
    by, now = request.user.username, timezone.now()
    changed, job_id = bulk.edit_alone(stored, content, brand=brand, by=by, now=now)
    said = _("“%(title)s” is changed.") % {"title": changed.content.title or _("Without a title")}
    requests.offer_undo_for(request, said + form.also_said(stored.updated_by), job_id, back_to_list(request))
    return _done(request, changed)


def _refusals(stored: Entry, content: DealContent) -> dict[str, str]:
    """Return what stands against a content: of a draft less than publishing asks for, but no RRP below the price."""
    found = drafts.refusals(stored, content)
    if content.price is not None and (said := problems(content, live_at=timezone.now()).get("was_price")):
        found.setdefault("was_price", said)
    return found


def _done(request: EditorRequest, stored: Entry) -> HttpResponse:
    """The row as it is now, or for a page without script the list."""
    return _row(request, stored, is_answer=True) if request.htmx else redirect(back_to_list(request))


def _row(request: EditorRequest, stored: Entry, *, is_answer: bool = False) -> HttpResponse:
    context = _context(request, stored) | {"focused": True, "is_answer": is_answer}
    context["deal"] = context["deal"].shown(timezone.now())
    return render(request, "cms/lists/_deal_row_alone.html", context)


def _form_page(
    request: EditorRequest, stored: Entry, form: PriceAndExpiryForm, *, status: int = 200
) -> HttpResponse:
    if not form.differences:
        first = next((name for name in FIELDS if name in form.errors), FIELDS[0])
        form.fields[first].widget.attrs["autofocus"] = True
    template = "cms/lists/_price_and_expiry_row.html" if request.htmx else "cms/lists/price_and_expiry.html"
    page = {"form": form, "by": stored.updated_by, "at": stored.updated_at, "noun": NOUNS[stored.kind]}
    return render(request, template, _context(request, stored) | page, status=status)


def _context(request: EditorRequest, stored: Entry) -> dict[str, Any]:
    (row,) = deal_rows([stored.card], "all" if isinstance(stored, Deal) else "draft", timezone.now())
    row = replace(row, stock=stored.content.stock)
    given = request.POST if request.method == "POST" else request.GET
    back = list_query(given.get("back", ""))
    shown = QueryDict(back.removeprefix("?"))
    sort = shown.get("sort", "")
    table = row_context(OF_DEALS.named(shown.get("columns", ""), sort), sort)
    return {"deal": row, "card": row.card, "state": row.state, "back": back, **table}
