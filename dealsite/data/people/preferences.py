"""What a user chose for himself: kept on his sign-in item, which every request of his reads anyway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import NotFound
from dealsite.data.table.writes import Path, Update, exists, missing

MOST_COLUMNS = 20
COLUMN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class Preferences:
    """`language` is '' for the site's own; `columns` of the list of deals are () for the usual ones.

    `autosave`: drafts are saved while they are written. `shortcuts`: single keys do things in the CMS.
    """

    language: str = ""
    autosave: bool = True
    shortcuts: bool = True
    columns: tuple[str, ...] = ()


USUAL = Preferences()
NAMES = ("language", "autosave", "shortcuts", "columns")  # the attributes of the sign-in item


def from_item(item: Mapping[str, Any]) -> Preferences:
    """Return the preferences that a sign-in item holds."""
    return Preferences(
        language=item.get("language", USUAL.language),
        autosave=item.get("autosave", USUAL.autosave),
        shortcuts=item.get("shortcuts", USUAL.shortcuts),
        columns=tuple(item.get("columns", USUAL.columns)),
    )


@access_pattern("keep a user's own choices: language, columns, autosave, shortcuts", "USER#u", "1 update")
def save(
    username: str,
    *,
    language: str | None = None,
    autosave: bool | None = None,
    shortcuts: bool | None = None,
    columns: tuple[str, ...] | None = None,
) -> None:
    """Keep what is given, and leave the rest as it is; NotFound for who is no user any more. 1 update."""
    if columns is not None and (
        len(columns) > MOST_COLUMNS or any(len(c) > COLUMN_CHARACTERS for c in columns)
    ):
        raise ValueError("These are no columns of a list.")
    given = {
        "language": language,
        "autosave": autosave,
        "shortcuts": shortcuts,
        "columns": None if columns is None else list(columns),
    }
    changes: dict[Path, Any] = {name: value for name, value in given.items() if value is not None}
    if not changes:
        return
    gone = NotFound(gettext_lazy("There is no such user."))
    table.write(
        Update(key=keys.user(username), set=changes, when=(exists(), missing("deleted_at")), otherwise=gone)
    )
