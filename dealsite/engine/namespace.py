"""Runs the engine in a network namespace of its own and hands out connections to it over a unix socket.

A program that stands alone: `python namespace.py COMMAND...`, with the listening unix socket as its standard input. The
engine listens on a loopback that nobody else has; a caller gets a TCP socket that is connected to it already.
Without a command it only tries whether the kernel allows that. It ends with its engine, and the engine with it.
"""

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
import time

HOST, PORT = "127.0.0.1", 8000  # in the namespace, where nothing else listens
START_SECONDS = 0.4  # a caller waits for an engine that is being started; callers give up after half a second

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


def isolate() -> None:
    """Leave all networks for a loopback of one's own; OSError if the kernel does not allow it."""
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(CLONE_NEWNET) != 0:  # only root may; others need a user namespace around it
        if _libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            raise OSError(error := ctypes.get_errno(), os.strerror(error))
        # As root of the namespace: users that it does not know look like nobody, which this user may be outside.
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - pathlib takes as long to load as the rest
                file.write(text)
    with socket.socket() as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))


def end_with_parent(parent: int, number: int) -> None:
    """Get a signal when the parent ends (the thread of it that started this process), also if it did so just now."""
    if sys.platform != "linux":
        return
    _libc.prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def start(command: list[str]) -> int:
    """Start the engine; its process id."""
    parent = os.getpid()
    if pid := os.fork():
        return pid
    try:
        end_with_parent(parent, signal.SIGKILL)  # two engines must not write to the same file
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execv(command[0], command)  # noqa: S606 - there is nothing that a shell could misread
    except OSError as error:
        os.write(2, f"{command[0]}: {error}\n".encode())
    finally:
        os._exit(127)


def end_like_child() -> None:
    """End as the engine did, if it did, so that whoever waits for this process learns how."""
    ended, status = os.waitpid(-1, os.WNOHANG)
    if not ended:
        return
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status) or 1)  # an exception might be swallowed where it arrives


def connect() -> socket.socket:
    """A connection to the engine, which may have been started a moment ago."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            return socket.create_connection((HOST, PORT), timeout=START_SECONDS)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.002)


def same_user(caller: socket.socket) -> bool:
    """Whether a caller belongs to the user that this process runs as."""
    credentials = caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    user: int = struct.unpack("3i", credentials)[1]
    return user == os.geteuid()


def hand_out(listener: socket.socket) -> None:
    """Give each caller a connection; one that gets none sees its call closed."""
    while True:
        caller, _ = listener.accept()
        with caller:
            if not same_user(caller):
                continue
            try:
                with connect() as engine:
                    socket.send_fds(caller, [b"\0"], [engine.fileno()])
            except OSError:
                continue


def main(command: list[str]) -> None:
    """Run the engine until it or this process is asked to end."""
    isolate()
    if not command:
        return
    signal.signal(signal.SIGCHLD, lambda *_: end_like_child())
    engine = start(command)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(engine, signal.SIGTERM))
    hand_out(socket.socket(fileno=0))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as failure:
        sys.exit(str(failure))
