"""What can go wrong with data, and the HTTP status that each error means.

DataError
├── Invalid             400  the input cannot be taken; `fields` says why, by field
│   └── BadCursor       400  a paging cursor that this site did not make
├── Forbidden           403  signed in, but this is not for you
├── NotFound            404  it does not exist, or is not for you to know of
├── Conflict            409  it is no longer as you saw it
│   ├── AlreadyExists   409  the name is taken
│   ├── VersionConflict 409  somebody else changed it meanwhile; `current` is what is there now
│   └── TooLarge        409  more changes than one transaction can hold
├── TooManyRequests     429  wait `retry_after` seconds
└── Unavailable         503  the table does not answer
    └── Busy            503  it answers, but is overloaded or contended
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

# Translated when it is shown: most of the errors that are made ready are never raised.
Text: TypeAlias = "str | _StrPromise"


class DataError(Exception):
    """A sentence for people; `status` is its HTTP status."""

    status = 500


class Invalid(DataError):
    """The input cannot be taken; `fields` maps a field's name to the reason."""

    status = 400

    def __init__(self, message: Text = _("Some of this cannot be accepted."), **fields: Text) -> None:
        self.fields = {name: str(reason) for name, reason in fields.items()}
        super().__init__(" ".join(self.fields.values()) if fields else message)


class BadCursor(Invalid):
    """A paging cursor that this site did not make."""

    def __init__(
        self, message: Text = _("This page address is damaged. Start again from the first page.")
    ) -> None:
        super().__init__(message)


class Forbidden(DataError):
    """Signed in, but without the role that this needs."""

    status = 403

    def __init__(
        self, message: Text = _("Your account does not have the role that this page needs.")
    ) -> None:
        super().__init__(message)


class NotFound(DataError):
    """It does not exist, or is not for this visitor to know of."""

    status = 404

    def __init__(self, message: Text = _("This does not exist, or no longer does.")) -> None:
        super().__init__(message)


class Conflict(DataError):
    """It is no longer as the visitor saw it."""

    status = 409

    def __init__(
        self, message: Text = _("This changed meanwhile. Load it again and repeat what you did.")
    ) -> None:
        super().__init__(message)


class AlreadyExists(Conflict):
    """The name or address is taken; `field` says which, where a form has several."""

    def __init__(self, message: Text = _("This already exists."), *, field: str = "") -> None:
        self.field = field
        super().__init__(message)


class VersionConflict(Conflict):
    """Somebody else changed it since it was loaded; `current` is what is there now, where it is known."""

    def __init__(
        self, message: Text = _("Somebody else changed this since you opened it."), current: Any = None
    ) -> None:
        self.current = current
        super().__init__(message)


class TooLarge(Conflict):
    """More changes than one transaction can hold (100 actions)."""

    def __init__(self, message: Text = _("This is too much to change at once.")) -> None:
        super().__init__(message)


class TooManyRequests(DataError):
    """Wait `retry_after` seconds before the next try."""

    status = 429

    def __init__(
        self, message: Text = _("Too many tries. Please wait a little."), retry_after: int = 60
    ) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class Unavailable(DataError):
    """The table does not answer."""

    status = 503

    def __init__(
        self, message: Text = _("The site cannot reach its data just now. Please try again in a moment.")
    ) -> None:
        super().__init__(message)


class Busy(Unavailable):
    """The table answers, but conflicts or throttling did not end within the tries that a request has."""

    def __init__(
        self, message: Text = _("The site is very busy just now. Please try again in a moment.")
    ) -> None:
        super().__init__(message)
