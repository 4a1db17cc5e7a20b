"""Forms of things that several editors may change at once: the version they were opened at, and what differs.

When somebody else saved in between, nothing is written. The form comes back with every field that
differs, theirs beside mine and a choice between them, at the newer version; saving again then
stands on top of it. Fields that this editor never touched are set to "theirs" from the start.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from django.forms import BoundField
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from cms.shared.field_merge import Merge, Typed, base_of, merge
from cms.shared.fields import LocalTimeField, version_in
from cms.shared.pictures import PictureForm, keep, kept
from dealsite.data.catalogue.cards import Picture

TOKEN_PATTERN = re.compile(r"[0-9a-f]{32}")
MOST_TOKENS = 50


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
        return self._readable(self.theirs)

    @property
    def my_text(self) -> str:
        return self._readable(self.mine)

    def _readable(self, text: str) -> str:
        choices = getattr(self.field.field, "choices", None) if self.field else None
        if choices:
            return str(dict(choices).get(text, text))
        is_time = self.field is not None and isinstance(self.field.field, LocalTimeField)
        return text.replace("T", " ") if is_time else text

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
        form.version, form.seen = version, base_of(typed)
        return form

    @classmethod
    def posted(cls, data: QueryDict, files: MultiValueDict | None = None) -> Self:
        """Return the form as it was sent."""
        form = cls(data.copy(), files)
        form.version = version_in(data.get("version", ""))
        form.seen = data.get("seen", "")
        tokens = data.get("autosaves", "").split()[-MOST_TOKENS:]
        form.autosaves = tuple(token for token in tokens if TOKEN_PATTERN.fullmatch(token))
        return form

    @property
    def token(self) -> str:
        """The token of this saving by itself."""
        return self.autosaves[-1] if self.autosaves else secrets.token_hex(16)

    @property
    def choices(self) -> dict[str, str]:
        """Whose text the editor chose, by field."""
        return {name: self.data.get(f"choice_{name}", "") for name in self.compared}

    @property
    def chooses(self) -> bool:
        """Tell whether the editor chose another's text for some field."""
        return "theirs" in self.choices.values()

    def take(self, theirs: Typed) -> None:
        """Fill in "theirs" where the editor chose so; before the form is checked."""
        for name, choice in self.choices.items():
            if choice != "theirs":
                continue
            self.data[name] = theirs.get(name, "")
            if name == "picture_kept":
                self.files = MultiValueDict()
                self.data["picture_remove"] = ""
                self.picture = kept(theirs.get(name, ""), "")

    def merged(self, theirs: Typed, choices: dict[str, str] | None = None) -> Merge:
        """Return what this editor typed, merged with what is stored."""
        mine = {name: self.data.get(name, "") for name in self.compared}
        if "picture_kept" in mine:
            mine["picture_kept"] = keep(self.picture)
        return merge(self.seen, mine, theirs, choices)

    def differs_from(self, theirs: Typed) -> bool:
        """Tell whether saving this form would change anything."""
        return bool(self.merged(theirs).differing)

    def set_against(self, theirs: Typed, version: int) -> None:
        """Show what differs from the version that is stored now, and let the next save stand on top of it."""
        self.differences = tuple(
            Difference(name, self.label_of(name), one.theirs, one.mine, one.choice, self._field(name))
            for name, one in self.merged(theirs, self.choices).differing.items()
        )
        self.version, self.seen = version, base_of(theirs)

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
    def conflicts(self) -> set[str]:
        """The names of the fields that differ, which stand beside the other editor's text."""
        return {difference.name for difference in self.differences}

    def _field(self, name: str) -> BoundField | None:
        return None if name == "picture_kept" else self[name]

    def label_of(self, name: str) -> str:
        if name == "picture_kept":
            return _("Logo") if self.picture_noun == "logo" else _("Picture")
        return str(self[name].label)
