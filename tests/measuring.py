"""What a question to the table costs, and where it looks: counted in a test that is marked with its function.

    @pytest.mark.measures(brands.get)
    def test_a_brand_is_found_by_its_slug(...): ...

Counted is the first call that the test itself makes, on the embedded engine. It has to send what `@access_pattern`
says. docs/access-patterns.md shows what it found (tests/derived).
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import GeneratorType
from typing import Any

import pytest

from dealsite.data.table.access_patterns import ACCESS_PATTERNS
from tests.capacity import Units, recorded
from tests.questions import budget, in_words, measured_here, name_of

TESTS = str(Path(__file__).resolve().parent)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    functions = [mark.args[0] for mark in pyfuncitem.iter_markers("measures")]
    engine = getattr(pyfuncitem, "callspec", None) and pyfuncitem.callspec.params.get("engine_kind", "native")
    if not functions or engine not in (None, "native"):
        return (yield)
    counted: dict[Callable[..., Any], bool] = {}
    with ExitStack() as patches:
        for function in functions:
            patches.enter_context(_counting(function, counted))
        result = yield
    assert [one.__qualname__ for one in functions if one not in counted] == [], (
        "is measured and never called here"
    )
    return result


@contextmanager
def _counting(function: Callable[..., Any], counted: dict[Callable[..., Any], bool]) -> Iterator[None]:
    """Count the first call that a test makes of a function, by whatever name of the data layer."""

    @functools.wraps(function)
    def count_first(*arguments: Any, **named: Any) -> Any:
        if function in counted or not sys._getframe(1).f_code.co_filename.startswith(TESTS):
            return function(*arguments, **named)
        counted[function] = True
        with recorded() as units:
            answer = function(*arguments, **named)
            if isinstance(answer, GeneratorType):
                answer = iter(list(answer))
        check(function, units)
        return answer

    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("dealsite.data") and getattr(module, function.__name__, None) is function:
                patch.setattr(module, function.__name__, count_first)
        yield


def check(function: Callable[..., Any], units: Units) -> None:
    """Hold what was counted against what the function says, and keep it for the page."""
    said = ACCESS_PATTERNS[function].requests
    assert units.operations == budget(said), f"says {said}, sends {in_words(units.operations)}"
    assert (units.read, units.write + units.index) == (units.reported_read, units.reported_write)
    found = [sorted(units.lines), f"{units.read:g}", f"{units.write} + {units.index}"]
    path = measured_here() / f"{name_of(function)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found), "utf-8")
