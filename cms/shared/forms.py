"""The forms of the CMS. Field names are those of the data functions."""

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, Self

from django import forms
from django.forms import BoundField
from django.http import QueryDict
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext, gettext_lazy as _

from cms.shared.edit_form import EditForm, Typed
from cms.shared.fields import (
    CleanTextField,
    LinkField,
    LocalTimeField,
    MarkdownField,
    PriceField,
    keep,
    typed_time,
    version_in,
)
from dealsite.accounts.forms import PIECES_INPUT, PiecesField
from dealsite.data.catalogue import categories
from dealsite.data.catalogue.content import DealContent, sold_by
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.catalogue.drafts import Entry
from dealsite.data.editing.pending_edits import PendingEdits
from dealsite.data.entities.attributes import LINK_CHARACTERS
from dealsite.data.entities.deals import (
    ARTICLE_NUMBER_CHARACTERS,
    CODE,
    CONDITION_CHARACTERS,
    DESCRIPTION_CHARACTERS,
    HERE,
    MAX_STOCK,
    NAME_CHARACTERS,
    SEEN_AT_CHARACTERS,
    SHOP,
    TITLE_CHARACTERS,
    VOUCHER_CODE_CHARACTERS,
)
from dealsite.data.entities.taxonomy import ABOUT_CHARACTERS, MOST_ALSO

OVERCLAIM = re.compile(
    r"never (been )?(this )?cheap(er)?|(lowest|best) price (ever|of all)|all[- ]time (low|best)"
    r"|(noch )?nie (so )?(günstig|billig)(er)?|(allzeit|best|tiefst)preis\w*|allzeittief",
    re.IGNORECASE,
)


NOUNS = {"deal": _("deal"), "draft": _("draft")}
BRAND_INPUT = {  # as in _brand_input.html
    "autocomplete": "off",
    "data-combobox": "",
    "hx-get": reverse_lazy("cms_brand_names"),
    "hx-trigger": "combobox delay:250ms",
    "hx-target": "next [role=listbox]",
    "hx-swap": "innerHTML",
    "hx-sync": "this:replace",
}
SELLERS = {HERE: _("Sold here"), SHOP: _("At a shop"), CODE: _("At a shop, with a code")}


def typed_deal(content: DealContent, brand_name: str) -> Typed:
    """Return a deal's content as the inputs of DealForm hold it."""
    return {
        "title": content.title,
        "brand": brand_name,
        "category": content.category,
        "price": typed_number(content.price),
        "condition": content.condition,
        "was_price": typed_number(content.was_price),
        "low_seen_at": content.low_seen_at,
        "low_seen_on": content.low_seen_on.isoformat() if content.low_seen_on else "",
        "sold": content.sold,
        "voucher_code": content.voucher_code,
        "article_number": content.article_number,
        "link": content.link,
        "is_ad": "on" if content.is_ad else "",
        "description": content.description,
        "picture_kept": keep(content.picture),
        "picture_alt": content.picture.alt if content.picture else "",
        "stock": typed_number(content.stock),
        "expires_at": typed_time(content.expires_at),
    }


def typed(stored: Entry) -> Typed:
    """Return a deal or draft as the inputs of DealForm hold it."""
    return typed_deal(stored.content, stored.card.brand_name)


def typed_number(number: object) -> str:
    return "" if number is None else str(number)


