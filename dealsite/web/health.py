"""/healthz says that the process answers, /readyz that its table and every index do."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dealsite.web.pages import feed


@feed("none")
@never_cache
@require_safe
def process(request: HttpRequest) -> HttpResponse:
    """Asks nothing of the table: a site whose table is away should not be restarted for it."""
    return HttpResponse("ok\n", content_type="text/plain; charset=utf-8")


@feed("1 get + 3 queries + 1 scan")
@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """503 with the reason while the table or one of its indexes does not answer."""
    from dealsite.data.table import errors, schema

    try:
        schema.answer()
    except errors.DataError as error:
        return JsonResponse({"ready": False, "reason": str(error)}, status=503)
    return JsonResponse({"ready": True})
