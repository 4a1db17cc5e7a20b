"""Pages such as the terms: admins see which are still samples, and write their texts in each language."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from cms.shared.fields import MarkdownField, version_in
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.editing import site_pages as stored
from dealsite.data.editing.site_pages import SitePage, sample
from dealsite.data.entities.operations import PAGE_CHARACTERS
from dealsite.data.table.errors import Unavailable, VersionConflict
from dealsite.web.pages import page


class SitePageForm(forms.Form):
    """The texts of a page; both empty: its sample."""

    en = MarkdownField(rows=18, max_length=PAGE_CHARACTERS, label=gettext_lazy("In English"))
    de = MarkdownField(rows=18, max_length=PAGE_CHARACTERS, label=gettext_lazy("In German"))


@page("1 batch get")
@role("admin")
@require_safe
def site_pages(request: EditorRequest) -> HttpResponse:
    """The pages, each with who wrote its text and when, or that it is a sample."""
    return render(request, "cms/operations/site_pages.html", {"site_pages": stored.all_pages()})


@page("1 get", at="/cms/pages/terms/")
@role("admin")
@require_http_methods(["GET", "HEAD", "POST"])
def site_page(request: EditorRequest, slug: str) -> HttpResponse:
    """The texts of a page, which a save changes and `sample` drops. 1 get, or 1 get + 1 transaction."""
    if request.method != "POST":
        found = stored.get(slug)
        return _show(request, found, SitePageForm(initial=found.texts if found.is_edited else _samples(slug)))
    form = SitePageForm(request.POST)
    version = version_in(request.POST.get("version", ""))
    to_sample = "sample" in request.POST
    try:
        found = stored.get(slug)
        if not to_sample and not form.is_valid():
            return _show(request, found, form, version=version, status=422)
        texts = form.cleaned_data if not to_sample else _samples(slug)
        if texts == _samples(slug):
            texts = dict.fromkeys(texts, "")
        if texts != found.texts:
            if version != found.version:
                raise VersionConflict(current=found)
            stored.edit(found, **texts, by=request.user.username, now=timezone.now())
    except VersionConflict as conflict:
        current = conflict.current or stored.get(slug)
        return _show(request, current, form, theirs=current, status=409)
    except Unavailable as error:
        return _show(request, SitePage(slug), form, version=version, trouble=str(error), status=503)
    messages.success(request, _("The page shows its sample again.") if to_sample else _("The page is saved."))
    return redirect("cms_site_page", slug)


def _samples(slug: str) -> dict[str, str]:
    return {language: sample(slug, language) for language in ("en", "de")}


def _show(
    request: EditorRequest,
    found: SitePage,
    form: SitePageForm,
    *,
    version: int | None = None,
    theirs: SitePage | None = None,
    trouble: str = "",
    status: int = 200,
) -> HttpResponse:
    """The form, at the version that was loaded; beside it what somebody else wrote meanwhile."""
    context = {
        "site_page": found,
        "form": form,
        "version": found.version if version is None else version,
        "theirs": theirs,
        "trouble": trouble,
    }
    return render(request, "cms/operations/site_page.html", context, status=status)
