"""What can be done to deals and drafts: the bar of their list, the choice of a verb, its value, its words."""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.text import Truncator
from django.utils.translation import gettext as _, gettext_lazy

from cms.shared.fields import CleanTextField, LocalTimeField, PriceField, stored_time, typed_time
from cms.shared.forms import BRAND_INPUT, show_zone
from dealsite.accounts.forms import PiecesField
from dealsite.data.catalogue import brands
from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.display_names import brand_names, brand_slug, category_names, page_names
from dealsite.data.catalogue.drafts import Entry
from dealsite.data.catalogue.lists import STATES, DealFilter
from dealsite.data.editing import bulk
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.editing.verbs.chart import VERBS, of_kind
from dealsite.data.editing.verbs.fields import FieldVerb
from dealsite.data.editing.verbs.prices import PriceRule, SetPrice, SetWasPrice
from dealsite.data.editing.verbs.verb import Verb
from dealsite.data.entities.attributes import YEARS
from dealsite.data.entities.deals import ALT_CHARACTERS, LAST_VERSION, MAX_STOCK, VOUCHER_CODE_CHARACTERS
from dealsite.data.table.errors import NotFound
from dealsite.data.table.ids import from_iso, is_ulid, iso
from dealsite.search.finding import find
from dealsite.search.lists import LACKS, question_of, words_in
from dealsite.text.writing import money
from dealsite.worker.bulk import AT_ONCE

NO_RRP = "none"
WORDS_SHOWN = 100
PRICE_RULES = (
    ("=", gettext_lazy("Set to")),
    ("-%", gettext_lazy("Lower by percent")),
    ("+%", gettext_lazy("Raise by percent")),
    ("-", gettext_lazy("Lower by an amount")),
    ("+", gettext_lazy("Raise by an amount")),
)
WAS_PRICE_RULES = (
    ("=", gettext_lazy("Set to")),
    ("+%", gettext_lazy("The price and so many percent")),
    ("+", gettext_lazy("The price and an amount")),
    (NO_RRP, gettext_lazy("Remove it")),
)


@dataclass(frozen=True, slots=True)
class BulkChoice:
    """Which deals or drafts: some ids, or all of a list (`matching`); `typed` holds the list's filters as they came."""

    kind: str
    ids: tuple[str, ...]
    matching: DealFilter | None
    typed: dict[str, str]

    @property
    def is_one(self) -> bool:
        return len(self.ids) == 1

    @property
    def is_many(self) -> bool:
        """Tell whether it is more than what a request does."""
        return self.matching is not None or len(self.ids) > AT_ONCE


def filter_of(query: Mapping[str, str]) -> DealFilter:
    """Return what an address asks for; NotFound for what no list has."""
    state = query.get("state", "all")
    if state not in STATES:
        raise NotFound(_("There is no such list of deals."))
    category, lacks = query.get("category", ""), query.get("lacks", "")
    if category and category not in CATEGORIES:
        raise NotFound(_("There is no such category."))
    if lacks and lacks not in LACKS:
        raise NotFound(_("There is no such list of deals."))
    brand = brand_slug(query.get("brand", "")[:200])
    return DealFilter(state, brand, category, words_in(query.get("q", "")), lacks=lacks)


def chosen_in(data: QueryDict) -> BulkChoice:
    """Return what was ticked, or the list all of which is meant; NotFound for no such list."""
    matching = filter_of(data)
    typed = {"state": matching.state, "brand": data.get("brand", "")[:80], "category": matching.category}
    typed |= {"q": matching.words, "lacks": matching.lacks}
    kind = "draft" if matching.state == "draft" else "deal"
    if data.get("all"):
        return BulkChoice(kind, (), matching, typed)
    ids = dict.fromkeys(one for one in data.getlist("deal") if is_ulid(one))
    return BulkChoice(kind, tuple(ids)[: bulk.MOST_CHOSEN], None, typed)


class MomentField(LocalTimeField):
    """A time as it is typed, or as a button holds it."""

    def clean(self, value: Any) -> Any:
        moment = stored_time(value or "")
        return moment if moment and moment.year in YEARS else super().clean(value)


