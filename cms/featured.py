"""Featured deals: choose, order and save those of the front page, Editors' Choice and each category page.

Or plan them for a time, and undo what was saved.
"""

from functools import partial

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from cms.deals.while_typing import holds_a_frame, previewed
from cms.featured_page import Arrangement, PlanForm, check_page, plan_of, show, tabs, with_faults
from cms.shared import requests
from cms.shared.fields import typed_time, version_in
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import editors
from dealsite.data.catalogue import deals, drafts, featured, featured_plans, lists
from dealsite.data.catalogue.cards import EDITORS_CHOICE, FRONT, DealCard
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import page_names
from dealsite.data.catalogue.featured import FeaturedEntry, FeaturedPage, shown_of
from dealsite.data.catalogue.featured_plans import FeaturedPlan, PlanChanged
from dealsite.data.editing.bulk import BulkChange, DoneAlone
from dealsite.data.table.errors import Invalid, NotFound, Unavailable, VersionConflict
from dealsite.data.table.ids import is_ulid, new_id
from dealsite.data.table.parallel import together
from dealsite.text.writing import number_in
from dealsite.web.pages import open_while
from dealsite.worker.exports import exported

Found = dict[str, Deal]


@editors.page("1 batch get + 1 query")
@exported(
    gettext_lazy("Planned lists"),
    "id, page, @shown_from=at, state, deals=deals.title, planned_by=by, @changed_at=updated_at, why, left_out",
    lambda query, now: featured_plans.newest(),
)
def plan_list(request: EditorRequest) -> HttpResponse:
    """What is planned for all pages, and what became of the last plans."""
    plans, data = together(featured_plans.newest, partial(drafts.attention_data, {}, pages=True))
    context = {
        "plans": with_faults(plans),
        "tabs": tabs("", data.pages, timezone.now()),
        "trail": [(reverse("cms_featured"), _("Featured")), ("", _("Planned lists"))],
    }
    return render(request, "cms/featured/plans.html", context)


@editors.form("2 batch gets + 1 query")
@holds_a_frame
def featured_page(request: EditorRequest, page_id: str = FRONT) -> HttpResponse:
    """The featured list of one page; POST changes the list in the form, saves it or plans it."""
    check_page(page_id)
    if request.method == "POST":
        return arrange(request, page_id)
    if "plan" in request.GET:
        return open_plan(request, plan_of(page_id, request.GET["plan"]))
    added = request.GET.get("add", "")
    page, found = featured.load(page_id, [added] if is_ulid(added) else [])
    work = Arrangement.of(page.cards)
    work.add(added)
    return show(request, page, work, found, known=page.cards, version=page.version)


def open_plan(request: EditorRequest, plan: FeaturedPlan) -> HttpResponse:
    """Show a planned list, to be changed; one that is over is where another plan starts from."""
    page, found = featured.load(plan.page, plan.ids)
    work = Arrangement(plan.ids, {deal.id: deal.title for deal in plan.deals})
    form = PlanForm(initial={"at": typed_time(plan.at if plan.at > timezone.now() else None)})
    opened = plan if plan.is_open else None
    return show(request, page, work, found, version=page.version, plan=opened, plan_form=form)


def arrange(request: EditorRequest, page_id: str) -> HttpResponse:
    """Carry out a button; whatever fails, the list as the editor left it comes back."""
    work = Arrangement.posted(request.POST)
    action, _colon, deal_id = request.POST.get("do", "").partition(":")
    deal_id, _colon, place = deal_id.partition(":")
    seen = version_in(request.POST.get("version", ""))
    if action in ("up", "down"):
        work.move(deal_id, -1 if action == "up" else 1)
    elif action == "remove":
        work.remove(deal_id)
    elif action == "replace":
        work.replace(deal_id)
    elif action == "add":
        work.add(deal_id, number_in(place, most=3))
    plan = None
    try:
        plan = _plan_of(request, page_id)
        page, found = featured.load(page_id, work.ids)
        if action in ("save", "plan"):
            return (_save if action == "save" else _plan)(request, page, work, found, plan)
        conflict = request.POST.get("conflict") == "1"
        return show(request, page, work, found, version=seen, conflict=conflict, plan=plan)
    except PlanChanged as error:
        page, found = featured.load(page_id, work.ids)
        return show(request, page, work, found, version=seen, trouble=str(error), status=409)
    except Unavailable as error:
        page = FeaturedPage(page_id, seen, [])
        return show(request, page, work, None, version=seen, plan=plan, trouble=str(error), status=503)


def _plan_of(request: EditorRequest, page_id: str) -> FeaturedPlan | None:
    """Return the plan that the form changes, as far as it is open; 1 get where it names one."""
    if not (plan_id := request.POST.get("plan", "")):
        return None
    plan = plan_of(page_id, plan_id)
    if not plan.is_open or plan.version != version_in(request.POST.get("plan_version", "")):
        raise PlanChanged
    return plan


