"""Files of deals on their way into the CMS, for tests of its pages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.core.files.base import ContentFile

from dealsite.data.editing import imports
from dealsite.data.editing.imports import Import, SourceFile
from dealsite.data.jobs import jobs
from dealsite.data.jobs.payloads import payload_to_item
from dealsite.data.table.ids import new_ulid, time_of
from dealsite.imports import layout
from dealsite.imports.layout import Layout
from dealsite.worker import imports as running
from tests.builders import EDITOR

TITLES = ("Artikel", "Marke", "Warengruppe", "Preis", "Produkt-URL", "Notiz")
COLUMNS = ("title", "brand", "category", "price", "url", "")
GOOD = "Lampe {n};Lampadine;Home & Furniture;1{n},90;https://shop.example/{n};"
BAD = [
    "Stuhl;Lampadine;Garten;12.50;shop;=1+1",
    "Donaudampfschifffahrtsgesellschaftskapitänsmütze " * 6 + ";;Home & Furniture;x;https://shop.example/b;",
    '"offen;1;2',
]


def content(good: int = 3, bad: Iterable[str] = BAD) -> str:
    """Return a file with some rows that are right, and some that are not."""
    return "\n".join([";".join(TITLES), *(GOOD.format(n=n) for n in range(good)), *bad, ""])


def upload_file(import_id: str, text: str | None = None, *, by: str = EDITOR) -> str:
    """Store a file and note it; return its id."""
    data = (content() if text is None else text).encode()
    running.storage().save(running.file_name(import_id, running.ROWS), ContentFile(data))
    samples = (("Lampe 0", "Lampadine", "Home & Furniture", "10,90", "https://shop.example/0", ""),)
    source_file = SourceFile("Angebote.csv", len(data), 6, "utf-8", ";", TITLES, ",", "day", COLUMNS, samples)
    imports.create(source_file, import_id=import_id, by=by, now=time_of(import_id))
    return import_id


def check(import_ids: Iterable[str], *, now: datetime) -> None:
    """Have files checked, as drafts, and check them."""
    chosen = Layout(titles=TITLES, columns=COLUMNS, decimal=",", dates="day", zone="UTC", moment=now)
    for import_id in import_ids:
        one = imports.get(import_id)
        imports.check(
            one,
            payload_to_item(chosen),
            fingerprint=layout.fingerprint(TITLES),
            version=one.version,
            job_id=new_ulid(now),
            now=now,
        )
        work(import_id, now=now)


def run(import_ids: Iterable[str], *, now: datetime) -> None:
    """Have checked files imported, and import them."""
    for import_id in import_ids:
        one = imports.get(import_id)
        imports.run(one, version=one.version, job_id=new_ulid(now), by=EDITOR, now=now)
        work(import_id, now=now)


def work(import_id: str, *, now: datetime) -> Import:
    """Do what an import waits for, and none of the other jobs that may be there; return the import."""
    wanted = imports.get(import_id).job
    while (job := jobs.take_next(now=now)) is not None:
        if job.id == wanted:
            running.HANDLERS[job.kind](job, now)
            jobs.finish(job)
    return imports.get(import_id)
