"""A site of a test's own: an engine, keys, a picture and a private file."""

from pathlib import Path

import pytest

from dealsite.data.table import client
from tests.setup.conftest import own_engine  # noqa: F401 - a fixture


@pytest.fixture(autouse=True)
def _as_patient_as_before(monkeypatch) -> None:
    """Commands make this process wait longer for answers: not beyond a test."""
    monkeypatch.setattr(client, "READ_TIMEOUT", client.READ_TIMEOUT)


@pytest.fixture
def own_site(own_engine, settings) -> Path:  # noqa: F811
    """The data folder of a site whose engine runs."""
    var = own_engine.folder
    settings.VAR, settings.MEDIA_ROOT, settings.DEALSITE_EMBEDDED = var, var / "media", True
    name_storages(settings, var)
    (var / "media" / "pictures").mkdir(parents=True)
    (var / "media" / "pictures" / "one-480.webp").write_bytes(b"picture")
    (var / "private" / "exports").mkdir(parents=True)
    (var / "private" / "exports" / "orders.csv").write_bytes(b"id;total")
    (var / "private" / "search").mkdir()
    (var / "private" / "search" / "current.json").write_bytes(b"{}")  # made again, so no backup has it
    (var / "secret_key").write_text("key")
    (var / "secret_key_fallbacks").write_text("before")
    return var


def name_storages(settings, var: Path) -> None:
    """Let the private storage be that of a data folder."""
    private = settings.STORAGES["private"]
    options = private["OPTIONS"] | {"location": var / "private"}
    settings.STORAGES = settings.STORAGES | {"private": private | {"OPTIONS": options}}
