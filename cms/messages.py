"""Messages to shoppers: write one about a deal, look at it, send it now or at a time; those sent and planned.

Nothing is sent twice. The page that asks for the last word carries the random part of the message's id; the
time in front of it is that of the page, or the one chosen. A second click therefore asks for the same message.
"""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy, pgettext_lazy

from cms.jobs import row
from cms.lists.deal_list import id_in, query
from cms.shared.fields import CleanTextField, LocalTimeField
from cms.shared.forms import show_zone
from cms.shared.requests import OPEN_FOR_LONG, EditorRequest
from dealsite.accounts import limits
from dealsite.accounts.decorators import editors, fresh
from dealsite.data.catalogue import deals
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.entities.people import HEADLINE_CHARACTERS, TEXT_CHARACTERS
from dealsite.data.jobs import jobs
from dealsite.data.people import announcements
from dealsite.data.people.announcements import Audience
from dealsite.data.people.messages import Message
from dealsite.data.table.errors import Invalid, NotFound, Unavailable
from dealsite.data.table.ids import first_ulid_of, is_new, is_ulid, new_ulid, time_of
from dealsite.worker.exports import every, exported

RANDOM_PART = slice(10, 26)  # of a ULID; the first ten characters are its time
LAST_WORD = timedelta(minutes=15)  # how long the page that asks for it stays good
ALL, BRAND, CATEGORY, BOTH = "all", "brand", "category", "both"


class MessageForm(forms.Form):
    """A message about a deal, and whom it goes to."""

    audience = forms.ChoiceField(label=pgettext_lazy("message", "To"), widget=forms.RadioSelect)
    headline = CleanTextField(label=gettext_lazy("Headline"), max_length=HEADLINE_CHARACTERS)
    text = CleanTextField(
        label=gettext_lazy("Text"),
        required=False,
        max_length=TEXT_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy("Shown below the headline, as plain text."),
    )
    send_at = LocalTimeField(required=False, label=gettext_lazy("Send at"))

    def __init__(self, *arguments: Any, deal: Deal, **options: Any) -> None:
        super().__init__(*arguments, **options)
        brand, category = deal.card.brand_name, category_names.names()[deal.content.category]
        choices = [
            (ALL, _("All users")),
            (BRAND, _("Those who watch %(name)s") % {"name": brand}),
            (CATEGORY, _("Those who watch %(name)s") % {"name": category}),
            (BOTH, _("Those who watch %(brand)s or %(category)s") % {"brand": brand, "category": category}),
        ]
        self.fields["audience"].choices = choices  # type: ignore[attr-defined]
        self.deal = deal
        show_zone(self)
        self.fields["send_at"].help_text = _("%(zone)s. Leave it empty to send now.") % {
            "zone": self.fields["send_at"].help_text
        }

    def recipients(self) -> Audience:
        """Return whom it goes to."""
        chosen = self.cleaned_data["audience"]
        return Audience(
            brand=self.deal.content.brand if chosen in (BRAND, BOTH) else "",
            category=self.deal.content.category if chosen in (CATEGORY, BOTH) else "",
        )

    def words(self) -> dict[str, str]:
        """Return headline and text, with one kind of line ends."""
        text = self.cleaned_data["text"].replace("\r\n", "\n").replace("\r", "\n")
        return {"headline": self.cleaned_data["headline"], "text": text}

    def refuse_time(self, now: datetime) -> None:
        """Refuse a time that has passed, or at which the deal is not to be had."""
        send_at = self.cleaned_data.get("send_at")
        due, content = send_at or now, self.deal.content
        if send_at and send_at <= now:
            self.add_error("send_at", _("This time has passed. Choose a later one, or send it now."))
        elif due < self.deal.live_at:
            self.add_error("send_at", _("The deal is not live at that time yet. Choose a later one."))
        elif content.expires_at and content.expires_at <= due:
            self.add_error("send_at", _("The deal has expired by then. Choose an earlier time."))


@editors.page("1 query")
@exported(
    gettext_lazy("Messages"),
    "id, @goes_out_at=going_out_at, state, headline, deal, brand=audience.brand, category=audience.category",
    lambda query, now: every(announcements.newest),
)
def message_list(request: EditorRequest) -> HttpResponse:
    """One page of the messages that are planned, on their way and sent."""
    now = timezone.now()
    page = announcements.newest(after=request.GET.get("after"), before=request.GET.get("before"))
    found = jobs.get_many(one.id for one in page.rows)
    brands = brand_names.names({one.audience.brand for one in page.rows if one.audience.brand})
    rows = [
        (one, row(found[one.id], now), _audience_words(one.audience, brands))
        for one in page.rows
        if one.id in found
    ]
    context = {
        "rows": rows,
        "here": request.get_full_path(),
        "after": page.after and query({"after": page.after}),
        "before": page.before and query({"before": page.before}),
    }
    return render(request, "cms/messages/messages.html", context)


