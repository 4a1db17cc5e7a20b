"""Lists of the CMS that become files: which there are, for whom, how they are narrowed down, and asking for one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.views.decorators.http import require_POST

from cms import attention, holders
from cms.deal_list import query
from cms.requests import EditorRequest
from cms.search import LACKS
from dealsite.accounts.decorators import role
from dealsite.data import deal_lists, exports
from dealsite.data.categories import CATEGORIES
from dealsite.data.errors import Forbidden, Invalid, NotFound
from dealsite.data.exports import WantedList
from dealsite.data.featured import PAGES
from dealsite.data.ids import is_ulid
from dealsite.data.jobs import EXPORTS

WHAT = {
    exports.ORDERS: gettext_lazy("Orders"),
    exports.PAYMENTS: gettext_lazy("Payments"),
    exports.DEALS: gettext_lazy("Deals"),
    exports.DRAFTS: gettext_lazy("Drafts"),
    exports.ATTENTION: gettext_lazy("What needs you"),
    exports.TRASH: gettext_lazy("Trash"),
    exports.IMPORTS: gettext_lazy("Imports"),
    exports.BRANDS: gettext_lazy("Brands"),
    exports.CATEGORIES: gettext_lazy("Categories"),
    exports.PLANS: gettext_lazy("Planned lists"),
    exports.EARLIER: gettext_lazy("Earlier lists"),
    exports.MESSAGES: gettext_lazy("Messages"),
    exports.JOBS: gettext_lazy("Jobs"),
    exports.HOLDERS: gettext_lazy("Who has this deal"),
    exports.USERS: gettext_lazy("Users"),
    exports.AUDIT: gettext_lazy("Audit log"),
}
AUDIENCES = {  # the name in an address -> whose files, what they are called, the role that may have them
    "editors": (exports.EDITORS, gettext_lazy("Of editors"), "editor"),
    "office": (exports.OFFICE, gettext_lazy("Of the back office"), "back office"),
    "admins": (exports.ADMINS, gettext_lazy("Of admins"), "admin"),
}
ROLE_FOR = {audience: role_name for audience, _label, role_name in AUDIENCES.values()}
FILTERS = {  # of the lists that can be exported
    exports.DEALS: ("state", "brand", "category", "q", "lacks"),
    exports.ATTENTION: ("topic",),
    exports.TRASH: (),
    exports.IMPORTS: (),
    exports.BRANDS: (),
    exports.CATEGORIES: (),
    exports.PLANS: (),
    exports.EARLIER: ("page",),
    exports.MESSAGES: (),
    exports.JOBS: ("month",),
    exports.HOLDERS: ("status", "day", "deal"),
    exports.USERS: (),
    exports.AUDIT: ("day", "by", "kind", "subject"),
}
NEEDED = {exports.ATTENTION: ("topic",), exports.EARLIER: ("page",), exports.HOLDERS: ("status", "deal")}
HOLDING = dict(holders.LISTS.values())
WORDS: dict[str, Mapping[str, Any]] = {  # of what filters say
    "topic": {name: topic.title for name, topic in attention.TOPICS.items()},
    "lacks": LACKS,
    "page": PAGES,
    "status": HOLDING,
}
FILTER_CHARACTERS = 400


def label_of(wanted: WantedList) -> str:
    """Return what narrows a list down, in words."""
    names = [name for name in FILTERS.get(wanted.what, wanted.filters) if name in wanted.filters]
    said = [str(WORDS.get(name, {}).get(wanted.filters[name], wanted.filters[name])) for name in names]
    return ", ".join(said) or pgettext("orders or payments", "all")


def _check_id(text: str) -> None:
    if not is_ulid(text):
        raise forms.ValidationError(_("There is no such deal."))


class ListForm(forms.Form):
    """The filters of a list that is to be exported, as its page has them."""

    state = forms.ChoiceField(required=False, choices=[(name, name) for name in deal_lists.STATES])
    brand = forms.CharField(required=False, max_length=FILTER_CHARACTERS)
    category = forms.ChoiceField(required=False, choices=list(CATEGORIES.items()))
    q = forms.CharField(required=False, max_length=FILTER_CHARACTERS)
    lacks = forms.ChoiceField(required=False, choices=list(LACKS.items()))
    topic = forms.ChoiceField(required=False, choices=list(WORDS["topic"].items()))
    page = forms.ChoiceField(required=False, choices=list(PAGES.items()))
    status = forms.ChoiceField(required=False, choices=list(HOLDING.items()))
    deal = forms.CharField(required=False, validators=[_check_id])
    month = forms.RegexField("^20[0-9]{2}-(0[1-9]|1[0-2])$", required=False)
    day = forms.DateField(required=False, input_formats=["%Y-%m-%d"])
    by = forms.CharField(required=False, max_length=FILTER_CHARACTERS)
    kind = forms.CharField(required=False, max_length=FILTER_CHARACTERS)
    subject = forms.CharField(required=False, max_length=FILTER_CHARACTERS)
    token = forms.CharField(max_length=26)

    def filters(self, what: str) -> dict[str, str]:
        """Return what of the list is wanted, without what is left empty."""
        return {name: str(value) for name in FILTERS[what] if (value := self.cleaned_data[name])}


@role("editor", "back office")
@require_POST
def export_listed(request: EditorRequest, what: str) -> HttpResponse:
    """Have a list of the CMS written into a file, as its filters show it."""
    if what not in FILTERS:
        raise NotFound(_("There is no such list."))
    if not request.user.has_role(ROLE_FOR[EXPORTS[exports.KIND_OF[what]]]):
        raise Forbidden()
    form = ListForm(request.POST)
    if not form.is_valid() or not is_ulid(form.cleaned_data["token"]):
        raise Invalid(_("This form is damaged. Load the page again."))
    filters = form.filters(what)
    if not filters.keys() >= set(NEEDED.get(what, ())):
        raise NotFound(_("There is no such list."))
    if what == exports.DEALS and filters.get("state") == "draft":
        what = exports.DRAFTS
        del filters["state"]
    if what == exports.AUDIT and not filters:  # as its page shows today where nothing else is asked for
        filters = {"day": f"{timezone.now():%Y-%m-%d}"}
    zone = timezone.get_current_timezone_name()
    wanted = WantedList(what, filters, zone, request.user.username)
    exports.request(wanted, job_id=form.cleaned_data["token"], now=timezone.now())
    messages.success(request, _("The file is being written. It stands here when it is ready."))
    audience = EXPORTS[exports.KIND_OF[what]]
    chosen = next(name for name, (of, _label, _role) in AUDIENCES.items() if of == audience)
    return redirect(reverse("cms_exports") + query({"list": chosen}))
