"""Saved questions of the back office; everybody there sees and may change all of them."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.entities.attributes import UNSTORABLE
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.work import LONGEST_SQL, LONGEST_TITLE, SAVED_QUESTION
from dealsite.data.names import as_typed
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import AlreadyExists, Invalid, NotFound, VersionConflict
from dealsite.data.table.ids import is_ulid, new_ulid
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Delete, Put, absent, at_version

MOST = 200  # that a list shows


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """A question with its title; `version` counts its edits."""

    id: str
    title: str
    sql: str
    version: int
    created_by: str
    updated_by: str
    updated_at: datetime
    last_edit: str = ""


@access_pattern("save a question", "1 put")
def create(*, question_id: str, title: str, sql: str, by: str, now: datetime) -> SavedQuestion:
    """Save a question under an id made with its form; the same id again returns what is there."""
    item = _item(question_id, title, sql, 1, new_ulid(now), by, by, now)
    write = Put(key=keys.question(question_id), item=item, when=(absent(),), otherwise=AlreadyExists())
    try:
        table.write(write)
    except AlreadyExists:
        return get(question_id)
    return from_item(item)


@access_pattern("note that a question was asked", "1 put")
def note_asked(run_id: str, sql: str, *, by: str, now: datetime) -> None:
    """Write into the audit log who asks what, with its white space folded."""
    table.write(_entry("asked", run_id, {}, _texts("", sql), by, now))


@access_pattern("one saved question", "1 get")
def get(question_id: str) -> SavedQuestion:
    """Return a saved question, or raise NotFound."""
    item = table.get(keys.question(question_id)) if is_ulid(question_id) else None
    if item is None:
        raise NotFound(gettext_lazy("There is no such question, or no longer."))
    return from_item(item)


@access_pattern("the saved questions, newest first", "1 query")
def newest() -> list[SavedQuestion]:
    """Return the newest 200 saved questions, newest first."""
    partition, (low, high) = keys.question.partition(), keys.question.between()
    items = table.query(partition, low=low, high=high, newest_first=True, limit=MOST, consistent=True)
    return [from_item(item) for item in items]


@access_pattern("change a saved question", "1 transaction")
def edit(question: SavedQuestion, *, title: str, sql: str, by: str, now: datetime) -> SavedQuestion:
    """Change a saved question; VersionConflict, with `current`, if it changed since it was loaded."""
    token = new_ulid(now)
    item = _item(question.id, title, sql, question.version + 1, token, question.created_by, by, now)
    when = at_version(question.version)
    put = Put(key=keys.question(question.id), item=item, when=when, otherwise=VersionConflict())
    before, after = _texts(question.title, question.sql), _texts(item["title"], sql)
    try:
        table.transact([put, _entry("changed", question.id, before, after, by, now)])
    except VersionConflict as conflict:
        conflict.current = get(question.id)
        raise
    return from_item(item)


@access_pattern("delete a saved question", "1 transaction")
def delete(question: SavedQuestion, *, by: str, now: datetime) -> None:
    """Delete a saved question; harmless if it is gone. VersionConflict if it was edited meanwhile."""
    when = at_version(question.version)
    deletion = Delete(key=keys.question(question.id), when=when, otherwise=VersionConflict())
    before = _texts(question.title, question.sql)
    try:
        table.transact([deletion, _entry("deleted", question.id, before, {}, by, now)])
    except VersionConflict as conflict:
        try:
            conflict.current = get(question.id)
        except NotFound:
            return
        raise


def _texts(title: str, sql: str) -> dict[str, str]:
    return {"title": title, "question": " ".join(sql.split())}


def _entry(
    what: str, subject: str, before: dict[str, str], after: dict[str, str], by: str, now: datetime
) -> Put:
    """Return what notes something in the audit log, with whole texts: nothing hides behind a long beginning."""
    changed = audit.changed(before, after, longest=LONGEST_SQL)
    return audit.entry_write(by=by, kind="question", subject=subject, what=what, now=now, **changed)


from_item = reader(SAVED_QUESTION.shape, SavedQuestion)
_store_question = writer(SAVED_QUESTION.shape, SavedQuestion)


def _item(
    question_id: str, title: str, sql: str, version: int, token: str, created_by: str, by: str, now: datetime
) -> Item:
    title = as_typed(title)
    problems = {}
    if not title:
        problems["title"] = _("Give it a title.")
    elif len(title) > LONGEST_TITLE:
        problems["title"] = _("A title has at most %(most)s characters.") % {"most": LONGEST_TITLE}
    if not sql.strip():
        problems["sql"] = _("Write a question: one SELECT.")
    elif len(sql) > LONGEST_SQL:
        problems["sql"] = _("A question has at most %(most)s characters.") % {"most": f"{LONGEST_SQL:,}"}
    elif UNSTORABLE.search(sql):
        problems["sql"] = _("A question holds no control characters.")
    if problems:
        raise Invalid(**problems)
    question = SavedQuestion(question_id, title, sql, version, created_by, by, now, token)
    return SAVED_QUESTION.item(_store_question(question))
