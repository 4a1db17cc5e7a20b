"""Which pages take files, and from whom a web process reads one."""

import io
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.exceptions import DisallowedHost
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponseBase
from django.urls import Resolver404, resolve

from dealsite import middleware
from dealsite.accounts.decorators import needs_second_factor
from dealsite.accounts.requests import Visit
from dealsite.data import table
from dealsite.pictures.uploads import MAX_BYTES
from dealsite.web.page_cache import is_from_this_site

View = TypeVar("View", bound=Callable[..., HttpResponseBase])
PICTURE_FORM = 25_000_000


def takes_files(most_bytes: int, *, file_bytes: int = MAX_BYTES) -> Callable[[View], View]:
    """Declare that a form of a page holds files, and how many bytes it has at most; all others end at 1 MB.

    Such a page needs a role. The limit should leave room above that of the form itself, which says in better words
    what is too large. `file_bytes` is what people are told that a file may have, that of a picture by default.
    """

    def declare(view: View) -> View:
        view.most_bytes = most_bytes  # type: ignore[attr-defined]
        view.file_bytes = file_bytes  # type: ignore[attr-defined]
        return view

    return declare


def most_bytes_of(environ: dict[str, Any]) -> int:
    """Return how much a request may send before anything of it is read: 0 for no more than anybody.

    Its page has to take files, its visitor be signed in with a role of the page, and a page of this very site have
    sent it, as browsers say; its CSRF token, which is in the body, is checked afterwards. Whoever may send a file is
    told how large one may be, if theirs is larger. Unavailable without the table. At most 1 batch get.
    """
    request = WSGIRequest({**environ, "wsgi.input": io.BytesIO()})
    try:
        view: Any = resolve(request.path_info).func
        most: int = getattr(view, "most_bytes", 0)
        if not most or not is_from_this_site(request):
            return 0
    except (Resolver404, DisallowedHost):
        return 0
    with table.metered(), table.deadline(middleware.DATA_SECONDS):
        user = Visit(request).visitor()  # type: ignore[arg-type]
    if not user.is_authenticated or needs_second_factor(user):
        return 0
    if not user.has_role(*view.required_roles):
        return 0
    environ[middleware.FILE_BYTES] = view.file_bytes
    return most
