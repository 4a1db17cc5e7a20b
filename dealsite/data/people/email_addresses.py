"""E-mail addresses: one is a user's once they have followed the link that was sent to it.

Until then it is `pending_email`, and used for nothing but that link and one to a new password, which confirms it as
well; mails about orders are sent once one is followed.
Any number of users may have the same one pending, so that nobody can keep an address from its owner; who confirms it
has it. The guard that makes it theirs alone is written then.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from dealsite.data import keys, table
from dealsite.data.commerce import orders
from dealsite.data.entities.commerce import CANCELLED, PLACED
from dealsite.data.entities.people import MOST_TAKE_BACKS
from dealsite.data.names import email_as_typed
from dealsite.data.people import mails, profiles, sessions
from dealsite.data.people.profiles import Profile
from dealsite.data.people.users import User
from dealsite.data.table.ids import new_ulid, time_of
from dealsite.data.table.meters import access_pattern
from dealsite.data.table.writes import Condition, Update, Write, equals, exists, missing

TAKE_BACK_WITHIN = timedelta(days=7)


@access_pattern("ask for another e-mail address", "1 transaction")
def claim(profile: Profile, *, user: User, name: str, timezone: str, email: str, now: datetime) -> Profile:
    """Note the address that a user wants, along with name and time zone, and have a link sent to it.

    Their confirmed address stays in use; asking for that one withdraws the pending one. `user` is the sign-in item
    whose password was just asked for. Invalid for what is no address, VersionConflict with `current`, Conflict if
    password or address changed meanwhile.
    """
    email = email_as_typed(email)
    pending = "" if email == profile.email else email
    wanted = replace(profile, name=name, timezone=timezone, pending_email=pending)
    changes: dict[Any, Any] = {"name": name, "timezone": timezone}
    writes: list[Write] = [
        Update(
            key=keys.user(profile.username),
            set=changes | profiles.pending_change(profile, wanted),
            when=profiles.unchanged(user),
            otherwise=profiles.changed(),
        )
    ]
    if pending:
        writes.append(mails.confirmation(profile.username, now=now))
    return profiles.carry_out(profile, wanted, writes)


@access_pattern("confirm an e-mail address", "1 transaction")
def confirm(user: User, *, now: datetime) -> None:
    """Make a user's pending address theirs, and have the one that it replaces told.

    Who had none is sent the confirmations of their newest 25 orders now, for 1 query more.
    AlreadyExists if another user has confirmed it; Conflict if password or address changed meanwhile.
    """
    if user.email:
        link = new_ulid(now)
        good = [one for one in user.take_backs if now - time_of(one) <= TAKE_BACK_WITHIN]
        writes = _moves(user, user.pending_email, take_backs=[*good, link][:MOST_TAKE_BACKS])
        writes.append(mails.email_changed(user, link, now=now))
    else:
        writes = _moves(user, user.pending_email) + _order_mails(user, now)
    table.transact(writes)


@access_pattern("set a password by a link to a pending address", "2 queries + 1 transaction")
def confirm_with_password(user: User, *, password: str, now: datetime) -> None:
    """Make the pending address theirs of a user who had none, with a new password's hash; all their sessions end.

    AlreadyExists if another user has confirmed it; Conflict if password or address changed meanwhile, or the account
    was suspended.
    """
    owner = replace(user, email=user.pending_email, password=password)
    writes = _moves(user, owner.email, missing("suspended_at"), password=password)
    writes.append(mails.notice("password_changed", owner, now=now))
    sessions.transact_and_end(owner, [*writes, *_order_mails(user, now)], key="")


def _order_mails(user: User, now: datetime) -> list[Write]:
    """Return what sends the confirmations of their newest 25 orders to a user's pending address. 1 query."""
    return [
        mails.order_notice(
            PLACED,
            order_id=order.id,
            username=user.username,
            to=user.pending_email,
            at=order.placed_at,
            now=now,
            time=1,
        )
        for order in orders.of_user(user.username).rows
        if order.status != CANCELLED
    ]


@access_pattern("take back an e-mail address", "1 query + 1 transaction")
def take_back(user: User, email: str, link: str, *, password: str, now: datetime) -> None:
    """Give a user the address back that they had, with another password's hash; all their sessions end.

    `link` and those to addresses that they had later are void then: one of those may be a thief's. '' voids all.
    AlreadyExists if another user has confirmed it meanwhile; Conflict if password or address changed meanwhile.
    """
    earlier = user.take_backs[: user.take_backs.index(link)] if link else ()
    writes = _moves(user, email, password=password, take_backs=[*earlier])
    if user.email:
        writes.append(mails.notice("email_changed", user, now=now))
    sessions.transact_and_end(replace(user, password=password), writes, key="")


def _moves(user: User, email: str, *when: Condition, **more: Any) -> list[Write]:
    """Return the writes that make an address a user's, with no other pending. 3 actions, and 1 where they had one."""
    now_has = {"email": email, "pending_email": ""}
    pending = (equals("pending_email", user.pending_email),) if user.pending_email else ()
    writes: list[Write] = [
        Update(
            key=keys.user(user.username),
            set={**now_has, **more},
            when=(*profiles.unchanged(user), *pending, *when),
            otherwise=profiles.changed(),
        ),
        Update(
            key=keys.profile(user.username),
            set={**now_has},
            remove=("GSI1PK", "GSI1SK"),
            add={"version": 1},
            when=(exists(),),
            otherwise=profiles.no_user(),
        ),
    ]
    return writes + profiles.email_guard(email, user.username, held=user.email)
