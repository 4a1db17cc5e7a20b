"""Buckets: a storage that gives up soon, and what folders of one hold."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.files.storage import Storage, storages

ANSWER_SECONDS = 5.0
SEARCH = "search/"  # of the private one: the index, which is made again


def impatient(alias: str) -> Any:
    """Return a storage of the site's that gives up soon: where nothing answers, S3's would try for minutes."""
    storage: Any = storages.create_storage(settings.STORAGES[alias])
    retries = {"total_max_attempts": 2, "mode": "standard"}
    config = storage.client_config
    soon = type(config)(connect_timeout=ANSWER_SECONDS, read_timeout=ANSWER_SECONDS, retries=retries)
    storage.client_config = config.merge(soon)
    return storage


def files(bucket: Storage, folder: str = "") -> Iterator[str]:
    """Yield the paths of all files of a storage, or of those below a folder."""
    try:
        folders, names = bucket.listdir(folder)
    except FileNotFoundError:
        return
    inside = f"{folder}/" if folder else ""
    yield from (f"{inside}{name}" for name in sorted(names) if name)
    for name in sorted(folders):
        yield from files(bucket, f"{inside}{name}")


def delete(bucket: Storage, folder: str) -> None:
    """Delete all files below a folder."""
    for path in files(bucket, folder):
        bucket.delete(path)
