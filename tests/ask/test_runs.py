"""Questions on their way: answered, refused, stopped, cancelled; whose they are, how many at a time, how long kept."""

from __future__ import annotations

import multiprocessing
import os
import time
from datetime import timedelta
from pathlib import Path

import pytest

from dealsite.ask import runs
from dealsite.ask.lake import lake_in, open_lake
from dealsite.ask.runs import Limits
from dealsite.data.table import errors
from dealsite.data.table.ids import new_ulid
from tests.ask import lakes
from tests.builders import NOW, make_id

ALL = frozenset({"admin"})
FOREVER = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_an_answer_has_columns_with_types_and_rows(ask):
    run = ask(
        "SELECT username, total, pieces, placed_at, plan = 1 AS at_once FROM orders ORDER BY total DESC"
    )
    assert (run.state, run.percent) == ("answered", 100)
    answer = run.answer()
    assert [(column.name, column.type) for column in answer.columns] == [
        ("username", "VARCHAR"),
        ("total", "DECIMAL(12,2)"),
        ("pieces", "BIGINT"),
        ("placed_at", "TIMESTAMP"),
        ("at_once", "BOOLEAN"),
    ]
    assert [row[:3] for row in answer.rows] == [
        ["bob", "240.00", 3],
        ["ann", "120.00", 3],
        ["bob", "20.00", 1],
    ]
    assert answer.rows[0][3:] == [f"{lakes.TODAY - lakes.DAY:%Y-%m-%d} 00:00:00", True]
    assert answer.more is False


def test_every_kind_of_value_is_told(rows):
    sql = (
        "SELECT NULL, true, 9007199254740993, 1.50, 'inf'::DOUBLE, DATE '2026-11-21', TIME '10:00', "
        "TIMESTAMPTZ '2026-11-21 10:00+02', [1, NULL], {'a': 'ä'}, MAP {'k': 1.5}, 'ab'::BLOB, "
        "INTERVAL 36 HOUR, '\U0001f600', 170141183460469231731687303715884105727"
    )
    assert rows(sql) == [
        [
            *(None, True, "9007199254740993", "1.50", "inf", "2026-11-21", "10:00:00"),
            *("2026-11-21 08:00:00", "[1, null]", '{"a": "ä"}', '{"k": "1.5"}', "6162"),
            *("36:00:00", "\U0001f600", "170141183460469231731687303715884105727"),
        ]
    ]


@pytest.mark.parametrize(
    ("span", "text"),
    [
        ("age(DATE '2026-05-01', DATE '2025-05-01')", "1 year"),
        ("age(DATE '2026-03-31', DATE '2026-02-28')", "1 month 3 days"),
        ("INTERVAL 13 MONTH - INTERVAL 1 MONTH", "1 year"),
        ("INTERVAL '-1 month'", "-1 month"),
        ("TIMESTAMP '2026-05-01 12:00' - TIMESTAMP '2025-05-01'", "365 days 12:00:00"),
        ("[INTERVAL 1 YEAR, NULL]", "[1 year, NULL]"),
        ("DATE '2026-05-01' - DATE '2025-05-01'", 365),
        ("DATE '2026-01-31' + INTERVAL 1 MONTH", "2026-02-28 00:00:00"),
        ("(SELECT max(INTERVAL 1 YEAR)) -- of all\n; ", "1 year"),
    ],
)
def test_a_span_of_time_is_as_long_as_it_is(span, text, rows):
    assert rows(f"SELECT 1, 2 AS one, {span}") == [[1, 2, text]]


def test_spans_of_time_keep_names_and_order(ask):
    answer = ask(
        "SELECT n, n * INTERVAL 1 YEAR AS span, n AS n FROM range(3) AS t(n) ORDER BY n DESC; -- newest first"
    ).answer()
    assert [(column.name, column.type) for column in answer.columns] == [
        *(("n", "BIGINT"), ("span", "INTERVAL"), ("n", "BIGINT"))
    ]
    assert answer.rows == [[2, "2 years", 2], [1, "1 year", 1], [0, "00:00:00", 0]]


def test_a_mistake_is_told_in_words_that_help(ask):
    run = ask("SELECT totl FROM orders")
    assert run.state == "refused"
    assert 'Referenced column "totl" not found' in run.why
    assert "Candidate bindings" in run.why
    with pytest.raises(errors.NotFound):
        run.answer()


