"""The data tests run on each engine, and once more with faults: on DynamoDB Local mostly in make test-all."""

from __future__ import annotations

import pytest

ALWAYS = ("native", "weak")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine_kind" not in metafunc.fixturenames:
        return
    if only := metafunc.definition.get_closest_marker("engines"):
        kinds = list(only.args)
    else:
        kinds = ["native", "local"]
        if not metafunc.definition.get_closest_marker("budget"):
            kinds.append("weak")
        if metafunc.definition.get_closest_marker("fast"):
            kinds.append("moto")
    mark = metafunc.definition.get_closest_marker
    always = set(kinds if mark("engines_differ") else ALWAYS)
    if later := mark("later"):
        always -= set(later.args)
    metafunc.parametrize(
        "engine_kind",
        [pytest.param(kind, marks=() if kind in always else pytest.mark.thorough) for kind in kinds],
    )
