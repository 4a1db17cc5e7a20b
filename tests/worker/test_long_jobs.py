"""Jobs that write item by item take turns of some seconds, well within their lease, and others get theirs between."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.catalogue import brand_merges, brands, deals
from dealsite.data.jobs import jobs
from dealsite.data.people import messages, users
from dealsite.data.table.ids import new_ulid
from dealsite.worker import accounts
from tests.builders import DAY, EDITOR, NOW, Clock, make_brand, make_deal
from tests.data.people.test_messages import make_message
from tests.jobs import run_next
from tests.people import make_user

pytestmark = pytest.mark.usefixtures("fresh_table")


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """A function that works on a job to its end, and returns how many items each of its turns wrote."""
    ticks = Clock()

    def work(job_id: str, owner: Any, name: str, *, module: Any) -> list[int]:
        does, written = getattr(owner, name), [0]

        def write(*given: Any, **named: Any) -> Any:
            done = does(*given, **named)
            number = 1 if done is None else done
            ticks.now += number
            written[-1] += number
            return done

        monkeypatch.setattr(module, "monotonic", ticks)
        monkeypatch.setattr(owner, name, write)
        now = NOW + DAY
        while jobs.get(job_id).state == "open":
            before = ticks.now
            assert run_next(now=now)
            assert ticks.now - before < jobs.LEASE.total_seconds() / 2
            now += timedelta(seconds=ticks.now - before)
            written.append(0)
        assert jobs.get(job_id).state == "done"
        return written[:-1]

    return work


def test_a_brand_with_many_deals_is_renamed_in_turns_and_each_deal_once(turns: Any):
    brand = make_brand()
    made = [make_deal().id for _ in range(40)]
    renamed = brands.edit(brand, name="Polarlicht", description="", logo=None, by=EDITOR, now=NOW)
    job_id = renamed.last_edit
    assert turns(job_id, brand_merges, "_rename_on_deal", module=brand_merges) == [15, 15, 10]
    assert {deals.get(one).card.brand_name for one in made} == {"Polarlicht"}


def test_an_account_with_many_messages_is_removed_in_turns(turns: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(accounts, "BATCH", 5)
    monkeypatch.setattr(accounts, "SECOND_LOOK", timedelta(0))
    make_user("sam")
    messages.deliver([make_message(number, "sam") for number in range(40)])
    job_id = new_ulid(NOW)
    users.delete(users.get("sam"), job_id=job_id, now=NOW)
    assert turns(job_id, messages, "delete_all", module=accounts) == [15, 15, 10, 0]
    assert not [item for item in table.scan_all() if item["type"] == "Message"]