def test_where_the_lake_is_on_this_machine_is_nobodys_business(ask, lake):
    for sql in ("SELECT error FROM orders", "SELECT title::INT FROM deals"):
        run = ask(sql)
        assert run.state == "refused"
        assert str(lake.folder) not in run.why


def test_an_answer_is_cut_at_its_rows(ask):
    answer = ask("SELECT * FROM range(1000)", limits=Limits(rows=10)).answer()
    assert (answer.rows, answer.more) == ([[n] for n in range(10)], True)


def test_an_answer_is_cut_at_its_size(ask):
    answer = ask("SELECT repeat('x', 1000) FROM range(1000)", limits=Limits(size=10_000)).answer()
    assert 5 < len(answer.rows) < 15
    assert answer.more is True


def test_a_single_huge_row_ends_a_question_and_nothing_else(ask):
    run = ask("SELECT repeat('x', 50000000)", limits=Limits(size=10_000))
    assert run.state in ("stopped", "refused")


def test_a_question_that_takes_too_long_is_stopped(ask):
    run = ask(FOREVER, limits=Limits(seconds=1))
    assert run.state == "stopped"
    assert "too long" in run.why


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT list(range) FROM range(1000000000)",
        "SELECT repeat('x', 2000000000)",
        "SELECT * FROM range(100000000) a ORDER BY hash(range)",
        "SELECT string_agg(repeat('x', 1000000), '') FROM range(10000)",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT count(DISTINCT i) FROM n",
    ],
)
def test_a_question_that_takes_too_much_is_ended_with_words(sql, ask):
    run = ask(sql, limits=Limits(memory=100_000_000, seconds=5))
    assert run.state in ("refused", "stopped")
    assert run.why


def test_while_it_works_one_can_look_and_cancel(ask):
    run = ask(FOREVER, patience=0.0)
    assert run.state == "working"
    assert 0 <= run.percent <= 100
    assert runs.look(run.id, by="bo", roles=ALL).state == "working"
    assert runs.cancel(run.id, by="bo", roles=ALL).state == "cancelled"
    assert runs.look(run.id, by="bo", roles=ALL).state == "cancelled"
    pid = int((run.folder / "pid").read_text())
    until(lambda: not Path(f"/proc/{pid}").exists())


def test_a_question_that_takes_a_while_is_answered_though_nobody_waits(ask):
    run = ask("SELECT count(*) FROM orders", patience=0.0)
    until(lambda: runs.look(run.id, by="bo", roles=ALL).state != "working")
    assert runs.look(run.id, by="bo", roles=ALL).answer().rows == [[3]]


def test_a_question_ends_with_the_web_process_that_asked_it(ask):
    ours, theirs = multiprocessing.Pipe()

    def web() -> None:
        theirs.send(ask(FOREVER, patience=0.0).id)
        time.sleep(600)

    process = multiprocessing.get_context("fork").Process(target=web, daemon=True)
    process.start()
    run = runs.look(ours.recv(), by="bo", roles=ALL)
    assert run.state == "working"
    process.kill()
    process.join()
    until(lambda: not runs._works(run.folder))
    run = runs.look(run.id, by="bo", roles=ALL)
    assert (run.state, "started again" in run.why) == ("stopped", True)


def test_how_far_it_is_is_told(ask):
    run = ask("SELECT sum(a.range * b.range) FROM range(30000) a, range(1000000) b", patience=0.0)
    seen: set[int] = set()

    def saw_enough() -> bool:
        seen.add(runs.look(run.id, by="bo", roles=ALL).percent)
        return len(seen) > 2 or not runs._works(run.folder)

    until(saw_enough)
    runs.cancel(run.id, by="bo", roles=ALL)
    assert len(seen) > 2


def test_what_is_over_cannot_be_cancelled(ask):
    run = ask("SELECT 1")
    assert runs.cancel(run.id, by="bo", roles=ALL).state == "answered"


def test_a_cancelled_process_is_not_mistaken_for_another(ask, monkeypatch):
    run = ask("SELECT 1")
    (run.folder / "pid").write_text(str(os.getpid()))
    monkeypatch.setattr("signal.pidfd_send_signal", lambda *_: pytest.fail("It hit somebody else."))
    assert runs.cancel(run.id, by="bo", roles=ALL).state == "answered"


