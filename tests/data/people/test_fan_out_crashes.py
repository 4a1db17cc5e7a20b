"""The worker ends before or after every single request of a fan-out: the next one completes it, once for each."""

from __future__ import annotations

import contextlib
import itertools
from datetime import timedelta

import pytest

from dealsite.data import table
from dealsite.data.catalogue import relations
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.people import announcements, messages
from dealsite.data.people.announcements import Audience
from dealsite.data.table.ids import new_ulid
from tests.builders import HOUR, NOW, make_announcement, make_deal, make_id
from tests.crashes import Crash, Crasher, at_any_request
from tests.jobs import run_next
from tests.people import make_user

pytestmark = [pytest.mark.engines("native"), pytest.mark.usefixtures("all_are_editors")]
DEAL, JOB = make_id(NOW - HOUR, 1), new_ulid(NOW, 2)
NAMES = ("ann", "bob", "cleo", "eli", "mia", "zoe")
AUDIENCES = {"all users": Audience(), "watchers": Audience(brand="nordlicht", category="toys-hobbies")}


def seed(audience: Audience) -> None:
    make_deal(deal_id=DEAL, category="toys-hobbies")
    for number, name in enumerate(NAMES):
        make_user(name)
        if number != 1:
            relations.add(relations.BRAND_WATCH, "nordlicht", username=name, now=NOW)
        if number != 4:
            relations.add(relations.CATEGORY_WATCH, "toys-hobbies", username=name, now=NOW)
    make_announcement(DEAL, JOB, audience=audience)


def work(now=NOW) -> None:
    while run_next(now=now):
        pass


def stored() -> list[str]:
    """Whose message is there."""
    rows = [row for row in table.scan_all(consistent=True) if row["type"] == "Message"]
    assert {row["id"] for row in rows} <= {JOB}
    return sorted(row["username"] for row in rows)


@at_any_request
@pytest.mark.parametrize("users_of_a_part", [5, 1000])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("audience", AUDIENCES)
def test_a_worker_may_end_at_any_request(audience, when, users_of_a_part, new_table, monkeypatch):
    monkeypatch.setattr(announcements, "PAGE", 3)
    monkeypatch.setattr(announcements, "BATCH", 2)
    monkeypatch.setattr(announcements, "PART_USERS", users_of_a_part)
    seen = set()
    for at in itertools.count(1):
        new_table()
        seed(AUDIENCES[audience])
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            work()
        read = stored()
        seen.add(len(read))
        for name in read:
            messages.mark_read(name, JOB, now=NOW)
        assert [str(problem) for problem in checks.find()] == []
        work(NOW + jobs.LEASE + timedelta(seconds=1))
        assert stored() == list(NAMES)
        assert [name for name in NAMES if not messages.get(name, JOB).unread] == read
        job = jobs.get(JOB)
        assert (job.state, job.progress["sent"]) == ("done", len(NAMES))
        assert [str(problem) for problem in checks.find()] == []
        if not crasher.crashed:
            break
        assert at < 100
    assert at > 20
    assert {0, len(NAMES)} < seen  # it did end before, within and after the sending
