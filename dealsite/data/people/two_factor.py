"""Two-factor sign-in: what a user's codes are checked with, each good for one use, and passkeys.

The factor is an authenticator app, passkeys, or both, with recovery codes. The sign-in item names it by its id, so that
every request knows of it at no cost, and sessions are bound to it: turning it on or off ends all other sessions. To
browsers the id is the user's handle. The secret arrives here encrypted and the recovery codes hashed, both under a key
that is not in the table (`accounts.second_factor`).

A passkey is the first factor as well, since its device asks who holds it. A browser that signs in names the factor,
whose id is the user's handle. Who asks has checked the signature; here each challenge is good once, and a key that
signs counts up.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.editing import audit
from dealsite.data.entities.entity import reader, writer
from dealsite.data.entities.people import FACTOR_OWNER, MOST_PASSKEYS, PASSKEY, TWO_FACTOR, USED_CHALLENGE
from dealsite.data.people import mails, profiles, sessions
from dealsite.data.people.users import User, as_user
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import epoch_seconds, is_ulid, iso, new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import (
    Delete,
    Put,
    Update,
    Write,
    absent,
    below,
    contains,
    either,
    equals,
    fewer,
    missing,
    more,
    present,
)


@dataclass(frozen=True, slots=True)
class Passkey:
    """A key that a device or password manager keeps; `credential` and `public_key` are base64url.

    `sign_count` is 0 where nobody counts, else how often it has signed; `used_at` is None before it signs in once.
    """

    id: str
    name: str
    credential: str
    public_key: str
    sign_count: int = 0
    used_at: datetime | None = None

    @property
    def since(self) -> datetime:
        return time_of(self.id)


@dataclass(frozen=True, slots=True)
class TwoFactor:
    """A user's second factor; `last_step` is the number of the last code used, which grows by one in 30 seconds.

    `secret` is '' without an app; the oldest of the passkeys comes first.
    """

    username: str
    id: str
    secret: str = field(repr=False)
    recovery: frozenset[str] = field(repr=False)
    last_step: int = 0
    passkeys: tuple[Passkey, ...] = ()

    @property
    def since(self) -> datetime:
        return time_of(self.id)


@dataclass(frozen=True, slots=True)
class FactorUse:
    """A good code or passkey, which is used up by a change of its factor, and by what is written `beside` it."""

    change: Update
    beside: tuple[Write, ...] = ()


@access_pattern("a user's second factor", "1 get")
def get(username: str) -> TwoFactor | None:
    """Return a user's second factor, None if it is off."""
    item = table.get(keys.two_factor(username))
    return from_stored(item) if item else None


@access_pattern("several users' second factors", "1 batch get")
def get_many(usernames: Iterable[str]) -> list[TwoFactor]:
    """Return the second factors of those of some users who have one, in no order. 1 batch get for each 100."""
    return [from_stored(item) for item in table.batch_get(map(keys.two_factor, usernames)).values()]


@access_pattern("turn two-factor on", "1 query + 1 transaction")
def turn_on(
    user: User, *, secret: str, recovery: Iterable[str], step: int, key: str, now: datetime
) -> TwoFactor:
    """Ask a user for codes from now on; `step` is that of the code by which they showed that they have them.

    The session of `key` goes on, all others end. Conflict if it is on already, or the password changed meanwhile.
    """
    made = TwoFactor(user.username, new_ulid(now), secret, frozenset(recovery), step)
    sessions.transact_and_end(replace(user, two_factor=made.id), turning_on(user, made, now=now), key=key)
    return made


def turning_on(user: User, made: TwoFactor, *, now: datetime) -> list[Write]:
    """Return the writes that give a user their first factor, and tell them."""
    switch = Update(
        key=keys.user(user.username),
        set={"two_factor": made.id},
        when=(equals("password", user.password), missing("two_factor")),
        otherwise=profiles.changed(),
    )
    stored = {"passkeys": {one.id: passkey_item(one) for one in made.passkeys}}
    put = Put(key=keys.two_factor(user.username), item=TWO_FACTOR.item(asdict(made) | stored))
    entry = told(user, by=user.username, what="turned two-factor sign-in on", now=now)
    return [switch, put, entry, mails.notice("two_factor_on", user, now=now)]