def _save(
    request: EditorRequest, page: FeaturedPage, work: Arrangement, found: Found, plan: FeaturedPlan | None
) -> HttpResponse:
    """Save the list on top of the version that the editor saw; otherwise show both lists."""
    seen, by, now = version_in(request.POST.get("version", "")), request.user.username, timezone.now()
    again = partial(show, request, version=seen, plan=plan)
    if len(found) < len(work.ids):
        return again(page, work, found, status=409)
    saved, job_id = page, ""
    try:
        if page.ids != work.ids or plan:  # else a second click finds what the first has saved
            listed = [found[deal_id] for deal_id in work.ids]
            change, writes = BulkChange("page", "arrange", page.id), []
            if plan:
                writes = featured_plans.set_now_writes(plan, now=now)
            done = DoneAlone(change, title=page.title, by=by, now=now, writes=writes)
            context = done.note(str(seen), str(seen + 1))
            saved = featured.set_featured(page, listed, version=seen, by=by, now=now, audit_context=context)
            job_id = done.job.id
    except VersionConflict as conflict:
        current = conflict.current or page
        return again(current, work, found, version=None, conflict=True, status=409)
    except NotFound:
        page, found = featured.load(page.id, work.ids)
        return again(page, work, found, status=409)
    except Invalid as error:
        return again(page, work, found, trouble=str(error), status=422)
    said, here = _("%(page)s: the featured deals are saved."), reverse("cms_featured_page", args=[page.id])
    if page.version and saved.version > page.version:
        requests.offer_undo_for(request, said % {"page": saved.title}, job_id, here)
    else:
        messages.success(request, said % {"page": saved.title})
    return redirect(here)


def _plan(
    request: EditorRequest, page: FeaturedPage, work: Arrangement, found: Found, plan: FeaturedPlan | None
) -> HttpResponse:
    """Plan the list for its time, on top of the version that the editor saw."""
    form, seen = PlanForm(request.POST), version_in(request.POST.get("version", ""))
    again = partial(show, request, page, work, found, version=seen, plan=plan, plan_form=form)
    if not form.is_valid():
        return again(status=422)
    if len(found) < len(work.ids):
        return again(status=409)
    if page.version != seen:
        return again(version=None, conflict=True, status=409)
    at, by, now = form.cleaned_data["at"], request.user.username, timezone.now()
    listed = [FeaturedEntry(deal_id, found[deal_id].card.title) for deal_id in work.ids]
    try:
        if plan:
            featured_plans.change(plan, page, listed, at=at, by=by, now=now)
        else:
            plan_id = new_id(request.POST.get("new_plan", ""), now)
            featured_plans.create(page, listed, at=at, plan_id=plan_id, by=by, now=now)
    except Invalid as error:
        trouble = error.fields.pop("deals", "")
        for sentence in error.fields.values():
            form.add_error("at", sentence)
        return again(trouble=trouble, status=422)
    messages.success(request, _("%(page)s: the list is planned.") % {"page": page.title})
    return redirect("cms_featured_page", page.id)


@open_while("read-only")
@editors.action
def preview_page(request: EditorRequest, page_id: str) -> HttpResponse:
    """The page as shoppers will see it with the list of the form: now, or at the time of a plan.

    1 batch get, 1 get for another plan than the form's, and what the page itself costs.
    """
    check_page(page_id)
    ids, at = Arrangement.posted(request.POST).ids, timezone.now()
    if plan_id := request.POST.get("previewed", ""):
        plan = plan_of(page_id, plan_id)
        at = max(at, plan.at)
        if plan_id != request.POST.get("plan", ""):
            ids = plan.ids
    found = deals.get_many(ids)
    shown = shown_of([found[one].card for one in ids if one in found], at)
    further: list[DealCard] = []
    if page_id == FRONT:
        further = lists.front_page(now=at, live_only=True)[1].cards
    elif page_id != EDITORS_CHOICE:
        further = lists.category_page(page_id, now=at, live_only=True)[2].cards
    context = {
        "page_id": page_id,
        "title": page_names()[page_id],
        "featured": shown,
        "further": further,
        "now": at,
    }
    return previewed(request, "cms/featured/_previewed.html", context)


@editors.action
def cancel_plan(request: EditorRequest, plan_id: str) -> HttpResponse:
    """Give up a planned list; it can be planned again from where it is shown."""
    plan = featured_plans.cancel(featured_plans.get(plan_id), by=request.user.username, now=timezone.now())
    said = _("The plan for “%(page)s” is cancelled. Open it below to plan it again.") % {"page": plan.title}
    messages.success(request, said)
    return redirect("cms_featured_plans")
