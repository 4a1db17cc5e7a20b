"""The data tests run on each engine, and once more with faults."""

from __future__ import annotations

import pytest


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
    metafunc.parametrize("engine_kind", kinds)
