"""Serves stored pictures where they lie in the data folder; a bucket serves its own."""

import re

from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest
from django.views.decorators.http import require_safe

from dealsite.pictures import renditions
from dealsite.web.pages import CLOSED, feed, open_while

PICTURE_FILE = re.compile(r"pictures/[0-9a-f]{2}/[0-9a-f]{32}-[0-9]{2,4}\.(webp|avif)")


@feed("none")
@open_while(*CLOSED)
@require_safe
def serve(request: HttpRequest, name: str) -> FileResponse:
    """Answer with one stored picture; only names that pictures.py makes exist here."""
    known = PICTURE_FILE.fullmatch(name)
    if not known:
        raise Http404
    try:
        file = default_storage.open(name)
    except FileNotFoundError:
        raise Http404 from None
    response = FileResponse(file, content_type=renditions.TYPES[known[1]])
    response["Cache-Control"] = "public, max-age=31536000, immutable"  # the name changes with the content
    response["X-Content-Type-Options"] = "nosniff"
    return response
