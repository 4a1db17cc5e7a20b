"""Brands as editors name them in a form: found by name, or created on the spot."""

from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from cms.shared.forms import DealForm
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.brands import Brand, BrandName
from dealsite.data.catalogue.content import DealContent
from dealsite.data.names import slugify
from dealsite.data.table.errors import AlreadyExists, NotFound
from dealsite.web.pages import part

MOST_NAMES = 20
FEWEST_LETTERS = 2


def named_content(form: DealForm) -> tuple[DealContent, Brand | None]:
    """Return what a checked form holds, and its brand. Costs what `find_brand` does."""
    brand = find_brand(form)
    return form.content(brand.slug if brand else slugify(form.cleaned_data.get("brand", ""))), brand


def find_brand(form: DealForm) -> Brand | None:
    """Return the brand that a checked form names; None if it names none or a new one. 1 get, and up to 2 batch gets.

    The name that is stored means the brand that is: what nobody touched stays, whatever else has that name.
    What cannot be a brand, or is unknown and not marked as new, becomes an error of the form; the first brand of a
    site needs no mark. Of an unknown name 1 query more.
    """
    name = form.cleaned_data.get("brand", "")
    if not name:
        return None
    if not slugify(name):
        form.add_error("brand", _("The name of a brand needs a letter or a digit."))
        return None
    known = {form.entry.card.brand_name: form.entry.content.brand} if form.entry else {}
    if form.kept:
        known |= {form.kept.brand_name: form.kept.content.brand}
    try:
        return brands.named(known.get(name) or name)
    except NotFound:
        if not form.cleaned_data.get("brand_new") and brands.all_brands():
            error = _("There is no brand “%(name)s”. Choose another, or tick “%(box)s”.")
            form.add_error("brand", error % {"name": name, "box": form.fields["brand_new"].label})
        return None


def create_brand(form: DealForm, *, by: str, now: datetime) -> Brand:
    """Create the brand that a form names as new; if somebody was faster, return that one. 1 transaction."""
    name = form.cleaned_data["brand"]
    try:
        return brands.create(name, by=by, now=now)
    except AlreadyExists:
        return brands.named(name)


def brands_like(typed: str) -> list[BrandName]:
    """Return the brands of which a name, as a slug, begins so, then those of which one holds it. 1 query."""
    found = [brand for brand in brands.all_brands() if typed and brand.holds(typed)]
    return sorted(found, key=lambda brand: (not brand.begins(typed), brand.name.casefold()))


@part("none")
@role("editor")
@require_safe
def brand_names(request: EditorRequest) -> HttpResponse:
    """The names that go with what an editor has typed so far, as options of a datalist."""
    typed = slugify((request.GET.get("to_brand") or request.GET.get("brand", ""))[:100])
    names = [brand.name for brand in brands_like(typed)[:MOST_NAMES]] if len(typed) >= FEWEST_LETTERS else []
    return render(request, "cms/taxonomy/_brand_names.html", {"names": names})
