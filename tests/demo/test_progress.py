"""The progress bar of commands."""

import io

import pytest
from django.core.management import BaseCommand

from dealsite.management.command import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(label: str, total: int, advance: int, stream: io.StringIO) -> str:
    """Return what a command writes to its standard error output, in the colours that Django has for errors."""
    command = BaseCommand(stderr=stream, force_color=True)
    with Progress(label, total, command.stderr) as progress:
        for _ in range(advance):
            progress.advance()
    return stream.getvalue()


def test_a_terminal_sees_one_line_that_is_drawn_again_in_the_colour_of_other_text():
    text = shown("Importing", 2000, 2000, Terminal())
    assert text.count("\n") == 1
    assert text.rpartition("\r")[2] == f"Importing {'█' * 30} 2,000 of 2,000\x1b[K\n"
    assert text.count("\r") < 50
    assert text.count("\x1b") == text.count("\x1b[K")


def test_a_narrow_terminal_sees_one_line_as_well(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    last = shown("Importing", 2000, 2000, Terminal()).rpartition("\r")[2]
    assert last == f"Importing {'█' * 29}\x1b[K\n"


def test_a_log_file_gets_a_few_lines():
    lines = "".join(f"Importing: {share} %\n" for share in (0, 25, 50, 75, 100))
    assert shown("Importing", 1000, 1000, io.StringIO()) == lines


@pytest.mark.parametrize(("total", "advance", "lines"), [(1, 5, "A: 0 %\nA: 100 %\n"), (0, 0, "A: 100 %\n")])
def test_more_steps_than_were_thought_or_none_at_all_do_no_harm(total, advance, lines):
    assert shown("A", total, advance, io.StringIO()) == lines
