"""A lake in memory, whose disk fails when told to, and DuckDB's view of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lake.disks import Disk


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path / "lake")
