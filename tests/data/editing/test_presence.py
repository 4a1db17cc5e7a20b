"""Who has a form open: said every 20 seconds, over after a minute, and read with the version in one query."""

from dataclasses import replace
from datetime import timedelta

import pytest

from dealsite.data import keys, table
from dealsite.data.catalogue import deal_changes, deals, drafts
from dealsite.data.editing import pending_edits
from dealsite.data.editing.pending_edits import OpenForm
from dealsite.data.table import schema
from tests.builders import EDITOR, HOUR, NOW, make_brand, make_deal, make_draft, make_id
from tests.measuring import measured

SECOND = timedelta(seconds=1)
pytestmark = pytest.mark.usefixtures("whole_table")


def send_heartbeat(entry_id, username, now=NOW, kind="deal"):
    return pending_edits.heartbeat(kind, entry_id, username=username, name=username.title(), now=now)


def test_each_of_two_editors_sees_the_other_and_since_when():
    deal_id = make_deal().id
    seen = measured(pending_edits.heartbeat)("deal", deal_id, username="eve", name="Eve", now=NOW)
    assert seen.others == []
    assert send_heartbeat(deal_id, "oscar", NOW + 5 * SECOND).others == [OpenForm("eve", "Eve", NOW)]
    assert send_heartbeat(deal_id, "eve", NOW + 20 * SECOND).others == [
        OpenForm("oscar", "Oscar", NOW + 5 * SECOND)
    ]


def test_since_when_stays_while_the_form_stays_open():
    deal_id = make_deal().id
    for seconds in range(0, 300, 20):
        send_heartbeat(deal_id, "eve", NOW + seconds * SECOND)
    assert send_heartbeat(deal_id, "oscar", NOW + 300 * SECOND).others == [OpenForm("eve", "Eve", NOW)]


def test_who_has_not_said_so_for_a_minute_is_gone_and_begins_anew():
    deal_id = make_deal().id
    send_heartbeat(deal_id, "eve")
    assert send_heartbeat(deal_id, "oscar", NOW + 59 * SECOND).others == [OpenForm("eve", "Eve", NOW)]
    assert send_heartbeat(deal_id, "oscar", NOW + 60 * SECOND).others == []
    send_heartbeat(deal_id, "eve", NOW + 61 * SECOND)
    assert send_heartbeat(deal_id, "oscar", NOW + 62 * SECOND).others == [
        OpenForm("eve", "Eve", NOW + 61 * SECOND)
    ]


def test_who_closes_the_form_is_gone_at_once():
    deal_id = make_deal().id
    send_heartbeat(deal_id, "eve")
    measured(pending_edits.leave_form)("deal", deal_id, username="eve")
    pending_edits.leave_form("deal", deal_id, username="eve")
    assert send_heartbeat(deal_id, "oscar").others == []


def test_who_was_first_is_named_first():
    deal_id = make_deal().id
    for number, username in enumerate(["zoe", "adam", "eve"]):
        send_heartbeat(deal_id, username, NOW + number * SECOND)
    assert [one.username for one in send_heartbeat(deal_id, "eve", NOW + 9 * SECOND).others] == [
        "zoe",
        "adam",
    ]


def test_forms_of_other_deals_and_drafts_are_told_apart():
    deal, draft = make_deal(), make_draft(title="Sofa")
    send_heartbeat(deal.id, "eve")
    assert send_heartbeat(make_deal().id, "oscar").others == []
    assert send_heartbeat(draft.id, "oscar", kind="draft").others == []
    assert send_heartbeat(draft.id, "eve", kind="draft").others == [OpenForm("oscar", "Oscar", NOW)]


def test_a_heartbeat_tells_the_version_that_is_stored_and_who_made_it():
    deal = make_deal()
    assert (send_heartbeat(deal.id, "eve").version, send_heartbeat(deal.id, "eve").updated_by) == (1, EDITOR)
    content = replace(deal.content, title="Other")
    deal_changes.edit(deal, content, version=1, brand=make_brand(), by="oscar", now=NOW + HOUR)
    told = send_heartbeat(deal.id, "eve")
    assert (told.version, told.updated_by, told.updated_at) == (2, "oscar", NOW + HOUR)


def test_a_heartbeat_tells_that_a_draft_was_published_or_never_saved():
    draft = make_draft(title="Sofa")
    assert send_heartbeat(draft.id, "eve", kind="draft").published is False
    make_deal(draft=draft)
    told = send_heartbeat(draft.id, "eve", kind="draft")
    assert (told.published, told.version) == (True, 2)
    assert send_heartbeat(make_id(NOW), "eve", kind="draft").version == 0


def test_a_deal_that_is_deleted_is_not_there():
    deal = make_deal()
    send_heartbeat(deal.id, "eve")
    deal_changes.delete(deals.get(deal.id), by=EDITOR, now=NOW)
    assert send_heartbeat(deal.id, "oscar").version == 0
    assert send_heartbeat(deal.id, "oscar").others == [OpenForm("eve", "Eve", NOW)]


def test_what_is_over_expires(wait_for_indexes):
    deal_id = make_deal().id
    send_heartbeat(deal_id, "eve")
    wait_for_indexes()
    assert schema.delete_expired(now=NOW + 59 * SECOND) == 0
    assert table.get(keys.presence("deal", deal_id, "eve")) is not None
    schema.delete_expired(now=NOW + 60 * SECOND)
    assert table.get(keys.presence("deal", deal_id, "eve")) is None


def test_being_there_does_not_change_the_deal_or_the_draft():
    deal, draft = make_deal(), make_draft(title="Sofa")
    send_heartbeat(deal.id, "eve")
    send_heartbeat(draft.id, "eve", kind="draft")
    assert deals.get(deal.id) == deal
    assert drafts.get(draft.id) == draft


@pytest.mark.budget
def test_a_heartbeat_costs_a_query_and_a_put():
    deal_id = make_deal().id
    for _ in range(2):
        with table.metered() as meter:
            send_heartbeat(deal_id, "eve")
        assert [operation for operation, _ in meter.log] == ["Query", "PutItem"]
