"""What can go wrong with data, and the HTTP status that each error means.

DataError
├── Invalid             400  the input cannot be taken; `fields` says why, by field
│   └── BadCursor       400  a paging cursor that this site did not make
├── Forbidden           403  signed in, but this is not for you
├── NotFound            404  it does not exist, or is not for you to know of
├── Conflict            409  it is no longer as you saw it
│   ├── AlreadyExists   409  the name is taken
│   ├── VersionConflict 409  somebody else changed it meanwhile; `current` is what is there now
│   ├── NewerItem       409  a newer build of the site wrote it; this one can read it and not change it
│   └── TooLarge        409  more changes than one transaction can hold
├── TooManyRequests     429  wait `retry_after` seconds
└── Unavailable         503  the table does not answer, or not in a way that can be believed
    ├── Busy            503  it answers, but is overloaded or contended
    ├── OutcomeUnknown  503  a write may have been carried out, and must not be sent again unseen
    └── Misconfigured   503  it answers that this is no table, or not for who asks: an operator has to do something
        ├── Incomplete        503  the table lacks an index
        └── UnknownOperation  503  the engine cannot do this
"""

from collections.abc import Callable
from typing import Any

Text = object  # whatever becomes a sentence by `str()`: a text, or one that is translated when it is shown


translate: Callable[[str], Any] = str  # `configure` sets another


class Sentence:
    """A sentence in English; as text it is in the language of whoever reads it."""

    def __init__(self, english: str) -> None:
        self.english = english

    def __str__(self) -> str:
        return str(translate(self.english))

    def __repr__(self) -> str:
        return repr(self.english)


_ = Sentence


class DataError(Exception):
    """A sentence for people, by default that of its class; `status` is its HTTP status."""

    status = 500
    sentence: Text = ""

    def __init__(self, message: Text | None = None) -> None:
        super().__init__(self.sentence if message is None else message)


class Invalid(DataError):
    """The input cannot be taken; `fields` maps a field's name to the reason."""

    status = 400
    sentence = _("Some of this cannot be accepted.")

    def __init__(self, message: Text | None = None, **fields: Text) -> None:
        self.fields = {name: str(reason) for name, reason in fields.items()}
        super().__init__(" ".join(self.fields.values()) if fields else message)


class BadCursor(Invalid):
    """A paging cursor that this site did not make."""

    sentence = _("This page address is damaged. Start again from the first page.")


class Forbidden(DataError):
    """Signed in, but without the role that this needs."""

    status = 403
    sentence = _("Your account does not have the role that this page needs.")


class NotFound(DataError):
    """It does not exist, or is not for this visitor to know of."""

    status = 404
    sentence = _("This does not exist, or no longer does.")


class Conflict(DataError):
    """It is no longer as the visitor saw it."""

    status = 409
    sentence = _("This changed meanwhile. Load it again and repeat what you did.")


class AlreadyExists(Conflict):
    """The name or address is taken; `field` says which, where a form has several."""

    sentence = _("This already exists.")

    def __init__(self, message: Text | None = None, *, field: str = "") -> None:
        self.field = field
        super().__init__(message)


class VersionConflict(Conflict):
    """Somebody else changed it since it was loaded; `current` is what is there now, where it is known."""

    sentence = _("Somebody else changed this since you opened it.")

    def __init__(self, message: Text | None = None, current: Any = None) -> None:
        self.current = current
        super().__init__(message)


class NewerItem(Conflict):
    """A newer build of the site wrote this item, in a shape that this one does not know."""

    sentence = _(
        "A newer version of this site wrote this. It can be read here, but changed only after the update."
    )


class TooLarge(Conflict):
    """More changes than one transaction can hold (100 actions)."""

    sentence = _("This is too much to change at once.")


