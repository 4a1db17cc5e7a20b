"""The list of guards is true: each stands in its source exactly once, and the tests that hold it exist."""

from __future__ import annotations

import pytest

from tests.guards.guards import GUARDS, ROOT, Guard


@pytest.mark.promise
@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.holds)
def test_a_guard_stands_where_the_list_says(guard: Guard):
    text = (ROOT / guard.path).read_text("utf-8")
    assert guard.taken_out(text) != text
    assert all((ROOT / path).exists() for path in guard.tests.split())


def test_there_are_thirty():
    assert len({guard.holds for guard in GUARDS}) >= 30
