"""The data tests run on the embedded engine, and some of them on DynamoDB Local, on moto, and with faults."""

from __future__ import annotations

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine_kind" not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker
    differ = mark("engines_differ")
    samples = {
        "weak": {} if differ else {"quick": 4},
        "local": {"quick": 0} if differ else {"quick": 0, "whole": 3},
    }
    if only := mark("engines"):
        kinds = list(only.args)
    else:
        kinds = [
            "native",
            "local",
            *([] if mark("budget") else ["weak"]),
            *(["moto"] if mark("moto") else []),
        ]
    metafunc.parametrize(
        "engine_kind",
        [pytest.param(kind, marks=pytest.mark.sample(**samples.get(kind, {}))) for kind in kinds],
    )
