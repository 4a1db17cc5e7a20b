"""Which pages a run looks at: a sample, another each day, and those that were changed since the last commit of main."""

from __future__ import annotations

import inspect

import pytest

from tests.pages import PAGES, ROUTES
from tests.sampling import changed


def rate(name: str) -> int:
    """Return of how many pages like this one make test looks at one: 1 of 1 that were changed themselves."""
    folder, _, module = inspect.unwrap(ROUTES[name].view).__module__.rpartition(".")
    feature = folder.removeprefix("dealsite.").replace(".", "/")
    own = {module, name.removeprefix("cms_")}
    if any(of == feature and stem in own for of, stem in changed()):
        return 1
    return 2 if any(of in (feature, "css", "templates") for of, _ in changed()) else 4


every_page = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.sample(quick=rate(name))) for name in sorted(PAGES)]
)
