"""What the back office says for itself: notes of an order, kept by the audit log, its tags; a note of a customer."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext as _, gettext_lazy

from dealsite.data import keys, table
from dealsite.data.commerce import orders
from dealsite.data.commerce.order_record import Order, clean_note, order_write
from dealsite.data.editing import audit
from dealsite.data.entities.commerce import MOST_TAGS, NOTE_TOKENS, TAG_CHARACTERS
from dealsite.data.entities.people import CUSTOMER_NOTE
from dealsite.data.names import as_typed, clean_text, is_username
from dealsite.data.people.profiles import no_user
from dealsite.data.table.errors import Conflict, Invalid
from dealsite.data.table.ids import folded
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Update, equals, exists, missing

NOTED = "noted"  # what the audit log says of a note
EMPTY = gettext_lazy("Write something first.")


@access_pattern("note something about an order, for the team", "1 get + 1 transaction")
def note_order(username: str, order_id: str, text: str, *, token: str, by: str, now: datetime) -> Order:
    """Have a note of one line stand in the audit log of an order: once, however often a form with its token is sent.

    NotFound, Invalid.
    """
    note = clean_note(text)
    if not note:
        raise Invalid(note=EMPTY)

    def noted(order: Order) -> Order:
        if token in order.note_tokens:
            return order
        return replace(order, note_tokens=(*order.note_tokens, token)[-NOTE_TOKENS:])

    return _change(username, order_id, noted, what=NOTED, note=note, by=by, now=now)


@access_pattern("tag an order", "1 get + 1 transaction")
def tag_order(username: str, order_id: str, tag: str, *, by: str, now: datetime) -> Order:
    """Give an order a tag of one line; harmless if it has it, in capitals or not. NotFound, Invalid."""
    tag = as_typed(tag)
    if not tag:
        raise Invalid(tag=EMPTY)
    if len(tag) > TAG_CHARACTERS:
        raise Invalid(tag=_("Shorten this to %(most)s characters.") % {"most": TAG_CHARACTERS})

    def tagged(order: Order) -> Order:
        if folded(tag) in map(folded, order.tags):
            return order
        if len(order.tags) == MOST_TAGS:
            raise Invalid(
                tag=_("An order has %(most)s tags at most. Remove one first.") % {"most": MOST_TAGS}
            )
        return replace(order, tags=(*order.tags, tag))

    return _change(username, order_id, tagged, what="tagged", note=tag, by=by, now=now)


@access_pattern("take a tag off an order", "1 get + 1 transaction")
def untag_order(username: str, order_id: str, tag: str, *, by: str, now: datetime) -> Order:
    """Take a tag off an order, in capitals or not; harmless if it has none such. NotFound."""
    tag = as_typed(tag)

    def untagged(order: Order) -> Order:
        return replace(order, tags=tuple(one for one in order.tags if folded(one) != folded(tag)))

    return _change(username, order_id, untagged, what="removed a tag", note=tag, by=by, now=now)


@access_pattern("note something about a customer, for the team", "1 update")
def note_customer(username: str, note: str, *, before: str) -> None:
    """Keep a note of a customer in place of the one `before`; empty, there is none any more. NotFound, Invalid.

    Conflict where another one stands there by now, 1 get more; harmless if it is the same.
    """
    note, before = (clean_text("\n".join(text.splitlines())).strip() for text in (note, before))
    if not is_username(username):
        raise no_user()
    if len(note) > CUSTOMER_NOTE:
        raise Invalid(note=_("Shorten this to %(most)s characters.") % {"most": CUSTOMER_NOTE})
    write = Update(
        key=keys.profile(username),
        set={"note": note} if note else {},
        remove=() if note else ("note",),
        when=(exists(), equals("note", before) if before else missing("note")),
        otherwise=Conflict(_("Somebody wrote another note meanwhile. It stands above; put both into one.")),
    )
    try:
        table.write(write)
    except Conflict:
        if (item := table.get(keys.profile(username))) is None:
            raise no_user() from None
        if item.get("note", "") != note:
            raise


def _change(
    username: str,
    order_id: str,
    change: Callable[[Order], Order],
    *,
    what: str,
    note: str,
    by: str,
    now: datetime,
) -> Order:
    """Change an order that nothing else changes meanwhile, with an audit entry; neither where it stays as it is."""

    def attempt() -> Order:
        order = orders.get(username, order_id)
        if (changed := change(order)) == order:
            return order
        changed = replace(changed, version=order.version + 1)
        entry = audit.entry_write(by=by, kind="order", subject=order.id, what=what, note=note, now=now)
        table.transact([order_write(order, changed), entry])
        return changed

    return table.retrying(attempt)
