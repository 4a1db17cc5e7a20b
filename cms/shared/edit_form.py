"""Forms of things that several editors may change at once: the version they were opened at, and what differs.

What somebody else saved in between stays in the fields that this editor left as they were. Where both changed
one, nothing is written: the form comes back with theirs beside mine and a choice between them, and with what only
they changed taken over, at the newer version; saving again then stands on top of it.

The base of that merge of three, what the form showed when it was opened, is kept as fingerprints: they tell which
fields were left as they were, and fit into the form.
"""

import json
import re
import secrets
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from django.forms import BooleanField, BoundField
from django.http import HttpResponse, QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from cms.shared.fields import LocalTimeField, PictureForm, keep, kept, version_in
from dealsite.data.catalogue.cards import Picture
from dealsite.data.catalogue.deal_changes import StockChanged
from dealsite.data.editing.pending_edits import PendingEditsConflict
from dealsite.data.table.errors import Busy, Invalid, Unavailable, VersionConflict

Show = Callable[..., HttpResponse]  # shows a form again, with `status` and perhaps `trouble`
TRIES = 5
TOKEN_PATTERN = re.compile(r"[0-9a-f]{32}")
MOST_TOKENS = 50
SHORT = 60  # characters of a text that stands in a line with another


Typed = dict[str, str]  # field name -> text as the form's input holds it


@dataclass(frozen=True)
class FieldMerge:
    """A field where mine and theirs differ; `choice` is whose text stays, unless it is a conflict."""

    mine: str
    theirs: str
    choice: str
    is_conflict: bool


def merge(
    base: str,
    mine: Mapping[str, str],
    theirs: Mapping[str, str],
    *,
    units: Iterable[Collection[str]] = (),
    is_newer: bool = False,
) -> dict[str, FieldMerge]:
    """Return the fields where mine and theirs differ.

    One that I left as it was takes theirs; what both changed is a conflict, as is what belongs together (`units`) of
    which I changed one and they another. `is_newer`: theirs was changed since, where the base does not tell.
    """
    shown = _read(base)
    texts = {name: (with_line_ends(mine[name]), with_line_ends(theirs.get(name, ""))) for name in mine}
    prints = {name: (_fingerprint(text), _fingerprint(other)) for name, (text, other) in texts.items()}
    by_me = {name for name in texts if shown.get(name) != prints[name][0]}
    by_them = {name for name in texts if (shown[name] != prints[name][1] if name in shown else is_newer)}
    contested = by_me & by_them
    contested.update(*(one for one in units if by_me.intersection(one) and by_them.intersection(one)))
    return {
        name: FieldMerge(text, other, "mine" if name in by_me else "theirs", name in contested)
        for name, (text, other) in texts.items()
        if text != other
    }


def base_of(typed: Mapping[str, str]) -> str:
    """Return a base: what a form shows, as fingerprints."""
    return json.dumps({name: _fingerprint(with_line_ends(text)) for name, text in typed.items()})


def with_text(base: str, name: str, text: str) -> str:
    """Return a base in which a field showed another text."""
    return json.dumps(_read(base) | {name: _fingerprint(text)})


