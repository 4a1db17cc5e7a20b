"""The forms of the account pages, and how a page answers one; field names are the data functions' arguments."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _, gettext_lazy

from dealsite.accounts import locales, passwords, second_factor
from dealsite.accounts.passwords import Owner
from dealsite.data.entities.deals import LAST_VERSION
from dealsite.data.entities.people import USERNAME_CHARACTERS
from dealsite.data.names import as_typed, email_as_typed, normalise_email, normalise_username
from dealsite.data.table.errors import AlreadyExists, DataError, Invalid, TooManyRequests
from dealsite.text.stored_words import Text
from dealsite.text.writing import number_in

USERNAME_INPUT = {"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}
EITHER_CODE = gettext_lazy("The six digits that your app shows, or one of your recovery codes.")


class PasswordField(forms.CharField):
    """A password, as typed: spaces at its ends belong to it."""

    def __init__(self, *, autocomplete: str, **kwargs: Any) -> None:
        widget = forms.PasswordInput(attrs={"autocomplete": autocomplete})
        super().__init__(strip=False, max_length=passwords.MOST_CHARACTERS, widget=widget, **kwargs)


PIECES_INPUT = {"inputmode": "numeric", "autocomplete": "off"}


class PiecesField(forms.IntegerField):
    """How many there are: digits alone, since 1.000 is a thousand to some and one to others.

    A text, since browsers send nothing of an input for numbers in which they read none, and nothing is not counted.
    """

    widget = forms.TextInput(attrs=PIECES_INPUT)

    def to_python(self, value: Any) -> int | None:
        text = str(value).strip() if value is not None else ""
        number = number_in(text.removeprefix("-"), most=18)
        if number is None and text:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return -number if number and text.startswith("-") else number


class CodeField(forms.CharField):
    """A code of an authenticator app, or a recovery code: digits, spaced as one likes."""

    def __init__(self, help_text: Text = EITHER_CODE) -> None:
        attrs = {"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false"}
        widget = forms.TextInput(attrs=attrs)
        super().__init__(label=gettext_lazy("Code"), max_length=40, widget=widget, help_text=help_text)


class EmailField(forms.CharField):
    """An e-mail address, which is kept as `email_as_typed` writes it."""

    def __init__(self, **kwargs: Any) -> None:
        # No type=email: of it Chromium sends another domain, strasse.example for straße.example.
        attrs = {
            "autocomplete": "email",
            "inputmode": "email",
            "autocapitalize": "none",
            "spellcheck": "false",
        }
        widget = forms.TextInput(attrs=attrs)
        super().__init__(label=gettext_lazy("E-mail"), max_length=254, widget=widget, **kwargs)

    def clean(self, value: Any) -> str:
        return _checked(email_as_typed, super().clean(value))


def _new_password_field(label: Text = gettext_lazy("Password")) -> PasswordField:
    return PasswordField(
        label=label,
        autocomplete="new-password",
        help_text=gettext_lazy("At least 10 characters. Several words make a good one."),
    )


def old_password_field(**kwargs: Any) -> PasswordField:
    return PasswordField(label=gettext_lazy("Current password"), autocomplete="current-password", **kwargs)


class SignUpForm(forms.Form):
    username = forms.CharField(
        label=gettext_lazy("User name"),
        max_length=100,
        help_text=gettext_lazy("3 to 30 letters (a to z), digits, dots, dashes or underscores."),
        widget=forms.TextInput(attrs=USERNAME_INPUT),
    )
    email = EmailField(help_text=gettext_lazy("We send a link to confirm it."))
    password = _new_password_field()
    registration = forms.CharField(max_length=26, widget=forms.HiddenInput)

    def clean_username(self) -> str:
        text: str = self.cleaned_data["username"]
        _checked(normalise_username, text)
        return text

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        owner = Owner(data.get("username", ""), data.get("username", ""), data.get("email", ""))
        _check_password(self, owner)
        return data


class UnkeptInput(forms.HiddenInput):
    """What is good once is not shown again with the form."""

    def format_value(self, value: Any) -> None:
        return None


class PasskeyForm(forms.Form):
    """A form that a passkey can answer in place of all that it asks for (static/js/passkeys.js)."""

    passkey = forms.CharField(required=False, max_length=8_000, widget=UnkeptInput)

    def __init__(self, *args: Any, needs_code: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not needs_code:
            del self.fields["code"]
        if not needs_code or not second_factor.passkeys_are_possible():
            del self.fields["passkey"]
        elif self.data.get(self.add_prefix("passkey")):
            for field in self.fields.values():
                field.required = False

    @property
    def by_passkey(self) -> bool:
        """Tell whether a valid form was answered so."""
        return bool(self.cleaned_data.get("passkey"))


class SignInForm(PasskeyForm):
    name = forms.CharField(
        label=gettext_lazy("User name or e-mail"),
        max_length=254,
        widget=forms.TextInput(attrs=USERNAME_INPUT),
    )
    password = PasswordField(label=gettext_lazy("Password"), autocomplete="current-password")


class CodeForm(PasskeyForm):
    """The second step of signing in."""

    code = CodeField()


class SignInAgainForm(SignInForm):
    """Signing in in the middle of something."""

    prefix = "proof"


class CodeAgainForm(CodeForm):
    """The second step of that; `half` is what a cookie holds otherwise."""

    prefix = "proof"
    half = forms.CharField(max_length=500, widget=forms.HiddenInput)


class NewPasswordForm(forms.Form):
    """A new password for a user who followed a reset link."""

    password = _new_password_field(gettext_lazy("New password"))

    def __init__(self, *args: Any, owner: Owner, **kwargs: Any) -> None:
        self.owner = owner
        super().__init__(*args, **kwargs)

    def clean(self) -> dict[str, Any]:
        _check_password(self, self.owner)
        return self.cleaned_data


class PasswordForm(NewPasswordForm):
    """A new password for a user who says the old one."""

    old_password = old_password_field()
    field_order = ("old_password", "password")


class PasswordResetForm(forms.Form):
    email = forms.CharField(
        label=gettext_lazy("User name or e-mail"),
        max_length=254,
        widget=forms.TextInput(attrs=USERNAME_INPUT),
    )

    def clean_email(self) -> str:
        text: str = self.cleaned_data["email"]
        return _checked(normalise_email if "@" in text else normalise_username, text)


class ProfileForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=200,
        help_text=gettext_lazy("Shown to you, and to our editors. Your user name stays as it is."),
        widget=forms.TextInput(attrs={"autocomplete": "nickname"}),
    )
    email = EmailField()
    timezone = forms.ChoiceField(
        label=gettext_lazy("Time zone"), required=False, help_text=gettext_lazy("Times are shown in it.")
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        required=False,
        help_text=gettext_lazy("Of the pages that you see, and of mails to you."),
    )
    old_password = old_password_field(
        required=False, help_text=gettext_lazy("Only needed for another e-mail address.")
    )
    version = forms.IntegerField(min_value=1, max_value=LAST_VERSION, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["timezone"].choices = [  # type: ignore[attr-defined]
            ("", _("That of my browser, or else of the site")),
            *locales.zone_choices(),
        ]
        self.fields["language"].choices = [("", _("That of the site")), *settings.LANGUAGES]  # type: ignore[attr-defined]

    def clean_name(self) -> str:
        name = as_typed(self.cleaned_data["name"])
        if not name or len(name) > USERNAME_CHARACTERS:
            raise ValidationError(_("A name has 1 to %(most)s characters.") % {"most": USERNAME_CHARACTERS})
        return name


class SetUpTwoFactorForm(forms.Form):
    """The first code of an app that has just been given its secret; `secret` is sealed."""

    secret = forms.CharField(max_length=500, widget=forms.HiddenInput)
    code = CodeField(gettext_lazy("The six digits that your app shows now."))
    old_password = old_password_field()


class TwoFactorForm(PasskeyForm):
    """What a user is asked for before their second factor changes, or their account is deleted."""

    old_password = old_password_field()
    code = CodeField()


class ReauthenticationForm(TwoFactorForm):
    """The same in the middle of something dangerous; its names stay apart from the page's own."""

    prefix = "proof"


