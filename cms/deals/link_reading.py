"""Reads the page that the link of a deal's form leads to, and fills in the fields that are empty. Saves nothing."""

import threading
import time
from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.utils import timezone
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.deals.similar import similar_to
from cms.shared.forms import DealForm, typed_number
from cms.shared.pictures import keep
from cms.shared.requests import EditorRequest
from dealsite.accounts import limits
from dealsite.data.catalogue import brands, renditions
from dealsite.data.entities.deals import ALT_CHARACTERS
from dealsite.data.table.errors import Invalid, NotFound, TooManyRequests
from dealsite.imports.downloads import PICTURES, CannotFetch, picture_at
from dealsite.imports.product_page import PAGES, ProductPage, fetch_product

AT_ONCE = 2  # of the four threads of a process: a slow shop holds one for seconds
LEAST_SECONDS = 1.0  # that a picture has, however long its page took
WORDS = {
    "title": gettext_lazy("title"),
    "price": gettext_lazy("price"),
    "was_price": gettext_lazy("RRP"),
    "brand": gettext_lazy("brand"),
    "picture_kept": gettext_lazy("picture"),
}

_reading = threading.BoundedSemaphore(AT_ONCE)


def read_link(request: EditorRequest, form: DealForm, draft_id: str = "") -> int:
    """Fill in what a checked form lacks and its link's page says; return the status of the form's page.

    3 updates for the limit; 1 get and up to 2 batch gets more for a brand, 1 transaction for a picture; for a draft
    what `similar_to` costs.
    """
    if "link" not in form.errors:
        now = timezone.now()
        try:
            _read(request, form, now)
            form.similar = similar_to(form, draft_id, now) if draft_id else ()
            _put_focus(form)
        except (CannotFetch, TooManyRequests) as error:
            form.add_error("link", str(error))
    return 422 if form.errors else 200


def _read(request: EditorRequest, form: DealForm, now: datetime) -> None:
    link = form.cleaned_data["link"]
    if not link:
        raise CannotFetch(_("Enter the link to the shop."))
    limits.count_use(request, "link", now=now)
    if not _reading.acquire(blocking=False):
        raise CannotFetch(_("Other links are being read just now. Read this one again in a moment."))
    try:
        end = time.monotonic() + PAGES.seconds
        page = fetch_product(link)
        filled, remarks = _lacking(form, page), _remarks(page)
        if page.picture and not form.picture:
            try:
                seconds = max(end - time.monotonic(), LEAST_SECONDS)
                picture = picture_at(page.picture, replace(PICTURES, seconds=seconds))
                renditions.request([picture.name], now=now)
                filled["picture_kept"] = keep(picture)
            except (CannotFetch, Invalid) as error:
                remarks.append(_("The picture could not be had: %(why)s") % {"why": error})
    finally:
        _reading.release()
    form.read_note = " ".join([_said(page, filled, now), *remarks])
    if "picture_kept" in filled and not form.data.get("picture_alt"):
        filled["picture_alt"] = (form.data.get("title") or page.title)[:ALT_CHARACTERS]
    if "brand" in filled and not _is_known(filled["brand"]):
        form.read_note += " " + _("“%(brand)s” is not a brand of this site yet.") % {"brand": filled["brand"]}
        form.fields["brand"].widget.attrs["aria-invalid"] = "true"
    form.fill_in(filled)


def _put_focus(form: DealForm) -> None:
    """Let an editor go on at the first field that needs them, unless they are to see first what is there already."""
    if form.similar:
        return
    lacks = (field.name for field, has_it in form.to_publish() if not has_it and field.name != "voucher_code")
    first = form.fields[next(lacks, "title")].widget
    first.attrs |= {"autofocus": True, "aria-describedby": "read-note"}


def _lacking(form: DealForm, page: ProductPage) -> dict[str, str]:
    """Return what a page says for the empty fields of a form: no price beside what there is instead of one."""
    if not page.is_product:
        raise CannotFetch(_("The page says nothing about a product."))
    says = {name: getattr(page, name) for name in ("title", "price", "was_price", "brand")}
    price = form.cleaned_data.get("price") or page.price
    if form.data.get("condition"):
        says["price"] = says["was_price"] = None
    elif page.was_price and price and page.was_price <= price:
        says["was_price"] = None
    return {name: typed_number(said) for name, said in says.items() if said and not form.data.get(name)}


def _is_known(brand: str) -> bool:
    try:
        return bool(brands.named(brand))
    except NotFound:
        return False


def _said(page: ProductPage, filled: dict[str, str], now: datetime) -> str:
    """Return what was filled in, and where the page says it."""
    at = {"time": timezone.localtime(now).strftime("%H:%M")}
    if not filled:
        return _("Read at %(time)s: it says nothing that was missing here.") % at
    by_source: dict[str, list[str]] = {}
    for name in filled:
        by_source.setdefault(page.sources[name.removesuffix("_kept")], []).append(str(WORDS[name]))
    facts = ", ".join(
        _("%(fields)s from %(source)s") % {"fields": get_text_list(words, _("and")), "source": source}
        for source, words in by_source.items()
    )
    return _("Read at %(time)s: %(facts)s. Only empty fields were filled.") % (at | {"facts": facts})


def _remarks(page: ProductPage) -> list[str]:
    """Return what else an editor should know of a page."""
    remarks = []
    if page.is_foreign:
        words = {"currency": page.currency, "own": settings.DEALSITE_CURRENCY}
        remarks.append(_("The price is in %(currency)s; this site sells in %(own)s.") % words)
    if page.is_sold_out:
        remarks.append(_("Sold out there."))
    return remarks
