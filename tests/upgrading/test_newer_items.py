"""What a newer build wrote is shown and left alone; what an older one put into the trash comes back as it is now."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from dealsite import data
from dealsite.data import keys, table
from dealsite.data.catalogue import deal_changes
from dealsite.data.catalogue.deals import Deal
from dealsite.data.editing import trash, trash_record
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.table import Schema, Schemas
from dealsite.data.table.writes import Update
from tests.builders import EDITOR, NOW, make_announcement, make_brand, make_deal, make_id
from tests.cms.conftest import do, said
from tests.people import make_user, signed_in


@pytest.fixture(autouse=True)
def _table(fresh_table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Deal:
    """A deal that a newer build wrote, with its counters, and a job of it."""
    raised = Schemas({kind: Schema(known.version + 1) for kind, known in data.SCHEMAS.items()})
    with monkeypatch.context() as patch:
        patch.setattr(data, "SCHEMAS", raised)
        make_brand()
        deal = make_deal()
        make_announcement(deal.id, make_id(NOW))
    return deal


def stored() -> list[dict[str, Any]]:
    return sorted(table.scan_all(consistent=True), key=lambda item: (item["PK"], item["SK"]))


def test_a_newer_deal_is_shown_and_not_changed(newer):
    browser = signed_in(make_user("eve", roles=["editor"]))
    assert browser.get(f"/deals/{newer.id}/{newer.card.slug}/").status_code == 200
    assert browser.get(f"/cms/deals/{newer.id}/").status_code == 200
    before = stored()
    assert "A newer version of this site wrote this." in said(do(browser, "delete", newer))
    assert stored() == before


def test_a_job_of_a_newer_build_is_left_to_it(newer):
    before = stored()
    assert jobs.take_next(now=NOW) is None
    assert stored() == before


def test_a_newer_item_is_not_repaired(newer, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(data, "SCHEMAS", Schemas())
        table.write(Update(key=keys.brand_counts("nordlicht"), set={"deals": 7}))
        table.write(Update(key=keys.offer(newer.id), set={"price": 1}))
    before = stored()
    assert checks.repair_all() == ([], [])  # nobody here knows what is right
    assert stored() == before


def with_code(item: dict[str, Any]) -> dict[str, Any]:
    """Schema 2 of a deal: each has a voucher code."""
    return item if "voucher_code" in item else {**item, "voucher_code": "NONE"}


def test_what_an_older_build_put_into_the_trash_is_restored_in_the_shape_of_now(monkeypatch):
    make_brand()
    deal = make_deal(voucher_code="")
    deal_changes.delete(deal, by=EDITOR, now=NOW)
    raised = Schemas(data.SCHEMAS | {"Deal": Schema(2, (lambda item: item, with_code))})
    monkeypatch.setattr(data, "SCHEMAS", raised)
    assert (trash_record.get("deal", deal.id).kept or {})["schema"] == 2
    trash.restore("deal", deal.id, by=EDITOR, now=NOW)
    item = table.get(keys.deal(deal.id), as_stored=True) or {}
    assert (item["voucher_code"], item["schema"]) == ("NONE", 2)
