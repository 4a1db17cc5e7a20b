"""Users: each has a profile that agrees with the sign-in item and an e-mail guard, and is counted.

Sign-in item and second factor name each other; where there are passkeys, the factor's id leads to the user.
"""

from collections import Counter
from collections.abc import Iterator

from dealsite.data import keys
from dealsite.data.entities.people import profile_rows
from dealsite.data.integrity.problem import Problem, as_seen, differences, differing, kept, key_of
from dealsite.data.table.convert import Item
from dealsite.data.table.ids import folded, shard
from dealsite.data.table.writes import Check, Delete, Put, Update, absent, equals, missing, present

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
