"""The process ends before or after any request of an action: the table is whole, and trying again completes it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from dealsite.data.catalogue import (
    brand_merges,
    brands,
    buckets,
    deal_changes,
    deals,
    drafts,
    featured,
    lists,
    publishing,
)
from dealsite.data.catalogue.content import DealContent
from dealsite.data.editing import pending_edits, trash, trash_record, versions
from dealsite.data.editing.audit import AuditContext
from dealsite.data.editing.bulk import BulkChange
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.table import errors
from dealsite.worker.bulk import change_at_once
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    NOW,
    make_brand,
    make_category,
    make_content,
    make_deal,
    make_draft,
    make_id,
)
from tests.crashes import Crash, Crasher, at_any_request

DEAL, MOVED, DRAFT = make_id(NOW - HOUR, 1), make_id(NOW + 2 * DAY, 2), make_id(NOW, 3)
SCHEDULED = make_id(NOW + HOUR, 4)


@dataclass
class Action:
    """What is there before, what is done (and done again), and what holds when it is done."""

    seed: Callable[[], object]
    act: Callable[[], object]
    done: Callable[[], bool]


def feature_on_two_pages(*deal_ids: str) -> None:
    for page_id in ("front", "toys-hobbies"):
        page, found = featured.load(page_id, deal_ids)
        featured.set_featured(
            page, [found[one] for one in deal_ids], version=page.version, by=EDITOR, now=NOW
        )


def seed_to_publish() -> None:
    make_brand()
    make_category("toys-hobbies")
    make_draft(draft_id=DRAFT, title="Idea", brand="Nordlicht")


def publish(*, announce: bool = False) -> None:
    draft = drafts.get(DRAFT)
    content = make_content(category="toys-hobbies", stock=3, expires_at=NOW + DAY)
    given = None if draft.published_as else draft
    brand = brands.get("nordlicht")
    publishing.publish(content, deal_id=DEAL, brand=brand, by=EDITOR, now=NOW, draft=given, announce=announce)


def published() -> bool:
    return deals.get(DEAL).stock == 3 and drafts.get(DRAFT).published_as == DEAL


def seed_a_featured_deal(deal_id: str = DEAL) -> None:
    live_at = NOW - HOUR if deal_id == DEAL else NOW + HOUR
    make_deal(deal_id=deal_id, live_at=live_at, category="toys-hobbies", stock=3, expires_at=NOW + 9 * DAY)
    make_category("grocery-household")
    make_brand("Aurora")
    feature_on_two_pages(deal_id)


def move() -> None:
    deal = deals.get(DEAL)
    content = replace(deal.content, brand="aurora", category="grocery-household", stock=2)
    deal_changes.edit(deal, content, version=deal.version, brand=brands.get("aurora"), by=EDITOR, now=NOW)


def moved() -> bool:
    counted = [brands.get_with_counts(slug).deals for slug in ("nordlicht", "aurora")]
    return featured.get("front").cards[0].category == "grocery-household" and counted == [0, 1]


def delete() -> None:
    try:
        deal_changes.delete(deals.get(DEAL), by=EDITOR, now=NOW)
    except errors.NotFound:
        return


def deleted() -> bool:
    return featured.get("front").cards == [] and deals.get_many([DEAL]) == {} and buckets.all_days() == []


def reschedule() -> None:
    try:
        deal = deals.get(SCHEDULED)
    except errors.NotFound:
        return
    publishing.reschedule(deal, NOW + 2 * DAY, new_id=MOVED, by=EDITOR, now=NOW)


def seed_an_announced_deal() -> None:
    make_deal(deal_id=SCHEDULED, category="toys-hobbies", announce=True)
    feature_on_two_pages(SCHEDULED)


def announced_later() -> bool:
    return rescheduled() and deals.get(MOVED).announced and jobs.get(MOVED).state == "open"


def rescheduled() -> bool:
    return deals.get(MOVED).featured_on == {"front", "toys-hobbies"} and featured.get("front").ids == [MOVED]


def seed_a_renamed_brand() -> None:
    seed_a_featured_deal()
    make_deal(category="toys-hobbies")
    make_draft(title="Idea", brand="Nordlicht")
    brand = brands.get("nordlicht")
    brands.edit(brand, name="Nordlicht 2", description="", logo=None, by=EDITOR, now=NOW)


def rename() -> None:
    job = jobs.take_next(now=NOW + DAY)
    if job is not None:
        brand_merges.rename_brand(job, NOW + DAY)
        jobs.finish(job)


def renamed() -> bool:
    names = {card.brand_name for card in lists.brand_page("nordlicht", now=NOW)[1].cards}
    return names == {"Nordlicht 2"} == {card.brand_name for card in featured.get("front").cards}


def set_lists() -> None:
    feature_on_two_pages(DEAL, MOVED)


def seed_deals_to_feature() -> None:
    make_deal(deal_id=DEAL, category="toys-hobbies")
    make_deal(deal_id=MOVED, live_at=NOW + 2 * DAY, category="toys-hobbies")
    other = make_deal(category="toys-hobbies")
    feature_on_two_pages(other.id)


def lists_are_set() -> bool:
    return featured.get("front").ids == featured.get("toys-hobbies").ids == [DEAL, MOVED]


def create_brand() -> None:
    make_brand("Aurora")


def edit_brand() -> None:
    brand = brands.get("nordlicht")
    brands.edit(brand, name="Aurora", description="New", logo=None, by=EDITOR, now=NOW)


def save_draft() -> None:
    draft = drafts.get(DRAFT)
    drafts.save(draft, DealContent(title="Better"), version=draft.version, by=EDITOR, now=NOW)


def expire() -> None:
    deal_changes.expire_now(deals.get(DEAL), by=EDITOR, now=NOW)


def publish_many() -> None:
    new = [
        (make_id(NOW - n * DAY, n), make_content(category="toys-hobbies"), brands.get("nordlicht"))
        for n in range(9)
    ]
    try:
        publishing.publish_many(new, by=EDITOR, now=NOW)
    except errors.AlreadyExists:
        return


def seed_changes(deal_id: str = DEAL) -> None:
    seed_a_featured_deal(deal_id)
    keep_changes(deal_id)


def keep_changes(deal_id: str = DEAL) -> None:
    deal = deals.get(deal_id)
    content = replace(deal.content, title="Better")
    pending_edits.keep(
        deal,
        content,
        brand_name="Nordlicht",
        base=deal.version,
        seen="",
        before=pending_edits.find(deal),
        by=EDITOR,
        now=NOW,
    )


def publish_changes() -> None:
    deal = deals.get(DEAL)
    kept = pending_edits.find(deal)
    if kept is not None:
        audit_context = AuditContext(writes=(pending_edits.publish_write(kept),))
        brand = brands.get("nordlicht")
        deal_changes.edit(
            deal,
            kept.content,
            version=deal.version,
            brand=brand,
            by=EDITOR,
            now=NOW,
            audit_context=audit_context,
        )


def changes_are_published() -> bool:
    deal = deals.get(DEAL)
    return (deal.content.title, deal.version, pending_edits.find(deal)) == ("Better", 2, None)


def changes_moved() -> bool:
    kept = pending_edits.find(deals.get(MOVED))
    return rescheduled() and kept is not None and kept.deal_id == MOVED


def seed_the_trash() -> None:
    seed_a_featured_deal()
    expire()
    delete()
    draft = make_draft(draft_id=DRAFT, title="Idea")
    drafts.delete(draft, by=EDITOR, now=NOW)


def restored() -> bool:
    deal = deals.get(DEAL)
    return (deal.stock, deal.version, brands.get_with_counts("nordlicht").deals) == (3, 3, 1)


def delete_draft() -> None:
    with contextlib.suppress(errors.NotFound):
        drafts.delete(drafts.get(DRAFT), by=EDITOR, now=NOW)


def draft_is_deleted() -> bool:
    return trash_record.get("draft", DRAFT).card.title == "Idea"


def empty_trash() -> None:
    for kind, entry_id in (("deal", DEAL), ("draft", DRAFT)):
        trash.purge(kind, entry_id, by=EDITOR, now=NOW)


def trash_is_empty() -> bool:
    left = [trash_record.find("deal", DEAL), trash_record.find("draft", DRAFT)]
    return left == [None, None] and not deals.prices_of(DEAL) and not versions.newest(DEAL).versions


def seed_an_expired_deal() -> None:
    seed_a_featured_deal()
    expire()


def go_back() -> None:
    change = BulkChange("deal", "restore-version", "1 end")
    change_at_once(change, [DEAL], job_id=make_id(NOW, 1), by=EDITOR, asked_at=NOW, now=NOW)


def went_back() -> bool:
    deal = deals.get(DEAL)
    return (deal.content.expires_at, deal.version) == (NOW + 9 * DAY, 3)


ACTIONS = {
    "restore from the trash": Action(
        seed_the_trash, lambda: trash.restore("deal", DEAL, by=EDITOR, now=NOW), restored
    ),
    "restore a draft": Action(
        seed_the_trash,
        lambda: trash.restore("draft", DRAFT, by=EDITOR, now=NOW),
        lambda: drafts.get(DRAFT).version == 2,
    ),
    "delete a draft": Action(seed_to_publish, delete_draft, draft_is_deleted),
    "empty the trash": Action(seed_the_trash, empty_trash, trash_is_empty),
    "restore a version": Action(seed_an_expired_deal, go_back, went_back),
    "keep changes": Action(
        seed_a_featured_deal,
        keep_changes,
        lambda: pending_edits.find(deals.get(DEAL)).content.title == "Better",
    ),
    "publish changes": Action(seed_changes, publish_changes, changes_are_published),
    "reschedule what has changes": Action(lambda: seed_changes(SCHEDULED), reschedule, changes_moved),
    "publish": Action(seed_to_publish, publish, published),
    "publish and announce": Action(
        seed_to_publish,
        lambda: publish(announce=True),
        lambda: published() and jobs.get(DEAL).payload["deal"] == DEAL,
    ),
    "reschedule what is announced": Action(seed_an_announced_deal, reschedule, announced_later),
    "publish many": Action(
        seed_to_publish, publish_many, lambda: brands.get_with_counts("nordlicht").deals == 9
    ),
    "move": Action(seed_a_featured_deal, move, moved),
    "delete": Action(seed_a_featured_deal, delete, deleted),
    "reschedule": Action(lambda: seed_a_featured_deal(SCHEDULED), reschedule, rescheduled),
    "expire": Action(seed_a_featured_deal, expire, lambda: deals.get(DEAL).card.state(NOW) == "expired"),
    "rename a brand": Action(seed_a_renamed_brand, rename, renamed),
    "set featured lists": Action(seed_deals_to_feature, set_lists, lists_are_set),
    "create a brand": Action(lambda: None, create_brand, lambda: brands.get("aurora").name == "Aurora"),
    "edit a brand": Action(make_brand, edit_brand, lambda: brands.get("nordlicht").description == "New"),
    "save a draft": Action(seed_to_publish, save_draft, lambda: drafts.get(DRAFT).content.title == "Better"),
}


@at_any_request
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.engines("native")
def test_a_crash_at_any_request_leaves_the_table_whole_and_another_try_completes(name, when, new_table):
    action = ACTIONS[name]
    for at in itertools.count(1):
        new_table()
        action.seed()
        with Crasher(at, when) as crasher, contextlib.suppress(Crash):
            action.act()
        crashed = crasher.crashed
        assert [str(problem) for problem in checks.find()] == []
        buckets.forget()  # a new process knows nothing yet
        action.act()
        if name == "rename a brand" and crashed:
            rename_after_the_lease(at)
        assert action.done()
        assert [str(problem) for problem in checks.find()] == []
        if not crashed:
            break
        assert at < 60
    assert at >= 2


def rename_after_the_lease(at: int) -> None:
    """A job whose worker crashed is taken again when its lease is over."""
    job = jobs.take_next(now=NOW + 2 * DAY)
    if job is not None:
        brand_merges.rename_brand(job, NOW + 2 * DAY)
        jobs.finish(job)
    assert jobs.take_next(now=NOW + 3 * DAY) is None