AMOUNT = PriceField(label=gettext_lazy("Amount, or percent"))
ENDS_IN_99 = forms.BooleanField(
    label=gettext_lazy("Down to the next amount that ends in .99"), required=False
)
FIELDS: Mapping[str, Mapping[str, forms.Field]] = {  # by what a verb asks for; the first one is the value
    "": {},
    "end": {"to_expiry": MomentField(label=gettext_lazy("New expiry"))},
    "future": {"to_time": MomentField(label=gettext_lazy("Publish at"))},
    "category": {"to_category": forms.ChoiceField(label=gettext_lazy("New category"))},
    "brand": {
        "to_brand": forms.CharField(
            label=gettext_lazy("New brand"),
            max_length=80,
            help_text=gettext_lazy("The name of a brand that exists."),
            widget=forms.TextInput(attrs=BRAND_INPUT),
        )
    },
    "page": {"to_page": forms.ChoiceField(label=gettext_lazy("Page"))},
    "stock": {"to_stock": PiecesField(label=gettext_lazy("New stock"), min_value=0, max_value=MAX_STOCK)},
    "version": {
        "to_version": forms.IntegerField(label=gettext_lazy("Version"), min_value=1, max_value=LAST_VERSION),
        "then_end": forms.BooleanField(label=gettext_lazy("Also its end"), required=False),
        "then_stock": forms.BooleanField(
            label=gettext_lazy("Also its pieces in stock, whatever was sold since"), required=False
        ),
    },
    "alt": {
        "to_alt": CleanTextField(
            label=gettext_lazy("Alt text"),
            max_length=ALT_CHARACTERS,
            error_messages={"required": gettext_lazy("Describe the picture for those who cannot see it.")},
        )
    },
    "link": {"to_link": forms.CharField(label=gettext_lazy("Link"))},
    "changes": {"to_changes": forms.IntegerField(label=gettext_lazy("Version"), max_value=LAST_VERSION)},
    "voucher": {
        "to_voucher": CleanTextField(
            label=gettext_lazy("New code"),
            required=False,
            max_length=VOUCHER_CODE_CHARACTERS,
            help_text=gettext_lazy("Empty: shops sell them without a code."),
        )
    },
    "price": {
        "to_price": forms.ChoiceField(label=gettext_lazy("Price"), choices=PRICE_RULES),
        "amount": AMOUNT,
        "ends_in_99": ENDS_IN_99,
        "keeps_was": forms.BooleanField(
            label=gettext_lazy("The price before becomes the RRP"), required=False
        ),
    },
    "was_price": {
        "to_was_price": forms.ChoiceField(label=gettext_lazy("RRP"), choices=WAS_PRICE_RULES),
        "amount": AMOUNT,
        "ends_in_99": ENDS_IN_99,
    },
}


