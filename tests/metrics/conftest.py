"""Processes that count, one after the other in this one, and what /metrics shows of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import values
from prometheus_client.parser import text_string_to_metric_families

from dealsite.data.table import meters
from dealsite.web import counting, metrics

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
begin = counting.begin  # before a fixture of all tests takes it away


class Processes:
    """Those that this test began; one that is killed lets go of its name."""

    def __init__(self) -> None:
        self._slots: dict[str, Any] = {}

    def begin(self, part: counting.Part) -> str:
        """Let what follows be counted by a new process; return its name."""
        counting.end()
        begin(part)
        assert counting._slot is not None
        name = Path(counting._slot.name).stem
        self._slots[name] = counting._slot
        return name

    def kill(self, name: str) -> None:
        self._slots.pop(name).close()

    def kill_all(self) -> None:
        for name in list(self._slots):
            self.kill(name)
        if counting._slot is not None:
            counting._slot.close()


@pytest.fixture
def processes(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What begins and kills processes that count in a folder of this test's own."""
    settings.VAR = tmp_path
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
    monkeypatch.setattr(os, "register_at_fork", lambda **_: None)
    monkeypatch.setattr(values, "ValueClass", values.ValueClass)
    monkeypatch.setattr(meters, "_called", meters._called)
    monkeypatch.setattr(meters, "_happened", meters._happened)
    monkeypatch.setattr(counting, "_slot", None)
    made = Processes()
    yield made
    counting.end()
    made.kill_all()
    values.close_all_multiprocess_files()


@pytest.fixture
def shown() -> Callable[..., float | None]:
    """A function that returns what /metrics shows of a metric with some labels; None if it does not show it."""
    return lambda name, **labels: samples().get((name, frozenset(labels.items())))


def samples() -> Samples:
    """Return all that /metrics shows, by name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(metrics.text().decode())
        for sample in family.samples
    }
