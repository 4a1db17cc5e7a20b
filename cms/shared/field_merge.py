"""A three-way merge of what two people typed into the same fields: base, mine and theirs.

The base is what the form showed when it was opened. It is kept as fingerprints: they tell which fields were left as
they were, and fit into the form.
"""

import json
import zlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

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