def test_another_users_question_is_not_found(ask):
    run = ask("SELECT 1")
    for look in (runs.look, runs.cancel):
        with pytest.raises(errors.NotFound):
            look(run.id, by="al", roles=ALL)


@pytest.mark.parametrize("run_id", ["", "x", "../../x", make_id(NOW)])
def test_what_was_never_asked_is_not_found(run_id, var):
    with pytest.raises(errors.NotFound):
        runs.look(run_id, by="bo", roles=ALL)


def test_an_empty_question_is_refused_at_once(ask):
    with pytest.raises(errors.Invalid):
        ask(" \n")


def test_only_some_questions_are_answered_at_a_time(ask):
    working = [ask(FOREVER, patience=0.0, by=f"user{n}") for n in range(runs.SLOTS)]
    with pytest.raises(errors.TooManyRequests):
        ask("SELECT 1")
    for n, run in enumerate(working):
        runs.cancel(run.id, by=f"user{n}", roles=ALL)
    assert ask("SELECT 1").state == "answered"


def test_answers_are_kept_for_an_hour(ask):
    old, late = new_ulid(NOW - timedelta(minutes=61)), new_ulid(NOW - timedelta(minutes=59))
    lake = lake_in(ask("SELECT 1").folder, ALL)
    for run_id in (old, late):
        runs.start("SELECT 1", run_id=run_id, by="bo", lake=lake, patience=30)
    ask("SELECT 2")
    with pytest.raises(errors.NotFound):
        runs.look(old, by="bo", roles=ALL)
    assert runs.look(late, by="bo", roles=ALL).state == "answered"


def test_no_more_than_some_answers_are_kept(ask, var, monkeypatch):
    monkeypatch.setattr(runs, "MOST", 3)
    made = [ask("SELECT 1").id for _ in range(5)]
    kept = sorted(path.name for path in (var / "ask").iterdir() if path.name != "slots")
    assert kept == made[-3:]


def test_an_answer_that_nobody_needs_any_more_is_gone(ask):
    run = ask("SELECT 1")
    runs.forget(run)
    with pytest.raises(errors.NotFound):
        runs.look(run.id, by="bo", roles=ALL)


def test_a_process_that_outlives_its_alarm_is_killed(ask, monkeypatch):
    # As one that ignores the alarm would: it is given an hour, and its keeper two seconds.
    monkeypatch.setattr(runs, "GRACE", 2.0 - 3600)
    run = ask(FOREVER, patience=0.0, limits=Limits(seconds=3600))
    until(lambda: runs.look(run.id, by="bo", roles=ALL).state == "stopped")


def test_the_files_of_a_question_are_its_owners_alone(ask):
    run = ask("SELECT 1")
    assert run.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", ["gone", "broken"])
def test_a_snapshot_that_is_gone_or_damaged_is_told(ask, tmp_path, damage):
    lake = lake_in(lakes.write(tmp_path, lakes.shop()), ALL)
    file = lake.folder / "orders" / "0.parquet"
    file.unlink() if damage == "gone" else file.write_bytes(b"PAR1" + bytes(99))
    run = ask("SELECT count(*) FROM orders", lake=lake)
    words = {"gone": "This snapshot is gone", "broken": "A file of this snapshot is damaged."}
    assert run.state == "refused"
    assert words[damage] in run.why


def test_a_damaged_answer_is_no_answer(ask):
    run = ask("SELECT 1")
    for text in ("", "{", '{"columns": []}\n', "[1]\n[2]", '{"end": {}}'):
        (run.folder / "answer").write_text(text)
        assert runs.look(run.id, by="bo", roles=ALL).state == "stopped"


def test_the_newest_snapshot_of_the_data_folder_is_asked(settings, var):
    settings.DEALSITE_LAKE = ""
    assert open_lake(ALL) is None
    newest = lakes.write(var / "lake", lakes.shop())
    lakes.write(var / "lake", lakes.Shop(), at=lakes.TODAY - lakes.DAY)
    (var / "lake" / ".making-x").mkdir()
    (var / "lake" / "history").mkdir()  # of an earlier release
    lake = open_lake(ALL)
    assert (lake.folder, lake.at) == (newest, lakes.TODAY)
    names = [table.name for table in lake.tables]
    assert names == sorted(names)
    assert {"orders", "cart_lines"} <= set(names)
