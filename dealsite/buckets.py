"""Buckets: a storage that gives up soon, and what folders of one hold."""

from collections.abc import Iterator
from typing import Any

from django.core.files.storage import Storage

ANSWER_SECONDS = 10.0  # twice that is well within the lease of a job
SEARCH = "search/"  # of the private one: the index, which is made again


def bucket(**options: Any) -> Any:
    """Return a bucket as a storage that gives up soon: where nothing answers, S3's would try for minutes."""
    from storages.backends.s3 import S3Storage  # which sites without buckets do not load

    storage = S3Storage(**options)
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
