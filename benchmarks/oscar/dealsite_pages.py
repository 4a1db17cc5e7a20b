"""python -m benchmarks.oscar.dealsite_pages CSV CATEGORY WORD: Dealsite with the deals of a file, asked for pages."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.__main__ import begin, loaded
from benchmarks.oscar import rounds


def main(file: str, category: str, word: str) -> None:
    to = sys.stdout
    os.environ["DEALSITE_LIMITS"] = " ".join(
        f"search{part}=1000000/1m" for part in ("", "-network", "-total")
    )
    with (
        tempfile.TemporaryDirectory(prefix="dealsite-oscar-") as name,
        contextlib.redirect_stdout(sys.stderr),
    ):
        begin(Path(name))
        from django.conf import settings
        from django.test import Client
        from django.utils import timezone

        from benchmarks.content import importing
        from dealsite.data.catalogue import lists
        from dealsite.templatetags import kept

        def prepare(way: str) -> None:
            settings.DEALSITE_PAGE_CACHE_SECONDS = 2 if way == "cached" else 0
            if way == "fresh":
                kept.of_process = kept.KeptParts()

        def calls(client: Client, path: str) -> int:
            return client.get(path).wsgi_request.meter.calls  # type: ignore[attr-defined, no-any-return]

        with loaded("Dealsite", importing(Path(file)), Path(name) / "engine"):
            newest = lists.front_page(now=timezone.now())[1].cards[0]
            pages = {
                "list": "/",
                "category": f"/categories/{category}/",
                "product": f"/deals/{newest.id}/{newest.slug}/",
                "search": f"/search/?q={word}",
            }
            rounds.answer(pages, b'<article class="offer', calls, prepare, to)


if __name__ == "__main__":
    main(*sys.argv[1:])
