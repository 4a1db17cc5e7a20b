"""How somebody likes to work in the CMS: autosave and keyboard shortcuts, each of which can be turned off."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from cms.shared.requests import EditorRequest
from dealsite import __version__
from dealsite.accounts.decorators import role
from dealsite.data.people import profiles
from dealsite.web.pages import page


class SettingsForm(forms.Form):
    """What can be turned off."""

    autosave = forms.BooleanField(
        required=False,
        label=gettext_lazy("Save drafts by themselves"),
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
def settings(request: EditorRequest) -> HttpResponse:
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


@page("none")
@role("editor", "back office")
@require_safe
def show_help(request: EditorRequest) -> HttpResponse:
    """What the CMS's pages are for, and every shortcut."""
    return render(request, "cms/home/help.html", {"version": __version__})
