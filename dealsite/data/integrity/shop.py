"""Carts, orders and users: a cart's head knows its lines, an order adds up, a user has profile and e-mail guard.

What money depends on is reported, and never repaired automatically, but for lines that cancelling an order had left.

Sign-in item and second factor name each other; where there are passkeys, the factor's id leads to the user.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dealsite.data import keys
from dealsite.data.commerce.carts import CartOwner, Line, line_from_item, saved_limit
from dealsite.data.commerce.order_lines import OrderHistory, history, open_return, status_of
from dealsite.data.commerce.order_record import DONE, MESSAGE_KIND, Order, order_from_item
from dealsite.data.commerce.order_returns import late_returns
from dealsite.data.commerce.orders import as_bought
from dealsite.data.entities.attributes import ZERO
from dealsite.data.entities.commerce import (
    ACTIVE,
    CANCELLED,
    MAX_ACTIVE,
    PLACED,
    PURCHASED,
    RETURNED,
    SAVED,
    TAKEN_BACK,
)
from dealsite.data.entities.people import profile_rows
from dealsite.data.integrity.problem import (
    Problem,
    as_seen,
    differences,
    differing,
    kept,
    key_of,
    repair_write,
)
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import epoch_seconds, folded, from_iso, shard
from dealsite.data.table.writes import (
    Check,
    Delete,
    Put,
    Update,
    Write,
    absent,
    equals,
    exists,
    missing,
    present,
)

Name = tuple[str, str]  # of whom, and the order's id
NOT_ALL = "Its lines are not all {}."


class Carts:
    """Keeps the heads, and of each line in a cart where it stands and how many pieces it has."""

    takes_part = frozenset({"CartLine"})

    def __init__(self) -> None:
        self.heads: dict[str, Item] = {}
        self.lines: dict[str, dict[keys.Key, Item]] = defaultdict(dict)

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "CartHead":
                self.heads[item["PK"]] = item
            case "CartLine":
                self._see_line(item)

    def _see_line(self, item: Item) -> None:
        if item["status"] in (ACTIVE, SAVED):
            line = kept(item, "id", "deal", "status", "at", "username", "visitor", "ttl")
            self.lines[item["PK"]][key_of(item)] = line | {"quantity": item["card"]["quantity"]}

    def problems(self) -> Iterator[Problem]:
        now = epoch_seconds(datetime.now(UTC))
        for partition, head in self.heads.items():
            if head.get("ttl", now + 1) > now:  # else its lines expire, each by itself
                yield from self._head_problems(head, self.lines.get(partition, {}))
        for partition, lines in self.lines.items():
            users = {key: line for key, line in lines.items() if "username" in line}
            if partition not in self.heads and users:
                yield _lost_head(partition, users)

    def _head_problems(self, head: Item, lines: dict[keys.Key, Item]) -> Iterator[Problem]:
        owner = _owner(head)
        there: Item = {}
        named: set[keys.Key] = set()
        missing: list[keys.Key] = []
        for deal, entry in head["lines"].items():
            place = owner.line(entry["status"], from_iso(entry["at"]), entry["line"])
            line = lines.get(place)
            if line is None or line["deal"] != deal:
                missing.append(place)
                continue
            named.add(place)
            there[deal] = entry | {"quantity": line["quantity"]}
            if wrong := differences(line, {"ttl": head.get("ttl")}):
                yield differing("{} is {}, its cart's is {}", line, wrong, _unchanged(head))
        counts = _counts(there)
        right: Item = {"lines": there, **counts}
        if wrong := differences(head, right):
            texts = [
                f"{name} is {head.get(name)}, counted {counts[name]}" for name in counts if name in wrong
            ]
            said = head["lines"]
            texts += [
                f"the line of {deal} is not as it says"
                for deal in sorted(said)
                if said[deal] != there.get(deal)
            ]
            renew = repair_write(head, wrong | {"version": head["version"] + 1})
            gone = [Check(key=place, when=(absent(),)) for place in missing if place not in lines]
            yield Problem(key_of(head), "; ".join(texts) + ".", (renew, *gone))
        if counts["active"] > MAX_ACTIVE or counts["saved"] > saved_limit(owner):
            yield Problem(key_of(head), "It holds more lines than a cart can.")
        for place in lines.keys() - named:
            if owner.username:  # a visitor's may be what is left of a cart that ended
                drop = Delete(key=place, when=(exists(),))
                yield Problem(place, "The cart does not know this line.", (drop, _unchanged(head)))


def _owner(head: Item) -> CartOwner:
    return CartOwner(head.get("username", ""), head.get("visitor", ""))


def _counts(entries: Item) -> dict[str, int]:
    statuses = [entry["status"] for entry in entries.values()]
    return {"active": statuses.count(ACTIVE), "saved": statuses.count(SAVED)}


def _unchanged(head: Item) -> Check:
    return Check(key=key_of(head), when=as_seen(head, ["version"]))


def _lost_head(partition: str, lines: dict[keys.Key, Item]) -> Problem:
    """Return what makes a head anew: of several lines of a deal, it knows the newest."""
    newest = sorted(lines.values(), key=lambda line: (line["at"], line["id"]))
    entries = {
        line["deal"]: {name: line[name] for name in ("status", "at", "quantity")}
        | {"line": line["id"], "token": ""}
        for line in newest
    }
    head = {"type": "CartHead", "username": newest[0]["username"], "version": 1, "lines": entries}
    head |= _counts(entries)
    key = (partition, "HEAD")
    return Problem(key, "The head of this cart is missing.", (Put(key=key, item=head, when=(absent(),)),))


@dataclass
class _Lines:
    """The lines of an order, each in one or more parts, and where they stand."""

    parts: list[Line] = field(default_factory=list)
    stored: list[tuple[str, str]] = field(default_factory=list)


class Orders:
    """Keeps each order's numbers until all its lines are seen."""

    def __init__(self) -> None:
        self.orders: dict[Name, Order] = {}
        self.lines: dict[Name, _Lines] = defaultdict(_Lines)
        self.logged: dict[str, Counter[str]] = defaultdict(Counter)
        self.messages: list[tuple[keys.Key, Name]] = []
        self.asked: dict[Name, Item] = {}

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "Order":
                self.orders[item["username"], item["id"]] = order_from_item(item)
            case "CartLine" if item["status"] in (PURCHASED, RETURNED):
                line = line_from_item(item)
                lines = self.lines[line.username, line.order]
                lines.parts.append(line)
                lines.stored.append(key_of(item))
            case "ReturnRequest":
                self.asked[item["username"], item["order"]] = item
            case "AuditEntry" if item["card"]["kind"] == "order":
                self.logged[item["card"]["subject"]][item["card"]["what"]] += 1
            case "Message" if item["card"]["kind"] == MESSAGE_KIND:
                self.messages.append((key_of(item), (item["username"], item["card"]["order"])))

    def problems(self) -> Iterator[Problem]:
        for name, order in self.orders.items():
            if said := [*_disagreements(order, self.lines.pop(name, _Lines()).parts), *self._unlogged(order)]:
                yield Problem(keys.order(*name), " ".join(said), _returns(order, said))
            yield from _return_problems(order, self.asked.pop(name, None))
        for item in self.asked.values():
            what = f"This return is of the order {item['order']}, which does not exist."
            yield Problem(key_of(item), what, (Delete(key=key_of(item), when=(exists(),)),))
        for name, lines in self.lines.items():
            for key in lines.stored:
                yield Problem(key, f"This line is of the order {name[1]}, which does not exist.")
        for key, name in self.messages:
            if name not in self.orders:
                yield Problem(key, f"This message is of the order {name[1]}, which does not exist.")

    def _unlogged(self, order: Order) -> Iterator[str]:
        for event in order.timeline:
            if not self.logged[order.id][DONE[event.status]]:
                yield f"That it was {DONE[event.status]} is not in the log."


