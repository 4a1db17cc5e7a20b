"""What every template knows: the site's name, its currency, its categories, the visitor and the page's cost."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from dealsite.accounts import requests
from dealsite.accounts.requests import is_behind_unknown_proxy
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.entities.operations import SITE_PAGES
from dealsite.data.jobs import site_switch
from dealsite.home import COMMAND


def site(request: HttpRequest) -> dict[str, Any]:
    """Return names for templates; asks nothing of the table unless a template looks at `user`."""
    return {
        "command": COMMAND,
        "site_name": settings.DEALSITE_NAME,
        "currency": settings.DEALSITE_CURRENCY,
        "categories": category_names.names(),
        "about_pages": SITE_PAGES,
        "missing_categories": category_names.missing,
        "user": getattr(request, "user", None),
        "cms_frame": "cms/base.html" if _is_at_work(request) else "",
        "is_behind_unknown_proxy": is_behind_unknown_proxy(request),
        "has_cart": bool(requests.cart(request)),
        "meter": getattr(request, "meter", None),
        "now": timezone.now(),
        "site_switch": site_switch.of_process.known,
        "request_id": getattr(request, "request_id", ""),
    }


def _is_at_work(request: HttpRequest) -> bool:
    """Tell whether this is a page of the CMS for somebody who works there; asks nothing of the table to find out."""
    visit = getattr(request, "visit", None)
    return bool(request.path.startswith("/cms/") and visit and visit.username and request.user.roles)  # type: ignore[union-attr]
