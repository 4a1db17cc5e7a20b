"""Items say when they go, a changed span is applied to what is there, and what the law wants kept has none."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dealsite import retention_chart
from dealsite.data import keys, table
from dealsite.data.catalogue import drafts
from dealsite.data.editing import audit, trash_record
from dealsite.data.entities.chart import ENTITIES
from dealsite.data.entities.work import NOTICE, TELLING
from dealsite.data.integrity import checks, migrations, retention
from dealsite.data.jobs import jobs, queue
from dealsite.data.people import mails, messages, security_events
from dealsite.data.people.security_events import SecurityEvent
from dealsite.data.table import client, schema
from dealsite.data.table.errors import Conflict, Refused, VersionConflict
from dealsite.data.table.ids import epoch_seconds
from dealsite.data.table.writes import Update
from dealsite.worker import mails as mail_jobs
from tests.builders import DAY, NOW, make_deal, make_draft, make_id
from tests.measuring import measured
from tests.races import at_once

pytestmark = pytest.mark.usefixtures("fresh_table")


@pytest.fixture(autouse=True)
def spans(settings):
    """Let a test say spans."""

    def say(text: str) -> None:
        settings.DEALSITE_RETENTION = retention_chart.read(text)

    say("messages=100d read=10d jobs=20d audit=30d events=40d")
    return say


def message(sent=NOW):
    item = messages.message_item("ada", make_id(sent), kind="hot_deal", headline="Look", deal="")
    messages.deliver([item])
    return item["PK"], item["SK"], item["id"]


def ttl_of(*key):
    return table.get(key).get("ttl")


def days_from_now(number):
    return epoch_seconds(NOW + timedelta(days=number))


def job(kind, state, wait, *, at=NOW):
    job_id = make_id(at)
    table.write(jobs.job_write(kind, {}, job_id=job_id, due=at))
    wait()
    taken = jobs.take_next(now=NOW)
    {"done": jobs.finish, "cancelled": lambda one: jobs.cancel_own(one, "It is over.")}[state](taken)
    return keys.job(job_id)


def test_a_message_goes_when_its_span_is_over_and_sooner_once_it_was_read():
    *key, message_id = message(NOW - 5 * DAY)
    assert ttl_of(*key) == days_from_now(95)
    messages.mark_read("ada", message_id, now=NOW)
    assert ttl_of(*key) == days_from_now(10)


def test_a_message_that_was_read_late_stays_no_longer_than_an_unread_one():
    *key, message_id = message(NOW - 95 * DAY)
    messages.mark_read("ada", message_id, now=NOW)
    assert ttl_of(*key) == days_from_now(5)


@pytest.mark.parametrize(
    ("changed", "days"),
    [
        ("messages=30d", 20),
        ("messages=30d read=never", 20),
        ("messages=never read=40d", 40),
        ("audit=never", 90),
        ("messages=never read=never", None),
    ],
)
def test_changed_spans_count_for_a_message_from_when_it_was_sent_and_read(spans, changed, days):
    spans("")
    *key, message_id = message(NOW - 10 * DAY)
    messages.mark_read("ada", message_id, now=NOW)
    assert ttl_of(*key) == days_from_now(90)
    spans(changed)
    retention.apply(now=NOW)
    assert ttl_of(*key) == (None if days is None else days_from_now(days))


def test_a_message_that_was_read_long_after_it_was_sent_is_not_ended_by_a_change_of_other_spans(spans):
    spans("")
    *key, message_id = message(NOW - 100 * DAY)
    messages.mark_read("ada", message_id, now=NOW)
    spans("audit=never")
    retention.apply(now=NOW)
    assert ttl_of(*key) == days_from_now(80)


def test_the_number_of_unread_messages_follows(wait_for_indexes):
    message(NOW - 100 * DAY)
    message()
    wait_for_indexes()
    assert schema.delete_expired(now=NOW) == 1
    wait_for_indexes()
    assert len(messages.unread("ada")) == 1


def test_a_job_goes_once_it_is_over_counted_from_when_it_was_taken(wait_for_indexes):
    assert ttl_of(*job("nothing", "done", wait_for_indexes, at=NOW - 50 * DAY)) == days_from_now(20)
    assert ttl_of(*job("nothing", "cancelled", wait_for_indexes)) == days_from_now(20)
    assert ttl_of(*job("bulk_change", "done", wait_for_indexes)) == days_from_now(20)


def test_jobs_that_others_name_and_those_that_failed_stay(wait_for_indexes):
    assert ttl_of(*job("run_import", "done", wait_for_indexes)) is None
    failed = make_id()
    table.write(jobs.job_write("nothing", {}, job_id=failed, due=NOW))
    table.write(Update(key=keys.job(failed), set={"state": "failed"}))
    assert retention.write(table.get(keys.job(failed)), now=NOW) is None


def test_a_mail_that_failed_goes_with_its_address_unless_somebody_tries_it_again(wait_for_indexes):
    assert mail_jobs.HANDLERS.keys() == TELLING
    key = keys.job(job_id := make_id())
    mail = {"to": "ann@example.org", "name": "Ann"}
    table.write(jobs.job_write(mails.NOTICE, mail, job_id=job_id, due=NOW))
    table.write(Update(key=key, set={"tries": jobs.MAX_TRIES - 1}))
    wait_for_indexes()
    jobs.fail(jobs.take_next(now=NOW), "There is no such mailbox.", now=NOW)
    assert (jobs.get(job_id).state, ttl_of(*key)) == ("failed", days_from_now(20))
    queue.retry(job_id, by="eve", now=NOW)
    assert (jobs.get(job_id).state, ttl_of(*key)) == ("open", None)


def test_entries_of_both_logs_go_by_their_own_spans(wait_for_indexes):
    entry = audit.entry_write(by="ada", kind="deal", subject=make_id(), what="changed", now=NOW)
    assert entry.item["ttl"] == days_from_now(30)
    security_events.add(SecurityEvent("signed_in", NOW, username="ada", network="192.0.2.0/24"))
    wait_for_indexes()
    (stored,) = table.query(keys.security_event.partition(NOW.date()))
    assert stored["ttl"] == days_from_now(40)


@pytest.mark.parametrize("kind", ["Order", "OrderLine", "OrderEvent", "Payment", "PastPayment", "User"])
def test_what_the_law_wants_kept_has_no_span(kind):
    assert ENTITIES.get(kind) is None or ENTITIES[kind].kept is None


def test_a_changed_span_is_applied_to_what_is_there_once(spans):
    *key, _ = message()
    entry = audit.entry_write(by="ada", kind="deal", subject=make_id(), what="changed", now=NOW)
    table.write(entry)
    retention.apply(now=NOW)

    spans("messages=7d audit=never")
    assert retention.apply(now=NOW).items == 2
    assert ttl_of(*key) == days_from_now(7)
    assert ttl_of(*entry.key) is None
    scans = []
    assert retention.apply(now=NOW, renew=lambda: scans.append(1)).items == 0
    assert scans == []
    retention.apply(now=NOW, renew=lambda: scans.append(1), again=True)
    assert scans == [1]


def test_what_was_stored_before_there_were_spans_gets_its_own():
    *key, _ = message()
    table.write(Update(key=tuple(key), remove=("ttl",)))
    assert retention.apply(now=NOW).items == 1
    assert ttl_of(*key) == days_from_now(100)


@pytest.mark.parametrize(
    ("stored", "after"),
    [(None, -1), (-6 * 365, -1), (50, -1), (-4 * 365, -4 * 365)],
    ids=["stayed", "out of reach", "later", "goes already"],
)
def test_what_was_to_go_years_ago_gets_a_time_that_amazon_still_looks_at(stored, after):
    *key, _ = message(NOW - 7 * 365 * DAY)
    change = {"remove": ("ttl",)} if stored is None else {"set": {"ttl": days_from_now(stored)}}
    table.write(Update(key=tuple(key), **change))
    assert retention.apply(now=NOW).items == (stored != after)
    assert ttl_of(*key) == days_from_now(after)
    assert retention.apply(now=NOW + DAY, again=True).items == 0


def test_a_message_that_is_read_while_a_span_is_applied_keeps_the_time_of_its_reading(spans, monkeypatch):
    *key, message_id = message()
    spans("messages=90d read=3d")
    transact = table.transact

    def read_first(writes):
        messages.mark_read("ada", message_id, now=NOW)
        transact(writes)

    monkeypatch.setattr(table, "transact", read_first)
    retention.apply(now=NOW)
    assert ttl_of(*key) == days_from_now(3)


def test_a_message_that_is_deleted_meanwhile_does_not_come_back(monkeypatch):
    *key, message_id = message()
    table.write(Update(key=tuple(key), remove=("ttl",)))
    transact = table.transact

    def delete_first(writes):
        messages.delete("ada", message_id)
        transact(writes)

    monkeypatch.setattr(table, "transact", delete_first)
    retention.apply(now=NOW)
    assert table.get(tuple(key)) is None


def test_logs_that_the_sites_role_may_not_change_hold_up_nothing_else(spans, monkeypatch, wait_for_indexes):
    """Amazon denies changes of AUDIT#* and SECURITY#* to the roles of deploy/cloudformation.yml."""
    *key, _ = message()
    entry = audit.entry_write(by="ada", kind="deal", subject=make_id(), what="changed", now=NOW)
    table.write(entry)
    measured(security_events.add)(SecurityEvent("signed_in", NOW, username="ada", network="192.0.2.0/24"))
    wait_for_indexes()
    spans("messages=7d audit=never events=never")
    send = client.send

    def as_amazon(operation, parameters, **options):
        changes = [change for one in parameters.get("TransactItems", []) for change in one.items()]
        changes.append((operation.removesuffix("Item"), parameters))
        for kind, change in changes:
            if kind in ("Update", "Delete") and change["Key"]["PK"]["S"].startswith(("AUDIT#", "SECURITY#")):
                raise Refused("AccessDeniedException", "It is denied explicitly.", [])
        return send(operation, parameters, **options)

    monkeypatch.setattr(client, "send", as_amazon)
    assert retention.apply(now=NOW) == retention.Applied(items=1, refused=2, drafts=0)
    assert ttl_of(*key) == days_from_now(7)
    assert ttl_of(*entry.key) == days_from_now(30)
    (event,) = table.query(keys.security_event.partition(NOW.date()))
    assert event["ttl"] == days_from_now(40)
    assert retention.apply(now=NOW) == retention.Applied(items=0, refused=0, drafts=0)