class DealForm(EditForm):
    """A deal or a draft: complete enough to be saved; what publishing needs more is checked there."""

    title = CleanTextField(label=_("Title"), required=False, max_length=TITLE_CHARACTERS)
    brand = forms.CharField(
        label=_("Brand"),
        required=False,
        max_length=NAME_CHARACTERS,
        widget=forms.TextInput(attrs=BRAND_INPUT | {"hx-vals": '{"create": "on"}'}),
    )
    brand_new = forms.BooleanField(required=False, label=_("This is a new brand: create it"))
    category = forms.ChoiceField(
        label=_("Category"),
        required=False,
        choices=lambda: [("", _("Choose a category")), *category_names.names().items()],
        widget=forms.Select(attrs={"autocomplete": "off", "data-combobox": ""}),
    )
    price = PriceField(label=_("Price"), required=False)
    condition = CleanTextField(
        label=_("Instead of a price"),
        required=False,
        max_length=CONDITION_CHARACTERS,
        widget=forms.TextInput(attrs={"placeholder": _("20 % off all shoes")}),
    )
    was_price = PriceField(required=False, label=_("Compared with"))
    low_seen_at = CleanTextField(
        label=_("Seen where"),
        required=False,
        max_length=SEEN_AT_CHARACTERS,
        help_text=_("A link or a page of the shop."),
    )
    low_seen_on = forms.DateField(
        label=_("Seen on"),
        required=False,
        widget=forms.DateInput(format="%Y-%m-%d", attrs={"type": "date"}),
        input_formats=["%Y-%m-%d"],
    )
    sold = forms.ChoiceField(
        label=_("Who sells it"), required=False, choices=SELLERS, widget=forms.RadioSelect
    )
    voucher_code = CleanTextField(
        label=_("Voucher code"),
        required=False,
        max_length=VOUCHER_CODE_CHARACTERS,
        widget=forms.TextInput(attrs={"placeholder": _("None")}),
    )
    article_number = CleanTextField(
        label=_("Article number"),
        required=False,
        max_length=ARTICLE_NUMBER_CHARACTERS,
        widget=forms.TextInput(attrs={"placeholder": _("For imports")}),
    )
    link = LinkField(label=_("Link to the shop"), required=False, max_length=LINK_CHARACTERS)
    is_ad = forms.BooleanField(
        required=False, label=_("Ad link: we earn from it"), help_text=_("Shoppers read “Ad” beside it.")
    )
    description = MarkdownField(label=_("Description"), max_length=DESCRIPTION_CHARACTERS, rows=10)
    stock = PiecesField(
        label=_("Stock"),
        required=False,
        min_value=0,
        max_value=MAX_STOCK,
        widget=forms.TextInput(attrs=PIECES_INPUT | {"placeholder": _("Not counted")}),
    )
    expires_at = LocalTimeField(required=False, label=_("Ends"))
    publish_at = LocalTimeField(required=False, label=_("Goes live"))
    announce = forms.BooleanField(
        required=False,
        label=_("Tell those who watch its brand or category"),
        help_text=_("One message each, when the deal goes live."),
    )

    entry: Entry | None = None
    # The unpublished changes of its deal, which of their versions it stands on, and whether it is they that it shows.
    kept: PendingEdits | None = None
    changes = 0
    opens_changes = False
    read_note = ""  # what was read from its link just now
    similar: Sequence[Any] = ()  # what its draft may be already, which the button `pressed` would publish
    pressed = ""

    needed = ("title", "link", "voucher_code", "price", "brand", "category")  # to be published

    compared = tuple(typed_deal(DealContent(), ""))
    units = (*EditForm.units, ("was_price", "low_seen_at", "low_seen_on"), ("link", "is_ad"))

    @classmethod
    def posted(cls, data: QueryDict, files: MultiValueDict | None = None) -> Self:
        """Return the form as it was sent."""
        form = super().posted(data, files)
        form.changes, form.against = version_in(data.get("changes", "")), data.get("against", "")
        if not data.get("sold"):
            form.data["sold"] = sold_by(data.get("stock") or None, data.get("voucher_code", ""))
        return form

    @property
    def says_more(self) -> bool:
        """Whether one of the fields that are rarely needed is filled in, or wrong."""
        rare = (self[name] for name in ("low_seen_at", "low_seen_on", "condition"))
        return any(field.value() or field.errors for field in rare)

    @property
    def overclaim(self) -> str:
        """The words with which its title or description praises the price more than anybody can know; '' for none."""
        found = OVERCLAIM.search(f"{self['title'].value() or ''}\n{self['description'].value() or ''}")
        return found[0] if found else ""

    def to_publish(self) -> list[tuple[BoundField, bool]]:
        """The fields that publishing needs, each with whether it is filled in."""
        there = {name for name in (*self.needed, "condition") if self[name].value()}
        if "condition" in there:
            there.add("price")
        if "aria-invalid" in self.fields["brand"].widget.attrs:  # neither known nor to be created
            there.discard("brand")
        return [(self[name], name in there) for name in self.needed]

    def clean_low_seen_on(self) -> date | None:
        day: date | None = self.cleaned_data["low_seen_on"]
        if day and day > timezone.localdate():
            raise forms.ValidationError(gettext("This day is to come."))
        return day

    def content(self, brand: str) -> DealContent:
        """Return what was entered and can be taken; `brand` is the slug of the brand that was named."""
        cleaned = self.cleaned_data
        return DealContent(
            title=cleaned.get("title", ""),
            brand=brand,
            category=cleaned.get("category", ""),
            price=cleaned.get("price"),
            condition=cleaned.get("condition", ""),
            was_price=cleaned.get("was_price"),
            low_seen_at=cleaned.get("low_seen_at", ""),
            low_seen_on=cleaned.get("low_seen_on"),
            sold=cleaned.get("sold", ""),
            voucher_code=cleaned.get("voucher_code", ""),
            article_number=cleaned.get("article_number", ""),
            link=cleaned.get("link", ""),
            is_ad=cleaned.get("is_ad", False),
            description=cleaned.get("description", ""),
            picture=self.picture,
            stock=cleaned.get("stock"),
            expires_at=cleaned.get("expires_at"),
        )


