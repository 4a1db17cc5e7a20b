"""What a confined process cannot do, whatever runs in it: tried from Python, past DuckDB and past the parser."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BEFORE = f"""
    import ctypes, mmap, os, resource, signal, socket, subprocess, sys, threading, time
    sys.path.insert(0, {str(ROOT)!r})
    import duckdb
    from pathlib import Path
    from dealsite.ask import confinement
    lake = Path(sys.argv[1])
    opened_before = open(lake / "file", "r+b")
    libc = ctypes.CDLL(None)

    def must(holds):
        if not holds:
            raise OSError("refused")

"""
CONFINE = "confinement.confine(lake, memory=2 << 30, seconds={seconds}, file_size=100_000)"
AFTER = """
    try:
        {what}
    except (OSError, MemoryError, RuntimeError, duckdb.Error) as error:
        print("refused:", error)
    else:
        print("done")
"""


@pytest.fixture
def confined(tmp_path: Path):
    """A function that runs Python in a confined process, or in one with some layers only; returns its end."""

    def run(what: str, *, confine: str = CONFINE, seconds: int = 20) -> subprocess.CompletedProcess[str]:
        shutil.rmtree(tmp_path / "lake", ignore_errors=True)
        (tmp_path / "lake").mkdir()
        (tmp_path / "lake" / "file").write_text("as it was")
        (tmp_path / "outside").write_text("secret")
        what = textwrap.indent(textwrap.dedent(what).strip() or "pass", "    ").lstrip()
        code = (
            textwrap.dedent(BEFORE)
            + confine.format(seconds=seconds)
            + textwrap.dedent(AFTER).format(what=what)
        )
        return subprocess.run(
            [sys.executable, "-I", "-B", "-c", code, str(tmp_path / "lake")],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=tmp_path,
            env={},
        )

    return run


HOLES = {
    "read a file outside the lake": "open('/etc/passwd').read()",
    "read a file beside the lake": "open(lake.parent / 'outside').read()",
    "read the environment of its parent": "open(f'/proc/{os.getppid()}/environ', 'rb').read()",
    "read its own memory": "open('/proc/self/mem', 'rb').read(1)",
    "list a folder": "os.listdir('/')",
    "write over a file of the lake": "open(lake / 'file', 'w')",
    "add a file to the lake": "open(lake / 'new', 'x')",
    "delete a file of the lake": "os.unlink(lake / 'file')",
    "rename a file of the lake": "os.rename(lake / 'file', lake / 'other')",
    "link to a file": "os.symlink('/etc/passwd', lake / 'link')",
    "truncate a file": "os.truncate(lake / 'file', 0)",
    "truncate a file that is open": "os.ftruncate(opened_before.fileno(), 0)",
    "make a folder": "os.mkdir(lake / 'folder')",
    "change a file's mode": "os.chmod(lake / 'file', 0o777)",
    "open a socket": "socket.socket()",
    "open a socket of this machine": "socket.socket(socket.AF_UNIX)",
    "open a pair of sockets": "socket.socketpair()",
    "start a program": "subprocess.run(['/bin/true'])",
    "become a program": "os.execv('/bin/true', ['true'])",
    "fork": "os.fork() or os._exit(0)",
    "signal a process": "os.kill(os.getppid(), 0)",
    "trace a process": "must(libc.ptrace(16, os.getppid(), 0, 0) == 0)",
    "mount": "must(libc.mount(b'x', b'/', b'tmpfs', 0, None) == 0)",
    "make memory that runs": "mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)",
    "raise its limits": "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))",
    "put off its end": "signal.alarm(0); signal.alarm(99); must(signal.alarm(0) == 99)",
    "load a module": "import sqlite3",
    "write a large file": "opened_before.write(b'x' * 200_000); opened_before.flush()",
    "take much memory": "mmap.mmap(-1, 4 << 30)",
}


@pytest.mark.sample(quick=3)
@pytest.mark.parametrize("hole", HOLES)
def test_a_confined_process_cannot(hole, confined, tmp_path):
    end = confined(HOLES[hole])
    assert end.returncode != 0 or end.stdout.startswith("refused:"), end.stdout
    assert "done" not in end.stdout
    assert (tmp_path / "outside").read_text() == "secret"
    assert [path.name for path in (tmp_path / "lake").iterdir()] == ["file"]
    if hole != "write a large file":
        assert (tmp_path / "lake" / "file").read_text() == "as it was"


# What root alone may do, or nobody, or what is done without a word.
NOT_FOR_EVERYBODY = {
    "trace a process",
    "mount",
    "raise its limits",
    "read its own memory",
    "become a program",
}


@pytest.mark.thorough
def test_without_the_layers_it_could(confined, subtests):
    """Else the test above would prove nothing."""
    for hole in sorted(HOLES.keys() - NOT_FOR_EVERYBODY):
        with subtests.test(hole=hole):
            assert confined(HOLES[hole], confine="").stdout == "done\n"


NOTHING_ELSE = "confinement.LIBC.prctl(38, 1, 0, 0, 0); "
LAYERS = {
    "limits": ("confinement.limit(memory=2 << 30, seconds=20, file_size=100_000)", "take much memory"),
    "Landlock": (f"{NOTHING_ELSE}confinement.restrict_files(lake)", "read a file outside the lake"),
    "Landlock too": (f"{NOTHING_ELSE}confinement.restrict_files(lake)", "write over a file of the lake"),
    "seccomp": (f"{NOTHING_ELSE}confinement.filter_calls()", "open a socket"),
    "seccomp too": (f"{NOTHING_ELSE}confinement.filter_calls()", "write over a file of the lake"),
    "seccomp as well": (f"{NOTHING_ELSE}confinement.filter_calls()", "become a program"),
}


def test_each_layer_refuses_by_itself(confined, subtests):
    for layer in LAYERS:
        with subtests.test(layer=layer):
            confine, hole = LAYERS[layer]
            assert confined(HOLES[hole], confine=confine).stdout.startswith("refused:")


def test_no_network_is_left_where_namespaces_are_allowed(confined):
    end = confined(
        "import errno, socket; socket.create_connection(('127.0.0.1', 9), 1)",
        confine="assert confinement.LIBC.unshare(confinement.NAMESPACES) == 0",
    )
    if end.returncode:
        pytest.skip("This system allows no namespaces.")
    assert "unreachable" in end.stdout


def test_the_layers_in_force_are_told(confined):
    end = confined("", confine="print(" + CONFINE + ")\npass")
    assert end.stdout.splitlines()[0].endswith("'seccomp']")
    assert "'limits'" in end.stdout


@pytest.mark.parametrize(
    "what",
    ["while True: pass", "time.sleep(60)", "threading.Event().wait(60)"],
    ids=["computes", "sleeps", "waits"],
)
def test_a_confined_process_ends_in_time_whatever_it_does(what, confined):
    assert confined(what, seconds=1).returncode == -14


def test_threads_can_be_started_still_and_files_of_the_lake_read(confined):
    end = confined(
        """
        read = []
        thread = threading.Thread(target=lambda: read.append((lake / "file").read_text()))
        thread.start()
        thread.join()
        assert read == ["as it was"]
        assert duckdb.connect(config={"threads": 4}).execute("SELECT sum(range) FROM range(1000000)").fetchone()
        """
    )
    assert end.stdout == "done\n", end.stderr


def test_where_the_system_cannot_confine_no_question_is_answered(confined):
    for change in ("sys.platform = 'darwin'", "confinement.platform.machine = lambda: 'riscv64'"):
        end = confined("", confine=f"{change}\n{CONFINE}")
        assert "NotConfined" in end.stderr
        assert end.stdout == ""