def test_damaged_items_and_drafts_hold_up_nothing_else(spans, wait_for_indexes):
    *key, _ = message()
    entry = audit.entry_write(by="ada", kind="deal", subject=make_id(), what="changed", now=NOW)
    table.write(entry)
    table.write(Update(key=entry.key, remove=("card",)))
    damaged, old = (make_draft(now=NOW - days * DAY) for days in (32, 31))
    table.write(Update(key=keys.draft(damaged.id), remove=("version",)))
    table.write(Update(key=tuple(key), remove=("ttl",)))
    wait_for_indexes()
    spans("messages=7d audit=never drafts=30d")
    assert retention.apply(now=NOW) == retention.Applied(items=3, refused=2, drafts=1)
    assert ttl_of(*key) == days_from_now(7)
    assert trash_record.find("draft", old.id).by == "-"


def test_of_two_workers_at_it_one_goes_on():
    for number in range(3):
        message(NOW - number * DAY)
    outcomes = at_once(*[lambda: retention.apply(now=NOW)] * 2)
    assert all(isinstance(one, (retention.Applied, VersionConflict)) for one in outcomes)
    assert any(isinstance(one, retention.Applied) for one in outcomes)
    assert migrations.find(retention.NAME).is_done


def test_old_drafts_go_to_the_trash_and_others_stay(spans, wait_for_indexes):
    old, new = make_draft(now=NOW - 31 * DAY), make_draft(now=NOW - 29 * DAY)
    wait_for_indexes()
    assert retention.apply(now=NOW).drafts == 0
    spans("drafts=30d")
    assert retention.apply(now=NOW).drafts == 1
    assert trash_record.find("draft", old.id).by == "-"
    assert drafts.get(new.id).id == new.id


