"""Serves the pictures that editors brought, where they lie in a folder and not in S3."""

import re

from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

# What store_picture names them: made of their content, so one never changes. No dots but the last: no way up.
PICTURE = re.compile(r"[a-z0-9][a-z0-9/_-]*\.webp", re.ASCII)


@require_safe
def serve(request: HttpRequest, name: str) -> HttpResponseBase:
    """One stored picture, to be kept by the browser for good."""
    if not PICTURE.fullmatch(name):
        raise Http404("There is no such picture.")
    try:
        file = default_storage.open(name)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise Http404("There is no such picture.") from None
    return FileResponse(
        file,
        content_type="image/webp",
        headers={"Cache-Control": "public, max-age=31536000, immutable"},
    )
