"""Examples of what is asked of imports."""

from __future__ import annotations

from dealsite.data.catalogue import drafts
from dealsite.data.catalogue.brands import Brand
from dealsite.data.editing import imports
from dealsite.data.editing.imports import Import, SourceFile
from dealsite.data.jobs import jobs
from tests.builders import EDITOR, NOW, make_brand, make_content, make_draft, make_id
from tests.data.examples import measures

FILE = SourceFile("deals.csv", 12, 2, "utf-8", ",", ("title", "price"), ".", "day")
TOTALS = {"imported": 1, "there": 0, "refused": 0, "brands": 0, "notes": 0, "mendable": 0}


def upload_file() -> Import:
    return imports.create(FILE, import_id=make_id(NOW), by=EDITOR, now=NOW)


@measures(imports.check, upload_file)
def order_check(one: Import) -> None:
    imports.check(one, {}, fingerprint="f", version=one.version, job_id=make_id(NOW), now=NOW)


def check(one: Import) -> Import:
    order_check(one)
    return imports.get(one.id)


def checked() -> Import:
    one = check(upload_file())
    imports.finished(jobs.get(one.job), totals=TOTALS, remarks=[])
    return imports.get(one.id)


@measures(imports.run, checked)
def run(one: Import) -> None:
    imports.run(one, version=one.version, job_id=make_id(NOW), by=EDITOR, now=NOW)


@measures(drafts.create_many, make_brand)
def store_drafts(brand: Brand) -> None:
    drafts.create_many([(make_id(NOW), make_content(), brand) for _ in range(9)], by=EDITOR, now=NOW)


measures(imports.create)(upload_file)
measures(imports.get, upload_file)(lambda one: imports.get(one.id))
measures(imports.load, checked)(lambda one: imports.load(one.id))
measures(imports.layout_of, checked)(lambda _: imports.layout_of("f"))
measures(imports.read_again, upload_file)(lambda one: imports.read_again(one, FILE, version=1))
measures(imports.finished, lambda: jobs.get(check(upload_file()).job))(
    lambda job: imports.finished(job, totals=TOTALS, remarks=[])
)
measures(imports.newest, lambda: check(upload_file()))(lambda _: imports.newest())
measures(drafts.get_many, lambda: make_draft(title="x"))(lambda draft: drafts.get_many([draft.id]))
