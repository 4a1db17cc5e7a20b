"""Merging a brand into another: choose it, see what will move, and undo it for a day."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.vary import vary_on_headers

from cms.bulk.bulk_form import total_of
from cms.jobs.jobs import row as job_row
from cms.shared.requests import EditorRequest, editor_action, editor_page
from dealsite.data.catalogue import brand_merges, brands
from dealsite.data.catalogue.display_names import brand_names
from dealsite.data.catalogue.lists import DealFilter
from dealsite.data.table.errors import Conflict, Invalid, NotFound


@editor_page(
    "1 batch get or 1 batch get + 1 get",
    at=("", "?brand=Others", "/cms/brands/others/merge/?brand=Nordlicht"),
)
@vary_on_headers("HX-Request")
def merge_brand(request: EditorRequest, slug: str) -> HttpResponse:
    """Choose the other brand and see what will move; of a brand that is being merged, how far that has come."""
    now, brand = timezone.now(), brands.get_with_counts(slug)
    moves = brand_merges.moving(brand)
    context: dict[str, Any] = {
        "brand": brand,
        "into": brand_names.names([brand.merged_into])[brand.merged_into] if brand.merged_into else "",
        "moves": [(one, job_row(one.job, now)) for one in moves],
        "busy": not all(one.is_over for one in moves),
        "may_undo": brand_merges.may_be_undone(brand, now),
        "typed": (typed := request.GET.get("brand", "").strip()[:200]),
        "here": request.get_full_path(),
    }
    if request.htmx and not request.htmx.boosted:
        return render(request, "cms/taxonomy/_brand_moves.html", context)
    if typed and not brand.merged_into:
        try:
            context["other"] = other = brands.named(typed)
            context["names"] = brand_merges.names_together(brand, other)
            context["drafts"], _how = total_of(DealFilter(state="draft", brand=slug), now)
        except (NotFound, Conflict, Invalid) as error:
            context["error"] = str(error)
    return render(
        request, "cms/taxonomy/merge_brand.html", context, status=422 if "error" in context else 200
    )


@editor_action
def start_merge(request: EditorRequest, slug: str) -> HttpResponse:
    """Merge a brand into the one that was shown, and lead to the page that says how far that has come."""
    brand = brands.get_with_counts(slug)
    try:
        if brand.merged_into != request.POST.get("into"):
            into = brands.get_with_counts(request.POST.get("into", ""))
            brand_merges.merge(brand, into, by=request.user.username, now=timezone.now())
    except (Conflict, Invalid) as error:
        messages.warning(request, str(error))
    brand_names.forget()
    return redirect("cms_merge_brand", slug)


@editor_action
def undo_merge(request: EditorRequest, slug: str) -> HttpResponse:
    """Give a brand its names and address back, and what was moved and not changed since."""
    try:
        brand_merges.undo(brands.get_with_counts(slug), by=request.user.username, now=timezone.now())
        messages.success(request, _("The merge is undone. The brand's deals come back in a moment."))
    except Conflict as error:
        messages.warning(request, str(error))
    brand_names.forget()
    return redirect("cms_merge_brand", slug)
