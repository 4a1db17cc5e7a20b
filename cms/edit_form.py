"""Forms of things that several editors may change at once: the version they were opened at, and what differs.

When somebody else saved in between, nothing is written. The form comes back with every field that
differs, theirs beside mine and a choice between them, at the newer version; saving again then
stands on top of it. Fields that this editor never touched are set to "theirs" from the start.
"""

from __future__ import annotations

import json
import re
import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from django.forms import BoundField
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from cms.fields import LocalTimeField
from cms.kept_pictures import PictureForm, keep, kept
from dealsite.data.cards import Picture

VERSION_PATTERN = re.compile(r"[0-9]{1,9}")
TOKEN_PATTERN = re.compile(r"[0-9a-f]{32}")
MOST_TOKENS = 50

Typed = dict[str, str]  # field name -> text as the form's input holds it


@dataclass(frozen=True)
class Difference:
    """A field that is not the same in both versions; `choice` is "mine" or "theirs"."""

    name: str
    label: str
    theirs: str
    mine: str
    choice: str
    field: BoundField | None

    @property
    def their_text(self) -> str:
        """Theirs, as a person reads it."""
        choices = getattr(self.field.field, "choices", None) if self.field else None
        if choices:
            return str(dict(choices).get(self.theirs, self.theirs))
        is_time = self.field is not None and isinstance(self.field.field, LocalTimeField)
        return self.theirs.replace("T", " ") if is_time else self.theirs

    @property
    def their_picture(self) -> Picture | None:
        return kept(self.theirs, "")

    @property
    def my_picture(self) -> Picture | None:
        return kept(self.mine, "")


class EditForm(PictureForm):
    """A form with a picture, opened at `version`; `differences` is filled by a conflict.

    `autosaves` are the tokens of what its page saved by itself without having heard that it was: the newest last.
    """

    compared: ClassVar[tuple[str, ...]] = ()

    data: QueryDict
    version = 0
    seen = ""
    autosaves: tuple[str, ...] = ()
    against = ""  # what the differences are to, where it is not what is stored
    differences: tuple[Difference, ...] = ()

    @classmethod
    def opened(cls, typed: Typed, version: int) -> Self:
        """Return the form as it is first shown."""
        form = cls(initial=typed)
        form.version, form.seen = version, fingerprints(typed)
        return form

    @classmethod
    def posted(cls, data: QueryDict, files: MultiValueDict) -> Self:
        """Return the form as it was sent."""
        form = cls(data.copy(), files)
        version = data.get("version", "")
        form.version = int(version) if VERSION_PATTERN.fullmatch(version) else 0
        form.seen = data.get("seen", "")
        tokens = data.get("autosaves", "").split()[-MOST_TOKENS:]
        form.autosaves = tuple(token for token in tokens if TOKEN_PATTERN.fullmatch(token))
        return form

    @property
    def token(self) -> str:
        """The token of this saving by itself."""
        return self.autosaves[-1] if self.autosaves else secrets.token_hex(16)

    @property
    def chooses(self) -> bool:
        """Tell whether the editor chose another's text for some field."""
        return any(self.data.get(f"choice_{name}") == "theirs" for name in self.compared)

    def take(self, theirs: Typed) -> None:
        """Fill in "theirs" where the editor chose so; before the form is checked."""
        for name in self.compared:
            if self.data.get(f"choice_{name}") != "theirs":
                continue
            self.data[name] = theirs.get(name, "")
            if name == "picture_kept":
                self.files = MultiValueDict()
                self.data["picture_remove"] = ""
                self.picture = kept(theirs.get(name, ""), "")

    def mine(self) -> Typed:
        """Return what this editor typed, by field."""
        typed = {name: _line_ends(self.data.get(name, "")) for name in self.compared}
        if "picture_kept" in typed:
            typed["picture_kept"] = keep(self.picture)
        return typed

    def was_left(self, name: str) -> bool:
        """Tell whether this editor left a field as the form showed it."""
        return name in (seen := _read(self.seen)) and seen[name] == _fingerprint(self.mine()[name])

    def showed(self, name: str, text: str) -> bool:
        """Tell whether this is the text that the form showed in a field, as far as is known."""
        seen = _read(self.seen)
        return name not in seen or seen[name] == _fingerprint(_line_ends(text))

    def show_anew(self, name: str, text: str) -> None:
        """Note that this is what a field's form shows from now on, whatever was typed into it."""
        self.seen = json.dumps(_read(self.seen) | {name: _fingerprint(_line_ends(text))})

    def differs_from(self, theirs: Typed) -> bool:
        """Tell whether saving this form would change anything."""
        return any(text != _line_ends(theirs.get(name, "")) for name, text in self.mine().items())

    def set_against(self, theirs: Typed, version: int) -> None:
        """Show what differs from the version that is stored now, and let the next save stand on top of it."""
        seen = _read(self.seen)
        differences = []
        for name, mine in self.mine().items():
            other = _line_ends(theirs.get(name, ""))
            if mine != other:
                untouched = seen.get(name) == _fingerprint(mine)
                choice = self.data.get(f"choice_{name}") or ("theirs" if untouched else "mine")
                differences.append(
                    Difference(name, self.label_of(name), other, mine, choice, self._field(name))
                )
        self.differences = tuple(differences)
        self.version, self.seen = version, fingerprints(theirs)

    def refuse(self, problems: Mapping[str, str], otherwise: str = "") -> None:
        """Turn what the data layer refuses, by field, into errors of the fields that hold it."""
        self.is_valid()
        for name, sentence in problems.items():
            if name == "picture" or name == "logo":
                name = "picture_alt" if self.picture else "picture_file"
            if name not in self.errors:  # one reason a field is enough
                self.add_error(name if name in self.fields else None, sentence)
        if otherwise and not problems:
            self.add_error(None, otherwise)

    @property
    def contested(self) -> set[str]:
        """The names of the fields that differ, which stand beside the other editor's text."""
        return {difference.name for difference in self.differences}

    def _field(self, name: str) -> BoundField | None:
        return None if name == "picture_kept" else self[name]

    def label_of(self, name: str) -> str:
        if name == "picture_kept":
            return _("Logo") if self.picture_noun == "logo" else _("Picture")
        return str(self[name].label)


def fingerprints(typed: Typed) -> str:
    """Return a short text that tells later which fields were left as they were when the form was opened."""
    return json.dumps({name: _fingerprint(_line_ends(text)) for name, text in typed.items()})


def _fingerprint(text: str) -> int:
    return zlib.crc32(text.encode(errors="surrogatepass"))


def _read(seen: str) -> dict[str, int]:
    try:
        read = json.loads(seen)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _line_ends(text: str) -> str:
    """Browsers send line ends as CR LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
