"""The CMS's first page: what an editor most likely came for."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from cms.deal_list import rows
from cms.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data import deal_lists
from dealsite.data.featured import PAGES
from dealsite.data.ids import first_ulid_of

SHOWN = 5
LISTS = (
    ("draft", "Newest drafts", "There are no drafts."),
    ("scheduled", "Goes live next", "Nothing is scheduled."),
    ("ending", "Ends soon", "Nothing ends within two days."),
)


@role("editor", "back office")
@require_safe
def home(request: EditorRequest) -> HttpResponse:
    """The newest drafts, what goes live next, what ends soon; the back office is led to its orders."""
    if not request.user.has_role("editor"):
        return redirect("cms_orders")
    now = timezone.now()
    lists = []
    for state, title, empty in LISTS:
        # A list is newest first: the next one to go live is the one nearest to now.
        before = first_ulid_of(now) if state == "scheduled" else None
        page = deal_lists.cms_list(state=state, now=now, before=before, size=SHOWN)
        cards = page.cards[::-1] if before else page.cards
        more = bool(page.before if before else page.after)
        lists.append((state, title, empty, rows(cards, state, now), more))
    return render(request, "cms/home.html", {"lists": lists, "pages": PAGES})
