"""Keeps a process that runs for months small."""

import contextlib
import ctypes

M_ARENA_MAX = -8  # glibc's own number for it
ARENAS = 2


def use_few_arenas() -> None:
    """Let glibc share two pools of memory among all threads; call it before they begin.

    By default it makes up to eight for each core, and each keeps what its threads freed: a worker's grew by the minute.
    """
    with contextlib.suppress(OSError, AttributeError):  # a C library without such pools
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS)