class AddPasskeyForm(TwoFactorForm):
    """The name of a new passkey, and what shows that the user may add one."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=USERNAME_CHARACTERS,
        help_text=gettext_lazy("So that you know it again, by its device or password manager."),
    )
    field_order = ("name",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = True


def _checked(normalised: Any, text: str) -> str:
    """Return what a normalising function makes of a text, its error as the form's."""
    try:
        result: str = normalised(text)
    except Invalid as error:
        raise ValidationError(str(error)) from None
    return result


def _check_password(form: forms.Form, owner: Owner) -> None:
    """Add to the field `password` what the validators have against it."""
    try:
        if "password" in form.cleaned_data:
            passwords.check(form.cleaned_data["password"], owner)
    except ValidationError as error:
        form.add_error("password", error)


def answer_form(
    request: HttpRequest,
    template: str,
    form: forms.Form,
    act: Callable[[], HttpResponse | None],
    *,
    refusals: tuple[type[DataError], ...] = (TooManyRequests,),
    **context: Any,
) -> HttpResponse:
    """Show a form, or do what a valid one asks for; `act` returns None where the form says what is wrong.

    The errors in `refusals` are shown beside the field that they are about, else above the form.
    """
    status, refused = 200, None
    if request.method == "POST":
        status = 422
        try:
            if form.is_valid() and (response := act()):
                return response
        except refusals as error:
            status, refused = error.status, error
            field = error.field if isinstance(error, AlreadyExists) else ""
            form.add_error(field if field in form.fields else None, str(error))
    response = render(request, template, {"form": form, **context}, status=status)
    if isinstance(refused, TooManyRequests):
        response["Retry-After"] = str(refused.retry_after)
    return response
