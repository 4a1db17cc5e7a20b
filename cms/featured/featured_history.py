"""Earlier featured lists of a page: who set which, what changed with each, and bringing one back."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.featured.arrangement import Arrangement
from cms.featured.featured_page import check_page, show
from cms.shared import undo
from cms.shared.fields import version_in
from cms.shared.requests import EditorRequest, editor_action, editor_page
from dealsite.data.catalogue import featured, featured_versions
from dealsite.data.catalogue.featured import FeaturedPage
from dealsite.data.catalogue.featured_versions import FeaturedVersion, ListDiff
from dealsite.data.table.errors import NotFound, VersionConflict
from dealsite.worker.list_export import exported


@dataclass(frozen=True)
class ListChange:
    """A list that was set, and what it changed; `changed` is None for the oldest that is kept."""

    version: FeaturedVersion
    changed: ListDiff | None
    is_current: bool


@editor_page("1 get + 1 query")
@exported(
    gettext_lazy("Earlier lists"),
    "version=version.version, @set_at=version.at, set_by=version.by, is_current, deals=version.deals.title, "
    "added=changed.came, removed=changed.went, moved=changed.moved",
    lambda query, now, page_id: _changes(featured.get(page_id)),
)
def featured_history(request: EditorRequest, page_id: str) -> HttpResponse:
    """The list of a page and its earlier ones, newest first."""
    page = featured.get(page_id)
    return render(request, "cms/featured/featured_history.html", {"page": page, "changes": _changes(page)})


def _changes(page: FeaturedPage) -> list[ListChange]:
    versions = featured_versions.of_page(page.id)
    if page.version:
        versions.insert(0, featured_versions.as_version(page))
    return [
        ListChange(version, changed, version.version == page.version)
        for version, changed in zip(versions, featured_versions.differences(versions), strict=True)
    ]


@editor_action
def restore_featured(request: EditorRequest, page_id: str) -> HttpResponse:
    """Set an earlier list again, on top of the version that the editor saw; deals that are gone are left out."""
    check_page(page_id)
    seen = version_in(request.POST.get("version", ""))
    earlier = featured_versions.get(page_id, version_in(request.POST.get("kept", "")))
    page, found = featured.load(page_id, earlier.ids)
    deals = [found[deal_id] for deal_id in earlier.ids if deal_id in found]
    by, now = request.user.username, timezone.now()
    try:
        if page.ids == [deal.id for deal in deals]:  # a second click finds what the first has done
            return redirect("cms_featured_page", page_id)
        restored = featured.set_featured(page, deals, version=seen, by=by, now=now)
    except (VersionConflict, NotFound):
        page, found = featured.load(page_id, earlier.ids)
        work = Arrangement(earlier.ids, {deal.id: deal.title for deal in earlier.deals})
        return show(request, page, work, found, conflict=True, status=409)
    gone = [deal.title for deal in earlier.deals if deal.id not in found]
    said = _("%(page)s: the earlier list is back.") % {"page": page.title}
    if gone:
        said += " " + _("Left out, since they are deleted: %(titles)s") % {"titles": ", ".join(gone)}
    address = reverse("cms_restore_featured", args=[page_id])
    undo.offer(request, said, address, kept=str(page.version), version=str(restored.version))
    return redirect("cms_featured_page", page_id)
