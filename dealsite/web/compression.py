"""Pages as small as they can be: templates without their indents, and each page compressed as the browser takes it.

Public pages are compressed once for all (`page_cache`), the others one by one.
"""

import re

import brotli
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.template import Origin
from django.template.loaders.filesystem import Loader
from django.utils.cache import patch_vary_headers
from django.utils.text import compress_string

BROTLI, GZIP = "br", "gzip"
LEVEL = 5  # of brotli's 11: smaller than gzip's best in less time
SMALL_BYTES = 200  # which hardly get smaller
QUALITY = re.compile(r"[01](\.\d{0,3})?")
INDENTS = re.compile(r"[ \t]*\n[ \t]*")
TEXTS = re.compile(r"text/|application/(\w+\+)?(json|xml|javascript)\b|image/svg")


def best_encoding(request: HttpRequest, offered: tuple[str, ...] = (BROTLI, GZIP)) -> str:
    """Return which of the encodings a browser likes best, the first of several; '' for an answer as it is.

    As RFC 9110, 12.5.3 says it: a quality of 0 is a no, an asterisk stands for all that is not named.
    """
    qualities: dict[str, float] = {}
    for named in request.headers.get("Accept-Encoding", "").lower().split(","):
        name, _, parameter = named.partition(";")
        quality = parameter.strip().removeprefix("q=") if parameter else "1"
        qualities[name.strip()] = float(quality) if QUALITY.fullmatch(quality) else 0
    best = max(offered, key=lambda name: qualities.get(name, qualities.get("*", 0)))
    liked = qualities.get(best, qualities.get("*", 0))
    return best if liked and liked >= qualities.get("identity", 0) else ""


def compress(content: bytes, encoding: str) -> bytes:
    """Compress a public page."""
    if encoding == BROTLI:
        return bytes(brotli.compress(content, quality=LEVEL, mode=brotli.MODE_TEXT))
    return compress_string(content)


class CompressionMiddleware(GZipMiddleware):
    """Compresses what is not compressed yet, by gzip with a random length added.

    Else whoever makes a visitor ask for pages with a guess in their address could learn from the lengths what else is
    on them (BREACH). CSRF tokens are masked besides.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if isinstance(response, FileResponse) or not TEXTS.match(response.get("Content-Type", "")):
            return response
        if response.has_header("Content-Encoding") or best_encoding(request, (GZIP,)):
            return super().process_response(request, response)
        patch_vary_headers(response, ["Accept-Encoding"])
        return response


class TemplateLoader(Loader):
    """Takes the indents out of HTML, a fifth of a long page; what is put into a template stays as it is."""

    def get_contents(self, origin: Origin) -> str:
        text: str = super().get_contents(origin)
        return INDENTS.sub("\n", text) if str(origin.name).endswith(".html") else text
