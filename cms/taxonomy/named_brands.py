"""Brands as editors name them in a form: found by name, or created on the spot."""

from datetime import datetime

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.text import get_text_list
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from rapidfuzz import fuzz, process

from cms.shared.forms import DealForm
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.brands import Brand, BrandName
from dealsite.data.catalogue.content import DealContent
from dealsite.data.entities.deals import NAME_CHARACTERS
from dealsite.data.names import slugify
from dealsite.data.table.errors import AlreadyExists, NotFound
from dealsite.web.pages import part

MOST_NAMES = 20
MOST_MEANT = 3  # that an error asks about
NEAR = 75  # percent of the letters of two names that are the same, in the same order


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
        if not form.cleaned_data.get("brand_new") and (every := brands.all_brands()):
            form.add_error("brand", _refusal(name, brands_near(slugify(name), every)))
        return None


def _refusal(name: str, near: list[BrandName]) -> str:
    """Return what is said of a name that no brand has."""
    error = _("There is no brand “%(name)s”. Choose another, or create it.")
    if near:
        error = _("There is no brand “%(name)s”. Did you mean %(near)s? Choose one, or create it.")
    meant = [_("“%(name)s”") % {"name": brand.name} for brand in near[:MOST_MEANT]]
    return error % {"name": name, "near": get_text_list(meant, _("or"))}


def create_brand(form: DealForm, *, by: str, now: datetime) -> Brand:
    """Create the brand that a form names as new; if somebody was faster, return that one. 1 transaction."""
    name = form.cleaned_data["brand"]
    try:
        return brands.create(name, by=by, now=now)
    except AlreadyExists:
        return brands.named(name)


def brands_like(typed: str, known: list[BrandName]) -> list[BrandName]:
    """Return the brands of which a name, as a slug, begins so, then those of which one holds it."""
    found = [brand for brand in known if typed and brand.holds(typed)]
    return sorted(found, key=lambda brand: (not brand.begins(typed), brand.name.casefold()))


def brands_near(typed: str, known: list[BrandName]) -> list[BrandName]:
    """Return the brands of which a name, as a slug, is nearly so, the nearest first."""
    names = {name: brand for brand in known for name in (brand.slug, *brand.also)}
    found = process.extract(typed, list(names), scorer=fuzz.ratio, score_cutoff=NEAR, limit=MOST_NAMES)
    return list(dict.fromkeys(names[name] for name, _score, _place in found))


@part("1 query")
@role("editor")
@require_safe
def brand_names(request: EditorRequest) -> HttpResponse:
    """The brands that go with what an editor has typed so far, as options; of a deal, a new one, too."""
    text = (request.GET.get("to_brand") or request.GET.get("brand", ""))[:NAME_CHARACTERS].strip()
    typed, known = slugify(text), brands.all_brands()
    is_known = any(typed in (brand.slug, *brand.also) for brand in known)
    near = brands_near(typed, known)[is_known:]
    found = dict.fromkeys([*brands_like(typed, known), *near] if typed else known)
    new = text if typed and not is_known and request.GET.get("create") else ""
    context = {"found": list(found)[:MOST_NAMES], "near": near, "new": new}
    return render(request, "cms/taxonomy/_brand_names.html", context)
