"""DynamoDB's errors: which of them pass by themselves, and what the others mean."""

from __future__ import annotations

from typing import Any

from .configuration import configuration
from .errors import Busy, Conflict, DataError, Invalid, NotFound
from .sentences import Sentence as _

TRY_AGAIN = {
    "TransactionConflictException",
    "TransactionInProgressException",
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "InternalServerError",
    "ServiceUnavailable",
    "InternalFailure",
    # reasons within a cancelled transaction
    "TransactionConflict",
    "ThrottlingError",
    "ProvisionedThroughputExceeded",
}


class Refused(Exception):
    """DynamoDB answered with an error."""

    def __init__(self, code: str, message: str, reasons: list[dict[str, Any]]) -> None:
        self.code, self.message, self.reasons = code, message, reasons
        super().__init__(f"{code}: {message}")

    @property
    def passing(self) -> bool:
        """Tell whether the same request may succeed a little later."""
        if self.code == "TransactionCanceledException":
            codes = {reason.get("Code") for reason in self.reasons} - {"None", None}
            return bool(codes) and codes <= TRY_AGAIN
        return self.code in TRY_AGAIN


def refusal(status: int, answer: dict[str, Any]) -> Refused:
    code = str(answer.get("__type", "")).rpartition("#")[2] or (
        "InternalServerError" if status >= 500 else "Unknown"
    )
    message = answer.get("message") or answer.get("Message") or ""
    return Refused(code, message, answer.get("CancellationReasons") or [])


def as_error(refused: Refused) -> DataError:
    """Return the error of ours for one of DynamoDB's."""
    text = " ".join([refused.message, *(str(reason.get("Message", "")) for reason in refused.reasons)])
    if refused.code == "ResourceNotFoundException":
        return NotFound(configuration().missing)
    if refused.passing:
        return Busy()
    if "size" in text.lower() and ("exceed" in text.lower() or "limit" in text.lower()):
        return Invalid(_("This is too much to store in one piece."))
    if refused.code == "TransactionCanceledException":
        return Conflict()
    return DataError(f"{refused.code}: {refused.message}")
