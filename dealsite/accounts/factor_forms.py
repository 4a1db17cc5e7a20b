"""The forms by which users change what signs them in beside their password."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from dealsite.accounts.forms import CodeField, PasskeyForm, old_password_field
from dealsite.data.entities.people import NAME_CHARACTERS


class SetUpTwoFactorForm(forms.Form):
    """The first code of an app that has just been given its secret; `secret` is sealed."""

    secret = forms.CharField(max_length=500, widget=forms.HiddenInput)
    code = CodeField(gettext_lazy("The six digits that your app shows now."))
    old_password = old_password_field()


class TwoFactorForm(PasskeyForm):
    """What a user is asked for before their second factor changes."""

    old_password = old_password_field()
    code = CodeField()


class AddPasskeyForm(TwoFactorForm):
    """The name of a new passkey, and what shows that the user may add one."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=NAME_CHARACTERS,
        help_text=gettext_lazy("So that you know it again, by its device or password manager."),
    )
    field_order = ("name",)

    def __init__(self, *args: Any, needs_code: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = True
        if not needs_code:
            del self.fields["code"]
            self.fields.pop("passkey", None)
