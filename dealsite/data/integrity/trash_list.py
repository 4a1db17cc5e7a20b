"""The trash: its list shows what it keeps, and each day on which something was deleted has a job that empties it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from dealsite.data import keys
from dealsite.data.editing.trash_record import EMPTY_TRASH, emptying_id, emptying_write
from dealsite.data.integrity.problem import Problem, differences, key_of, repair_write
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import from_iso
from dealsite.data.table.writes import Check, equals

OF_DELETION = ("kind", "deleted_at", "deleted_by")  # what the card says beside the thing's own card


class Trash:
    """Keeps the days of deletion and one thing of each; memory grows with days, not with what was deleted."""

    def __init__(self) -> None:
        self.things: dict[date, Item] = {}
        self.waiting: set[str] = set()
        self.found: list[Problem] = []

    def see(self, item: Item) -> None:
        match item["type"]:
            case "Job" if item["kind"] == EMPTY_TRASH and item["state"] == "open":
                self.waiting.add(item["id"])
            case "Trash":
                day = from_iso(item["card"]["deleted_at"]).date()
                self.things[day] = {name: item[name] for name in ("PK", "SK", "token")}
                self._compare(item)

    def _compare(self, item: Item) -> None:
        right = item["kept"]["card"] | {name: item["card"][name] for name in OF_DELETION}
        if differences(item, {"card": right}):
            what = "What the trash lists of it is not what it keeps."
            self.found.append(Problem(key_of(item), what, (repair_write(item, {"card": right}),)))

    def problems(self) -> Iterator[Problem]:
        yield from self.found
        for day, thing in sorted(self.things.items()):
            if emptying_id(day) not in self.waiting:
                there = Check(key=key_of(thing), when=(equals("token", thing["token"]),))
                what = f"No job empties the trash of {day.isoformat()}."
                yield Problem(keys.job(emptying_id(day)), what, (emptying_write(day), there))
