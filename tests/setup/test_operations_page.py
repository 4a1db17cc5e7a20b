"""docs/operations.md names what there is, and nothing else."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.promise
ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "operations.md").read_text("utf-8")
OURS = r"(?:DEALSITE_[A-Z_]+|DYNAMODB_ENDPOINT_URL|AWS_(?:DEFAULT_)?REGION|PORT)"


def test_every_variable_that_the_code_reads_is_in_the_table_and_no_other():
    read: set[str] = set()
    for path in [
        *(ROOT / "dealsite").rglob("*.py"),
        *(ROOT / "cms").rglob("*.py"),
        *(ROOT / "shopping").rglob("*.py"),
    ]:
        code = path.read_text("utf-8")
        read |= set(
            re.findall(
                rf'(?:environ\.get\(|environ\[|flag\(|number\(|url\(|bucket\(|one_of\(|secret\()\s*"({OURS})"',
                code,
            )
        )
    rows = [
        line.split("|")[1] for line in PAGE.partition("## Settings")[2].splitlines() if line.startswith("|")
    ]
    named = {name for row in rows for name in re.findall(rf"`({OURS})`", row)}
    assert named == read


def test_every_command_of_make_is_in_the_table():
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`", PAGE))
    assert targets - named == {"help", "setup-dev"}
    assert named - targets == set()


def test_every_management_command_that_the_page_names_exists():
    commands = {path.stem for path in (ROOT / "dealsite" / "management" / "commands").glob("*.py")}
    assert set(re.findall(r"manage\.py ([a-z_]+)", PAGE)) - commands == {"check"}  # which is Django's
