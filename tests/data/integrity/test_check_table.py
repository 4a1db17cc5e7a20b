"""The command check_table: its rate, samples, final figures, and what it repairs or leaves."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from dealsite.data import table
from dealsite.data.integrity import checks
from dealsite.data.integrity.problem import Pace
from dealsite.data.jobs import command_runs
from dealsite.data.jobs.command_runs import CheckResult
from dealsite.data.table import schema
from dealsite.data.table.writes import Put, Update
from dealsite.management.commands import check_table
from tests.builders import DAY, EVER, HOUR, NOW, make_deal, make_id
from tests.measuring import measured

pytestmark = [pytest.mark.engines("native"), pytest.mark.usefixtures("fresh_table")]
COUNTS = ("BRAND#nordlicht", "COUNTS")
JOB = make_id(NOW - DAY)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def check(*arguments: str, fails: str = "") -> str:
    """Run the command; return what it says, whether it ends with an error that matches or without one."""
    out = StringIO()
    if fails:
        with pytest.raises(CommandError, match=fails) as failed:
            call_command("check_table", *arguments, stdout=out, stderr=StringIO())
        assert failed.value.returncode == 1
    else:
        call_command("check_table", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def damage(*names: str) -> None:
    for name in names:
        table.write(Put(key=(f"GHOST#{name}", "A"), item={"type": "Ghost"}))


def test_it_ends_with_its_figures():
    make_deal()
    items = schema.count()
    figures = r"items seen in [\d.]+ s \([\d,]+ a second\), [\d.,]+ s of processor time, [\d,]+ MB at most\."
    assert re.search(f"^{items} {figures}\nThe table .* is whole.$", check(), re.M)
    (run,) = command_runs.newest("check_table", now=EVER)
    assert (run.ok, run.by, run.check) == (True, "command", CheckResult("whole", items, 0))


def test_what_is_derived_is_repaired_with_repair_alone_and_all_else_left():
    make_deal()
    damage("a", "b")
    table.write(Update(key=COUNTS, set={"deals": 7}))
    check(fails=r"has 3 problems\. Run it with --repair\.")
    assert table.get(COUNTS)["deals"] == 7
    (noted,) = measured(command_runs.newest)("check_table", now=EVER)
    assert (noted.ok, noted.by) == (False, "command")
    assert noted.said.endswith("has 3 problems. Run it with --repair.")
    said = check("--repair", fails=r"has 2 problems\.$")
    assert "GHOST#a / A: Its type, 'Ghost', is not known. (nothing to derive it from)" in said
    assert table.get(COUNTS)["deals"] == 1
    check("--repair", fails="2 problems")
    assert [(run.repaired, run.left) for run in command_runs.checks(now=EVER)] == [(0, 2), (1, 2), (0, 3)]


def test_what_is_of_a_retired_type_is_no_damage_and_goes_with_repair():
    make_deal()
    key = ("QUARANTINE#a", "QUARANTINE#a")
    table.write(
        Put(key=key, item={"type": "Quarantined", "GSI1PK": "QUARANTINE", "GSI1SK": "b#a", "copy": {}})
    )
    old = {
        "type": "CheckRun",
        "id": JOB,
        "scope": "whole",
        "by": "worker",
        "items": 1,
        "seconds": 1,
        "problems": 0,
    }
    table.write(Put(key=("CHECKRUNS", f"RUN#{JOB}"), item=old | {"repaired": 0, "ttl": 1_900_000_000}))
    assert "The table" in check()
    assert "The sample" in check("--sample", "100%", "--repair")
    assert table.get(key) is not None
    said = check("--repair")
    assert "Repaired: QUARANTINE#a / QUARANTINE#a: Nothing reads a Quarantined any more." in said
    assert "Nothing reads a CheckRun any more." in said
    assert re.search("is whole, 2 problems repaired.$", said)
    assert table.get(key) is None
    assert checks.find() == []


def test_samples_take_turns_and_repair_what_an_item_says_itself():
    deal = make_deal()
    key = (f"DEAL#{deal.id}",) * 2
    table.write(Update(key=key, set={"GSI1SK": "x"}))
    damage("a")
    said = check("--sample", "100%", fails="2 problems. Run it with --repair.")
    assert "GSI1SK is 'x'" in said
    said = check("--sample", "60s", "--repair", fails="1 problem")
    assert "Repaired: DEAL#" in said
    assert [one.key for one in checks.find()] == [("GHOST#a", "A")]


def test_a_share_is_one_of_the_table(monkeypatch):
    for _ in range(3):
        make_deal()
    monkeypatch.setattr(checks, "AT_ONCE", 1)
    items = schema.count()
    seen = 0
    for _ in range(2):
        check("--sample", "50%")
        seen += command_runs.checks(now=EVER)[0].items
    assert items <= seen <= items + 2
    assert checks.last_position(now=EVER) is None or seen > items


def test_a_rate_is_kept_to(monkeypatch):
    damage(*map(str, range(120)))
    waits: list[float] = []
    made = Pace
    monkeypatch.setattr(
        check_table, "Pace", lambda rate, then: made(rate, then, clock=lambda: 0, sleep=waits.append)
    )
    check("--rate", "100", fails="120 problems")
    assert waits == [0.5 * number for number in range(1, 5)]  # of 240 items: it looks twice


def test_a_terminal_sees_how_far_it_is():
    damage(*map(str, range(120)))
    stream = Terminal()
    with pytest.raises(CommandError):
        call_command("check_table", stdout=StringIO(), stderr=stream)
    assert re.search(r"\rChecking, [\d,]+ a second █+░* 240 of 240", stream.getvalue())


@pytest.mark.parametrize("arguments", [("--sample", "some"), ("--sample", "10"), ("--rate", "-1")])
def test_what_is_not_understood_is_said(arguments):
    if arguments == ("--sample", "10"):
        check(*arguments)
    else:
        check(*arguments, fails="Say --sample 10%")


def test_the_number_of_items_comes_from_an_earlier_run_where_the_engine_does_not_know(monkeypatch):
    make_deal()
    assert checks.known_items(now=EVER) == schema.count()
    check()
    monkeypatch.setattr(schema, "count", lambda: 0)
    assert checks.known_items(now=EVER) == command_runs.checks(now=EVER)[0].items > 0


def test_what_a_check_found_is_kept_with_its_run():
    found = CheckResult("sample", 4, 3, 1, 2, {"start": {"PK": "A", "SK": "B"}})
    for number, check in enumerate((found, None)):  # the last one failed before it found anything
        at = NOW + number * HOUR
        command_runs.note("check_table", by="worker", began=at, now=at, ok=True, said="It ran.", check=check)
    assert [run.check for run in command_runs.newest("check_table", now=EVER, most=2)] == [None, found]
    assert command_runs.checks(now=EVER) == [found]
    assert checks.last_position(now=EVER) == {"start": {"PK": "A", "SK": "B"}}