def test_versions_may_be_gone_where_a_span_says_so(spans):
    deal = make_deal()
    table.write(Update(key=keys.deal(deal.id), set={"version": 5}))
    said = [str(problem) for problem in checks.find()]
    assert len([one for one in said if "the last one kept before is" in one]) == 1
    spans("versions=30d")
    said = [str(problem) for problem in checks.find()]
    assert [one for one in said if "the last one kept before is" in one] == []


def test_a_failed_job_that_is_tried_again_meanwhile_stays_for_its_worker():
    job_id = make_id()
    table.write(jobs.job_write(NOTICE, {"to": "ada@example.org"}, job_id=job_id, due=NOW))
    state = {"state": "failed", ("card", "state"): "failed"}
    table.write(Update(key=keys.job(job_id), set=state, remove=("GSI3PK", "GSI3SK")))
    item = table.get(keys.job(job_id))
    assert item is not None
    change = retention.write(item, now=NOW)
    assert change is not None
    queue.retry(job_id, by="eve", now=NOW)
    with pytest.raises(Conflict):
        table.write(change)


def test_a_draft_that_nobody_worked_on_is_discarded(wait_for_indexes):
    draft = make_draft(title="Idea")
    wait_for_indexes()
    assert measured(retention.discard_drafts)(timedelta(hours=1), now=NOW + timedelta(hours=2)) == (1, 0)
    assert drafts.get_many([draft.id]) == {}
