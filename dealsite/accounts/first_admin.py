"""Whether the site still waits for its first admin: only who asks from its own machine is told."""

from django.http import HttpRequest

from dealsite.accounts.requests import asks_from_here
from dealsite.data.people import users
from dealsite.data.table.errors import Unavailable

_seen = {"is_there": False}


def is_missing(request: HttpRequest) -> bool:
    """Tell whoever asks from this machine that nobody is an admin. 1 scan + 1 batch get until somebody is."""
    if _seen["is_there"] or not asks_from_here(request):
        return False
    try:
        _seen["is_there"] = not users.lacks_admin()
    except Unavailable:  # the page itself needs no table
        return False
    return not _seen["is_there"]