@access_pattern("add an app to passkeys", "1 query + 1 transaction")
def add_app(user: User, *, secret: str, step: int, key: str, now: datetime) -> None:
    """Take codes of an app, too, from a user who has passkeys; Conflict if they have an app, or the factor changed.

    The session of `key` goes on, all others end.
    """
    update = Update(
        key=keys.two_factor(user.username),
        set={"secret": secret, "last_step": step},
        when=(equals("id", user.two_factor), equals("secret", "")),
        otherwise=profiles.changed(),
    )
    entry = told(user, by=user.username, what="added an authenticator app", now=now)
    sessions.transact_and_end(user, [update, entry, mails.notice("two_factor_on", user, now=now)], key=key)


@access_pattern("turn two-factor off", "1 query + 1 transaction")
def turn_off(user: User, *, by: str, used: FactorUse | None = None, key: str = "", now: datetime) -> None:
    """Take app, passkeys and recovery codes from a user: by what they use up with that, or, by an admin, without.

    Conflict if that changed meanwhile. The session of `key`, if there is one, goes on, all others end.
    """
    of_user = keys.two_factor(user.username)
    gone = Delete(key=of_user)
    if used:
        gone = Delete(key=of_user, when=used.change.when, otherwise=used.change.otherwise)
    switch = Update(
        key=keys.user(user.username),
        remove=("two_factor",),
        when=(equals("two_factor", user.two_factor),),
        otherwise=profiles.changed(),
    )
    entry = told(user, by=by, what="turned two-factor sign-in off", now=now)
    beside = used.beside if used else ()
    notice = mails.notice("two_factor_off", user, now=now)
    writes = [switch, gone, Delete(key=keys.factor_owner(user.two_factor)), *beside, entry, notice]
    sessions.transact_and_end(replace(user, two_factor=""), writes, key=key)


@access_pattern("use up a code or passkey", "1 transaction")
def use(used: FactorUse) -> None:
    """Use up a code or passkey; Conflict if it was used before, or the factor changed.

    A transaction even of one write: its token tells a second attempt after a lost answer from a second use.
    """
    table.transact([used.change, *used.beside])


def by_code(factor: TwoFactor, step: int) -> FactorUse:
    """Return what uses up the code of a step, unless it, or a later one, was used before."""
    change = Update(
        key=keys.two_factor(factor.username),
        set={"last_step": step},
        when=(equals("id", factor.id), either(missing("last_step"), below("last_step", step))),
        otherwise=Conflict(gettext_lazy("This code was used already. Wait for the next one.")),
        once=True,
    )
    return FactorUse(change)


def by_recovery_code(user: User, factor: TwoFactor, code_hash: str, *, now: datetime) -> FactorUse:
    """Return what uses up a recovery code, unless it was used before, and has the user told."""
    change = Update(
        key=keys.two_factor(factor.username),
        discard={"recovery": {code_hash}},
        when=(equals("id", factor.id), contains("recovery", code_hash)),
        otherwise=Conflict(gettext_lazy("This recovery code was used already.")),
    )
    return FactorUse(change, (mails.notice("recovery_code_used", user, now=now),))


def sealing(used: FactorUse, factor: TwoFactor, secret: str) -> FactorUse:
    """Have what uses up a code or passkey also store the secret under a newer key, unless another one has meanwhile."""
    change = replace(
        used.change,
        set={**used.change.set, "secret": secret},
        when=(*used.change.when, equals("secret", factor.secret)),
    )
    return replace(used, change=change)


@access_pattern("make new recovery codes", "1 transaction")
def renew_recovery_codes(user: User, used: FactorUse, *, recovery: Iterable[str], now: datetime) -> None:
    """Give a user new recovery codes by what they use up with that; the old ones are void. Conflict as of `use`."""
    # One change of the factor: the code that it is proved by, if it is a recovery code, goes with the others.
    renewed = replace(used.change, set={**used.change.set, "recovery": set(recovery)}, discard={})
    entry = told(user, by=user.username, what="made new recovery codes", now=now)
    table.transact([renewed, *used.beside, entry])


def told(user: User, *, by: str, what: str, now: datetime) -> Write:
    return audit.entry_write(by=by, kind="user", subject=user.username, what=what, now=now)


def from_stored(item: Item) -> TwoFactor:
    stored = sorted(item.get("passkeys", {}).items())
    return _read_factor(item, passkeys=tuple(_read_passkey(one, id=key_id) for key_id, one in stored))


_read_factor = reader(TWO_FACTOR.shape, TwoFactor, "passkeys")
_read_passkey, passkey_item = reader(PASSKEY, Passkey, "id"), writer(PASSKEY, Passkey)


