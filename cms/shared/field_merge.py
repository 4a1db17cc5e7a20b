"""A three-way merge of what two people typed into the same fields: base, mine and theirs.

The base is what the form showed when it was opened. It is kept as fingerprints: they tell which fields were left as
they were, and fit into the form.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

Typed = dict[str, str]  # field name -> text as the form's input holds it


@dataclass(frozen=True)
class FieldMerge:
    """A field where mine and theirs differ; `choice` is whose text stays, unless it is a conflict."""

    mine: str
    theirs: str
    choice: str
    is_conflict: bool


@dataclass(frozen=True)
class Merge:
    """The fields as they are to be, with mine where there is a conflict, and those where mine and theirs differ."""

    result: Typed
    differing: dict[str, FieldMerge]

    @property
    def conflicts(self) -> dict[str, FieldMerge]:
        """The fields that both changed, to different texts."""
        return {name: one for name, one in self.differing.items() if one.is_conflict}


def merge(
    base: str, mine: Mapping[str, str], theirs: Mapping[str, str], choices: Mapping[str, str] | None = None
) -> Merge:
    """Merge by field; `choices` are what was chosen in an earlier conflict. Without a base, mine stays."""
    shown, chosen = _read(base), choices or {}
    result: Typed = {}
    differing = {}
    for name, typed in mine.items():
        text, other = with_line_ends(typed), with_line_ends(theirs.get(name, ""))
        result[name] = text
        if text == other:
            continue
        was_left = shown.get(name) == _fingerprint(text)
        choice = chosen.get(name) or ("theirs" if was_left else "mine")
        takes_theirs = was_left or choice == "theirs"
        is_conflict = not takes_theirs and shown.get(name, _fingerprint(other)) != _fingerprint(other)
        differing[name] = FieldMerge(text, other, choice, is_conflict)
        if takes_theirs:
            result[name] = other
    return Merge(result, differing)


def base_of(typed: Mapping[str, str]) -> str:
    """Return a base: what a form shows, as fingerprints."""
    return json.dumps({name: _fingerprint(with_line_ends(text)) for name, text in typed.items()})


def rebase(base: str, typed: Mapping[str, str]) -> str:
    """Return a base with other texts for some fields."""
    return json.dumps(_read(base) | _read(base_of(typed)))


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
