"""The one way to DynamoDB: what is asked, what is tried again, and what comes out when it fails.

No call hangs: 1 s for the whole of an attempt, or what a page has left; two attempts. Conflicts and throttling are
retried with jitter. What fails comes out as one of `errors`; of a table that cannot be used operators read in the
engine's own words, not once a request.

A write whose answer was lost is sent again. An engine that was started again meanwhile carries it out anew. A write
whose conditions no longer hold once it was carried out is safe from that; the repeat then fails, and what is stored
tells whose doing it was.
"""

import logging
import math
import os
import random
import re
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson

from .configuration import configuration, name
from .connection import NOT_SENT, STREAMS, TABLES, UNANSWERED, Connection
from .convert import Item, NoAnswer, from_attributes, key_attributes, to_attributes
from .errors import (
    OUR_MISTAKES,
    Busy,
    Conflict,
    DataError,
    Invalid,
    Misconfigured,
    NotFound,
    OutcomeUnknown,
    Refused,
    Sentence as _,
    Unavailable,
    UnknownOperation,
    VersionConflict,
)
from .meters import check_deadline, note, seconds_left, tell, timed
from .writes import (
    SCHEMA,
    Check,
    Condition,
    Delete,
    Path,
    Put,
    Update,
    Write,
    absent,
    equals,
    exists,
    missing,
)

logger = logging.getLogger(__name__)
AGAIN_SECONDS = 60.0
LONGEST = 300
# An answer to a wrong signature repeats what was signed, the session's token included.
SECRETS = re.compile(r"(?i)((?:AKIA|ASIA)[A-Z0-9]{8,}|(?:credential|signature|token)\s*[=:]\s*\S+)")

_said: dict[str, float] = {}
_saying, _lock = threading.Lock(), threading.Lock()  # of what was said, of the connection


def report_misconfigured(code: str, message: str, *, now: float) -> str:
    """Say loudly, at most once a minute for each code, that the table is the wrong place or refuses its key.

    Returns what it says: the first line of the message, without what could be a credential.
    """
    first_line = SECRETS.sub("...", message.partition("\n")[0])[:LONGEST]
    with _saying:
        is_due = code not in _said or now - _said[code] >= AGAIN_SECONDS
        if is_due:
            _said[code] = now
    if is_due:
        logger.error("event='table_misconfigured' code=%r message=%r", code, first_line)
    return f"{code}: {first_line}"


UNKNOWN = object()


def repeat_counts(action: Write) -> bool:
    """Whether a write adds to numbers, so that it must not be carried out twice."""
    return isinstance(action, Update) and not all(
        isinstance(added, set | frozenset) for added in action.add.values()
    )


def is_guarded(action: Write) -> bool:
    """Whether a write's own condition fails once it was carried out."""
    match action:
        case Put():
            return absent() in action.when
        case Delete():
            return exists() in action.when
        case Update():
            changed = {**action.set, **{path: UNKNOWN for path, added in action.add.items() if added}}
            return any(
                _excludes(condition, path, value)
                for condition in action.when
                for path, value in changed.items()
            )
    return False


def _excludes(condition: Condition, path: Path, value: Any) -> bool:
    """Whether a condition fails once a path has a value."""
    if len(condition.values) != 1:
        return condition == missing(path)
    return condition == equals(path, condition.values[0]) and value != condition.values[0]


def is_write_done(action: Write, item: Item | None) -> bool | None:
    """Whether what is stored is what a write says; None where it cannot tell whose it is."""
    match action:
        case Put():
            own = {"PK": action.key[0], "SK": action.key[1], SCHEMA: None}  # its schema is noted on the way
            return item is not None and {**item, SCHEMA: None} == {**_stored(action.item), **own}
        case Delete():
            return item is None
        case Update() if action.set or action.remove:
            if item is None:
                return False
            return all(
                _at(item, path) == _stored({"": value}).get("") for path, value in action.set.items()
            ) and all(_at(item, path) is None for path in action.remove)
    return None


def were_writes_done(actions: Sequence[Write], found: dict[Any, Item]) -> bool | None:
    """Whether a transaction was carried out, as far as its items tell; None where none of them can."""
    told = [
        is_write_done(action, found.get(action.key)) for action in actions if not isinstance(action, Check)
    ]
    if False in told:
        return False
    return True if True in told and not any(action.once for action in actions) else None


def _stored(item: Item) -> Item:
    """Return what is read back of an item."""
    return from_attributes(to_attributes(item))


