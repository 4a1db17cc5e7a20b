"""Operations, for admins: how the site is doing, its switch, and the texts of pages such as the terms."""

from functools import partial
from hashlib import sha256

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.vary import vary_on_headers

from cms import site_state
from cms.shared.edit_form import EditForm, Show
from cms.shared.fields import CleanTextField, MarkdownField
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import admins, fresh
from dealsite.data.editing import site_pages as stored
from dealsite.data.editing.site_pages import SitePage, sample
from dealsite.data.entities.operations import (
    CLOSED_FOR_MAINTENANCE,
    COPY,
    NOTICE_CHARACTERS,
    OPEN,
    PAGE_CHARACTERS,
    READ_ONLY,
)
from dealsite.data.jobs import site_switch
from dealsite.web.pages import CLOSED, open_while
from dealsite.worker.schedule import SCHEDULE

SECTIONS = ("problems", "switch", "machines", "queue", "commands")
HASH_CHARACTERS = 12


@admins.page(f"1 get + {11 + len(SCHEDULE)} queries")
@vary_on_headers("HX-Request")
def operations(request: EditorRequest) -> HttpResponse:
    """How the site is doing. Renews itself each 15 seconds: of what the browser `have`s, only what changed is sent."""
    state = site_state.read(now=timezone.now())
    context = {"state": state, "problems": site_state.find(state)}
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


STATES = {
    OPEN: gettext_lazy("Open"),
    READ_ONLY: gettext_lazy("Read-only: pages can be read, and no form is carried out"),
    CLOSED_FOR_MAINTENANCE: gettext_lazy("Maintenance: only admins get in, all others see the message"),
    COPY: gettext_lazy("Copy: read-only, and no job runs, no mail is sent, no card is charged"),
}


class SwitchForm(forms.Form):
    """How the switch is to stand."""

    state = forms.ChoiceField(
        label=gettext_lazy("The site is"), choices=list(STATES.items()), widget=forms.RadioSelect
    )
    message = CleanTextField(
        required=False,
        max_length=NOTICE_CHARACTERS,
        label=gettext_lazy("Message to visitors"),
        help_text=gettext_lazy("Why, and until when. While the site is open nobody sees it."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


@admins.form("1 get")
@open_while(*CLOSED)
@fresh
def switch_site(request: EditorRequest) -> HttpResponse:
    """Show how the switch stands, and turn it by POST. 1 get, or 1 transaction."""
    if request.method != "POST":
        switch = site_switch.read()
        form = SwitchForm(initial={"state": switch.state, "message": switch.message})
        return render(request, "cms/operations/switch_site.html", {"form": form, "switch": switch})
    form = SwitchForm(request.POST)
    if not form.is_valid():
        return render(request, "cms/operations/switch_site.html", {"form": form}, status=422)
    site_switch.switch_site(**form.cleaned_data, by=request.user.username, now=timezone.now())
    messages.success(request, _("The switch is turned. All parts of the site know it within seconds."))
    return redirect("cms_switch_site")


class SitePageForm(EditForm):
    """The texts of a page, as it shows them: what equals its sample is not stored."""

    en = MarkdownField(rows=18, max_length=PAGE_CHARACTERS, label=gettext_lazy("In English"))
    de = MarkdownField(rows=18, max_length=PAGE_CHARACTERS, label=gettext_lazy("In German"))

    compared = ("en", "de")


@admins.page("1 batch get")
def site_pages(request: EditorRequest) -> HttpResponse:
    """The pages, each with who wrote its text and when, or that it is a sample."""
    return render(request, "cms/operations/site_pages.html", {"site_pages": stored.all_pages()})


@admins.form("1 get", at="/cms/pages/terms/")
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
