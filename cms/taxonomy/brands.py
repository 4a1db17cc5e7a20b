"""Pages of brands: list, create, edit."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.vary import vary_on_headers

from cms.lists.deal_list import query
from cms.shared.forms import BrandForm, typed_texts
from cms.shared.requests import EditorRequest, editor_form, editor_page
from cms.taxonomy.texts_page import TextsPage
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.brands import Brand
from dealsite.data.names import slugify
from dealsite.data.table.errors import AlreadyExists, Invalid, Unavailable
from dealsite.text.digits import number_in

BRANDS_A_PAGE = 50


@editor_page("1 query + 1 batch get")
@vary_on_headers("HX-Request")
def brand_list(request: EditorRequest) -> HttpResponse:
    """Brands from A to Z, by letter or by a part of the name, with the number of deals of each."""
    found = every = brands.all_brands()
    letter, text = request.GET.get("letter", "")[:5], request.GET.get("q", "")[:100]
    wanted = slugify(text)
    if text:
        found = [brand for brand in found if wanted and wanted in brand.slug]
    elif letter:
        found = [brand for brand in found if brand.letter == letter]
    first = _place(request.GET.get("from", "0"), len(found))
    shown = found[first : first + BRANDS_A_PAGE]
    counts = brands.counts(brand.slug for brand in shown) if shown else {}
    chosen = {"q": text} if text else {"letter": letter}
    last = first + BRANDS_A_PAGE
    return render(
        request,
        "cms/taxonomy/_brand_rows.html" if request.htmx else "cms/taxonomy/brands.html",
        {
            "rows": [(brand, counts[brand.slug].deals if brand.slug in counts else 0) for brand in shown],
            "letters": list(dict.fromkeys(brand.letter for brand in every)),
            "letter": letter,
            "text": text,
            "total": len(found),
            "before": query(chosen | {"from": str(max(first - BRANDS_A_PAGE, 0))}) if first else "",
            "after": query(chosen | {"from": str(last)}) if last < len(found) else "",
        },
    )


def _place(text: str, total: int) -> int:
    place = number_in(text, most=7) or 0
    return place if place < total else 0


@editor_form("none")
def new_brand(request: EditorRequest) -> HttpResponse:
    """A new brand."""
    if request.method != "POST":
        return PAGE.show(request, BrandForm.opened({"name": request.GET.get("name", "")[:80]}, version=0))
    form = BrandForm.posted(request.POST, request.FILES)
    if not form.is_valid():
        return PAGE.show(request, form, status=422)
    try:
        brand = brands.create(
            form.cleaned_data["name"],
            description=form.cleaned_data["description"],
            logo=form.picture,
            by=request.user.username,
            now=timezone.now(),
        )
    except AlreadyExists:
        return _taken(request, form)
    except Invalid as error:
        form.refuse(error.fields, str(error))
        return PAGE.show(request, form, status=422)
    except Unavailable as error:
        return PAGE.show(request, form, trouble=str(error), status=503)
    messages.success(request, _("The brand %(name)s is created.") % {"name": brand.name})
    return redirect("cms_brand", brand.slug)


def _taken(request: EditorRequest, form: BrandForm) -> HttpResponse:
    """A second click finds the brand that the first has made; another brand of this name is an error."""
    there = brands.get(slugify(form.cleaned_data["name"]))
    if not form.differs_from(typed_texts(there)):
        return redirect("cms_brand", there.slug)
    form.add_error(
        "name",
        _("There is a brand %(name)s already. Choose another name, or edit that brand.")
        % {"name": there.name},
    )
    return PAGE.show(request, form, status=409)


def _say_changed(stored: Brand, edited: Brand) -> str:
    if edited.name != stored.name:
        return _("The brand is renamed. Its deals show the new name in a moment.")
    return _("The brand is saved.")


PAGE = TextsPage("brand", BrandForm, brands, _say_changed)


@editor_form("1 batch get")
def brand(request: EditorRequest, slug: str) -> HttpResponse:
    """One brand: its name, text and logo."""
    return PAGE.answer(request, slug)
