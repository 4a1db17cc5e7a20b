"""Whether the buckets work: a small object is put, read and deleted. Everybody sees pictures, nobody the rest."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages

from dealsite.data.table.ids import new_ulid
from dealsite.lake.store import store_of_site
from dealsite.site_setup.finding import Finding
from dealsite.site_setup.surroundings import SECONDS

CONTENT = b"Written by setup_site, to try the bucket.\n"
RIGHTS = "Let the site's role s3:PutObject, GetObject and DeleteObject there, and ListBucket the bucket"


def buckets(now: datetime) -> Iterator[Finding]:
    """Try each bucket that a setting names."""
    name = f"setup-{new_ulid(now)}.txt"
    if bucket := settings.DEALSITE_MEDIA_BUCKET:  # the public may see pictures/ alone
        media = _impatient("default")
        yield from _tried("DEALSITE_MEDIA_BUCKET", bucket, media, f"pictures/{name}", is_public=True)
    if bucket := settings.DEALSITE_PRIVATE_BUCKET:
        private = _impatient("private")
        yield from _tried("DEALSITE_PRIVATE_BUCKET", bucket, private, name, is_public=False)
    if settings.DEALSITE_LAKE:
        yield _lake(name)
    elif not settings.DEALSITE_MEDIA_BUCKET and not settings.DEALSITE_EMBEDDED:
        todo = "Right for a single machine; several need DEALSITE_MEDIA_BUCKET and DEALSITE_PRIVATE_BUCKET."
        yield Finding("buckets", "Pictures and files are on this machine's disk.", todo, is_needed=False)


def _impatient(alias: str) -> Any:
    """Return a storage of the site's that gives up soon: where nothing answers, S3's would try for minutes."""
    storage: Any = storages.create_storage(settings.STORAGES[alias])
    retries = {"total_max_attempts": 2, "mode": "standard"}
    config = storage.client_config
    soon = type(config)(connect_timeout=SECONDS, read_timeout=SECONDS, retries=retries)
    storage.client_config = config.merge(soon)
    return storage


def _tried(setting: str, bucket: str, storage: Storage, name: str, *, is_public: bool) -> Iterator[Finding]:
    kept = ""
    try:
        kept = storage.save(name, ContentFile(CONTENT))
        with storage.open(kept) as file:
            is_same = file.read() == CONTENT
        can_be_seen = _can_be_seen(storage.url(kept).partition("?")[0])
    except Exception as error:  # noqa: BLE001 - whatever the library of a storage raises
        yield _refused(setting, bucket, error)
        return
    finally:
        try:
            if kept:
                storage.delete(kept)
        except Exception as error:  # noqa: BLE001 - as above
            yield _refused(setting, bucket, error)
    if not is_same:
        yield Finding("buckets", f"{setting}: {bucket} returns something else than was put into it.", RIGHTS)
    elif is_public and not can_be_seen:
        todo = "Let the public read it, or the CDN of DEALSITE_MEDIA_HOST; setup_site looks again."
        yield Finding("buckets", f"{bucket}: visitors cannot see its pictures.", todo, is_needed=False)
    elif can_be_seen and not is_public:
        todo = "Turn on Block Public Access: it holds files of orders and payments."
        yield Finding("buckets", f"{bucket}: everybody can read it.", todo)
    else:
        yield Finding("buckets", f"{bucket} takes, returns and deletes files.")


def _can_be_seen(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:  # noqa: S310 - of our own bucket
            return bool(answer.read(len(CONTENT)) == CONTENT)
    except OSError:  # a refusal is one, too
        return False


def _lake(name: str) -> Finding:
    store, lake = store_of_site(), settings.DEALSITE_LAKE
    try:
        store.put(name, CONTENT)
        is_same = store.get(name) == CONTENT
        store.delete(name)
    except OSError as error:
        return _refused("DEALSITE_LAKE", lake, error)
    if not is_same:
        return Finding("buckets", f"{lake} returns something else than was put into it.", RIGHTS)
    return Finding("buckets", f"{lake} takes, returns and deletes files.")


def _refused(setting: str, bucket: str, error: Exception) -> Finding:
    return Finding(
        "buckets",
        f"{setting}: {bucket} cannot be used: {error}",
        f"{RIGHTS} (in {settings.DEALSITE_REGION}).",
    )
