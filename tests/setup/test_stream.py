"""The mend of the native engine's stream fits the pinned engine, and old records go."""

import contextlib
import sqlite3

from dealsite.data import table
from dealsite.data.table import schema
from dealsite.data.table.writes import Put
from dealsite.engine import programs
from dealsite.engine.database import INDEX, KEPT_SECONDS, repair_stream, trim_stream

# What the engine asks for each write, word for word.
NEWEST = b"SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1 FROM _stream_records WHERE table_name = ?1"


def put(number: int) -> None:
    table.write(Put(key=(f"TEST#{number}", "TEST"), item={"type": "test"}))


def rows(engine, sql: str, *values):
    with contextlib.closing(sqlite3.connect(engine.database)) as connection:
        found = connection.execute(sql, values).fetchall()
        connection.commit()
    return found


def test_the_pinned_engine_still_asks_what_the_index_answers(own_engine):
    assert NEWEST in programs.NATIVE.read_bytes()
    (plan,) = rows(own_engine, f"EXPLAIN QUERY PLAN {NEWEST.decode()}", "deals")
    assert f"INDEX {INDEX} (table_name=?)" in plan[3]


def test_without_the_repair_the_engine_reads_the_whole_stream(own_engine):
    rows(own_engine, f"DROP INDEX {INDEX}")
    (plan,) = rows(own_engine, f"EXPLAIN QUERY PLAN {NEWEST.decode()}", "deals")
    assert INDEX not in plan[3]
    repair_stream(own_engine.database)
    repair_stream(own_engine.database)
    put(1)
    assert rows(own_engine, "SELECT COUNT(*) FROM sqlite_master WHERE name = ?", INDEX) == [(1,)]


def test_old_records_are_trimmed_and_the_newest_stays(own_engine):
    for number in range(20):
        put(number)
    times = rows(own_engine, "SELECT id, created_at, sequence_number FROM _stream_records ORDER BY id")
    oldest, newest = times[0], times[-1]
    assert trim_stream(own_engine.database, now=oldest[1] + KEPT_SECONDS) == 0
    assert trim_stream(own_engine.database, now=newest[1] + KEPT_SECONDS + 1) == 19
    assert rows(own_engine, "SELECT id, created_at, sequence_number FROM _stream_records") == [newest]


def test_records_go_on_counting_after_a_trim(own_engine):
    for number in range(5):
        put(number)
    trim_stream(own_engine.database, now=4_000_000_000)
    put(6)
    before, after = rows(
        own_engine, "SELECT CAST(sequence_number AS INTEGER) FROM _stream_records ORDER BY id"
    )
    assert (before, after) == ((5,), (6,))


def test_an_empty_stream_is_trimmed_without_fuss(own_engine):
    assert trim_stream(own_engine.database, now=4_000_000_000) == 0


def test_each_tables_newest_record_stays(own_engine, settings):
    for name in ("deals", "others"):
        settings.DEALSITE_TABLE = name
        schema.create_table()
        for number in range(12):  # as texts, 9 would come after 12
            put(number)
    assert trim_stream(own_engine.database, now=4_000_000_000) == 22
    kept = rows(
        own_engine, "SELECT table_name, CAST(sequence_number AS INTEGER) FROM _stream_records ORDER BY 1"
    )
    assert kept == [("deals", 12), ("others", 12)]


def test_records_since_yesterday_stay(own_engine):
    for number in range(6):
        put(number)
    rows(own_engine, "UPDATE _stream_records SET created_at = id * 1000")
    assert trim_stream(own_engine.database, now=KEPT_SECONDS + 4000) == 3
    assert rows(own_engine, "SELECT id FROM _stream_records ORDER BY id") == [(4,), (5,), (6,)]
