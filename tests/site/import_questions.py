"""What questions about imports cost: how each is prepared, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dealsite.data import drafts, imports, jobs
from dealsite.data.brands import Brand
from dealsite.data.imports import Brought, Import
from tests.builders import EDITOR, NOW, make_brand, make_content, make_draft, make_id

FILE = Brought("deals.csv", 12, 2, "utf-8", ",", ("title", "price"), ".", "day")
TOTALS = {"imported": 1, "there": 0, "refused": 0, "brands": 0, "notes": 0, "mendable": 0}


def bring() -> Import:
    return imports.create(FILE, import_id=make_id(NOW), by=EDITOR, now=NOW)


def order_check(one: Import) -> None:
    imports.check(one, {}, fingerprint="f", version=one.version, job_id=make_id(NOW), now=NOW)


def check(one: Import) -> Import:
    order_check(one)
    return imports.get(one.id)


def checked() -> Import:
    one = check(bring())
    imports.finished(jobs.get(one.job), totals=TOTALS, remarks=[])
    return imports.get(one.id)


def run(one: Import) -> None:
    imports.run(one, version=one.version, job_id=make_id(NOW), by=EDITOR, now=NOW)


def store_drafts(brand: Brand) -> None:
    drafts.create_many([(make_id(NOW), make_content(), brand) for _ in range(9)], by=EDITOR, now=NOW)


MEASURED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "imports.create": (lambda: None, lambda _: bring()),
    "imports.get": (bring, lambda one: imports.get(one.id)),
    "imports.load": (checked, lambda one: imports.load(one.id)),
    "imports.layout_of": (checked, lambda _: imports.layout_of("f")),
    "imports.read_again": (bring, lambda one: imports.read_again(one, FILE, version=1)),
    "imports.check": (bring, order_check),
    "imports.run": (checked, run),
    "imports.finished": (
        lambda: jobs.get(check(bring()).job),
        lambda job: imports.finished(job, totals=TOTALS, remarks=[]),
    ),
    "imports.newest": (lambda: check(bring()), lambda _: imports.newest()),
    "drafts.create_many": (make_brand, store_drafts),
    "drafts.get_many": (lambda: make_draft(title="x"), lambda draft: drafts.get_many([draft.id])),
}
