"""Pages of the eight categories: list, edit."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from cms.shared.forms import CategoryForm
from cms.shared.requests import EditorRequest
from cms.taxonomy.texts_page import TextsPage
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import categories
from dealsite.data.catalogue.categories import Category
from dealsite.data.catalogue.display_names import category_names
from dealsite.web.pages import page


@page("1 batch get")
@role("editor")
@require_safe
def category_list(request: EditorRequest) -> HttpResponse:
    """The categories with the number of deals of each."""
    return render(request, "cms/taxonomy/categories.html", {"categories_edited": categories.all_categories()})


def _show_changed(stored: Category, edited: Category) -> str:
    category_names.forget()
    return _("The category is saved.")


PAGE = TextsPage("category", CategoryForm, categories, _show_changed)


@page("1 batch get")
@role("editor")
@require_http_methods(["GET", "HEAD", "POST"])
def category(request: EditorRequest, slug: str) -> HttpResponse:
    """One category: its name, text and picture."""
    return PAGE.answer(request, slug)
