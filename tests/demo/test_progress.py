"""The progress bar of commands."""

import io

from dealsite.management.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_one_line_that_is_drawn_again():
    stream = Terminal()
    with Progress("Importing", 2000, stream) as progress:
        for _ in range(2000):
            progress.advance()
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().rpartition("\r")[2] == f"Importing {'█' * 30} 2,000 of 2,000\x1b[K\n"
    assert stream.getvalue().count("\r") < 50


def test_a_log_file_gets_a_few_lines():
    stream = io.StringIO()
    with Progress("Importing", 1000, stream) as progress:
        for _ in range(1000):
            progress.advance()
    assert stream.getvalue() == "".join(f"Importing: {share} %\n" for share in (0, 25, 50, 75, 100))


def test_more_steps_than_were_thought_or_none_at_all_do_no_harm():
    stream = io.StringIO()
    with Progress("A", 2, stream) as progress:
        progress.advance(5)
    with Progress("B", 0, stream):
        pass
    assert stream.getvalue() == "A: 0 %\nA: 100 %\nB: 100 %\n"
