"""My data: all that is stored about who is signed in, as a file, and what of it stays when the account is deleted."""

from datetime import timedelta

from django.conf import settings
from django.contrib import messages
from django.core.files.storage import storages
from django.http import FileResponse, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from dealsite.accounts import limits
from dealsite.accounts.decorators import signed_in
from dealsite.accounts.reauthentication import fresh
from dealsite.accounts.requests import UserRequest
from dealsite.accounts.security_log import note
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.personal import Stays
from dealsite.data.people import my_data as stored
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import new_ulid
from dealsite.text.lazy import Text
from dealsite.web.pages import action, page

STAYS: dict[Stays, tuple[Text, Text]] = {  # by why the entity chart says that it stays: what does, and why
    "name": (
        gettext_lazy("Your user name, and when the account was deleted"),
        gettext_lazy("so that nobody can pass for you"),
    ),
    "law": (
        gettext_lazy("Your orders and payments, with the name and addresses on them"),
        gettext_lazy("the law asks for the records of what was bought and paid"),
    ),
    "security": (
        gettext_lazy("Log entries: what was changed and by whom, sign-ins and the networks they came from"),
        gettext_lazy("they show what happened if something goes wrong, and are cleared after a time"),
    ),
    "work": (
        gettext_lazy("If you worked for this site: your user name on what you made or changed"),
        gettext_lazy("others have to know who did it"),
    ),
    "passing": (
        gettext_lazy("Traces in work that is under way, such as a mail that could not be sent yet"),
        gettext_lazy("they go by themselves after a time"),
    ),
}


@page("1 get")
@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
@fresh
def my_data(request: UserRequest) -> HttpResponse:
    """Have a file of all that is stored about the user written, for who has just given their password."""
    username, now = request.user.username, timezone.now()
    if request.method == "POST":
        limits.count_use(request, "my-data", now=now)
        stored.request(username, job_id=new_ulid(now), now=now)
        note(request, "export_asked", username=username, detail="my data")
        messages.success(
            request, _("The file of your data is being written. It appears here when it is ready.")
        )
        return HttpResponseRedirect(reverse("my_data"))
    context = {
        "file": stored.newest(username, now=now),
        "hours": stored.KEPT // timedelta(hours=1),
        "stays": what_stays(),
        "sends_mail": settings.DEALSITE_SENDS_MAIL and request.user.account.email,
    }
    return render(request, "accounts/my_data.html", context)


@action
@signed_in
@require_POST
@fresh
def download_my_data(request: UserRequest) -> HttpResponseBase:
    """The file of their own data, for who has just given their password."""
    username, now = request.user.username, timezone.now()
    job = stored.newest(username, now=now).job
    if job is None or job.state != "done":
        raise NotFound(_("This file is not ready yet."))
    try:
        file = storages["private"].open(stored.file_name(job.id))
    except FileNotFoundError:
        raise NotFound(_("This file is gone.")) from None
    note(request, "export_asked", username=username, detail="my data, downloaded")
    name = f"my-data-{job.created_at:%Y-%m-%d}.zip"
    response = FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")
    response["X-Content-Type-Options"] = "nosniff"
    return response


def what_stays() -> list[tuple[Text, Text]]:
    """Return what still names a user after their account is deleted, and why, by the reasons in the entity chart."""
    reasons = {one.stays_for for one in ENTITIES.values()}
    return [words for reason, words in STAYS.items() if reason in reasons]
