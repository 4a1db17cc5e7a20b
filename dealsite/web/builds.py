"""The static files of several builds, kept side by side: a page of an older or a newer build finds what it names.

Their names hold a hash, so builds never disagree about a file. Each build's list of its files is written last.
"""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage
from django.http import HttpRequest, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware

from dealsite.processes.orphans import write_whole

MANIFEST = "staticfiles.json"
LISTS = "builds"
BUILDS, DAYS = 5, timedelta(days=7)  # older builds than these are pruned
LONGEST = 200  # characters of a file's name with its folders
HASHED = re.compile(r"(?:[\w-]+/)*[\w.-]+\.[0-9a-f]{12}\.[a-z0-9]+")


class StaticFiles(StaticFilesConfig):
    """Leaves out what build_assets compiles into something else."""

    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "css", "js", "cms", "shopping", "icons.txt"]


class Folder(FileSystemStorage):
    """A folder in which a file is there whole or not at all, whoever is killed or writes the same one."""

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name  # what is there is replaced

    def _save(self, name: str, content: Any) -> str:
        path = Path(self.path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content.read())
        return name


def keep(build: Path, place: Storage, *, now: datetime) -> None:
    """Add a build's files to those of others, and prune those that only old builds have."""
    manifest = json.loads((build / MANIFEST).read_text("utf-8"))
    hashed = sorted(set(manifest["paths"].values()))
    files = [name for one in hashed for name in (one, f"{one}.br", f"{one}.gz") if (build / name).is_file()]
    note = f"{LISTS}/{manifest['hash']}.json"
    if not place.exists(note):
        for name in files:
            if not place.exists(name):
                place.save(name, ContentFile((build / name).read_bytes()))
    place.save(note, ContentFile(json.dumps(files).encode()))
    _prune(place, now=now)


def _prune(place: Storage, *, now: datetime) -> None:
    notes = [f"{LISTS}/{name}" for name in place.listdir(LISTS)[1] if name.endswith(".json")]
    times = {note: place.get_modified_time(note) for note in notes}
    newest_first = sorted(notes, key=lambda note: times[note], reverse=True)
    old = [note for note in newest_first[BUILDS:] if now - times[note] > DAYS]
    if not old:
        return
    needed = {name for note in notes if note not in old for name in _files(place, note)}
    for note in old:
        for name in set(_files(place, note)) - needed:
            place.delete(name)
        place.delete(note)


def _files(place: Storage, note: str) -> list[str]:
    with place.open(note) as file:
        found: list[str] = json.load(file)
    return found


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    """Serves the static files of this build, and those of others that are kept."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if path.startswith(self.static_prefix) and path not in self.files and not self.autorefresh:
            name = path.removeprefix(self.static_prefix)
            file = settings.DEALSITE_STATIC_FOLDER / name
            if len(name) <= LONGEST and HASHED.fullmatch(name) and file.is_file():
                found: HttpResponseBase = self.serve(self.get_static_file(str(file), path), request)
                return found
        answer: HttpResponseBase = super().__call__(request)
        return answer

    def immutable_file_test(self, path: str, url: str) -> bool:
        """Tell whether a file never changes, so that browsers keep it."""
        return Path(path).is_relative_to(settings.DEALSITE_STATIC_FOLDER) or super().immutable_file_test(
            path, url
        )