class ChangeForm(forms.Form):
    """The value that a verb needs."""

    def __init__(self, data: QueryDict, *, kind: str, verb: Verb[Any], now: datetime) -> None:
        fields = FIELDS[verb.asks]
        self.first = next(iter(fields), "")
        self.has_value = not fields or "given" in data or bool(data.get(self.first, "").strip())
        super().__init__(data if self.has_value else None)
        self.kind, self.verb, self.now = kind, verb, now
        self.fields |= deepcopy(dict(fields))
        chosen = self.fields.get(self.first)
        if verb.asks == "category" and isinstance(chosen, forms.ChoiceField):
            chosen.choices = [("", _("Choose a category")), *category_names.names().items()]
        elif verb.asks == "page" and isinstance(chosen, forms.ChoiceField):
            chosen.choices = [("", _("Choose a page")), *page_names().items()]
        elif data.get("to_was_price") == NO_RRP:
            self.fields["amount"].required = False
        show_zone(self)

    def begin_with(self, entry: Entry) -> None:
        """Show the value that an entry has now."""
        content, live_at = entry.content, entry.live_at if isinstance(entry, Deal) else None
        self.initial = {
            "to_expiry": typed_time(content.expires_at),
            "to_time": typed_time(live_at),
            "to_category": content.category,
            "to_stock": content.stock,
            "to_voucher": content.voucher_code,
            "to_alt": content.picture.alt if content.picture else "",
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        value = cleaned.get(self.first)
        if isinstance(value, datetime) and value <= self.now:
            self.add_error(self.first, _("This time has passed. Choose a later one."))
        elif self.first == "to_brand" and value:
            try:  # 1 get, and up to 2 batch gets
                cleaned["to_brand"] = brands.named(value).slug
            except NotFound:
                self.add_error("to_brand", _("There is no such brand. Add it on the page of brands first."))
        return cleaned

    def change(self) -> BulkChange:
        """Return what was chosen."""
        cleaned = self.cleaned_data
        value: Any = cleaned.get(self.first, "")
        if value == NO_RRP:
            value = ""
        elif "amount" in self.fields:
            is_percent, keeps_was = value.endswith("%"), cleaned.get("keeps_was", False)
            value = PriceRule(value[0], cleaned["amount"], is_percent, cleaned["ends_in_99"], keeps_was)
        elif self.first == "to_version":
            value = " ".join([str(value), *(name for name in ("end", "stock") if cleaned[f"then_{name}"])])
        return BulkChange(
            self.kind, self.verb.name, iso(value) if isinstance(value, datetime) else str(value)
        )


def verb_called(name: str, kind: str) -> Verb[Any]:
    """Return what can be done to deals or drafts under a name; NotFound."""
    if name not in VERBS or kind not in VERBS[name].kinds:
        raise NotFound(_("There is no such change."))
    return VERBS[name]


def in_words(change: BulkChange) -> str:
    """Return what a change does, as a title."""
    return str(change.verb.says) % {"value": asked_in_words(change)}


def asked_in_words(change: BulkChange) -> str:
    """Return the value that was asked for, for people."""
    if change.verb.asks not in ("price", "was_price") or not change.value:
        return value_in_words(change.verb, change.value)
    rule = PriceRule.parse(change.value)
    number = f"{number_format(rule.number.normalize())} %" if rule.is_percent else money(rule.number)
    words = [{"=": "", "+": "+", "-": "−"}[rule.how] + number]
    words += [_("ending in .99")] if rule.ends_in_99 else []
    words += [_("the price before becomes the RRP")] if rule.keeps_was else []
    return ", ".join(words)


def value_in_words(verb: Verb[Any], value: str) -> str:
    """Return a value that a verb replaces or gives, for people."""
    if isinstance(verb, SetPrice | SetWasPrice) and value:
        texts = dict(zip(verb.fields, json.loads(value), strict=True))
        price, was = texts.get("price", ""), texts["was_price"]
        words = [money(Decimal(price))] if price else []
        words += [_("RRP %(amount)s") % {"amount": money(Decimal(was))}] if was else []
        return " · ".join(words) or _("none")
    match verb.fields if isinstance(verb, FieldVerb) else (verb.asks,):
        case ("expires_at",) | ("future",):
            return date_format(timezone.localtime(from_iso(value)), "j F Y, H:i T") if value else _("never")
        case ("category",):
            return category_names.names().get(value, value) or _("none")
        case ("brand",):
            return brand_names.names([value])[value] if value else _("none")
        case ("page",):
            return page_names().get(value, value)
        case ("version",):
            return value.partition(" ")[0]
        case ("stock",):
            number = value.partition(" ")[0]  # after which its version may stand
            return number_format(int(number)) if number else _("not counted")
    return Truncator(value).chars(WORDS_SHOWN) or _("none")


@dataclass(frozen=True)
class Bar:
    """The bar of a list: its verbs, its filters as they were typed, and how many deals it holds in all, if known."""

    kind: str
    filters: dict[str, str]
    total: int | None

    @property
    def verbs(self) -> list[Verb[Any]]:
        return of_kind(self.kind)


def bulk_bar(matching: DealFilter, total: int | None) -> dict[str, Bar]:
    """Return the bar for the context of a list."""
    kind = "draft" if matching.state == "draft" else "deal"
    filters = {"state": matching.state, "brand": matching.brand, "category": matching.category}
    filters |= {"q": matching.words, "lacks": matching.lacks}
    return {"bulk": Bar(kind, filters, total)}


def total_of(matching: DealFilter, now: datetime) -> tuple[int | None, str]:
    """Return how many deals a list holds, None where search cannot tell, and how search found them. No requests."""
    found = find(question_of(matching), now=now, size=1)
    return found.total if found.ready else None, found.how
