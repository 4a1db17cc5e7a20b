"""The quarantine: items that a check found wrong and nothing can derive, for admins to decide on."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from cms.lists.deal_list import query
from cms.people.log_pages import PLAIN
from cms.shared import undo
from cms.shared.requests import EditorRequest
from dealsite.accounts.decorators import role
from dealsite.accounts.reauthentication import fresh
from dealsite.data.integrity import decisions, quarantine
from dealsite.data.integrity.quarantine_record import KEPT, Quarantined, shown
from dealsite.data.table.errors import Conflict, Invalid, NotFound
from dealsite.data.table.parallel import together
from dealsite.web.pages import action, page

STATES = {
    "open": gettext_lazy("Waiting"),
    "decided": gettext_lazy("Decided"),
    "gone": gettext_lazy("Gone"),
}
DECISIONS = {
    "deleted": gettext_lazy("Deleted"),
    "corrected": gettext_lazy("Corrected"),
    "left": gettext_lazy("Left as it is"),
}
KINDS = {
    "text": gettext_lazy("Text"),
    "number": gettext_lazy("Number"),
    "yes": gettext_lazy("Yes"),
    "no": gettext_lazy("No"),
    "absent": gettext_lazy("Nothing: take the attribute away"),
}
SHOWN_ATTRIBUTES = 200


class CorrectionForm(forms.Form):
    """Another value for one attribute of an item."""

    path = forms.CharField(
        max_length=200,
        label=gettext_lazy("Attribute"),
        help_text=gettext_lazy("As in the list of the item, for example card.title."),
        widget=forms.TextInput({**PLAIN, "list": "attributes"}),
    )
    kind = forms.ChoiceField(label=gettext_lazy("Kind of value"), choices=KINDS.items())
    value = forms.CharField(
        required=False,
        strip=False,
        max_length=10_000,
        label=gettext_lazy("New value"),
        help_text=gettext_lazy("Of a text or number. Times are written as 2026-11-21T12:00:00.000Z."),
        widget=forms.Textarea({**PLAIN, "rows": 2}),
    )
    sure = forms.BooleanField(label=gettext_lazy("Change the stored item"))


@dataclass(frozen=True)
class QuarantineGroup:
    """Entries of a page that are alike: of one type, with sentences that differ in values only."""

    kind: str
    entries: list[Quarantined]

    @property
    def may_delete(self) -> bool:
        return not any(entry.is_derivable for entry in self.entries)


@page("1 query", at=("", "?state=decided", "?state=gone"))
@role("admin")
@require_safe
def quarantine_list(request: EditorRequest) -> HttpResponse:
    """What waits for a decision with its like, or what was decided or is gone, newest first. 1 query."""
    state = request.GET.get("state", "open")
    if state not in STATES:
        raise NotFound(_("There is no such list."))
    found = quarantine.page(state, after=request.GET.get("after"), now=timezone.now())  # type: ignore[arg-type]
    alike = groupby(found.entries, key=lambda entry: entry.group if state == "open" else "")
    here = {"state": state} if state != "open" else {}
    context = {
        "state": state,
        "states": STATES.items(),
        "groups": [QuarantineGroup((listed := list(entries))[0].kind, listed) for _group, entries in alike],
        "decisions": DECISIONS,
        "days": KEPT.days,
        "newest": query(here) or "?" if request.GET.get("after") else "",
        "after": query(here | {"after": found.after}) if found.after else "",
    }
    return render(request, "cms/quarantine/quarantine.html", context)


def _corrects(request: HttpRequest) -> bool:
    return CorrectionForm(request.POST).is_valid()


@page("2 gets")
@role("admin")
@fresh(when=_corrects)
@require_http_methods(["GET", "HEAD", "POST"])
def quarantined(request: EditorRequest, entry_id: str) -> HttpResponse:
    """One item with what is wrong with it; by POST, another value for one of its attributes."""
    now = timezone.now()
    entry = quarantine.get(entry_id, now=now)
    attributes = shown(entry.copy or {}, SHOWN_ATTRIBUTES)
    named = max((path for path, _text in attributes if path in entry.what), key=len, default="")
    form = CorrectionForm(request.POST if request.method == "POST" else None, initial={"path": named})
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            data = form.cleaned_data
            try:
                decisions.correct(
                    entry_id, data["path"], data["kind"], data["value"], by=request.user.username, now=now
                )
                _offer_undo(request, entry, _("The item is corrected."))
                return redirect("cms_quarantined", entry_id)
            except Invalid as error:
                for name, text in error.fields.items():
                    form.add_error(name, str(text))
            except Conflict as error:
                messages.error(request, str(error))
                return redirect("cms_quarantined", entry_id)
    context = {
        "entry": entry,
        "decision": DECISIONS.get(entry.decision, ""),
        "state_label": STATES[entry.state],
        "attributes": attributes,
        "is_cut": len(attributes) == SHOWN_ATTRIBUTES,
        "now_is": decisions.state_of_item(entry),
        "form": form,
        "days": KEPT.days,
        "trail": [(reverse("cms_quarantine"), _("Quarantine")), ("", entry.kind or _("Missing item"))],
    }
    return render(request, "cms/quarantine/quarantined.html", context, status=status)


Decide = Callable[..., None]
DECIDE: dict[str, Decide] = {"delete": decisions.delete, "leave": decisions.leave, "undo": decisions.undo}


@action
@role("admin")
@fresh(when=lambda request: request.POST.get("decision") != "leave")
@require_POST
def decide_quarantined(request: EditorRequest) -> HttpResponse:
    """Delete the items of some entries, leave them as they are, or undo the decision on one."""
    what, entry_ids = request.POST.get("decision", ""), request.POST.getlist("entry")[: quarantine.PAGE_SIZE]
    if what not in DECIDE or not all(map(quarantine.is_hash, entry_ids)) or not entry_ids:
        raise NotFound(_("This is not in the quarantine (any more)."))
    if len(entry_ids) == 1:
        return _decide_one(request, entry_ids[0], what)
    if "sure" not in request.POST:
        messages.error(request, _("Nothing was done: the box beside the button was not ticked."))
        return redirect("cms_quarantine")
    decide = partial(_tried, DECIDE[what], by=request.user.username, now=timezone.now())
    done = together(*(partial(decide, entry_id) for entry_id in entry_ids))
    text = ngettext("%(count)s decision was made.", "%(count)s decisions were made.", sum(done))
    messages.success(request, text % {"count": sum(done)})
    if left := len(done) - sum(done):
        text = ngettext(
            "%(count)s item had changed since, or was decided on by somebody else.",
            "%(count)s items had changed since, or were decided on by somebody else.",
            left,
        )
        messages.warning(request, text % {"count": left})
    return redirect("cms_quarantine")


def _tried(decide: Decide, entry_id: str, **more: object) -> bool:
    try:
        decide(entry_id, **more)
    except (Conflict, NotFound):
        return False
    return True


def _decide_one(request: EditorRequest, entry_id: str, what: str) -> HttpResponse:
    now, said = (
        timezone.now(),
        {"delete": _("The item is deleted."), "leave": _("The item is left as it is.")},
    )
    entry = quarantine.get(entry_id, now=now)
    if what == "delete" and "sure" not in request.POST:
        messages.error(request, _("Nothing was done: the box beside the button was not ticked."))
        return redirect("cms_quarantined", entry_id)
    try:
        DECIDE[what](entry_id, by=request.user.username, now=now)
    except Conflict as error:
        messages.error(request, str(error))
    else:
        if what == "undo":
            messages.success(request, _("The decision is undone. The item waits for another one."))
        else:
            _offer_undo(request, entry, said[what])
    return redirect("cms_quarantined", entry_id)


def _offer_undo(request: EditorRequest, entry: Quarantined, text: str) -> None:
    undo.offer(request, text, reverse("cms_decide_quarantined"), entry=entry.id, decision="undo")
