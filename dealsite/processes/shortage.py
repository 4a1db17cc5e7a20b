"""What a process does when its machine runs short: of disk and open files it waits for more, of memory it ends."""

import errno
import os
import signal

# No space, quota used up, disk turned read-only, too many open files (of the process, of the machine), no memory.
CODES = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
SECONDS_TO_END = 9  # a web process gives what is running 8
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
