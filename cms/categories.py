"""Pages of the eight categories: list, edit."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from cms.forms import CategoryForm, typed_texts
from cms.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data import categories, category_names
from dealsite.data.categories import CATEGORIES, Category
from dealsite.data.errors import Invalid, NotFound, Unavailable, VersionConflict


@role("editor")
@require_safe
def category_list(request: EditorRequest) -> HttpResponse:
    """The categories with the number of deals of each."""
    return render(request, "cms/categories.html", {"categories_edited": categories.all_categories()})


@role("editor")
@require_http_methods(["GET", "HEAD", "POST"])
def category(request: EditorRequest, slug: str) -> HttpResponse:
    """One category: its name, text and picture."""
    if slug not in CATEGORIES:
        raise NotFound(_("There is no such category."))
    if request.method != "POST":
        stored = categories.get_with_counts(slug)
        return _page(request, slug, CategoryForm.opened(typed_texts(stored), stored.version), stored)
    form = CategoryForm.posted(request.POST, request.FILES)
    known: Category | None = None
    try:
        known = categories.get_with_counts(slug)
        return _change(request, form, known)
    except VersionConflict as conflict:
        current = conflict.current or categories.get(slug)
        form.set_against(typed_texts(current), current.version)
        return _page(request, slug, form, current, status=409)
    except Invalid as error:
        form.refuse(error.fields, str(error))
        return _page(request, slug, form, known, status=422)
    except Unavailable as error:
        return _page(request, slug, form, known, trouble=str(error), status=503)


def _change(request: EditorRequest, form: CategoryForm, stored: Category) -> HttpResponse:
    if form.chooses:
        form.take(typed_texts(stored))
    if not form.is_valid():
        return _page(request, stored.slug, form, stored, status=422)
    if not form.differs_from(typed_texts(stored)):
        return redirect("cms_category", stored.slug)
    if form.version != stored.version:
        raise VersionConflict(current=stored)
    categories.edit(
        stored,
        name=form.cleaned_data["name"],
        description=form.cleaned_data["description"],
        logo=form.picture,
        by=request.user.username,
        now=timezone.now(),
    )
    category_names.forget()
    messages.success(request, _("The category is saved."))
    return redirect("cms_category", stored.slug)


def _page(
    request: EditorRequest,
    slug: str,
    form: CategoryForm,
    stored: Category | None,
    *,
    trouble: str = "",
    status: int = 200,
) -> HttpResponse:
    page = {"form": form, "category": stored, "slug": slug, "trouble": trouble, "name": CATEGORIES[slug]}
    return render(request, "cms/category.html", page, status=status)
