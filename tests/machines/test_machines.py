"""Several machines on one table and one bucket, each with a folder of its own: processes as they run in earnest."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable

import pytest
from django.utils import timezone

from benchmarks.fan_out import make_users
from dealsite.data import table
from dealsite.data.jobs import jobs, leases, processes
from dealsite.data.table.ids import new_ulid
from dealsite.engine.server import Engine
from dealsite.worker.crew import ROOM
from tests.builders import HOUR, make_announcement, make_deal
from tests.machines.conftest import Machine, publish, seconds_until
from tests.people import make_user
from tests.setup.conftest import Site

FOUND_SECONDS = 3.0  # from publishing to being found on every machine
USERS = 30_000
NEW_SECONDS = 30.0  # from its start until a new machine finds
IDLE_SECONDS = 20.0


@pytest.mark.sample(quick=0, whole=2)
def test_a_deal_is_found_on_every_machine_and_whatever_dies_another_goes_on(
    start_machine: Callable[[str], Machine], record_property: Callable[[str, object], None]
):
    took: dict[str, float] = {}
    a = start_machine("a")
    publish("Lamp")
    seconds_until(lambda: a.finds("Lamp"))
    b = start_machine("b")
    seconds_until(lambda: b.finds("Lamp"))

    publish("Mug")
    took["found"] = seconds_until(lambda: a.finds("Mug") and b.finds("Mug"))

    time.sleep(3)  # what begins, begins
    before = a.calls() + b.calls()
    reads = [one.calls()["GetRecords"] for one in (a, b)]
    time.sleep(IDLE_SECONDS)
    idle = a.calls() + b.calls() - before
    read = [one.calls()["GetRecords"] - known for one, known in zip((a, b), reads, strict=True)]
    took["calls a second while idle"] = idle.total() / IDLE_SECONDS
    assert (read[0] > 0, read[1]) == (True, 0)
    assert b.calls()["DescribeStream"] == 0

    a.site.process.send_signal(signal.SIGKILL)  # a machine dies, with all that it runs
    a.site.process.wait()
    publish("Fan")
    took["taken over"] = seconds_until(lambda: b.finds("Fan"))

    c = start_machine("c")
    took["new machine"] = seconds_until(lambda: c.finds("Fan"))
    assert c.calls()["GetRecords"] == 0
    record_property("printed", f"{took} {idle}")
    assert took["found"] < FOUND_SECONDS
    assert took["new machine"] < NEW_SECONDS
    busy = leases.RENEW_SECONDS  # three machines and other tests share this one
    assert took["taken over"] < leases.SPAN_SECONDS + leases.RENEW_SECONDS + 2 * busy


@pytest.mark.sample(quick=0, whole=2)
def test_two_machines_share_a_message_and_whose_worker_dies_another_one_goes_on(
    start_machine: Callable[[str], Machine],
    own_engine: Engine,
    record_property: Callable[[str, object], None],
):
    now = timezone.now()
    make_users(own_engine.url, range(USERS))
    make_user("eve", roles=["editor"])
    deal = make_deal(live_at=now - HOUR, now=now)
    a, b = start_machine("a"), start_machine("b")
    seconds_until(lambda: len(processes.listed(now=timezone.now())) == 6)  # a worker, two web processes each

    message = make_announcement(deal.id, new_ulid(now), by="eve", now=now)

    def at_work() -> int:
        return sum(bool(part.taken_by) for part in jobs.parts_of(jobs.get(message)) if part.state == "open")

    seconds_until(lambda: at_work() > ROOM["bulk"])  # more than one worker does at once
    os.kill(b.pid(b"worker"), signal.SIGKILL)
    os.kill(a.pid(b"worker"), signal.SIGKILL)
    said = set[str]()

    def is_done() -> bool:
        job = jobs.get(message)
        said.add(job.error)
        return job.state == "done"

    took = seconds_until(is_done)
    record_property("printed", f"done {took:.0f} s after both workers died")
    assert jobs.SILENT in said
    assert jobs.get(message).progress["sent"] == USERS + 1
    rows = (row for row in table.scan_all(consistent=True) if row["type"] == "Message")
    got = Counter(row["username"] for row in rows if row["id"] == message)
    assert (len(got), {*got.values()}) == (USERS + 1, {1})


@pytest.mark.sample(quick=0, whole=2)
def test_a_site_at_rest_asks_for_next_to_nothing(
    start_site: Callable[..., Site], record_property: Callable[[str, object], None]
):
    machine = Machine(start_site())
    machine.site.wait_until_up()
    time.sleep(15)  # what begins, begins
    before = machine.calls()
    time.sleep(2 * IDLE_SECONDS)
    asked = machine.calls() - before
    record_property("printed", f"{asked.total() / 2 / IDLE_SECONDS} calls a second while idle: {asked}")
    assert asked.total() < 1.5 * 2 * IDLE_SECONDS
