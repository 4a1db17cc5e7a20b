"""Operations: how the machines, jobs, nightly commands and pages of the site are doing, and what to do, for admins."""

from hashlib import sha256

from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from cms.operations import problems, site_state
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.web.pages import page
from dealsite.worker.schedule import SCHEDULE

SECTIONS = ("problems", "switch", "machines", "queue", "commands")
HASH_CHARACTERS = 12


@page(f"1 get + {4 + len(SCHEDULE)} queries")
@role("admin")
@require_safe
@vary_on_headers("HX-Request")
def operations(request: EditorRequest) -> HttpResponse:
    """How the site is doing. Renews itself each 15 seconds: of what the browser `have`s, only what changed is sent."""
    state = site_state.read(now=timezone.now())
    context = {"state": state, "problems": problems.find(state)}
    sections = []
    for name in SECTIONS:
        html = render_to_string(f"cms/operations/_{name}.html", context, request)
        sections.append({"name": name, "html": html, "mark": f"{name}-{_hash(html)}"})
    if not request.htmx:
        return render(request, "cms/operations/operations.html", {"sections": sections})
    known = request.GET.getlist("have")
    changed = [section for section in sections if section["mark"] not in known]
    if not changed:
        return HttpResponse(status=204)
    return render(request, "cms/operations/_sections.html", {"sections": changed, "is_part": True})


def _hash(html: str) -> str:
    return sha256(html.encode()).hexdigest()[:HASH_CHARACTERS]