REMEMBERED = timedelta(hours=1)  # a used challenge; it is over after minutes anyway


@access_pattern("the user of a passkey", "1 get + 1 batch get")
def find_passkey(handle: str) -> tuple[User, TwoFactor] | None:
    """Return the user whom a handle leads to, with the factor that it is the id of; None for nobody."""
    owner = table.get(keys.factor_owner(handle)) if is_ulid(handle) else None
    if owner is None:
        return None
    user_key, factor_key = keys.user(owner["username"]), keys.two_factor(owner["username"])
    items = table.batch_get([user_key, factor_key])
    user, factor = as_user(items.get(user_key)), items.get(factor_key)
    if user is None or factor is None or not handle == user.two_factor == factor["id"]:
        return None
    return user, from_stored(factor)


@access_pattern("add a passkey", "1 query + 1 transaction")
def add_passkey(
    user: User, factor: TwoFactor, passkey: Passkey, *, challenge: str, key: str, now: datetime
) -> None:
    """Give a user a passkey; a new `factor`, with the hashes of its recovery codes, is turned on with it.

    The session of `key` goes on, all others end. Conflict if they have ten, if the factor changed meanwhile, or for
    a second use of the challenge.
    """
    owner = FACTOR_OWNER.item({"id": factor.id, "username": user.username})
    writes: list[Write] = [Put(key=keys.factor_owner(factor.id), item=owner), _used(challenge, now)]
    if user.two_factor:
        entry = told(user, by=user.username, what="added a passkey", now=now)
        writes += [_one_more(factor, passkey), entry, mails.notice("passkey_added", user, now=now)]
    else:
        writes += turning_on(user, replace(factor, passkeys=(passkey,)), now=now)
    sessions.transact_and_end(replace(user, two_factor=factor.id), writes, key=key)


def _one_more(factor: TwoFactor, passkey: Passkey) -> Update:
    item, key = passkey_item(passkey), keys.two_factor(factor.username)
    if not factor.passkeys:  # one that was turned on before there were passkeys has no place for them
        none = either(missing("passkeys"), fewer("passkeys", 1))
        when, first = (equals("id", factor.id), none), {passkey.id: item}
        return Update(key=key, set={"passkeys": first}, when=when, otherwise=profiles.changed())
    return Update(
        key=key,
        set={("passkeys", passkey.id): item},
        when=(equals("id", factor.id), fewer("passkeys", MOST_PASSKEYS)),
        otherwise=Conflict(gettext_lazy("You have as many passkeys as one can have. Remove one first.")),
    )


def by_passkey(
    factor: TwoFactor, passkey: Passkey, *, sign_count: int, challenge: str, now: datetime
) -> FactorUse:
    """Return what notes that a passkey has signed a challenge, unless that was used, or the passkey changed."""
    here = ("passkeys", passkey.id)
    change = Update(
        key=keys.two_factor(factor.username),
        set={(*here, "sign_count"): sign_count, (*here, "used_at"): iso(now)},
        when=(equals("id", factor.id), equals((*here, "sign_count"), passkey.sign_count)),
        otherwise=profiles.changed(),
    )
    return FactorUse(change, (_used(challenge, now),))


@access_pattern("remove a passkey", "1 query + 1 transaction")
def remove_passkey(user: User, factor: TwoFactor, passkey: Passkey, *, key: str, now: datetime) -> None:
    """Remove one of several passkeys, or the last where there is an app, too; else, or if it is gone, Conflict.

    The session of `key` goes on, all others end: one of them may be that of who has the lost device.
    """
    path = ("passkeys", passkey.id)
    enough = () if factor.secret else (more("passkeys", 1),)
    gone = Update(
        key=keys.two_factor(user.username),
        remove=(path,),
        when=(equals("id", user.two_factor), present(path), *enough),
        otherwise=profiles.changed(),
    )
    entry = told(user, by=user.username, what="removed a passkey", now=now)
    sessions.transact_and_end(user, [gone, entry, mails.notice("passkey_removed", user, now=now)], key=key)


def _used(challenge: str, now: datetime) -> Put:
    item = USED_CHALLENGE.item({"ttl": epoch_seconds(now + REMEMBERED)})
    again = Conflict(gettext_lazy("This was used already. Try again."))
    return Put(key=keys.used_challenge(challenge), item=item, when=(absent(),), otherwise=again, once=True)