def _at(item: Item, path: Path) -> Any:
    """Return what an item has at a path; None where there is nothing."""
    value: Any = item
    for step in (path,) if isinstance(path, str) else path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


READ_TIMEOUT = 1.0  # seconds for an attempt: connecting, sending, and the whole answer
ADMIN_TIMEOUT = 20.0  # seconds; creating a table is no page
PATIENT_READ_TIMEOUT = 5.0  # seconds; what is written in batches must end within the lease of its job

PASSED_UP = {"ConditionalCheckFailedException", "TransactionCanceledException"}
WRITES = {"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}
MISSING = {"ResourceNotFoundException", "ResourceNotFound"}  # the second is of one statement in a batch
ATTEMPTS_WITHOUT_ANSWER = 2
ATTEMPTS_WHEN_REFUSED = 9
RESTART_PAUSE = 0.1  # seconds; a supervised engine is back by then

Result = TypeVar("Result")

_connection: Connection | None = None


def connect() -> Connection:
    """Return this process's connection, made on first use and thus after any fork.

    Raises Misconfigured where the credentials cannot be read.
    """
    global _connection
    if (kept := _connection) is None or kept.pid != os.getpid():
        with _lock:
            if (kept := _connection) is None or kept.pid != os.getpid():
                try:
                    kept = _connection = Connection(_is_back)
                except Refused as refused:
                    raise as_error(refused) from refused
    return kept


def reset() -> None:
    """Forget the connection; the next call makes one from the configuration of then."""
    global _connection
    with _lock:
        if _connection is not None and _connection.pid == os.getpid():
            _connection.end()
        _connection = None


def be_patient() -> None:
    """Let this process wait longer for answers: nobody looks at a page of a command or worker."""
    global READ_TIMEOUT
    READ_TIMEOUT = PATIENT_READ_TIMEOUT


pause: Callable[[float], None] = time.sleep  # replaced in tests, so that none waits
jitter = random.Random()  # noqa: S311 - spreads retries, guards nothing


def _wait(seconds: float) -> None:
    """Wait before a further try, but not beyond the page's time."""
    pause(max(0.0, min(seconds, seconds_left())))


def back_off(attempt: int) -> None:
    """Wait before a further try: a random part of 10 ms, doubled with each attempt up to 0.64 s ("full jitter")."""
    _wait(jitter.uniform(0, 0.01 * 2 ** min(attempt, 6)))


def in_parts(left: list[Result], attempt: Callable[[list[Result]], list[Result]]) -> None:
    """Do what comes back in part until nothing is left: `attempt` returns what it left undone of what it was given.

    Again after a pause; Busy once nine in a row got nothing done.
    """
    idle = 0
    while still_left := attempt(left):
        idle = 0 if len(still_left) < len(left) else idle + 1
        if idle == ATTEMPTS_WHEN_REFUSED:
            raise Busy()
        left = still_left
        tell("retries")
        back_off(idle)


def retrying(
    attempt: Callable[[], Result],
    *,
    on: type[Conflict] | tuple[type[Conflict], ...] = VersionConflict,
    times: int = 8,
    otherwise: type[DataError] = Busy,
) -> Result:
    """Return what an attempt to read and write returns; again, after a pause, where `on` says that something changed.

    After so many `times` in all, `otherwise` is raised; at once a VersionConflict that knows what is there now.
    """
    for number in range(times):
        if number:
            back_off(number)
        try:
            return attempt()
        except on as error:
            if getattr(error, "current", None) is not None:
                raise
    raise otherwise()


def send(operation: str, parameters: dict[str, Any], *, may_repeat: bool = True) -> Any:
    """Send one request until it is answered; at most two attempts without an answer, nine when refused for now.

    The answer is whole and of the operation's form, its items are Python values. A Refused says `is_repeat` where an
    attempt before may have been carried out: it had no answer, or one that the engine failed (500). `may_repeat`: false
    for what must not be, twice. OutcomeUnknown where a write may have been carried out.
    """
    parameters["ReturnConsumedCapacity"] = "TOTAL"
    try:
        return _answer(operation, parameters, READ_TIMEOUT, _refusal, may_repeat=may_repeat)
    except Unavailable as error:
        note(error)
        raise


def _refusal(refused: Refused) -> Exception:
    return refused if refused.code in PASSED_UP and not refused.passing else as_error(refused)


def ask_stream(operation: str, **parameters: Any) -> Any:
    """Call an operation of the table's stream; raises Refused with DynamoDB's own code. 1 request."""
    return _answer(operation, parameters, READ_TIMEOUT, _stream_refusal, STREAMS)


def _stream_refusal(refused: Refused) -> Exception:
    return as_error(refused) if refused.passing else refused


def call(operation: str, **parameters: Any) -> dict[str, Any]:
    """Call an operation of administration, which may take 20 s; NotFound for a missing table or resource. 1 request."""
    answer: dict[str, Any] = _answer(operation, parameters, ADMIN_TIMEOUT, _administration_refusal)
    return answer


def _administration_refusal(refused: Refused) -> DataError:
    if refused.code in MISSING:
        return NotFound(configuration().missing)
    if refused.code == "UnknownOperationException":
        return UnknownOperation(reason=refused.code)
    return as_error(refused)


def _answer(
    operation: str,
    parameters: dict[str, Any],
    seconds: float,
    as_failure: Callable[[Refused], Exception],
    service: str = TABLES,
    *,
    may_repeat: bool = True,
) -> Any:
    """Return what a request is answered; an attempt has so many `seconds`, a final refusal becomes `as_failure`."""
    try:
        body = orjson.dumps(parameters)
    except TypeError as error:
        raise Invalid(_("This text holds characters that cannot be stored.")) from error
    connection, is_page = connect(), seconds_left() < math.inf
    unanswered = refused_before = 0
    is_repeat = False
    while True:
        check_deadline()
        if is_page:
            connection.gate.check()
        left = seconds_left()  # may be so little that no answer says nothing of the table
        with timed(operation, parameters.get("IndexName")) as call:
            call.retries = unanswered + refused_before
            try:
                said, call.units = connection.send(operation, body, parameters, min(seconds, left), service)
                connection.gate.answered(now=time.monotonic())
                return said
            except UNANSWERED as error:
                unanswered += 1
                call.outcome = "unreadable" if isinstance(error, NoAnswer) else "unanswered"
                if is_page and left > seconds / 2:
                    connection.gate.failed(error, now=time.monotonic())
                was_sent = not isinstance(error, NOT_SENT)
                is_repeat = is_repeat or was_sent
                if unanswered >= ATTEMPTS_WITHOUT_ANSWER or (was_sent and not may_repeat):
                    is_unknown = is_repeat and operation in WRITES
                    raise (OutcomeUnknown if is_unknown else Unavailable)(reason=error) from error
                refused = None
                _wait(RESTART_PAUSE)
            except Refused as error:
                refused, call.outcome = error, error.outcome
        if refused is not None:
            refused_before += 1
            refused.is_repeat = is_repeat
            is_repeat = is_repeat or refused.may_be_done
            is_last = not refused.passing or refused_before == ATTEMPTS_WHEN_REFUSED
            failure = as_failure(refused) if is_last else None
            if (
                is_repeat
                and operation in WRITES
                and (isinstance(failure, Busy) or not (failure or may_repeat))
            ):
                failure = OutcomeUnknown(reason=refused)
            if not isinstance(failure, Misconfigured):
                connection.gate.answered(now=time.monotonic())
            elif is_page:
                connection.gate.failed(failure.reason, now=time.monotonic())
            if failure is not None:
                raise failure from None if failure is refused else refused
            back_off(refused_before)
        tell("retries")


def _is_back(connection: Connection) -> bool:
    """Ask the table once for a key that nothing has, and tell whether it can be used."""
    request = {
        "TableName": name(),
        "Key": key_attributes(("READY", "READY")),
        "ReturnConsumedCapacity": "TOTAL",
    }
    try:
        connection.send("GetItem", orjson.dumps(request), request, READ_TIMEOUT)
    except UNANSWERED:
        return False
    except Refused as refused:
        return not isinstance(as_error(refused), Misconfigured)
    return True


def as_error(refused: Refused) -> DataError:
    """Return the error of ours for one of DynamoDB's; what only operators can change is said in the log, too."""
    text = " ".join([refused.message, *(str(reason.get("Message", "")) for reason in refused.reasons)])
    if refused.passing:
        return Busy(reason=refused)
    if "size" in text.lower() and ("exceed" in text.lower() or "limit" in text.lower()):
        return Invalid(_("This is too much to store in one piece."))
    if refused.code == "TransactionCanceledException" or refused.code in OUR_MISTAKES:
        return DataError(f"{refused.code}: {text}")
    message = (
        refused.message if refused.code not in MISSING else f"{refused.message} {configuration().missing}"
    )
    return Misconfigured(reason=report_misconfigured(refused.code, message, now=time.monotonic()))
