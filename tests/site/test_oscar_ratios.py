"""Pages beside those of django-oscar: their table, and a sentence for each ratio that is not held."""

from __future__ import annotations

import pytest

from benchmarks.oscar import postgres
from benchmarks.oscar.ratios import Compared, Taken, tables_of, too_little


def compared(page, oscar, **dealsite):
    return Compared(page, Taken(oscar, 30.0, 11), {way: Taken(ms, 6.0, 3) for way, ms in dealsite.items()})


def test_the_tables_have_the_ratios():
    rows = [
        compared("list", 60.0, fresh=24.0, kept=12.0, cached=0.4),
        compared("search", 45.0, fresh=15.0, kept=10.0),
    ]
    assert tables_of(rows).splitlines() == [
        "| page | oscar, ms | Dealsite with nothing kept, ms | times | Dealsite, ms | times "
        "| Dealsite's page cache, ms | times |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        "| list | 60.0 | 24.00 | 2.5 | 12.00 | 5.0 | 0.40 | 150.0 |",
        "| search | 45.0 | 15.00 | 3.0 | 10.00 | 4.5 |  |  |",
        "",
        "| page | oscar's processor, ms | Dealsite's | times | oscar's queries | Dealsite's calls |",
        "|---|---:|---:|---:|---:|---:|",
        "| list | 30.0 | 6.0 | 5.0 | 11 | 3 |",
        "| search | 30.0 | 6.0 | 5.0 | 11 | 3 |",
    ]


def test_each_ratio_that_is_not_held_has_a_sentence(monkeypatch):
    budgets = {"fresh": {"list": 2.0, "search": 2.0}, "kept": {"list": 3.0}, "cached": {"list": 100.0}}
    monkeypatch.setattr("benchmarks.oscar.ratios.BUDGETS", budgets)
    held = [compared("list", 30.0, fresh=15.0, kept=10.0, cached=0.3), compared("search", 30.0, fresh=15.0)]
    assert too_little(held) == []
    slow = [compared("list", 29.0, fresh=14.5, kept=10.0, cached=0.5), compared("search", 28.5, fresh=15.0)]
    assert too_little(slow) == [
        "The list takes oscar 2.9 times as long as Dealsite: 3 at least.",
        "The list takes oscar 58.0 times as long as Dealsite's page cache: 100 at least.",
        "The search takes oscar 1.9 times as long as Dealsite with nothing kept: 2 at least.",
    ]


def test_the_newest_postgresql_is_taken_and_a_missing_one_named(tmp_path):
    for version in ("9", "15"):
        (tmp_path / version / "bin").mkdir(parents=True)
        (tmp_path / version / "bin" / "initdb").touch()
    assert postgres.programs(tmp_path) == tmp_path / "15" / "bin"
    with pytest.raises(SystemExit, match="apt-get install postgresql"):
        postgres.programs(tmp_path / "none")
