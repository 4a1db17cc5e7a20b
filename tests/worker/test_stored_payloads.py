"""What jobs store, name by name: what one build stores, the next one reads, or says that it cannot."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.catalogue.brands import RenamePayload
from dealsite.data.catalogue.content import RenditionsCheckpoint, RenditionsPayload
from dealsite.data.catalogue.deals import StockPayload
from dealsite.data.catalogue.featured_plans import PlanPayload
from dealsite.data.catalogue.relations import MuteAllPayload
from dealsite.data.commerce.order_changes import ExpiryPayload
from dealsite.data.commerce.order_record import UseCardPayload
from dealsite.data.commerce.payment_record import TotalsPayload
from dealsite.data.commerce.payments import PaymentNoticePayload, RefundPayload
from dealsite.data.editing.bulk import BulkPayload, BulkProgress
from dealsite.data.editing.imports import ImportPayload, ImportProgress
from dealsite.data.editing.links import LinkPayload, RoundPayload, round_id
from dealsite.data.editing.trash_record import EmptyTrashPayload
from dealsite.data.jobs import exports, jobs
from dealsite.data.jobs.command_runs import CommandPayload
from dealsite.data.jobs.exports import ExportPayload, Progress
from dealsite.data.jobs.parts import PartPayload
from dealsite.data.jobs.payloads import UnknownVersion, payload_from_item, payload_to_item
from dealsite.data.people.announcements import (
    AnnouncementCheckpoint,
    AnnouncementPayload,
    AnnouncementProgress,
)
from dealsite.data.people.mails import (
    ConfirmationPayload,
    EmailChangedPayload,
    NoticePayload,
    OrderNoticePayload,
    PasswordResetPayload,
)
from dealsite.data.people.messages import ReadAllPayload
from dealsite.data.people.users import RemovalPayload
from dealsite.data.table import ids
from dealsite.worker import loop
from dealsite.worker.accounts import RemovalCheckpoint
from dealsite.worker.bulk import BulkCheckpoint
from dealsite.worker.imports import ImportCheckpoint
from dealsite.worker.links import RoundCheckpoint
from tests.builders import NOW
from tests.jobs import run_next

AT = "2026-11-21T12:00:00.000Z"
ID = "01KAAAAAAAAAAAAAAAAAAAAAAA"
MONEY = Decimal("5.00")
PAYMENT = {"account": "ann", "order": ID, "number": 1, "of": 3, "amount": MONEY, "status": "FAILED"}
ANNOUNCEMENT = {"kind": "new_deal", "deal": ID, "headline": "New", "text": "", "by": "eve"}
MATCHING = {"state": "all", "brand": "aurora", "category": "", "words": "tv", "how": "exact", "lacks": ""}
REMARK = {"line": 3, "column": "price", "value": "x", "reason": "No price.", "refused": True}
BRAND = {"line": 2, "slug": "vela", "name": "Vela"}
BULK = {"kind": "deal", "action": "brand", "value": "aurora", "by": "eve", "asked_at": AT, "total": 2}

PAYLOADS: dict[str, tuple[type, dict[str, Any]]] = {  # by kind of job: the class, and what is stored
    "part": (PartPayload, {"of": ID, "number": 1, "count": 4}),
    "rename_brand": (RenamePayload, {"brand": "aurora"}),
    "send_message": (AnnouncementPayload, ANNOUNCEMENT | {"audience": {"all": True}}),
    "payment_totals": (TotalsPayload, {"deltas": {"2026-11-21#0": {"open": MONEY, "open_amount": -MONEY}}}),
    "payment_notice": (PaymentNoticePayload, PAYMENT | {"reason": "Declined", "next_at": AT}),
    "expire_order": (ExpiryPayload, {"username": "ann", "order": ID}),
    "refund_payment": (RefundPayload, {"payments": [{"id": ID, "due_at": AT, "account": "ann"}]}),
    "account_notice": (
        NoticePayload,
        {"template": "two_factor_on", "to": "a@example.com", "name": "Ann", "language": "", "user_agent": ""},
    ),
    "password_reset_mail": (PasswordResetPayload, {"email": "a@example.com"}),
    "confirmation_mail": (ConfirmationPayload, {"username": "ann"}),
    "email_changed_mail": (EmailChangedPayload, {"username": "ann", "to": "a@example.com"}),
    "order_notice": (
        OrderNoticePayload,
        {"status": "PLACED", "order": ID, "username": "ann", "to": "a@example.com"},
    ),
    "use_card": (UseCardPayload, {"username": "ann", "method": "token"}),
    "remove_user": (RemovalPayload, {"username": "ann"}),
    "read_all": (ReadAllPayload, {"username": "ann", "until": ID}),
    "mute_all": (MuteAllPayload, {"username": "ann", "muted": False}),
    "mark_sold_out": (StockPayload, {"deals": [ID]}),
    "empty_trash": (EmptyTrashPayload, {"day": "2026-11-21"}),
    "set_featured": (PlanPayload, {"plan": ID}),
    "bulk_change": (BulkPayload, BULK | {"matching": MATCHING}),
    "bulk_undo": (BulkPayload, BULK | {"undoes": ID}),
    "check_import": (ImportPayload, {"import": ID}),
    "run_import": (ImportPayload, {"import": ID, "by": "eve"}),
    "export_list": (ExportPayload, {"address": "/cms/deals/", "by": "eve"}),
    "delete_export": (exports.DeletionPayload, {"export": ID}),
    "delete_import": (ImportPayload, {"import": ID}),
    "make_renditions": (RenditionsPayload, {"pictures": ["a", "b"]}),
    "check_links": (RoundPayload, {}),
    "check_link": (LinkPayload, {"deal": ID}),
    "check_table": (CommandPayload, {}),
    "close_day": (CommandPayload, {}),
    "snapshot": (CommandPayload, {}),
    "backup": (CommandPayload, {}),
    "retention": (CommandPayload, {}),
}
OTHERS: list[tuple[type, dict[str, Any]]] = [  # further ones, and what is kept of a job's way
    (AnnouncementPayload, ANNOUNCEMENT | {"audience": {"brand": "aurora"}, "follows_deal": True}),
    (
        AnnouncementCheckpoint,
        {"headline": "New", "audience": {"brand": "aurora", "category": "toys-hobbies"}},
    ),
    (PartPayload, {"of": ID, "number": 1, "count": 4, "after": ID, "last": ID}),
    (AnnouncementProgress, {"total": 9, "sent": 4, "skipped": 1, "milliseconds": 20}),
    (AnnouncementProgress, {"total": 9, "sent": 4, "skipped": 1, "milliseconds": 20, "noted_at": AT}),
    (PaymentNoticePayload, PAYMENT | {"reason": ""}),
    (BulkCheckpoint, {"chunk": 2}),
    (BulkCheckpoint, {"chunk": 2, "after": ID}),
    (BulkCheckpoint, {"chunk": 2, "after": ID, "changed": 7, "refused": 1}),
    (BulkProgress, {"total": 9, "changed": 0, "refused": 0}),
    (BulkProgress, {"total": 9, "changed": 4, "refused": 1, "milliseconds": 20}),
    (ImportCheckpoint, {"line": 7, "totals": {"imported": 3}, "late": [REMARK], "brands": [BRAND]}),
    (ImportProgress, {"done": 7, "total": 9, "imported": 3, "refused": 1}),
    (Progress, {"rows": 3}),
    (Progress, {"rows": 3, "bytes": 71}),
    (RenditionsCheckpoint, {"done": 3}),
    (RemovalCheckpoint, {"looked": True}),
    (RoundCheckpoint, {"after": ID, "counts": {"works": 3}}),
]


def test_each_kind_of_job_has_its_payload_here():
    assert PAYLOADS.keys() == loop.HANDLERS.keys() - {*loop.GONE}


def test_what_is_stored_is_read_and_would_be_stored_the_same_again(subtests):
    for cls, stored in (*PAYLOADS.values(), *OTHERS):
        with subtests.test(cls=cls, stored=stored):
            assert payload_to_item(payload_from_item(cls, stored)) == stored


def test_of_a_version_that_it_does_not_know_nothing_is_read(subtests):
    for cls in sorted({cls for cls, _ in [*PAYLOADS.values(), *OTHERS]}, key=repr):
        with subtests.test(cls=cls):
            for stored in ({"version": 2}, {"more": 1}):
                with pytest.raises(UnknownVersion):
                    payload_from_item(cls, stored)


@pytest.mark.engines("native")
@pytest.mark.usefixtures("fresh_table", "all_are_editors")
def test_a_job_of_a_later_build_waits_with_a_reason(settings, subtests):
    settings.DEALSITE_CHECK_LINKS = True
    for kind, (_, stored) in PAYLOADS.items():
        with subtests.test(kind=kind):
            job_id = round_id(NOW) if kind == "check_links" else ids.new_ulid(NOW)
            due = datetime(2026, 1, 1, tzinfo=UTC)
            table.transact([jobs.job_write(kind, stored | {"version": 2}, job_id=job_id, due=due)])
            assert run_next(now=NOW)
            job = jobs.get(job_id)
            assert (job.state, job.error) == ("open", "Another version of the site stored this.")