def with_line_ends(text: str) -> str:
    """Browsers send line ends as CR LF; return them as they are stored."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _fingerprint(text: str) -> int:
    return zlib.crc32(text.encode(errors="surrogatepass"))


def _read(base: str) -> dict[str, int]:
    try:
        read = json.loads(base)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def until_saved(attempt: Callable[[], HttpResponse]) -> HttpResponse:
    """Save a form, again where others were faster: each attempt reads what there is, and merges that into the form."""
    for _try in range(TRIES):
        with suppress(VersionConflict, StockChanged, PendingEditsConflict):
            return attempt()
    raise Busy


@dataclass(frozen=True)
class Difference:
    """A field that is not the same in both versions; `choice` is "mine" or "theirs"."""

    name: str
    label: str
    theirs: str
    mine: str
    choice: str
    is_conflict: bool
    field: BoundField | None

    @property
    def is_taken(self) -> bool:
        """Tell whether only they changed it."""
        return self.choice == "theirs" and not self.is_conflict

    @property
    def is_short(self) -> bool:
        texts = (self.their_text, self.my_text)
        return self.field is not None and all(len(text) <= SHORT and "\n" not in text for text in texts)

    @property
    def their_text(self) -> str:
        """Theirs, as a person reads it."""
        return self._readable(self.theirs)

    @property
    def my_text(self) -> str:
        return self._readable(self.mine)

    def _readable(self, text: str) -> str:
        field = self.field.field if self.field else None
        if isinstance(field, BooleanField):
            return _("Yes") if text else _("No")
        if text and (choices := getattr(field, "choices", None)):
            return str(dict(choices).get(text, text))
        return (text.replace("T", " ") if isinstance(field, LocalTimeField) else text) or _("Empty")

    @property
    def their_picture(self) -> Picture | None:
        return kept(self.theirs, "")

    @property
    def my_picture(self) -> Picture | None:
        return kept(self.mine, "")


class EditForm(PictureForm):
    """A form with a picture, opened at `version`.

    Where it was overtaken, `differences` are the fields that both changed, and `mine_alone` those that only this
    editor did, by their labels; `taken` are the fields that now hold what somebody else saved meanwhile.

    `autosaves` are the tokens of what its page saved by itself without having heard that it was: the newest last.
    """

    compared: ClassVar[tuple[str, ...]] = ()
    units: ClassVar[tuple[tuple[str, ...], ...]] = (("picture_kept", "picture_alt"),)  # that belong together

    data: QueryDict
    entry: Any = None  # what it changes, as it is stored; None where that is not there, or could not be read
    version = 0
    seen = ""
    autosaves: tuple[str, ...] = ()
    against = ""  # what the differences are to, where it is not what is stored
    is_overtaken = False
    differences: tuple[Difference, ...] = ()
    mine_alone: tuple[str, ...] = ()
    taken: tuple[Difference, ...] = ()

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

    def save(self, attempt: Callable[[], HttpResponse], show: Show) -> HttpResponse:
        """Save it, as `until_saved` does; whatever fails, it is shown again with all that was typed."""
        try:
            return until_saved(attempt)
        except Invalid as error:
            self.refuse(error.fields, str(error))
            return show(status=422)
        except Unavailable as error:
            return show(trouble=str(error), status=503)

    @property
    def token(self) -> str:
        """The token of this saving by itself."""
        return self.autosaves[-1] if self.autosaves else secrets.token_hex(16)

    def take_chosen(self, theirs: Typed) -> None:
        """Fill in "theirs" where the editor chose so."""
        chosen = [name for name in self.compared if self.data.get(f"choice_{name}") == "theirs"]
        if "picture_kept" in chosen:
            self.files = MultiValueDict()
        self.fill_in({name: theirs.get(name, "") for name in chosen})

    def fill_in(self, theirs: Typed) -> None:
        """Put texts into inputs, and check all of them again."""
        for name, text in theirs.items():
            self.data[name] = text
            if name == "picture_kept":
                self.data["picture_remove"] = ""
                self.picture = kept(text, "")
        if theirs:
            self.full_clean()

    def merged(self, theirs: Typed, *, is_newer: bool = False) -> dict[str, FieldMerge]:
        """Return how what this editor typed merges with what is stored, where they differ."""
        mine = {name: self.data.get(name, "") for name in self.compared}
        if "picture_kept" in mine:
            mine["picture_kept"] = keep(self.picture)
        return merge(self.seen, mine, theirs, units=self.units, is_newer=is_newer)

    def differs_from(self, theirs: Typed) -> bool:
        """Tell whether this form holds anything but what is stored."""
        return bool(self.merged(theirs))

    def settle(
        self, theirs: Typed, version: int, *, takes_unseen: bool = True, is_newer: bool | None = None
    ) -> bool:
        """Take over what others saved since in fields that were left as they were; False where both changed one.

        The form was found valid. Where both did, or they changed anything and not `takes_unseen`, it is set against
        theirs. `is_newer`: they saved since, where the version does not tell.
        """
        if is_newer is None:
            is_newer = version != self.version
        found = self._found(theirs, is_newer=is_newer)
        if any(one.is_conflict or (one.is_taken and not takes_unseen) for one in found):
            self.set_against(theirs, version)
            return False
        taken = self._take_over(found)
        if is_newer:
            self.taken += taken
        self.version, self.seen = version, base_of(theirs)
        return True

    def also_said(self, name: str) -> str:
        """Return which fields hold what somebody else saved meanwhile, to be said with what was saved; '' for none."""
        if not self.taken:
            return ""
        words = {"name": name, "fields": ", ".join(dict.fromkeys(one.label for one in self.taken))}
        return " " + _("What %(name)s changed meanwhile stays: %(fields)s.") % words

    def compare(self, theirs: Typed, version: int) -> int:
        """Set it against theirs if they saved since; returns the status of that page."""
        if version == self.version:
            return 200
        self.set_against(theirs, version)
        return 409

    def set_against(self, theirs: Typed, version: int) -> None:
        """Take over what only they changed, show what both did, and let the next save stand on top of it."""
        found = self._found(theirs, is_newer=True)
        self.is_overtaken = True
        self.differences = tuple(one for one in found if one.is_conflict)
        self.mine_alone = tuple(one.label for one in found if one.choice == "mine" and not one.is_conflict)
        self.taken += self._take_over(found)
        self.version, self.seen = version, base_of(theirs)

    def _take_over(self, found: list[Difference]) -> tuple[Difference, ...]:
        """Fill in what only they changed, and return it."""
        taken = tuple(one for one in found if one.is_taken)
        self.fill_in({one.name: one.theirs for one in taken})
        return taken

    def _found(self, theirs: Typed, *, is_newer: bool) -> list[Difference]:
        return [
            Difference(
                name,
                self.label_of(name),
                one.theirs,
                one.mine,
                one.choice,
                one.is_conflict,
                self._field(name),
            )
            for name, one in self.merged(theirs, is_newer=is_newer).items()
        ]

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
        """The names of the fields that both changed, which stand beside the other editor's text."""
        return {difference.name for difference in self.differences}

    def _field(self, name: str) -> BoundField | None:
        return None if name == "picture_kept" else self[name]

    def label_of(self, name: str) -> str:
        if name == "picture_kept":
            return _("Logo") if self.picture_noun == "logo" else _("Picture")
        return str(self[name].label)
