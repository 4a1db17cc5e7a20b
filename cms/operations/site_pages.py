"""Pages such as the terms: admins see which are still samples, and write their texts in each language."""

from functools import partial

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from cms.shared.edit_form import EditForm, Show
from cms.shared.fields import MarkdownField
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.data.editing import site_pages as stored
from dealsite.data.editing.site_pages import SitePage, sample
from dealsite.data.entities.operations import PAGE_CHARACTERS
from dealsite.web.pages import page


class SitePageForm(EditForm):
    """The texts of a page, as it shows them: what equals its sample is not stored."""

    en = MarkdownField(rows=18, max_length=PAGE_CHARACTERS, label=gettext_lazy("In English"))
    de = MarkdownField(rows=18, max_length=PAGE_CHARACTERS, label=gettext_lazy("In German"))

    compared = ("en", "de")


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
    if request.method == "POST":
        form = SitePageForm.posted(request.POST)
        show = partial(_show, request, form, slug)
        return form.save(lambda: _change(request, form, slug, show), show)
    found = stored.get(slug)
    opened = SitePageForm.opened(_texts(found), found.version)
    opened.entry = found
    return _show(request, opened, slug)


def _change(request: EditorRequest, form: SitePageForm, slug: str, show: Show) -> HttpResponse:
    form.entry = found = stored.get(slug)
    shown, samples, to_sample = _texts(found), _texts(SitePage(found.slug)), "sample" in request.POST
    form.take_chosen(shown)
    if not to_sample and not form.is_valid():
        return show(status=422)
    if not form.settle(shown, found.version, takes_unseen=not to_sample):
        return show(status=409)
    texts = samples if to_sample else {name: form.cleaned_data[name] for name in form.compared}
    if texts != shown:
        texts = texts if texts != samples else dict.fromkeys(texts, "")
        stored.edit(found, **texts, by=request.user.username, now=timezone.now())
    said = _("The page shows its sample again.") if to_sample else _("The page is saved.")
    messages.success(request, said + form.also_said(found.by))
    return redirect("cms_site_page", found.slug)


def _texts(found: SitePage) -> dict[str, str]:
    return found.texts if found.is_edited else {one: sample(found.slug, one) for one in found.texts}


def _show(
    request: EditorRequest, form: SitePageForm, slug: str, *, trouble: str = "", status: int = 200
) -> HttpResponse:
    context = {"site_page": form.entry or SitePage(slug), "form": form, "trouble": trouble}
    return render(request, "cms/operations/site_page.html", context, status=status)
