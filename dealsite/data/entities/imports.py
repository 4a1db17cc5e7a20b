"""Files of deals that editors import, and bulk changes of deals."""

from dealsite.data import keys
from dealsite.data.entities.attributes import (
    LINK_CHARACTERS,
    Expiry,
    Flag,
    Hash,
    ListOf,
    Map,
    Shape,
    Slug,
    Text,
    Time,
    Ulid,
    Username,
    Whole,
)
from dealsite.data.entities.deals import NAME_CHARACTERS, TITLE_CHARACTERS
from dealsite.data.entities.entity import At, Entity, without_empty_language
from dealsite.data.table.convert import Item

UPLOADED, CHECKING, CHECKED, IMPORTING, IMPORTED = "uploaded", "checking", "checked", "importing", "imported"
STAGES = (UPLOADED, CHECKING, CHECKED, IMPORTING, IMPORTED)
NAME_OF_FILE_CHARACTERS = 100
MAX_COLUMNS = 500
SAMPLES = 3  # rows of a file that are kept with it
SHOWN_REMARKS = 50  # that the page of an import shows; the file has all

CHUNK = 50  # deals of a bulk change between two checkpoints
CHANGED, REFUSED = "CHANGED", "REFUSED"  # what became of a deal

CELL = Text(least=0, most=1_000)
CELLS = ListOf(CELL, most=MAX_COLUMNS)
FIELD = Text(least=0, pattern="[a-z_]*")
DECIMAL, DATES = Text(one_of=(".", ",")), Text(one_of=("day", "month"))

SOURCE_FILE: Shape = {
    "name": Text(most=NAME_OF_FILE_CHARACTERS),
    "bytes": Whole(unit="bytes"),
    "rows": Whole(about="about how many it has"),
    "encoding": Text(most=20, pattern="[a-z0-9-]+"),
    "separator": Text(most=1),
    "titles": ListOf(CELL, least=1, most=MAX_COLUMNS),
    "decimal": DECIMAL,
    "dates": DATES,
    "columns": ListOf(FIELD, most=MAX_COLUMNS, optional=True, about="a deal's fields, as guessed"),
    "samples": ListOf(CELLS, most=SAMPLES, about="the first rows"),
    "of": Ulid(least=0, optional=True, about="of older imports; nobody reads it"),
}

PRICES, ALL = "prices", "all"  # what rows change in deals and drafts that are there
OF_PRICES = ("price", "was_price", "stock")  # the fields that PRICES changes

MAX_CHOICES = 300
CHOICE = Map(
    {"name": Text(most=TITLE_CHARACTERS, about="in the file"), "slug": Slug(about="of the site's own")}
)

LAYOUT: Shape = {
    "titles": ListOf(CELL, least=1, most=MAX_COLUMNS),
    "columns": ListOf(FIELD, least=1, most=MAX_COLUMNS, about="a deal's fields"),
    "decimal": DECIMAL,
    "dates": DATES,
    "zone": Text(most=60, pattern="[A-Za-z0-9_+/-]+"),
    "moment": Time(about="of rows without a time"),
    "category": Slug(least=0, about="of rows without one"),
    "brand": Text(least=0, most=300, about="of rows without one"),
    "drafts": Flag(about="rows become drafts"),
    "at_once": Flag(about="rows without a time are published"),
    "pictures": Flag(about="pictures are fetched"),
    "language": Text(most=20, pattern="[A-Za-z-]+", optional=True, about="of remarks"),
    "shop": Text(least=0, most=200, optional=True, about="the address below which links are"),
    "categories": ListOf(CHOICE, most=MAX_CHOICES, optional=True),
    "brands": ListOf(CHOICE, most=MAX_CHOICES, optional=True),
    "update": Text(least=0, one_of=("", PRICES, ALL), optional=True),
    "left_out": ListOf(
        Whole(least=1), most=SHOWN_REMARKS, optional=True, about="lines that change nothing, as chosen"
    ),
}

TOTALS = ("imported", "there", "refused", "brands", "notes", "pictures")
LATER_TOTALS = {
    "mendable": Whole(optional=True, about="of older imports; nobody reads it"),
    "changed": Whole(optional=True),
    **dict.fromkeys(OF_PRICES, Whole(optional=True, about="how many a check found to change")),
}

NEW_BRAND: Shape = {
    "line": Whole(about="of the file"),
    "slug": Slug(),
    "name": Text(most=NAME_CHARACTERS),
    "rows": Whole(optional=True, about="that have it, as a check found"),
}
REMARK: Shape = {
    "line": Whole(least=1, about="of the file"),
    "column": CELL,
    "value": CELL,
    "reason": Text(),
    "refused": Flag(about="not imported"),
}
CHANGE: Shape = {
    "line": Whole(least=1, about="of the file"),
    "id": Ulid(about="of the deal or draft"),
    "title": Text(least=0, most=TITLE_CHARACTERS),
    "fields": ListOf(Map({"name": FIELD, "before": CELL, "after": CELL})),
}


