"""A form that takes a picture and keeps it: what was uploaded once is never asked for again.

The file is stored as soon as it arrives; its name then travels, signed, in a hidden field, through
every error, conflict and try, until the form is saved. A name that this site did not sign is refused.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.core.signing import BadSignature, Signer

from dealsite import pictures
from dealsite.data.cards import Picture
from dealsite.data.content import ALT_CHARACTERS
from dealsite.data.errors import Invalid

_signer = Signer(salt="cms.kept_pictures")
ACCEPTED = "image/jpeg,image/png,image/webp,image/avif,image/gif"


def keep(picture: Picture | None) -> str:
    """Return a picture as signed text, the same for the same picture; '' for none."""
    if picture is None:
        return ""
    return _signer.sign_object([picture.name, picture.width, picture.height])


def kept(token: str, alt: str) -> Picture | None:
    """Return the picture of a hidden field with an alt text, or None if there is none or it is not ours."""
    if not token:
        return None
    try:
        name, width, height = _signer.unsign_object(token)
    except (BadSignature, ValueError, TypeError):
        return None
    return Picture(name=name, width=width, height=height, alt=alt)


class PictureForm(forms.Form):
    """The part of a form that holds one picture, as `picture` once the form was checked."""

    picture_file = forms.FileField(
        required=False,
        allow_empty_file=True,  # refused where pictures are checked, with a better sentence
        widget=forms.FileInput(attrs={"accept": ACCEPTED}),
        help_text="JPEG, PNG, WebP, AVIF or GIF, up to 10 MB and 20 megapixels.",
    )
    picture_alt = forms.CharField(
        required=False,
        max_length=ALT_CHARACTERS,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="Says in words what the picture shows, for those who do not see it.",
    )
    picture_remove = forms.BooleanField(required=False)
    picture_kept = forms.CharField(required=False, widget=forms.HiddenInput)

    picture_noun = "picture"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        noun = self.picture_noun
        self.fields["picture_file"].label = noun.capitalize()
        self.fields["picture_alt"].label = f"Text for the {noun}"
        self.fields["picture_remove"].label = f"Remove the {noun}"
        token = self.data.get("picture_kept", "") if self.is_bound else self.initial.get("picture_kept", "")
        self.picture: Picture | None = kept(token, "")

    @property
    def picture_token(self) -> str:
        """The value of the hidden field when the form is shown (again)."""
        return keep(self.picture)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        alt = cleaned.get("picture_alt", "")
        upload = cleaned.get("picture_file")
        if isinstance(upload, UploadedFile):
            try:
                self.picture = pictures.store_picture(upload, alt)
            except Invalid as error:
                self.add_error("picture_file", error.fields.get("picture", str(error)))
            except OSError:
                self.add_error("picture_file", "The picture could not be stored just now. Please try again.")
        elif cleaned.get("picture_remove"):
            self.picture = None
        if self.picture is not None:
            self.picture = dataclasses.replace(self.picture, alt=alt)
        return cleaned
