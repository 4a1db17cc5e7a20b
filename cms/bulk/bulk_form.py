"""What can be done to many deals at once: the bar below their list, the choice of a change, its value, its words."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cms.lists.search import LACKS, words_in
from cms.shared.fields import LocalTimeField
from cms.shared.forms import show_zone
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.deal_lists import STATES, DealFilter
from dealsite.data.catalogue.display_names import brand_names, brand_slug, category_names, page_names
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BRAND, CATEGORY, EXPIRY, FEATURE, UNFEATURE, BulkChange
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import from_iso, is_ulid, iso
from dealsite.search.deal_lists import question_of
from dealsite.search.finding import SearchPage, find

LABELS = {
    bulk.PUBLISH: gettext_lazy("Publish"),
    bulk.EXPIRE: gettext_lazy("Expire now"),
    bulk.EXPIRY: gettext_lazy("Set expiry"),
    bulk.CATEGORY: gettext_lazy("Change category"),
    bulk.BRAND: gettext_lazy("Change brand"),
    bulk.FEATURE: gettext_lazy("Feature on a page"),
    bulk.UNFEATURE: gettext_lazy("Remove from a page"),
    bulk.DELETE: gettext_lazy("Move to the trash"),
}
VALUES = {EXPIRY: "to_expiry", CATEGORY: "to_category", BRAND: "to_brand"}
VALUES |= dict.fromkeys((FEATURE, UNFEATURE), "to_page")


@dataclass(frozen=True, slots=True)
class BulkChoice:
    """Which deals or drafts: some ids, or all of a list (`matching`); `typed` holds the list's filters as they came."""

    kind: str
    ids: tuple[str, ...]
    matching: DealFilter | None
    typed: dict[str, str]


def chosen_in(data: QueryDict) -> BulkChoice:
    """Return what was ticked, or the list all of which is meant; NotFound for no such list."""
    state, category, lacks = data.get("state", "all"), data.get("category", ""), data.get("lacks", "")
    if state not in STATES or (category and category not in CATEGORIES) or (lacks and lacks not in LACKS):
        raise NotFound(_("There is no such list of deals."))
    typed = {"state": state, "brand": data.get("brand", "")[:80], "category": category}
    typed |= {"q": words_in(data.get("q", "")), "lacks": lacks}
    matching = None
    if data.get("all"):
        brand = brand_slug(data.get("brand", "")[:200])
        matching = DealFilter(state=state, brand=brand, category=category, words=typed["q"], lacks=lacks)
    ids = dict.fromkeys(one for one in data.getlist("deal") if is_ulid(one))
    kind = "draft" if state == "draft" else "deal"
    return BulkChoice(kind, () if matching else tuple(ids)[: bulk.MOST_CHOSEN], matching, typed)


