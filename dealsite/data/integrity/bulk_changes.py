"""Bulk changes: what is noted of them belongs to a job, is noted once, and the job counts no less than is noted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from dealsite.data.editing.bulk import CHANGED, REFUSED
from dealsite.data.integrity.problem import Problem, key_of, repair_write
from dealsite.data.jobs.jobs import BULK_CHANGE, BULK_UNDO
from dealsite.data.table.convert import Item

COUNTED = {CHANGED: "changed", REFUSED: "refused"}


class BulkChanges:
    """Keeps the jobs that change many deals, with the number of their rows; memory grows with jobs, not with rows."""

    def __init__(self) -> None:
        self.jobs: dict[str, Item] = {}
        self.counted: dict[str, Counter[str]] = defaultdict(Counter)
        self.first: dict[str, Item] = {}

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Job" if item["kind"] in (BULK_CHANGE, BULK_UNDO):
                self.jobs[item["id"]] = {name: item[name] for name in ("PK", "SK", "progress")}
            case "BulkRow":
                self.counted[item["job"]][COUNTED[item["outcome"]]] += 1
                self.first.setdefault(item["job"], {name: item[name] for name in ("PK", "SK")})
            case "BulkChunk":
                self.first.setdefault(item["job"], {name: item[name] for name in ("PK", "SK")})

    def problems(self) -> Iterator[Problem]:
        for job_id, row in self.first.items():
            if job_id not in self.jobs:
                yield Problem(key_of(row), "It belongs to no change of many deals.")
        for job_id, job in self.jobs.items():
            progress, counted = job["progress"], self.counted[job_id]
            wrong = {name: counted[name] for name in counted if progress.get(name, 0) < counted[name]}
            if wrong:  # fewer rows than that are no mistake: after a month they expire, each by itself
                texts = [f"{name} is {progress.get(name)}, noted {number}" for name, number in wrong.items()]
                repair = repair_write(job, {"progress": progress | wrong})
                yield Problem(key_of(job), "; ".join(texts) + ".", (repair,))
