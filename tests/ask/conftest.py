"""What tests of questions share: a small lake, made once, and a data folder of each test's own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from dealsite.ask import runs
from dealsite.ask.lake import Lake, lake_in
from dealsite.ask.runs import Run
from dealsite.data.table.ids import new_ulid
from tests.ask import lakes
from tests.builders import NOW

_numbers = count(1)


@pytest.fixture(scope="session")
def lake_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot with the items of `lakes.shop`; nothing may change it."""
    return lakes.write(tmp_path_factory.mktemp("lake"), lakes.shop())


@pytest.fixture
def lake(lake_folder: Path) -> Lake:
    return lake_in(lake_folder, {"admin"})


@pytest.fixture(autouse=True)
def _still_today() -> None:
    """Ask nothing of the last days once midnight has passed since they were counted: DuckDB has a clock of its own."""
    if datetime.now(UTC) >= lakes.TODAY + lakes.DAY:
        pytest.skip("It was another day when this run began.")


@pytest.fixture(autouse=True)
def var(settings: Any, tmp_path: Path) -> Path:
    """The data folder of one test."""
    settings.VAR = tmp_path / "var"
    return tmp_path / "var"


@pytest.fixture
def ask(lake: Lake) -> Callable[..., Run]:
    """A function that asks a question and waits for its end."""

    def of(sql: str, **more: Any) -> Run:
        filled: dict[str, Any] = {"by": "bo", "lake": lake, "patience": 30.0}
        return runs.start(sql, run_id=new_ulid(NOW, next(_numbers)), **(filled | more))

    return of


@pytest.fixture
def rows(ask: Callable[..., Run]) -> Callable[..., list[list[Any]]]:
    """A function that returns the rows of an answer."""

    def of(sql: str, **more: Any) -> list[list[Any]]:
        run = ask(sql, **more)
        assert (run.state, run.why) == ("answered", "")
        return run.answer().rows

    return of
