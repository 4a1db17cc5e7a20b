"""The site's switch: admins open the site, make it read-only, or close it for maintenance."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from cms.shared.fields import CleanTextField
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import fresh, role
from dealsite.data.entities.operations import (
    CLOSED_FOR_MAINTENANCE,
    COPY,
    NOTICE_CHARACTERS,
    OPEN,
    READ_ONLY,
)
from dealsite.data.jobs import site_switch
from dealsite.web.pages import CLOSED, open_while, page

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


@page("1 get")
@open_while(*CLOSED)
@role("admin")
@fresh
@require_http_methods(["GET", "HEAD", "POST"])
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
