"""What views of the CMS have in common: the request that they get, and how most of those for editors are declared."""

from collections.abc import Callable

from django.http import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dealsite.accounts.decorators import role
from dealsite.accounts.requests import UserRequest, is_safe
from dealsite.data.table.errors import Invalid
from dealsite.data.table.ids import is_new
from dealsite.web.pages import action, page

View = Callable[..., HttpResponseBase]
OPEN_FOR_LONG = gettext_lazy("This page was open for long. Please look at it, and send it again.")
STALE = gettext_lazy("This form is damaged, or its page was open for long. Load the page again.")


class EditorRequest(UserRequest):
    """Of an editor, somebody of the back office, or an admin."""


def new_id_in(request: EditorRequest, name: str) -> str:
    """Return the id that a button brought for what it makes; Invalid for none, and once it is too old."""
    sent: str = request.POST.get(name, "")
    if not is_new(sent, timezone.now()):
        raise Invalid(STALE)
    return sent


def next_address(request: EditorRequest, otherwise: str = "", *, within: str = "") -> str:
    """Return the page of the CMS, or `within` a part of it, that a form goes on with; another where it says none."""
    given: str = (request.POST if request.method == "POST" else request.GET).get("next", "")
    home, path = reverse("cms_home"), given.partition("?")[0]
    is_ours = path.startswith(within or home) and ".." not in path and "//" not in path
    return given if is_ours and is_safe(given) else otherwise or home


def editor_page(requests: str, *, at: str | tuple[str, ...] = "") -> Callable[[View], View]:
    """Declare a page for editors; see `page`."""
    return lambda view: page(requests, at=at)(role("editor")(require_safe(view)))


def editor_form(requests: str, *, at: str | tuple[str, ...] = "") -> Callable[[View], View]:
    """Declare a page for editors that also answers POST."""
    methods = require_http_methods(["GET", "HEAD", "POST"])
    return lambda view: page(requests, at=at)(role("editor")(methods(view)))


def editor_action(view: View) -> View:
    """Declare what editors do by POST alone."""
    return action(role("editor")(require_POST(view)))
