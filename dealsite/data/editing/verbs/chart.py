"""What can be done to deals and drafts: each verb once, for one and for many, in the order that menus show them."""

from dataclasses import dataclass
from typing import Any

from dealsite.data.editing.verbs.beside import AcceptLink, DiscardChanges
from dealsite.data.editing.verbs.edit import Edit, Import, RestoreVersion
from dealsite.data.editing.verbs.featuring import Arrange, Feature, Unfeature
from dealsite.data.editing.verbs.fields import ChangeBrand, ChangeCategory, Describe, SetStock, SetVoucher
from dealsite.data.editing.verbs.prices import SetPrice, SetWasPrice
from dealsite.data.editing.verbs.publish import Duplicate, MoveToTrash, Publish, Schedule
from dealsite.data.editing.verbs.times import End, Reschedule, SetEnd
from dealsite.data.editing.verbs.verb import Verb

ALL: tuple[Verb[Any], ...] = (
    Publish(),
    Schedule(),
    End(),
    SetEnd(),
    SetPrice(),
    Feature(),
    ChangeCategory(),
    ChangeBrand(),
    SetVoucher(),
    SetStock(),
    SetWasPrice(),
    Unfeature(),
    Reschedule(),
    Duplicate(),
    MoveToTrash(),
    Describe(),
    AcceptLink(),
    DiscardChanges(),
    RestoreVersion(),
    Arrange(),
    Edit(),
    Import(),
)
VERBS = {verb.name: verb for verb in ALL}


def of_kind(kind: str) -> list[Verb[Any]]:
    """Return what a menu can offer to do to deals or drafts."""
    return [verb for verb in ALL if kind in verb.kinds and verb.icon]


@dataclass(frozen=True, slots=True)
class BulkChange:
    """What is done to deals (`kind` deal), drafts or the list of a page: a verb by its name, and the value it needs.

    That is a time in ISO, a slug, the id of a page, a number, a code, words, a link, or the rule of a price.
    """

    kind: str
    action: str
    value: str = ""

    @property
    def verb(self) -> Verb[Any]:
        return VERBS[self.action]


@dataclass(frozen=True, slots=True)
class BulkTarget:
    """A deal or draft to be changed, with the value that it had when it was chosen."""

    id: str
    title: str
    seen: str = ""
