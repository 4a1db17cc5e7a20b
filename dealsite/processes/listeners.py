"""The socket that all web processes share: the one that systemd holds for the site, or one of the launcher's own."""

import os
import socket

FIRST_FD = 3  # sd_listen_fds(3)


def open_standard_streams() -> None:
    """Open those that are closed, to nothing: a socket that got one's number would be a child's stream."""
    while (number := os.open(os.devnull, os.O_RDWR)) < FIRST_FD:
        pass
    os.close(number)


def inherited() -> socket.socket | None:
    """Return the socket that this process was started with, by systemd's protocol; None if there is none.

    Whoever gave it keeps it: while this site ends and another one starts, clients wait and are not refused.
    """
    if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS", "0") == "0":
        return None
    return socket.socket(fileno=os.dup(FIRST_FD))


def opened(host: str, port: int, backlog: int) -> socket.socket:
    """Open a socket at an address; OSError where it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=backlog)
