"""A public site asks everybody with a role for a second factor, unless it is told not to, which it says."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from dealsite.checks import two_factor_is_required

READ = "from dealsite import settings as s; print(s.DEALSITE_REQUIRE_TWO_FACTOR)"


@pytest.mark.parametrize(
    ("url", "said", "required"),
    [
        ("https://deals.example", None, True),
        ("https://deals.example", "no", False),
        ("http://127.0.0.1:8000", None, False),
        ("http://127.0.0.1:8000", "yes", True),
    ],
)
def test_it_is_required_where_strangers_can_come(tmp_path: Any, url: str, said: str | None, required: bool):
    environment = {"DEALSITE_URL": url, "DEALSITE_VAR": str(tmp_path), "DEALSITE_SECRET_KEY": "x" * 50}
    if said:
        environment["DEALSITE_REQUIRE_TWO_FACTOR"] = said
    answer = subprocess.run(
        [sys.executable, "-c", READ], env=environment, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == str(required)


@pytest.mark.parametrize(
    ("https", "required", "ids"),
    [(True, False, ["dealsite.two_factor"]), (True, True, []), (False, False, [])],
)
def test_a_public_site_without_it_is_warned(settings: Any, https: bool, required: bool, ids: list[str]):
    settings.HTTPS, settings.DEALSITE_REQUIRE_TWO_FACTOR = https, required
    assert [found.id for found in two_factor_is_required()] == ids


def test_the_check_is_registered(settings: Any):
    from django.core.checks import run_checks

    settings.HTTPS, settings.DEALSITE_REQUIRE_TWO_FACTOR = True, False
    assert "dealsite.two_factor" in [found.id for found in run_checks()]