def _is_as_far_as_its_stage(item: Item) -> str:
    """Say what an import lacks for its stage."""
    card, titles = item["card"], item["brought"]["titles"]
    stage = card["stage"]
    if (stage == UPLOADED) == ("job" in card) or (stage == UPLOADED) == ("layout" in item):
        return f"It is {stage}, and {'a' if 'job' in card else 'no'} job works on it in some layout."
    if stage in (UPLOADED, CHECKING) and "totals" in item:
        return f"It is {stage}, and has totals."
    if stage in (CHECKED, IMPORTING, IMPORTED) and "totals" not in item:
        return f"It is {stage}, and has no totals."
    if ("totals" in item) != ("remarks" in item) or item.get("totals", {}) != card.get("totals", {}):
        return "Its totals, remarks and card do not go together."
    layout = item.get("layout", {"titles": titles, "columns": titles})
    rows = [layout["titles"], layout["columns"], *item["brought"]["samples"]]
    return (
        "" if {len(row) for row in rows} == {len(titles)} else "Its rows have not as many cells as columns."
    )


IMPORT = Entity(
    type="Import",
    about="a file of deals that an editor uploaded, how it is read, and what came of it",
    key=At(keys.deal_import, import_id="id"),
    rows=[At(keys.imports, import_id="id")],
    shape={
        "id": Ulid(),
        "by": Username(personal=True),
        "brought": Map(SOURCE_FILE, about="the file as it came"),
        "version": Whole(least=1, about="counts what editors did to it"),
        "layout": Map(LAYOUT, optional=True),
        "totals": Map(dict.fromkeys(TOTALS, Whole()) | LATER_TOTALS, optional=True),
        "remarks": ListOf(Map(REMARK), most=SHOWN_REMARKS, optional=True),
        "brands": ListOf(Map(NEW_BRAND), optional=True, about="the first that it made, or would make"),
        "categories": ListOf(
            Map({"name": Text(most=TITLE_CHARACTERS), "rows": Whole(least=1)}),
            optional=True,
            about="the first of the file that the site does not have",
        ),
        "changes": ListOf(
            Map(CHANGE), most=SHOWN_REMARKS, optional=True, about="the first that its check found"
        ),
        "undone_by": Ulid(optional=True, about="the job that takes its changes back"),
        "card": Map(
            {
                "name": Text(most=NAME_OF_FILE_CHARACTERS, copy_of="brought.name"),
                "by": Username(personal=True, copy_of="by"),
                "stage": Text(one_of=STAGES),
                "rows": Whole(copy_of="brought.rows"),
                "job": Ulid(refers="Job", optional=True, about="works on it, or did last"),
                "totals": Map(dict.fromkeys(TOTALS, Whole(optional=True)) | LATER_TOTALS, optional=True),
            }
        ),
    },
    rules=(_is_as_far_as_its_stage,),
    upgrades=(without_empty_language,),
)

IMPORT_LAYOUT = Entity(
    type="ImportLayout",
    about="how files with the same first line were read the last time",
    key=At(keys.import_layout, hash="fingerprint"),
    shape={"fingerprint": Hash(about="of the titles of the columns"), "layout": Map(LAYOUT), "ttl": Expiry()},
    upgrades=(without_empty_language,),
)

BULK_VALUE = Text(
    least=0,
    most=LINK_CHARACTERS,
    about="an expiry, a slug, a page, a version, a place, a deal, a link or words",
)

BULK_CHUNK = Entity(
    type="BulkChunk",
    about="some of the deals or drafts that a job is to change; each may have been deleted since",
    key=At(keys.bulk_chunk, job="job", number="number"),
    shape={
        "job": Ulid(refers="Job"),
        "number": Whole(least=1, most=999_999),
        "subjects": ListOf(
            Map({"id": Ulid(), "title": Text(least=0, most=TITLE_CHARACTERS), "seen": BULK_VALUE}), most=CHUNK
        ),
        "collected_at": Time(),
        "after": Text(least=0, about="where in the list the next one begins; empty: it is the last"),
        "ttl": Expiry(),
    },
)

BULK_ROW = Entity(
    type="BulkRow",
    about="what became of one of them",
    key=At(keys.bulk_row, job="job", outcome="outcome", deal="subject"),
    shape={
        "job": Ulid(refers="Job or Import"),
        "subject": Ulid(about="the deal or draft"),
        "title": Text(least=0, most=TITLE_CHARACTERS),
        "outcome": Text(one_of=(CHANGED, REFUSED)),
        "before": BULK_VALUE,
        "after": BULK_VALUE,
        "reason": Text(least=0),
        "chunk": Whole(),
        "stock": Whole(optional=True, about="that an import gave it"),
        "ttl": Expiry(),
    },
)