FIELD_LABELS = {name: field.label or "" for name, field in DealForm.base_fields.items()} | {
    "picture": _("Picture"),
    "picture_alt": _("Text for the picture"),
}


def keep_times(form: forms.Form, stored: DealContent) -> None:
    """Take an end that was left as it is for the stored one; before the form is checked."""
    field = form.fields["expires_at"]
    if isinstance(field, LocalTimeField):
        field.stored = stored.expires_at


def show_zone(form: forms.Form) -> None:
    """Say beside each time in which zone it is meant."""
    for field in form.fields.values():
        if isinstance(field, LocalTimeField):
            zone = {"zone": timezone.get_current_timezone_name()}
            field.help_text = gettext("Time zone: %(zone)s") % zone


class BrandForm(EditForm):
    """A brand's name, description and logo; its slug never changes."""

    name = CleanTextField(label=_("Name"), max_length=NAME_CHARACTERS)
    description = MarkdownField(label=_("Description"), max_length=ABOUT_CHARACTERS, rows=5)

    also = CleanTextField(
        label=_("Other names"),
        required=False,
        max_length=MOST_ALSO * (NAME_CHARACTERS + 1),
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_(
            "One a line: they find it too, in forms, imports and search. A name that you change stays here."
        ),
    )

    picture_noun = "logo"
    compared = ("name", "also", "description", "picture_kept", "picture_alt")

    def texts(self) -> dict[str, Any]:
        """Return what was entered, by the names that the data functions have for it."""
        return {name: self.cleaned_data[name] for name in ("name", "also", "description")} | {
            "logo": self.picture
        }

    def clean_also(self) -> list[str]:
        return [name for name in self.cleaned_data["also"].splitlines() if name.strip()]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.picture and not self.picture.alt:
            self.add_error("picture_alt", _("Say in words what it shows, for those who do not see it."))
        return cleaned


class CategoryForm(BrandForm):
    """A category's name, description and picture; the eight categories themselves are fixed."""

    picture_noun = "picture"


def typed_texts(stored: categories.Entry) -> Typed:
    """Return a brand's or a category's texts as the inputs of their forms hold them."""
    return {
        "name": stored.name,
        "also": "\n".join(stored.also),
        "description": stored.description,
        "picture_kept": keep(stored.logo),
        "picture_alt": stored.logo.alt if stored.logo else "",
    }
