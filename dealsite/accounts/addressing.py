"""The form of an address, in the fields that its country has; and the pages of those that a shopper keeps."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from dealsite.accounts.decorators import signed_in
from dealsite.accounts.forms import answer_form
from dealsite.accounts.requests import UserRequest
from dealsite.data.commerce import addresses, order_record
from dealsite.data.commerce.addresses import ADDRESS_FIELDS, MISSING, Address, clean_address
from dealsite.data.commerce.countries import choices, country_of, rules_of
from dealsite.data.entities.commerce import ADDRESS_CHARACTERS, MOST_ADDRESSES
from dealsite.data.table.errors import Invalid, NotFound
from dealsite.text.stored_words import Text

BILL = "bill"  # before the names of the fields of where a bill goes
AUTOCOMPLETE = {
    "name": "name",
    "country": "country",
    "street": "address-line1",
    "extra": "address-line2",
    "postcode": "postal-code",
    "city": "address-level2",
    "state": "address-level1",
    "phone": "tel",
}


def _part(label: Text = "", widget: type[forms.Widget] = forms.TextInput) -> forms.CharField:
    return forms.CharField(label=label, required=False, max_length=ADDRESS_CHARACTERS, widget=widget)


class AddressForm(forms.Form):
    """Where an order or its bill goes: a checked one has it as `address`. Its country says what is asked for."""

    name = _part(gettext_lazy("Name"))
    country = forms.CharField(label=gettext_lazy("Country"), widget=forms.Select)
    street = _part(gettext_lazy("Street and house number"))
    extra = _part(gettext_lazy("Flat, company"))
    postcode = _part()
    city = _part()
    state = _part()
    phone = _part(gettext_lazy("Telephone"), forms.TelInput)

    def __init__(self, data: QueryDict | None = None, *, is_own: bool = True, **kwargs: Any) -> None:
        """Show what was typed; browsers fill in what `is_own`."""
        super().__init__(data, **kwargs)
        self.is_own = is_own
        typed = self["country"].value() or ""
        if country := country_of(typed):
            if data is not None:
                self.data = data.copy()
                self.data[self.add_prefix("country")] = country
            self.initial["country"] = country
        rules = rules_of(country)
        self.fields["country"].widget.choices = [("", _("Choose")), *choices()]
        self.fields["country"].widget.attrs |= fetch_fields(self.prefix, is_own=is_own) | {
            "hx-target": "closest .address-fields",
            "hx-swap": "outerHTML",
            "hx-sync": "this:replace",
        }
        if rules.states:
            shown = [(state, " / ".join(names)) for state, names in rules.states.items()]
            self.fields["state"].widget = forms.Select(choices=[("", _("Choose")), *shown])
        kind = "billing" if self.prefix == BILL else "shipping"
        for name, autocomplete in AUTOCOMPLETE.items():
            field = self.fields[name]
            field.label = rules.labels.get(name, field.label)
            field.required = name == "country" or name in rules.needs
            field.error_messages["required"] = MISSING.get(name, "")
            field.widget.attrs["autocomplete"] = f"{kind} {autocomplete}" if is_own else "off"
        self._has = {"country", "phone", *rules.has}

    @property
    def address_fields(self) -> list[forms.BoundField]:
        """The fields that an address of the country has, and others that something was typed in."""
        fields = (self[name] for name in AUTOCOMPLETE)
        return [field for field in fields if field.name in self._has or field.value() or field.errors]

    def clean(self) -> dict[str, Any]:
        typed = {name: self.cleaned_data.get(name, "") for name in ADDRESS_FIELDS}
        try:
            return self.cleaned_data | {"address": clean_address(Address(**typed))}
        except Invalid as error:
            more = {name: why for name, why in error.fields.items() if name not in self.errors}
            raise ValidationError(more) from None


def fetch_fields(prefix: str | None, *, is_own: bool) -> dict[str, str]:
    """Return what has htmx fetch the fields of an address."""
    sent = {"of": prefix or ""} | ({"own": ""} if is_own else {})
    return {"hx-post": reverse("address_fields"), "hx-vals": json.dumps(sent)}


def typed_address(sent: QueryDict, prefix: str = "") -> dict[str, str]:
    """Return what a form sent of an address, as it was typed."""
    return {name: sent.get(f"{prefix}-{name}" if prefix else name, "") for name in ADDRESS_FIELDS}


def kept_address(request: UserRequest) -> dict[str, str]:
    """Return the address that was chosen of those that a user keeps; nothing for none. 1 get."""
    kept = order_record.buyer(request.user.username).addresses
    return next((asdict(one) for one in kept if one.key == request.POST.get("kept")), {})


@signed_in.action
def address_fields(request: UserRequest) -> HttpResponse:
    """Show the fields of an address as the country that was chosen has them, with what was typed. No requests.

    Or with an address that the user keeps, 1 get, empty where they chose another one.
    """
    prefix = BILL if request.POST.get("of") == BILL else ""
    typed = typed_address(request.POST, prefix)
    typed["country"] = typed["country"] or request.POST.get(
        "country", ""
    )  # that of the order is likely the bill's
    if "use" in request.POST:
        typed = kept_address(request) or {"country": typed["country"]}
    form = AddressForm(initial=typed, prefix=prefix or None, is_own="own" in request.POST)
    return render(request, "_address_fields.html", {"form": form})


# The addresses that a shopper keeps


@signed_in.page("1 get")
def list_addresses(request: UserRequest) -> HttpResponse:
    """Show the addresses that a shopper keeps, the one used last first."""
    found = order_record.buyer(request.user.username).addresses
    context = {"addresses": found, "is_full": len(found) >= MOST_ADDRESSES, "most": MOST_ADDRESSES}
    return render(request, "accounts/addresses.html", context)


@signed_in.form("none")
def add_address(request: UserRequest) -> HttpResponse:
    """Show the form of another address, or keep it: 1 get + 1 update."""
    return _answer(request, AddressForm(request.POST if request.method == "POST" else None))


@signed_in.form("1 get")
def edit_address(request: UserRequest, key: str) -> HttpResponse:
    """Show the form of an address, or keep it as it is now: 2 gets + 1 update."""
    known = order_record.buyer(request.user.username).addresses
    if (address := next((one for one in known if one.key == key), None)) is None:
        raise NotFound(addresses.GONE)
    sent = request.POST if request.method == "POST" else None
    return _answer(request, AddressForm(sent, initial=asdict(address)), key)


def _answer(request: UserRequest, form: AddressForm, key: str = "") -> HttpResponse:
    def act() -> HttpResponse:
        addresses.keep(request.user.username, form.cleaned_data["address"], instead=key)
        messages.success(request, _("The address is saved."))
        return redirect("addresses")

    return answer_form(request, "accounts/edit_address.html", form, act, key=key)


@signed_in.action
def remove_address(request: UserRequest, key: str) -> HttpResponse:
    """Remove an address from those that a shopper keeps."""
    addresses.remove(request.user.username, key)
    messages.success(request, _("The address is removed."))
    return redirect("addresses")
