"""What publishing makes of a draft, for the transaction that does it: a pointer to its deal, or a draft again."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext_lazy

from dealsite.data import keys
from dealsite.data.catalogue.brands import Brand
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.draft.draft_record import Draft, draft_item
from dealsite.data.table.errors import VersionConflict
from dealsite.data.table.ids import iso, new_ulid
from dealsite.data.table.writes import Put, Update, at_version, equals, exists, missing


def published_write(draft: Draft, deal_id: str) -> Put:
    """Return the write that turns a draft into a pointer to the deal that it became."""
    item = {
        "type": "Draft",
        "id": draft.id,
        "version": draft.version + 1,
        "published_as": deal_id,
        "created_by": draft.created_by,
        "updated_at": iso(draft.updated_at),
        "updated_by": draft.updated_by,
    }
    return Put(
        key=keys.draft(draft.id),
        item=item,
        when=(*at_version(draft.version), missing("published_as")),
        otherwise=VersionConflict(gettext_lazy("This draft was edited or published meanwhile.")),
    )


def reopen_write(pointer: Draft, content: DealContent, card: DealCard, *, by: str, now: datetime) -> Put:
    """Return the write that makes a published draft one to be worked on again, with what its deal holds."""
    brand = Brand(card.brand, card.brand_name)
    token = new_ulid(now)
    return Put(
        key=keys.draft(pointer.id),
        item=draft_item(pointer.id, content, brand, pointer.version + 1, token, pointer.created_by, by, now),
        when=(*at_version(pointer.version), equals("published_as", card.id)),
        otherwise=VersionConflict(gettext_lazy("This draft was changed meanwhile.")),
    )


def moved_write(draft_id: str, deal_id: str) -> Update:
    """Return the write that points a published draft to the new id of its rescheduled deal."""
    return Update(key=keys.draft(draft_id), set={"published_as": deal_id}, when=(exists(),))
