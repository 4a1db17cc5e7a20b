"""The links that mails carry about an address itself: to confirm it, and to take back the one that was replaced.

A link names its user and address, and is signed. It is good once, since it fits only what is so until it was used, and
for some days. Who holds the mailbox need not be signed in.
"""

from datetime import datetime, timedelta

from django.core.signing import BadSignature, Signer
from django.urls import reverse

from dealsite.data.people import users
from dealsite.data.people.users import User
from dealsite.data.table.ids import epoch_seconds, hash_of

CONFIRM_WITHIN = timedelta(days=3)
TAKE_BACK_WITHIN = timedelta(days=7)
_confirming = Signer(salt="dealsite.accounts.confirm_email")
_taking_back = Signer(salt="dealsite.accounts.take_back_email")


def confirmation_path(user: User, *, now: datetime) -> str:
    """Return the path that confirms a user's pending address; void as soon as that, or their password, changes."""
    said = [user.username, user.pending_email, _mark(user), epoch_seconds(now + CONFIRM_WITHIN)]
    return reverse("follow_confirmation_link", args=[_confirming.sign_object(said)])


def take_back_path(user: User, email: str, *, now: datetime) -> str:
    """Return the path by which the holder of an address that a user had gets the account back."""
    said = [user.username, email, epoch_seconds(now + TAKE_BACK_WITHIN)]
    return reverse("follow_take_back_link", args=[_taking_back.sign_object(said)])


def confirming_user(token: str, *, now: datetime) -> User | None:
    """Return the user whose pending address a good token confirms. No call or 1 get."""
    try:
        username, email, mark, until = _confirming.unsign_object(token)
    except (BadSignature, ValueError):
        return None
    user = users.find(username) if epoch_seconds(now) <= until else None
    if user is None or (user.pending_email, _mark(user)) != (email, mark):
        return None
    return user


def taking_back_user(token: str, *, now: datetime) -> tuple[User, str] | None:
    """Return the user whom a good token gives an address back, and the address. No call or 1 get."""
    try:
        username, email, until = _taking_back.unsign_object(token)
    except (BadSignature, ValueError):
        return None
    user = users.find(username) if epoch_seconds(now) <= until else None
    return (user, email) if user and user.email != email else None


def _mark(user: User) -> str:
    """Return what a link is bound to a password by, and tells nothing of it: the hash has a salt."""
    return hash_of(user.password)[:16]
