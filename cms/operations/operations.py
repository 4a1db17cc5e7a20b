"""Operations: how the checks of the table went, for admins."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.integrity import check_runs, quarantine
from dealsite.data.jobs import heartbeats
from dealsite.web.pages import page


@page("2 queries + 1 get")
@role("admin")
@require_safe
def operations(request: EditorRequest) -> HttpResponse:
    """The last checks of the table, what waits in the quarantine, and whether a worker lives. 2 queries + 1 get."""
    now = timezone.now()
    waiting = quarantine.page(now=now)
    context = {
        "runs": check_runs.newest(),
        "waiting": len(waiting.entries),
        "waits_more": bool(waiting.after),
        "next": check_runs.night_after(now) if settings.DEALSITE_NIGHTLY_CHECK else None,
        "lacks_worker": heartbeats.is_missing(heartbeats.last("worker"), now=now),
    }
    return render(request, "cms/operations/operations.html", context)
