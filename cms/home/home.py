"""The CMS's first page: what needs somebody, what can be done about it at once, and the numbers of the last days."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from cms.lists.attention import show_all
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.catalogue import featured_plans
from dealsite.data.catalogue.featured import PAGES
from dealsite.data.catalogue.featured_plans import PUT_ASIDE
from dealsite.data.editing import pending_edits
from dealsite.web.pages import page


@page("2 queries + 1 batch get")
@role("editor", "back office")
@require_safe
def home(request: EditorRequest) -> HttpResponse:
    """Everything that needs an editor, by topic; the back office is led to its orders."""
    if not request.user.has_role("editor"):
        return redirect("cms_orders")
    topics, changed = show_all(timezone.now(), changed=pending_edits.cards())
    page = {
        "put_aside": [plan for plan in featured_plans.newest() if plan.state == PUT_ASIDE],
        "changed": changed,
        "open": [shown for shown in topics if shown.rows],
        "fine": [shown.topic for shown in topics if shown.ready and not shown.rows],
        "ready": all(shown.ready for shown in topics),
        "pages": PAGES,
    }
    return render(request, "cms/home/home.html", page)
