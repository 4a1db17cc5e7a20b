"""One change of many deals or drafts: ordered here, carried out by a job, and taken back by another one.

    ordered -> collected in chunks -> changed one by one -> done        done | cancelled | failed -> undone

Who they are is settled before anything changes: a selection is kept with the order, a list is read to its
end, as of the moment of the order, into chunks. So no change moves what is still to be read. With each deal a
chunk keeps the value that it had then; whose value is another one by the time that its turn comes, or who came
later, is left alone and reported.

Each deal is changed in a transaction of its own, which notes that it was, once, and holds only while the job
belongs to its worker: nothing is changed twice, and nothing after the job was paused or cancelled.

stored     a bulk change as it is stored          ordering   ordering one, and that it be taken back
progress   what is kept of it while it is carried out: chunks, and what became of each deal
"""

from dealsite.data.editing.bulk_change.bulk_progress import (
    DoneBefore,
    NotOurs,
    audit_context,
    chunk,
    collect,
    is_changed,
    last_chunk,
    outcomes,
    refuse,
    rows,
)
from dealsite.data.editing.bulk_change.bulk_record import (
    ACTIONS,
    BRAND,
    CATEGORY,
    CHANGED,
    CHUNK,
    DELETE,
    EXPIRE,
    EXPIRY,
    FEATURE,
    FIELDS,
    MOST_CHOSEN,
    PUBLISH,
    REFUSED,
    UNFEATURE,
    Bulk,
    BulkChange,
    BulkResult,
    BulkTarget,
    Chunk,
    get,
    of_job,
)
from dealsite.data.editing.bulk_change.starting import start, undo

__all__ = [
    "ACTIONS",
    "BRAND",
    "CATEGORY",
    "CHANGED",
    "CHUNK",
    "DELETE",
    "EXPIRE",
    "EXPIRY",
    "FEATURE",
    "FIELDS",
    "MOST_CHOSEN",
    "PUBLISH",
    "REFUSED",
    "UNFEATURE",
    "Bulk",
    "BulkChange",
    "BulkResult",
    "BulkTarget",
    "Chunk",
    "DoneBefore",
    "NotOurs",
    "audit_context",
    "chunk",
    "collect",
    "get",
    "is_changed",
    "last_chunk",
    "of_job",
    "outcomes",
    "refuse",
    "rows",
    "start",
    "undo",
]
