"""How somebody likes to work in the CMS, and its help."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from cms.shared.requests import EditorRequest
from dealsite import __version__
from dealsite.accounts.decorators import role
from dealsite.accounts.requests import destination
from dealsite.data.people import profiles
from dealsite.web.pages import action, page


class SettingsForm(forms.Form):
    """How somebody likes to work in the CMS: what can be turned off."""

    autosave = forms.BooleanField(
        required=False,
        label=gettext_lazy("Autosave drafts"),
        help_text=gettext_lazy(
            "A few seconds after you stop typing. Nothing is ever published automatically."
        ),
    )
    shortcuts = forms.BooleanField(
        required=False,
        label=gettext_lazy("Shortcuts of single keys"),
        help_text=gettext_lazy("Turn them off if you use voice control, or if they get in your way."),
    )


@page("none")
@role("editor", "back office")
@require_http_methods(["GET", "HEAD", "POST"])
def user_settings(request: EditorRequest) -> HttpResponse:
    """The choices of whoever is signed in; changed by POST."""
    chosen = request.user.preferences
    if request.method != "POST":
        form = SettingsForm(initial={"autosave": chosen.autosave, "shortcuts": chosen.shortcuts})
        return render(request, "cms/home/settings.html", {"form": form})
    form = SettingsForm(request.POST)
    if not form.is_valid():
        return render(request, "cms/home/settings.html", {"form": form}, status=422)
    profiles.save_preferences(request.user.username, **form.cleaned_data)
    messages.success(request, _("Your settings are saved."))
    return redirect("cms_settings")


@action
@role("editor", "back office")
@require_POST
def choose(request: EditorRequest) -> HttpResponse:
    """Keep what was chosen on a page, its language, the width of its menu or how close rows are, and go back."""
    flags = ("small_menu", "compact_rows")
    chosen: dict[str, Any] = {name: request.POST[name] == "yes" for name in flags if name in request.POST}
    if request.POST.get("language") in dict(settings.LANGUAGES):
        chosen["language"] = request.POST["language"]
    profiles.save_preferences(request.user.username, **chosen)
    if request.htmx:
        return HttpResponse(status=204)
    return redirect(destination(request, reverse("cms_home")))


@page("none")
@role("editor", "back office")
@require_safe
def show_help(request: EditorRequest) -> HttpResponse:
    """What the CMS's pages are for, and every shortcut."""
    return render(request, "cms/home/help.html", {"version": __version__})
