"""docs/asvs.csv goes through every requirement of OWASP ASVS 5.0, levels 1 and 2, and names modules of tests."""

from __future__ import annotations

import csv
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
COLUMNS = ["requirement", "level", "about", "applies", "met by", "test", "open"]
# How many requirements of level 1 or 2 each section of the standard has.
SECTIONS = {
    section: int(number)
    for section, number in re.findall(
        r"(V[\d.]+)=(\d+)",
        "V1.1=2 V1.2=9 V1.3=11 V1.4=3 V1.5=2 V2.1=3 V2.2=3 V2.3=4 V2.4=1 V3.2=2 V3.3=4 V3.4=6 V3.5=5 V3.7=2 "
        "V4.1=3 V4.2=1 V4.3=2 V4.4=4 V5.1=1 V5.2=3 V5.3=2 V5.4=3 V6.1=3 V6.2=12 V6.3=4 V6.4=4 V6.5=5 V6.6=3 "
        "V6.8=4 V7.1=3 V7.2=4 V7.3=2 V7.4=5 V7.5=2 V7.6=2 V8.1=2 V8.2=3 V8.3=1 V8.4=1 V9.1=3 V9.2=4 V10.1=2 "
        "V10.2=2 V10.3=4 V10.4=11 V10.5=5 V10.6=2 V10.7=3 V11.1=2 V11.2=3 V11.3=3 V11.4=4 V11.5=1 V11.6=1 "
        "V12.1=3 V12.2=2 V12.3=4 V13.1=1 V13.2=5 V13.3=2 V13.4=5 V14.1=2 V14.2=4 V14.3=3 V15.1=3 V15.2=3 "
        "V15.3=7 V16.1=1 V16.2=5 V16.3=4 V16.4=3 V16.5=3 V17.1=1 V17.2=4 V17.3=2",
    )
}
LEVEL_1 = 70


@cache
def rows() -> list[dict[str, str]]:
    with (ROOT / "docs" / "asvs.csv").open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return list(csv.DictReader(lines))


def applying() -> list[dict[str, str]]:
    return [row for row in rows() if row["applies"] == "yes"]


def test_each_requirement_of_the_first_two_levels_is_there_once():
    assert [*rows()[0]] == COLUMNS
    ids = [row["requirement"] for row in rows()]
    assert len(set(ids)) == len(ids) == 253
    assert all(re.fullmatch(r"V\d+\.\d+\.\d+", one) for one in ids)
    assert Counter(one.rpartition(".")[0] for one in ids) == SECTIONS
    assert Counter(row["level"] for row in rows()) == {"L1": LEVEL_1, "L2": 253 - LEVEL_1}


def test_each_row_says_whether_it_applies_and_what_meets_it_or_is_open():
    for row in rows():
        assert row["about"], row["requirement"]
        assert row["applies"] == "yes" or re.match(r"no: \w+", row["applies"]), row["requirement"]
        if row["applies"] == "yes":
            assert (row["met by"] and row["test"]) or row["open"], row["requirement"]
        else:
            assert (row["test"], row["open"]) == ("", ""), row["requirement"]


def test_each_module_of_tests_that_is_named_is_there():
    named = {one for row in applying() for one in row["test"].split()}
    assert [one for one in sorted(named) if not (ROOT / one).is_file()] == []


def test_every_module_and_page_that_the_model_names_is_there():
    text = (ROOT / "docs" / "security.md").read_text("utf-8")
    named = re.findall(r"`((?:dealsite|cms|shopping|docs|tests)/[\w/.]+)`", text)
    assert [path for path in named if not (ROOT / path).exists()] == []
