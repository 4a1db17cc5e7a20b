"""Commands run within the tests' own process."""

from __future__ import annotations

import pytest

from dealsite.data import table


@pytest.fixture(autouse=True)
def as_patient_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that waits longer for answers must not make the tests after it wait."""
    monkeypatch.setattr(table, "be_patient", lambda: None)
