"""Announcements: each segment belongs to its job, a finished job's numbers are theirs, a deal's own one is there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from dealsite.data import keys
from dealsite.data.integrity.problem import Problem, as_seen, key_of, repair_write
from dealsite.data.jobs.jobs import SEND_MESSAGE
from dealsite.data.table.convert import Item
from dealsite.data.table.writes import Check, Delete, absent

COUNTED = ("sent", "skipped")


class AnnouncementSegments:
    """Keeps the jobs that send messages, and their segments: four each."""

    def __init__(self) -> None:
        self.jobs: dict[str, Item] = {}
        self.segments: dict[str, list[Item]] = defaultdict(list)
        self.announced: dict[str, Item] = {}

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Job" if item["kind"] == SEND_MESSAGE:
                self.jobs[item["id"]] = {
                    name: item[name] for name in ("PK", "SK", "state", "progress") if name in item
                }
            case "JobSegment":
                self.segments[item["job"]].append(item)
            case "Deal" if item.get("announced"):
                self.announced[item["id"]] = {
                    name: item[name] for name in ("PK", "SK", "announced", "writes") if name in item
                }

    def problems(self) -> Iterator[Problem]:
        for job_id, segments in self.segments.items():
            if job_id not in self.jobs:
                gone = Check(key=keys.job(job_id), when=(absent(),))
                for segment in segments:
                    drop = Delete(key=key_of(segment))
                    yield Problem(key_of(segment), "This segment belongs to no job.", (drop, gone))
        for job_id, job in self.jobs.items():
            if job["state"] == "done":
                yield from self._number_problems(job, self.segments.get(job_id, []))
        for deal_id, deal in self.announced.items():
            if deal_id not in self.jobs:
                gone = Check(key=keys.job(deal_id), when=(absent(),))
                what = "It should be announced, but there is no such job."
                yield Problem(key_of(deal), what, (repair_write(deal, {"announced": None}), gone))

    def _number_problems(self, job: Item, segments: list[Item]) -> Iterator[Problem]:
        progress = dict(job.get("progress", {}))
        right = {name: sum(segment.get(name, 0) for segment in segments) for name in COUNTED}
        wrong = [name for name in COUNTED if progress.get(name, 0) != right[name]]
        if wrong:
            texts = [f"{name} is {progress.get(name)}, counted {right[name]}" for name in wrong]
            checks = [Check(key=key_of(segment), when=as_seen(segment, COUNTED)) for segment in segments]
            repair = repair_write(job, {"progress": progress | right})
            yield Problem(key_of(job), "; ".join(texts) + ".", (repair, *checks))
