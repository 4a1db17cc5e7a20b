"""manage.py ask: the same questions and limits, from a terminal."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command

from tests.ask import lakes


@pytest.fixture
def out(settings, var):
    settings.DEALSITE_LAKE = ""
    lakes.write(var / "lake", lakes.shop())
    return io.StringIO()


def test_an_answer_is_a_table(out):
    call_command(
        "ask", "SELECT username, sum(total) AS total FROM orders GROUP BY ALL ORDER BY ALL", stdout=out
    )
    lines = out.getvalue().splitlines()
    assert "username" in lines[1]
    assert [line.split() for line in lines[3:5]] == [
        ["│", "ann", "│", "120.00", "│"],
        ["│", "bob", "│", "260.00", "│"],
    ]
    assert lines[-1].startswith("2 rows in ")


def test_an_answer_is_csv(out):
    call_command("ask", "SELECT title FROM deals ORDER BY title", csv=True, stdout=out)
    assert out.getvalue() == "\ufefftitle\r\n'=Robot\r\nKettle\r\nKeyboard\r\n"


def test_a_ready_question_is_asked_by_its_name(out):
    call_command("ask", ready="orders-by-country", stdout=out)
    assert "FR" in out.getvalue()


def test_a_question_can_come_from_standard_input(out, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT 40 + 2 AS n"))
    call_command("ask", "-", csv=True, stdout=out)
    assert out.getvalue() == "\ufeffn\r\n42\r\n"


def test_an_answer_that_is_cut_says_so(out):
    call_command("ask", "SELECT * FROM range(9)", rows=2, stdout=out)
    assert out.getvalue().endswith("--rows says how many are shown\n")


def test_a_control_character_does_not_steer_the_terminal(out):
    call_command("ask", "SELECT chr(27) || '[2J' AS title", stdout=out)
    assert "\x1b" not in out.getvalue()
    assert "\\x1b[2J" in out.getvalue()


@pytest.mark.parametrize(
    ("sql", "options", "words"),
    [
        ("SELECT * FROM read_text('/etc/passwd')", {}, "read_text cannot be used"),
        ("COPY orders TO 'x'", {}, "Only one SELECT"),
        (None, {}, "Ask something"),
        (" ", {}, "Write a question"),
        (None, {"ready": "nothing"}, "no ready question 'nothing'"),
        ("SELECT sum(a.range * b.range) FROM range(9999999) a, range(9999999) b", {"seconds": 1}, "too long"),
    ],
)
def test_what_is_not_answered_ends_with_the_reason(out, sql, options, words):
    with pytest.raises(CommandError, match=words):
        call_command("ask", *([sql] if sql else []), stdout=out, **options)


def test_without_a_snapshot_it_says_how_one_is_made(settings):
    settings.DEALSITE_LAKE = ""
    with pytest.raises(CommandError, match="There is no snapshot yet: make one with"):
        call_command("ask", "SELECT 1")
