"""docs/operations.md names what there is, and nothing else."""

import re
from pathlib import Path

from django.core.management import get_commands

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "operations.md").read_text("utf-8")


def test_every_management_command_that_the_page_names_exists():
    commands = set(get_commands())  # ours and Django's
    assert set(re.findall(r"manage\.py ([a-z_]+)", PAGE)) - commands == set()