def _return_problems(order: Order, item: Item | None) -> Iterator[Problem]:
    """Yield that an order is among the returns and should not be, or should be and is not."""
    key, wanted = keys.return_request(order.username, order.id), open_return(order)
    at_version = Check(key=keys.order(order.username, order.id), when=(equals("version", order.version),))
    if wanted is None and item is not None:
        yield Problem(key, "Nobody asks for this return.", (Delete(key=key, when=(exists(),)), at_version))
    elif wanted is not None and item is None:
        what = "What its shopper asks to return is not among the returns."
        yield Problem(keys.order(order.username, order.id), what)


def _returns(order: Order, said: list[str]) -> tuple[Write, ...]:
    """Return what finishes a cancellation that left lines PURCHASED, if nothing else is wrong with the order."""
    if order.status != CANCELLED or said != [NOT_ALL.format(RETURNED)]:
        return ()
    return tuple(late_returns(order, now=datetime.now(UTC)))


def _disagreements(order: Order, parts: list[Line]) -> Iterator[str]:
    lines = as_bought(parts)
    now = history(order, lines)
    for what, said, counted in (
        ("lines", order.card.lines, len(lines)),
        ("pieces", order.card.pieces, sum(line.quantity for line in lines)),
        ("total", order.total, sum((line.total for line in lines), ZERO)),
        ("instalments", order.card.plan if order.total else 0, len(order.payments)),
        ("to ship", order.card.to_ship, sum(one.to_ship for one in now.lines)),
    ):
        if said != counted:
            yield f"{what} is {said}, counted {counted}."
    if len({line.deal for line in lines}) < len(lines):
        yield "A deal stands in it twice."
    if {(part.id, part.status, part.at): part.quantity for part in parts} != _parts(order, now):
        yield NOT_ALL.format(RETURNED if order.status in TAKEN_BACK else PURCHASED)
    if lines and status_of(now.lines) != order.status:
        yield f"It is {order.status}, and its timeline is not."
    if not order.timeline or (order.timeline[0].status, order.timeline[0].at) != (PLACED, order.placed_at):
        yield "Its timeline does not begin with its being placed."


