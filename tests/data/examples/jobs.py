"""Examples of what is asked of jobs and files to download."""

from __future__ import annotations

from dealsite.data import keys, table
from dealsite.data.catalogue import deals
from dealsite.data.entities.operations import SwitchState
from dealsite.data.entities.work import EXPORT
from dealsite.data.jobs import (
    command_runs,
    exports,
    heartbeats,
    job_actions,
    jobs,
    processes,
    queue,
    site_switch,
)
from dealsite.data.jobs.processes import Process
from dealsite.data.table.writes import Update
from tests.builders import EDITOR, HOUR, NOW, make_announcement, make_brand, make_deal, make_id
from tests.data.examples import measures
from tests.data.examples.catalogue import rename
from tests.orders import make_order

WANTED = exports.ExportRequest("orders", "", NOW - HOUR, NOW, "UTC", "ann")


def order(deal: deals.Deal | None = None) -> str:
    """Order a message to all users; return its id."""
    return make_announcement((deal or make_deal()).id, make_id(NOW))


def paused(job_id: str) -> str:
    job_actions.pause(job_id, by=EDITOR, now=NOW)
    return job_id


def failed(job_id: str) -> str:
    table.write(Update(key=keys.job(job_id), set={"state": "failed"}, remove=("GSI3PK", "GSI3SK")))
    return job_id


def ask_for_file(job_id: str = "") -> str:
    job_id = job_id or make_id(NOW)
    exports.request(WANTED, kind=EXPORT, job_id=job_id, now=NOW)
    return job_id


def turned(state: SwitchState) -> site_switch.SiteSwitch:
    return site_switch.switch_site(state, message="", by=EDITOR, now=NOW)


def taken() -> jobs.Job:
    order()
    job = jobs.take_next(now=NOW)
    assert job is not None
    return job


measures(jobs.take_next, lambda: rename(make_brand()))(lambda _: jobs.take_next(now=NOW))
measures(job_actions.pause, order)(lambda job_id: job_actions.pause(job_id, by=EDITOR, now=NOW))
measures(job_actions.cancel, order)(lambda job_id: job_actions.cancel(job_id, by=EDITOR, now=NOW))
measures(job_actions.resume, lambda: paused(order()))(
    lambda job_id: job_actions.resume(job_id, by=EDITOR, now=NOW)
)
measures(job_actions.retry, lambda: failed(order()))(
    lambda job_id: job_actions.retry(job_id, by=EDITOR, now=NOW)
)
measures(jobs.get, lambda: rename(make_brand()))(lambda brand: jobs.get(brand.last_edit))
measures(jobs.of_month, order)(lambda _: jobs.of_month("2026-11"))
measures(queue.read, order)(lambda _: queue.read(now=NOW))
measures(exports.request)(ask_for_file)
measures(exports.newest, ask_for_file)(lambda _: exports.newest())
measures(exports.get, ask_for_file)(lambda job_id: exports.get(job_id, now=NOW))
measures(exports.find_orders, make_order)(lambda _: list(exports.find_orders(WANTED)))
measures(jobs.get_many, order)(lambda job_id: jobs.get_many([job_id]))
measures(jobs.save_checkpoint, taken)(lambda job: jobs.save_checkpoint(job, {"id": "x"}, now=NOW))
measures(jobs.save_progress, taken)(lambda job: jobs.save_progress(job, {"sent": 1}, now=NOW))
measures(jobs.finish, taken)(jobs.finish)
measures(jobs.wait_until, taken)(lambda job: jobs.wait_until(job, NOW + HOUR))
measures(jobs.cancel_own, taken)(lambda job: jobs.cancel_own(job, "x"))
measures(jobs.fail, taken)(lambda job: jobs.fail(job, "x", now=NOW))
measures(heartbeats.write)(lambda: heartbeats.write("worker", now=NOW))
measures(site_switch.read, lambda: turned("read-only"))(lambda _: site_switch.read())
measures(site_switch.switch_site)(lambda: turned("read-only"))
measures(heartbeats.last, lambda: heartbeats.write("worker", now=NOW))(lambda _: heartbeats.last("worker"))


def process() -> Process:
    return Process(make_id(), "web", "one", 1, "1.0", NOW)


def backed_up() -> command_runs.CommandRun:
    return command_runs.note("backup", by="command", began=NOW, now=NOW, ok=True, said="It is written.")


measures(processes.save, process)(processes.save)
measures(processes.remove, process)(lambda one: processes.remove(one.id))
measures(processes.listed, lambda: processes.save(process()))(lambda _: processes.listed(now=NOW))
measures(command_runs.note)(backed_up)
measures(command_runs.newest, backed_up)(lambda run: command_runs.newest(run.kind))
measures(command_runs.plan)(lambda: command_runs.plan("close_day", due=NOW))
