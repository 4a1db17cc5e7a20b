"""Passkeys: a user's second factor that is the first as well, since the device asks who holds it.

They stand in the user's factor (two_factor.py). A browser that signs in names the factor, whose id is the user's
handle. Who asks has checked the signature; here each challenge is good once, and a key that signs counts up.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from django.utils.translation import gettext_lazy

from dealsite.data import keys, table
from dealsite.data.entities.people import FACTOR_OWNER, MOST_PASSKEYS, USED_CHALLENGE
from dealsite.data.people import mails, profiles, sessions
from dealsite.data.people.two_factor import (
    FactorUse,
    Passkey,
    TwoFactor,
    from_stored,
    passkey_item,
    told,
    turning_on,
)
from dealsite.data.people.users import User, as_user
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.errors import Conflict
from dealsite.data.table.ids import epoch_seconds, is_ulid, iso
from dealsite.data.table.writes import (
    Put,
    Update,
    Write,
    absent,
    either,
    equals,
    fewer,
    missing,
    more,
    present,
)

REMEMBERED = timedelta(hours=1)  # a used challenge; it is over after minutes anyway


@access_pattern("the user of a passkey", "1 get + 1 batch get")
def find(handle: str) -> tuple[User, TwoFactor] | None:
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
def add(user: User, factor: TwoFactor, passkey: Passkey, *, challenge: str, key: str, now: datetime) -> None:
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
def remove(user: User, factor: TwoFactor, passkey: Passkey, *, key: str, now: datetime) -> None:
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