def _parts(order: Order, now: OrderHistory) -> dict[tuple[str, str, datetime], int]:
    """Return where the parts of an order's lines stand, by what happened to it, and how many pieces are there."""
    found = {(one.line.id, PURCHASED, order.placed_at): one.kept for one in now.lines if one.kept}
    for event in order.timeline:
        if event.status in TAKEN_BACK:
            moved = now.moved[event.at].items()
            found |= {(line, RETURNED, event.at): one.pieces for line, one in moved if one.pieces}
    return found


SHARED = ("name", "email", "timezone", "pending_email", "created_at")
KEPT = ("username", "deleted_at", "version", "two_factor", *SHARED)


class People:
    """Keeps of each user what profile and guard repeat."""

    takes_part = frozenset({"User"})

    def __init__(self) -> None:
        self.users: dict[str, Item] = {}
        self.deleted: set[str] = set()
        self.profiles: dict[str, Item] = {}
        self.guards: dict[str, Item] = {}
        self.factors: dict[str, Item] = {}
        self.owners: dict[str, Item] = {}
        self.counts: dict[int, Item] = {}

    def see(self, item: Item) -> None:
        match item.get("type"):
            case "User" if "deleted_at" in item:
                self.deleted.add(item["username"])
            case "User":
                self.users[item["username"]] = kept(item, *KEPT)
            case "Profile":
                self.profiles[item["username"]] = kept(item, *KEPT)
            case "TwoFactor":
                self.factors[item["username"]] = kept(item, "username", "id", "passkeys")
            case "FactorOwner":
                self.owners[item["id"]] = kept(item, "username", "id")
            case "EmailGuard":
                self.guards[folded(item["email"])] = item
            case "UserCount":
                self.counts[int(item["PK"].removeprefix("USERCOUNT#"))] = item

    def problems(self) -> Iterator[Problem]:
        for user in self.users.values():
            yield from self._profile_problems(user)
            yield from self._guard_problems(user)
            yield from self._factor_problems(user)
        for username, factor in self.factors.items():
            if username not in self.users:
                check = Check(key=keys.user(username), when=(missing("two_factor"),))
                drop = Delete(key=key_of(factor), when=as_seen(factor, ["id"]))
                yield Problem(key_of(factor), "This second factor is nobody's.", (drop, check))
            elif factor.get("passkeys") and factor["id"] not in self.owners:
                yield self._lost_owner(factor)
        yield from self._stray_owners()
        for username, profile in self.profiles.items():
            if username not in self.users:
                yield self._stray_profile(username, profile)
        for email, guard in self.guards.items():
            owner = self.users.get(guard["username"])
            if owner is None or folded(owner["email"]) != email:
                yield self._stray_guard(guard, owner)
        yield from self._count_problems()

    def _profile_problems(self, user: Item) -> Iterator[Problem]:
        username = user["username"]
        there = Check(key=key_of(user), when=(missing("deleted_at"), *as_seen(user, SHARED)))
        right = {name: user.get(name) for name in SHARED}
        profile = self.profiles.get(username)
        if profile is None:
            made = {"type": "Profile", "username": username, "version": 1}
            item = made | right | profile_rows(made | right)
            put = Put(key=keys.profile(username), item=item, when=(absent(),))
            yield Problem(key_of(user), "This user has no profile.", (put, there))
        elif wrong := differences(profile, right):
            yield differing("{} is {!r}, the user's is {!r}", profile, wrong, there)

    def _guard_problems(self, user: Item) -> Iterator[Problem]:
        email = user["email"]
        if not email:  # none is confirmed yet
            return
        guard = self.guards.get(folded(email))
        there = Check(key=key_of(user), when=as_seen(user, ["email"]))
        if guard is None:
            made = {"type": "EmailGuard", "username": user["username"], "email": email}
            put = Put(key=keys.email_guard(email), item=made, when=(absent(),))
            yield Problem(key_of(user), f"Nothing guards the e-mail address {email}.", (put, there))
        elif guard["username"] != user["username"]:
            other = self.users.get(guard["username"])
            if other and folded(other["email"]) == folded(email):
                yield Problem(key_of(user), f"The e-mail address {email} is {guard['username']}'s, too.")
        elif wrong := differences(guard, {"email": email}):
            yield differing("{} is {!r}, the user's is {!r}", guard, wrong, there)

    def _factor_problems(self, user: Item) -> Iterator[Problem]:
        factor = self.factors.get(user["username"], {})
        named, there = user.get("two_factor"), factor.get("id")
        if named == there:
            return
        if not factor:
            # Taking the name away would let the password alone sign in: that is for an admin to do.
            yield Problem(key_of(user), "The second factor that signing in asks for is lost.")
            return
        unchanged = Check(key=key_of(factor), when=as_seen(factor, ["id"]))
        when = (missing("deleted_at"), *as_seen(user, ["two_factor"]))
        name_it = Update(key=key_of(user), set={"two_factor": there}, when=when)
        yield Problem(
            key_of(user), f"two_factor is {named!r}, its factor is {there!r}.", (name_it, unchanged)
        )

    def _stray_owners(self) -> Iterator[Problem]:
        for owner in self.owners.values():
            user, factor = (found.get(owner["username"], {}) for found in (self.users, self.factors))
            if owner["id"] not in (user.get("two_factor"), factor.get("id")):
                when = as_seen(user, ["two_factor"]) if user else (missing("two_factor"),)
                there = Check(key=keys.user(owner["username"]), when=when)
                drop = Delete(key=key_of(owner), when=(equals("username", owner["username"]),))
                yield Problem(key_of(owner), "It leads to a user without this factor.", (drop, there))

    def _lost_owner(self, factor: Item) -> Problem:
        made = {"type": "FactorOwner", "id": factor["id"], "username": factor["username"]}
        put = Put(key=keys.factor_owner(factor["id"]), item=made, when=(absent(),))
        there = Check(key=key_of(factor), when=as_seen(factor, ["id"]))
        return Problem(key_of(factor), "Nothing leads from these passkeys to their user.", (put, there))

    def _stray_profile(self, username: str, profile: Item) -> Problem:
        if username not in self.deleted:
            return Problem(key_of(profile), "This profile has no user.")
        key, check = key_of(profile), Check(key=keys.user(username), when=(present("deleted_at"),))
        return Problem(key, "This profile's user was deleted.", (Delete(key=key), check))

    def _stray_guard(self, guard: Item, owner: Item | None) -> Problem:
        key, username = key_of(guard), guard["username"]
        drop = Delete(key=key, when=(equals("username", username),))
        if owner is not None:
            check = Check(key=key_of(owner), when=as_seen(owner, ["email"]))
        else:
            gone = present("deleted_at") if username in self.deleted else absent()
            check = Check(key=keys.user(username), when=(gone,))
        return Problem(key, f"It guards the address of {username}, who does not have it.", (drop, check))

    def _count_problems(self) -> Iterator[Problem]:
        counted = Counter(shard(username, keys.USER_COUNT_SHARDS) for username in self.users)
        for number in range(keys.USER_COUNT_SHARDS):
            key, item, n = keys.user_count.given(number), self.counts.get(number), counted[number]
            if item is None:
                if n:
                    put = Put(key=key, item={"type": "UserCount", "count": n}, when=(absent(),))
                    yield Problem(key, f"These {n} users are not counted.", (put,))
            elif wrong := differences(item, {"count": n}):
                yield differing("{} is {}, counted {}", item, wrong)