class ChangeForm(forms.Form):
    """One of the changes that a kind of thing can undergo, and its value."""

    action = forms.ChoiceField(label=gettext_lazy("What to do"))
    to_expiry = LocalTimeField(label=gettext_lazy("New expiry"), required=False)
    to_category = forms.ChoiceField(label=gettext_lazy("New category"), required=False)
    to_brand = forms.CharField(
        label=gettext_lazy("New brand"),
        required=False,
        max_length=80,
        help_text=gettext_lazy("The name of a brand that exists."),
        widget=forms.TextInput(attrs={"list": "brand-names", "autocomplete": "off"}),
    )
    to_page = forms.ChoiceField(label=gettext_lazy("Page"), required=False)

    def __init__(self, *arguments: Any, kind: str, now: datetime, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.kind, self.now = kind, now
        choices: dict[str, list[tuple[str, Any]]] = {
            "action": [(action, LABELS[action]) for action in bulk.ACTIONS[kind]],
            "to_category": [("", _("Choose a category")), *category_names.names().items()],
            "to_page": [("", _("Choose a page")), *page_names().items()],
        }
        for name, of_field in choices.items():
            self.fields[name].choices = of_field  # type: ignore[attr-defined]
        show_zone(self)

    @property
    def chosen_action(self) -> str:
        action = str(self.data.get("action", ""))
        return action if action in bulk.ACTIONS[self.kind] else ""

    @property
    def value_field(self) -> forms.BoundField | None:
        """The field of the value that the chosen change needs, if it needs one; as sent, or new where none was."""
        name = VALUES.get(self.chosen_action)
        if not name:
            return None
        form = self if self.has_value else ChangeForm(kind=self.kind, now=self.now)
        form.fields[name].required = True
        return form[name]

    @property
    def has_value(self) -> bool:
        """Tell whether the value was given, right or wrong, or none is needed."""
        name = VALUES.get(self.chosen_action)
        return bool(self.chosen_action) and (name is None or bool(self.data.get(name, "").strip()))

    @property
    def label(self) -> str:
        """What the chosen change is called, '' while none is chosen."""
        return str(LABELS[self.chosen_action]) if self.chosen_action else ""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        needed = VALUES.get(cleaned.get("action", ""))
        for name in set(VALUES.values()) - {needed}:
            self.errors.pop(name, None)
        if needed and needed not in self.errors and not cleaned.get(needed):
            self.add_error(needed, _("This is needed."))
        elif needed == "to_expiry" and cleaned.get(needed) and cleaned[needed] <= self.now:
            self.add_error(needed, _("This time is past. To end deals at once, choose “Expire now”."))
        elif needed == "to_brand" and cleaned.get(needed):
            self._find_brand(cleaned)
        return cleaned

    def _find_brand(self, cleaned: dict[str, Any]) -> None:
        """Look for the brand that was named. 1 get, and up to 2 batch gets."""
        try:
            cleaned["to_brand"] = brands.named(cleaned["to_brand"]).slug
        except NotFound:
            self.add_error("to_brand", _("There is no such brand. Add it on the page of brands first."))

    def change(self) -> BulkChange:
        """Return what was chosen."""
        action = self.cleaned_data["action"]
        name = VALUES.get(action)
        value: Any = self.cleaned_data[name] if name else ""
        return BulkChange(self.kind, action, iso(value) if action == EXPIRY else value)


def in_words(change: BulkChange) -> str:
    """Return what a change does, as a title."""
    value = value_in_words(change, change.value)
    match change.action:
        case bulk.PUBLISH:
            return _("Publish drafts")
        case bulk.EXPIRE:
            return _("Let deals expire now")
        case bulk.EXPIRY:
            return _("Set expiry to %(time)s") % {"time": value}
        case bulk.CATEGORY:
            return _("Change category to %(name)s") % {"name": value}
        case bulk.BRAND:
            return _("Change brand to %(name)s") % {"name": value}
        case bulk.FEATURE:
            return _("Feature on: %(page)s") % {"page": value}
        case bulk.UNFEATURE:
            return _("Remove from: %(page)s") % {"page": value}
        case bulk.IMPORT:
            return _("Change by an import")
    return _("Move drafts to the trash") if change.kind == "draft" else _("Move deals to the trash")


def value_in_words(change: BulkChange, value: str) -> str:
    """Return a value that a change replaces or gives, for people."""
    match change.action:
        case bulk.EXPIRY | bulk.EXPIRE:
            if not value:
                return _("never") if change.action == EXPIRY else ""
            return date_format(timezone.localtime(from_iso(value)), "j F Y, H:i T")
        case bulk.CATEGORY:
            return category_names.names().get(value, value) or _("none")
        case bulk.BRAND:
            return brand_names.names([value])[value] if value else _("none")
        case bulk.FEATURE | bulk.UNFEATURE:
            return page_names().get(value, value)
    return value


@dataclass(frozen=True)
class Bar:
    """The bar of a list: its form, its filters as they were typed, and how many deals it holds in all, if known."""

    form: ChangeForm
    filters: dict[str, str]
    total: int | None

    @property
    def actions(self) -> list[tuple[str, str]]:
        return [(action, str(LABELS[action])) for action in bulk.ACTIONS[self.form.kind]]


def bulk_bar(matching: DealFilter, now: datetime, *, found: SearchPage | None) -> dict[str, Bar]:
    """Return the bar for the context of a list; `found` is what search has of it, None where it was not asked.

    No requests.
    """
    kind = "draft" if matching.state == "draft" else "deal"
    filters = {"state": matching.state, "brand": matching.brand, "category": matching.category}
    filters |= {"q": matching.words, "lacks": matching.lacks}
    if found is None:
        found = find(question_of(matching), now=now, size=1)
    return {"bulk": Bar(ChangeForm(kind=kind, now=now), filters, _number(found))}


def total_of(matching: DealFilter, now: datetime) -> tuple[int | None, str]:
    """Return how many deals a list holds, None where search cannot tell, and how search found them. No requests."""
    found = find(question_of(matching), now=now, size=1)
    return _number(found), found.how


def _number(found: SearchPage) -> int | None:
    return found.total if found.ready else None
