"""Drafts: deals in the making, which may be incomplete. A published one stays as a pointer to its deal.

stored       a draft as it is stored          editing      starting one, changing it
publishing   what publishing makes of it      trashing     deleting one, bringing it back
"""

from dealsite.data.catalogue.draft.draft_deleting import delete, restore
from dealsite.data.catalogue.draft.draft_record import Draft, draft_from_item, get, get_many
from dealsite.data.catalogue.draft.pointers import moved_write, published_write, reopen_write
from dealsite.data.catalogue.draft.saving import as_version, create, create_many, save

__all__ = [
    "Draft",
    "as_version",
    "create",
    "create_many",
    "delete",
    "draft_from_item",
    "get",
    "get_many",
    "moved_write",
    "published_write",
    "reopen_write",
    "restore",
    "save",
]
