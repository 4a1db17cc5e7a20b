"""Following one task through the code takes a bounded number of files; `pytest -s` prints which."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from django.core.files.storage import FileSystemStorage
from django.test import Client
from django.utils import timezone

from dealsite.data.catalogue import categories
from dealsite.data.catalogue.display_names import brand_names, category_names
from dealsite.data.editing import imports
from dealsite.web import page_cache
from dealsite.worker import exports, loop
from tests.builders import NOW, make_deal
from tests.imports.builders import make_row
from tests.shopping.shoppers import checkout_form, fill_cart, make_shopper
from tests.site.trips import files_entered
from tests.worker.test_imports import order, upload_file

DEAL_PAGE, CHECKOUT, IMPORT_ROW = 38, 51, 43  # at most: whoever gets by with fewer lowers them

pytestmark = pytest.mark.promise


@pytest.fixture(autouse=True)
def site(whole_table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty site, where it is NOW and nothing is remembered of other tests."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    page_cache.forget()
    brand_names.forget()
    category_names.forget()


def report(task: str, files: Iterable[str]) -> int:
    """Print the files of a task and return their number."""
    found = sorted(files)
    print(f"{task}: {len(found)} files entered", *found, sep="\n  ")  # noqa: T201
    return len(found)


def test_a_deal_page(client: Client):
    deal = make_deal(stock=3)
    address = f"/deals/{deal.id}/{deal.card.slug}/"
    client.get(address)
    page_cache.forget()
    with files_entered() as files:
        answer = client.get(address)
    assert answer.status_code == 200
    assert report("deal page", files) <= DEAL_PAGE


def test_a_checkout():
    ada = make_shopper()
    fill_cart("ada")
    form = checkout_form(ada)
    with files_entered() as files:
        answer = ada.post("/checkout/", form)
    assert answer.status_code == 302
    assert report("checkout", files) <= CHECKOUT


def test_an_import_row(tmp_path, monkeypatch: pytest.MonkeyPatch):
    storage = FileSystemStorage(tmp_path, allow_overwrite=True)
    monkeypatch.setattr(exports, "storage", lambda: storage)
    categories.create_all()
    import_id = upload_file([make_row()])
    loop.run_next(now=NOW)  # checks it
    order(import_id)
    with files_entered() as files:
        loop.run_next(now=NOW)
    assert imports.get(import_id).totals["imported"] == 1
    assert report("import row", files) <= IMPORT_ROW
