"""Announcements and bulk changes: what is noted of them belongs to a job, and the job's numbers are theirs."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from dealsite.data import keys
from dealsite.data.entities.batches import CHANGED, REFUSED
from dealsite.data.entities.work import SEND_MESSAGE
from dealsite.data.integrity.problem import Problem, as_seen, differences, kept, key_of, repair_write, say
from dealsite.data.jobs.jobs import BULK_CHANGE, BULK_UNDO
from dealsite.data.table.convert import Item
from dealsite.data.table.writes import Check, Delete, absent

SENT = ("sent", "skipped")
OUTCOMES = {CHANGED: "changed", REFUSED: "refused"}


class AnnouncementSegments:
    """Keeps the jobs that send messages, and their segments: four each."""

    takes_part = frozenset({"JobSegment"})

    def __init__(self) -> None:
        self.jobs: dict[str, Item] = {}
        self.segments: dict[str, list[Item]] = defaultdict(list)
        self.announced: dict[str, Item] = {}

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Job" if item["kind"] == SEND_MESSAGE:
                self.jobs[item["id"]] = kept(item, "state", "progress")
            case "JobSegment":
                self.segments[item["job"]].append(item)
            case "Deal" if item.get("announced"):
                self.announced[item["id"]] = kept(item, "announced", "writes")

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
        right = {name: sum(segment.get(name, 0) for segment in segments) for name in SENT}
        if wrong := differences(dict.fromkeys(SENT, 0) | progress, right):
            checks = [Check(key=key_of(segment), when=as_seen(segment, SENT)) for segment in segments]
            repair = repair_write(job, {"progress": progress | right})
            yield Problem(key_of(job), say("{} is {}, counted {}", progress, wrong), (repair, *checks))


class BulkChanges:
    """Keeps the jobs that change many deals, with the number of their rows; memory grows with jobs, not with rows."""

    takes_part = frozenset({"BulkRow"})

    def __init__(self) -> None:
        self.jobs: dict[str, Item] = {}
        self.imports: set[str] = set()
        self.counted: dict[str, Counter[str]] = defaultdict(Counter)
        self.first: dict[str, Item] = {}

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Job" if item["kind"] in (BULK_CHANGE, BULK_UNDO):
                self.jobs[item["id"]] = kept(item, "progress")
            case "Import":
                self.imports.add(item["id"])
            case "BulkRow" | "BulkChunk":
                self.first.setdefault(item["job"], kept(item))
                if item["type"] == "BulkRow":
                    self.counted[item["job"]][OUTCOMES[item["outcome"]]] += 1

    def problems(self) -> Iterator[Problem]:
        for job_id, row in self.first.items():
            if job_id not in self.jobs and job_id not in self.imports:
                yield Problem(key_of(row), "It belongs to no change of many deals.")
        for job_id, job in self.jobs.items():
            progress, counted = job["progress"], self.counted[job_id]
            wrong = {name: counted[name] for name in counted if progress.get(name, 0) < counted[name]}
            if wrong:  # fewer rows than that are no mistake: after a month they expire, each by itself
                repair = repair_write(job, {"progress": progress | wrong})
                yield Problem(key_of(job), say("{} is {}, noted {}", progress, wrong), (repair,))
