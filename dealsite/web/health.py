"""/healthz says that the process answers, /readyz whether visitors should be sent to it, and to operators why."""

import hmac
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dealsite.accounts.requests import asks_from_here, forwarded_for
from dealsite.web import readiness
from dealsite.web.pages import CLOSED, feed, open_while

RETRY_SECONDS = "5"


@feed("none")
@open_while(*CLOSED)
@never_cache
@require_safe
def process(request: HttpRequest) -> HttpResponse:
    """Asks nothing of the table: a site whose table is away should not be restarted for it."""
    return HttpResponse("ok\n", content_type="text/plain; charset=utf-8")


@feed("2 gets + 1 batch get + 3 queries + 1 scan + 1 put")
@open_while(*CLOSED)
@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """503 with a word for the reason where this process should get no visitors; details for operators alone."""
    state = readiness.of_process.state()
    answer: dict[str, Any] = {"ready": not state.reason}
    if state.reason:
        answer["reason"] = state.reason
    if may_see_details(request):
        answer |= {"meaning": readiness.REASONS[state.reason]} if state.reason else {}
        answer |= {"degraded": {name: readiness.WARNINGS[name] for name in state.degraded}, **state.details}
        answer["caller"] = {"scheme": request.scheme, "proxies": len(forwarded_for(request))}
    response = JsonResponse(answer, status=503 if state.reason else 200)
    if state.reason:
        response["Retry-After"] = RETRY_SECONDS
        response._has_been_logged = True  # type: ignore[attr-defined]  # once, when it began, not for each probe
    return response


def may_see_details(request: HttpRequest) -> bool:
    """Tell whether somebody has DEALSITE_HEALTH_TOKEN, or asks from this machine itself and not through a proxy."""
    token: str = settings.DEALSITE_HEALTH_TOKEN
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if token and scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode()):
        return True
    return asks_from_here(request)
