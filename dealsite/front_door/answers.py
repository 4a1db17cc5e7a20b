"""What Django answers, taken in whole in the thread that makes a page, or piece by piece where it is long."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

WHOLE_BYTES = 262_144
PIECE_BYTES = 65_536

Application = Callable[..., Any]


@dataclass
class Answer:
    """An answer's status, headers and first part; `rest` is None once all of it is there."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    rest: Iterator[bytes] | None
    close: Callable[[], None]

    def piece(self, _waited: float = 0) -> bytes:
        """Return the next part; b"" at the end."""
        assert self.rest is not None  # noqa: S101
        return _take(self.rest, PIECE_BYTES)[0]


def answer_of(application: Application, environ: dict[str, Any]) -> Answer:
    """Run Django: a page is complete then; of a longer file, or list, only the beginning is read."""
    started: list[tuple[str, list[tuple[str, str]]]] = []

    def start_response(status: str, headers: list[tuple[str, str]], _exc_info: Any = None) -> None:
        started[:] = [(status, headers)]

    response = application(environ, start_response)
    close: Callable[[], None] = getattr(response, "close", lambda: None)
    if hasattr(response, "block_size"):  # of a file; Django reads 4 KB at a time
        response.block_size = PIECE_BYTES
    try:
        pieces = iter(response)
        body, is_all = _take(pieces, WHOLE_BYTES)
    except BaseException:
        close()
        raise
    if is_all:
        close()
    ((status, headers),) = started
    return Answer(
        status=int(status[:3]),
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        body=body,
        rest=None if is_all else pieces,
        close=close,
    )


def _take(pieces: Iterator[bytes], count: int) -> tuple[bytes, bool]:
    """Return about so many bytes, and whether these were all."""
    taken, size = [], 0
    for piece in pieces:
        taken.append(piece)
        size += len(piece)
        if size >= count:
            return b"".join(taken), False
    return b"".join(taken), True