class TooManyRequests(DataError):
    """Wait `retry_after` seconds before the next try."""

    status = 429
    sentence = _("Too many tries. Please wait a little.")

    def __init__(self, message: Text | None = None, retry_after: int = 60) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class Unavailable(DataError):
    """The table does not answer; `reason` is for operators, in the engine's own words where it has said any."""

    status = 503
    sentence = _("The site cannot reach its data just now. Please try again in a moment.")
    may_be_done = False

    def __init__(self, message: Text | None = None, *, reason: object = "", is_said: bool = False) -> None:
        self.reason, self.is_said = str(reason), is_said  # in the log, already
        super().__init__(message)


class Busy(Unavailable):
    """The table answers, but conflicts or throttling did not end within the tries that a request has."""

    sentence = _("The site is very busy just now. Please try again in a moment.")


class OutcomeUnknown(Unavailable):
    """A write was sent, and nothing tells whether it was carried out."""

    sentence = _("It is not known whether this was done. Please look before you do it again.")
    may_be_done = True


class Misconfigured(Unavailable):
    """The wrong place or key: the table is missing, credentials are refused, or it is no DynamoDB that answers."""


class Incomplete(Misconfigured):
    """The table lacks an index."""


class UnknownOperation(Misconfigured):
    """The engine cannot do this: engines other than Amazon's know only what stores and finds items."""


# What may succeed a little later, and what it is: all that botocore tries again, and the codes without "Exception" that
# are of cancelled transactions and of statements. Backups of a new table are being enabled for a while.
TRY_AGAIN = {
    code: outcome
    for outcome, codes in {
        "conflict": """TransactionConflictException TransactionConflict TransactionInProgressException
            ReplicatedWriteConflictException""",
        "throttled": """ProvisionedThroughputExceededException ProvisionedThroughputExceeded ThrottlingError
            Throttling ThrottlingException ThrottledException TooManyRequestsException RequestThrottled
            RequestThrottledException EC2ThrottledException RequestLimitExceeded LimitExceededException
            BandwidthLimitExceeded SlowDown PriorRequestNotComplete""",
        "failed": """InternalServerError InternalFailure ServiceUnavailable ServiceUnavailableException
            RequestTimeout RequestTimeoutException ContinuousBackupsUnavailableException""",
    }.items()
    for code in codes.split()
}
TRY_AGAIN_STATUS = {
    429: "throttled",
    500: "failed",
    502: "failed",
    503: "failed",
    504: "failed",
    509: "throttled",
}
CONDITIONS = {"ConditionalCheckFailedException", "ConditionalCheckFailed"}
OUR_MISTAKES = {
    "ValidationException",
    "ValidationError",
    "SerializationException",
    "IdempotentParameterMismatchException",
    "ResourceInUseException",
}


class NotSent(OSError):
    """A request did not leave."""


class Refused(Exception):
    """DynamoDB answered with an error."""

    def __init__(self, code: str, message: str, reasons: list[dict[str, Any]], status: int = 400) -> None:
        self.code, self.message, self.reasons, self.status = code, message, reasons, status
        self.is_repeat = False  # an attempt before had no answer, or failed, and may have been carried out
        super().__init__(f"{code}: {message}")

    @property
    def passing(self) -> bool:
        """Tell whether the same request may succeed a little later."""
        return bool(self._codes) and (self._codes <= TRY_AGAIN.keys() or self.status in TRY_AGAIN_STATUS)

    @property
    def may_be_done(self) -> bool:
        """Tell whether it may have been carried out all the same."""
        return self.outcome == "failed"

    @property
    def outcome(self) -> str:
        """What it is in a word: condition, conflict, throttled, failed or refused."""
        if self._codes & CONDITIONS:
            return "condition"
        of_status = TRY_AGAIN_STATUS.get(self.status, "refused")
        return next((word for code, word in TRY_AGAIN.items() if code in self._codes), of_status)

    @property
    def _codes(self) -> set[Any]:
        """Its own code, or those of the reasons why a transaction was cancelled."""
        if self.code != "TransactionCanceledException":
            return {self.code}
        return {reason.get("Code") for reason in self.reasons} - {"None", None}
