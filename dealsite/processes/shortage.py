"""What a process does when its machine runs short: of disk and open files it waits for more, of memory it ends.

One that runs for months keeps small.
"""

import contextlib
import ctypes
import errno
import os
import signal

# No space, quota used up, disk turned read-only, too many open files (of the process, of the machine), no memory.
CODES = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
SECONDS_TO_END = 9  # a web process gives what is running 8
M_ARENA_MAX = -8  # glibc's own number for it
ARENAS = 2
ending = list[int]()  # this process, once it has run out of memory


def is_shortage(error: BaseException | None) -> bool:
    """Tell whether an error is the machine's, and the same may succeed a little later."""
    no_thread = isinstance(error, RuntimeError) and "start new thread" in str(error)
    return (
        no_thread or isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in CODES)
    )


def end_if_out_of_memory(error: BaseException) -> None:
    """Ask this process to end once its answers are sent, if it has no memory; its supervisor starts another one.

    If it has not even the memory to end, the kernel ends it.
    """
    if isinstance(error, MemoryError):
        if not ending:
            signal.alarm(SECONDS_TO_END)
            ending.append(os.getpid())  # more requests that fail do not put it off
        os.kill(os.getpid(), signal.SIGTERM)


def use_few_arenas() -> None:
    """Let glibc share two pools of memory among all threads; call it before they begin.

    By default it makes up to eight for each core, and each keeps what its threads freed: a worker's grew by the minute.
    """
    with contextlib.suppress(OSError, AttributeError):  # a C library without such pools
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS)