def _audience_words(audience: Audience, brands: dict[str, str]) -> str:
    if audience.everyone:
        return _("All users")
    names = [brands.get(audience.brand, ""), category_names.names().get(audience.category, "")]
    named = [name for name in names if name]
    if len(named) == 2:
        return _("Watchers of %(brand)s or %(category)s") % {"brand": named[0], "category": named[1]}
    return _("Watchers of %(name)s") % {"name": "".join(named)}


def _sends_to_all(request: HttpRequest) -> bool:
    return request.POST.get("action") == "send" and request.POST.get("audience") == ALL


@editors.form("none or 1 batch get", at=("", "?deal={live.id}"))
@fresh(when=_sends_to_all)
def new_message(request: EditorRequest) -> HttpResponse:
    """Write a message about a deal, which is named by its id or a link; POST looks at it, then sends it."""
    text = (request.POST if request.method == "POST" else request.GET).get("deal", "")[:2000].strip()
    deal_id = id_in(text)
    try:
        deal = deals.get(deal_id) if deal_id else None
    except NotFound:
        deal = None
    if deal is None:
        page = {"text": text}
        return render(request, "cms/messages/new_message_deal.html", page, status=404 if text else 200)
    if request.method != "POST":
        initial = {"headline": deal.content.title[:HEADLINE_CHARACTERS], "audience": BOTH}
        return _form_page(request, MessageForm(deal=deal, initial=initial), deal)
    form = MessageForm(request.POST, deal=deal)
    try:
        return _post(request, form, deal)
    except Invalid as error:
        for name, sentence in error.fields.items():
            form.add_error(name if name in form.fields else None, sentence)
        if not error.fields:
            form.add_error(None, str(error))
        return _form_page(request, form, deal, status=422)
    except Unavailable as error:
        return _form_page(request, form, deal, trouble=str(error), status=503)


def _post(request: EditorRequest, form: MessageForm, deal: Deal) -> HttpResponse:
    now, action, token = timezone.now(), request.POST.get("action", ""), request.POST.get("token", "")
    if action == "change" or not form.is_valid():
        return _form_page(request, form, deal, status=200 if form.is_valid() else 422)
    send_at = form.cleaned_data["send_at"]
    if action == "send" and is_ulid(token):
        message_id = first_ulid_of(send_at)[:10] + token[RANDOM_PART] if send_at else token
        if _is_sent(message_id):
            return _sent(request, message_id, now)
    form.refuse_time(now)
    if form.errors:
        return _form_page(request, form, deal, status=422)
    if action != "send":
        return _last_word(request, form, deal)
    if not is_new(token, now, within=LAST_WORD):
        return _last_word(request, form, deal, trouble=str(OPEN_FOR_LONG))
    if not request.POST.get("sure"):
        return _last_word(request, form, deal, unsure=True, token=token)
    limits.count_use(request, "message", now=now)
    by, audience = request.user.username, form.recipients()
    announcements.send(deal.id, message_id=message_id, audience=audience, by=by, now=now, **form.words())
    return _sent(request, message_id, now)


def _is_sent(message_id: str) -> bool:
    try:
        jobs.get(message_id)
    except NotFound:
        return False
    return True


def _sent(request: EditorRequest, message_id: str, now: datetime) -> HttpResponse:
    planned = time_of(message_id) > now
    messages.success(request, _("The message is planned.") if planned else _("The message is on its way."))
    return redirect("cms_messages")


def _form_page(
    request: EditorRequest, form: MessageForm, deal: Deal, *, trouble: str = "", status: int = 200
) -> HttpResponse:
    page = {"form": form, "deal": deal, "state": deal.card.state(timezone.now()), "trouble": trouble}
    return render(request, "cms/messages/new_message.html", page, status=status)


def _last_word(
    request: EditorRequest,
    form: MessageForm,
    deal: Deal,
    *,
    trouble: str = "",
    unsure: bool = False,
    token: str = "",
) -> HttpResponse:
    """Show the message as a shopper will see it, and to how many it goes, before it is sent."""
    now, audience, words = timezone.now(), form.recipients(), form.words()
    send_at = form.cleaned_data["send_at"]
    message = Message(
        new_ulid(send_at or now), audience.kind, words["headline"], deal.id, words["text"], True
    )
    page = {
        "form": form,
        "deal": deal,
        "state": deal.card.state(now),
        "message": message,
        "number": announcements.reach(audience).users,
        "audience": dict(form.fields["audience"].choices)[form.cleaned_data["audience"]],  # type: ignore[attr-defined]
        "at_most": audience.is_union,
        "send_at": send_at,
        "token": token or new_ulid(now),
        "trouble": trouble,
        "unsure": unsure,
    }
    status = 409 if trouble else 422 if unsure else 200
    return render(request, "cms/messages/confirm_message.html", page, status=status)
