"""A table with at least one item of every type, made by the site's own functions."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from dealsite.data import keys, table
from dealsite.data.catalogue import (
    activity,
    brands,
    deal_changes,
    deals,
    featured,
    featured_plans,
    hot,
    relations,
)
from dealsite.data.commerce import cart_changes, carts, order_changes, order_returns, orders
from dealsite.data.editing import (
    bulk,
    imports,
    pending_edits,
    questions,
    saved_views,
    site_pages,
    trash_record,
)
from dealsite.data.editing.imports import SourceFile
from dealsite.data.entities.commerce import SAVED
from dealsite.data.entities.imports import REFUSED
from dealsite.data.integrity import migrations
from dealsite.data.jobs import command_runs, jobs, leases, processes, site_switch, task_counts
from dealsite.data.jobs.processes import Process
from dealsite.data.jobs.task_counts import TaskCounts
from dealsite.data.people import announcements, messages, security_events, sessions, two_factor, users
from dealsite.data.people.security_events import SecurityEvent
from dealsite.data.table import ids
from dealsite.data.table.convert import Item
from dealsite.data.table.errors import Unavailable
from dealsite.data.table.writes import Put, Update
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    NOW,
    PICTURE,
    WORKER,
    make_announcement,
    make_brand,
    make_category,
    make_deal,
    make_draft,
    make_id,
)
from tests.data.entities.examples_batches import LAYOUT
from tests.people import make_user
from tests.shop import ADDRESS, ANN, GUEST

LIVE = make_id(NOW - HOUR, 1)
LATER = make_id(NOW + 400 * DAY, 2)
DRAFT, PUBLISHED_DRAFT, JOB, SENT, BULK = (make_id(NOW, number) for number in (3, 4, 5, 6, 7))
GONE = make_id(NOW - HOUR, 7)
IN_TRASH, EMPTYING = keys.trash("deal", GONE), keys.job(trash_record.emptying_id(NOW.date()))
LAMP, DESK, SOFA = (make_id(NOW - 40 * DAY, 10 + number) for number in (1, 2, 3))
BROUGHT = make_id(NOW, 30)
LINE, OTHER_LINE, ORDER = (make_id(NOW, number) for number in (21, 22, 23))
BOUGHT = ANN.line("PURCHASED", NOW, LINE)
IN_CART, FOR_LATER = ANN.line("ACTIVE", NOW, OTHER_LINE), ANN.line("SAVED", NOW, LINE)
GUESTS, ORDERED = GUEST.line("ACTIVE", NOW, LINE), keys.order("ann", ORDER)
HEAD = ANN.head
PLAN = make_id(NOW, 42)
ANN_SHARD = keys.user_count("ann")
NORDLICHT, TOYS = keys.brand_counts("nordlicht"), keys.category_counts("toys-hobbies")

_every_type: list[Item] = []


def copy_every_type() -> None:
    """Store what was stored the first time, which takes a tenth of the time."""
    if _every_type:
        table.insert(_every_type)
        return
    store_every_type()
    _every_type.extend(everything().values())


def store_every_type() -> None:
    draft = make_draft(draft_id=PUBLISHED_DRAFT, title="Idea")
    deal = make_deal(
        deal_id=LIVE, category="toys-hobbies", picture=PICTURE, stock=3, expires_at=NOW + DAY, draft=draft
    )
    make_brand("Aurora", also=["Morning Glow"])
    later = make_deal(deal_id=LATER, brand="Aurora", category="toys-hobbies", stock=0)
    make_draft(draft_id=DRAFT, title="Half", brand="Nordlicht", category="toys-hobbies")
    for page_id in ("front", "editors-choice", "toys-hobbies"):
        page, found = featured.load(page_id, [deal.id, later.id])
        featured.set_featured(page, [found[deal.id], found[later.id]], version=0, by=EDITOR, now=NOW)
    gone = make_deal(deal_id=GONE, category="toys-hobbies", article_number="B1")
    content = replace(gone.content, title="Gone")
    deal_changes.edit(gone, content, version=1, brand=brands.get("nordlicht"), by=EDITOR, now=NOW)
    deal_changes.delete(gone, by=EDITOR, now=NOW)
    activity.count(LIVE, NOW.date(), {"00ab"})
    hot.rank(now=NOW)
    make_user("ann")
    make_user("bob")
    two_factor.turn_on(users.get("ann"), secret="sealed", recovery=["a hash"], step=1, key="", now=NOW)
    ann, passkey = users.get("ann"), two_factor.Passkey(JOB, "My phone", "credential", "public-key")
    two_factor.add_passkey(ann, two_factor.get("ann"), passkey, challenge="asked", key="", now=NOW)
    relations.add(relations.BRAND_LIKE, "nordlicht", username="ann", now=NOW)
    relations.add(relations.CATEGORY_LIKE, "toys-hobbies", username="ann", now=NOW)
    relations.add(relations.BRAND_WATCH, "nordlicht", username="ann", now=NOW)
    relations.add(relations.CATEGORY_WATCH, "toys-hobbies", username="ann", now=NOW)
    relations.add(relations.DEAL_LIKE, LIVE, username="ann", now=NOW)
    messages.deliver([messages.message_item("ann", JOB, kind="hot_deal", headline="Look", deal=LIVE)])
    questions.create(question_id=JOB, title="Orders", sql="SELECT 1", by=EDITOR, now=NOW)
    file = SourceFile("deals.csv", 9, 1, "utf-8", ",", ("Name", "Preis"), ".", "day")
    one = imports.create(file, import_id=BROUGHT, by=EDITOR, now=NOW)
    imports.check(
        one, LAYOUT, fingerprint=ids.hash_of("Name Preis"), version=1, job_id=make_id(NOW, 31), now=NOW
    )
    bob = users.get("bob")
    users.delete(bob, job_id=JOB, now=NOW)
    make_announcement(LIVE, SENT, audience=announcements.Audience(brand="nordlicht"))
    table.write(Update(key=keys.job(SENT), set={"taken_by": WORKER}))
    announcements.send_message(jobs.get(SENT), NOW)
    jobs.finish(jobs.get(SENT))
    change_in_bulk()
    look_ahead()
    go_shopping()


def look_ahead() -> None:
    """Have an editor save a view, set a list twice and plan one, and begin to change a deal."""
    deal = deals.get(LIVE)
    pending_edits.keep(
        deal,
        replace(deal.content, title="Better"),
        brand_name="Nordlicht",
        base=deal.version,
        seen="",
        before=None,
        by=EDITOR,
        now=NOW,
    )
    saved_views.save(EDITOR, saved_views.SavedView("Toys", "/cms/deals/?q=toys"), now=NOW)
    make_category("fashion-beauty")
    for _ in range(2):
        page = featured.get("fashion-beauty")
        featured.set_featured(page, [], version=page.version, by=EDITOR, now=NOW)
    listed = [featured.FeaturedEntry(LIVE, "x")]
    page = featured.get("front")
    featured_plans.create(page, listed, at=NOW + 30 * DAY, plan_id=PLAN, by=EDITOR, now=NOW)


def change_in_bulk() -> None:
    """Have a job that changes many deals leave one alone."""
    to_books = bulk.BulkChange("deal", "category", "books-media")
    bulk.start(to_books, job_id=BULK, by=EDITOR, asked_at=NOW, now=NOW, targets=[bulk.BulkTarget(LIVE, "x")])
    table.write(Update(key=keys.job(BULK), set={"taken_by": WORKER}))
    bulk.refuse(job := jobs.get(BULK), job, [bulk.BulkResult(LIVE, "x", REFUSED, reason="x")], in_all=1)


def go_shopping() -> None:
    """Have ann order a deal, keep one in the cart and one for later, and a visitor begin a cart."""
    for number in (1, 2, 3):
        deal_id = make_id(NOW - 40 * DAY, 10 + number)
        make_deal(deal_id=deal_id, category="grocery-household", brand="Borealis")
    cart_changes.add(ANN, cart_changes.CartAddition(LAMP, 2, LINE), now=NOW)
    head, _ = carts.read_active(ANN, now=NOW)
    form = order_changes.Purchase(
        order_id=ORDER,
        username="ann",
        name="Ann",
        email="ann@example.org",
        version=head.version,
        total=Decimal("159.80"),
        address=ADDRESS,
    )
    (line,) = orders.lines_of(order_changes.place(form, now=NOW))
    order_changes.ship("ann", ORDER, pieces={line.id: 1}, unpaid=True, by="eve", now=NOW)
    order_returns.ask_return("ann", ORDER, pieces={line.id: 1}, by="ann", reason="Too loud", now=NOW)
    cart_changes.add(ANN, cart_changes.CartAddition(DESK, 1, LINE), now=NOW)
    saved = cart_changes.move(ANN, carts.read(ANN, now=NOW).active[0].ref, SAVED, now=NOW)
    assert saved is not None
    cart_changes.add(ANN, cart_changes.CartAddition(SOFA, 3, OTHER_LINE), now=NOW)
    cart_changes.add(GUEST, cart_changes.CartAddition(SOFA, 1, LINE), now=NOW)


def look_in() -> None:
    """Have ann sign in, fail to, and open a form, and a worker say that it lives and what there is to do."""
    table.write(
        Put(
            key=keys.throttle("account", "ann", NOW),
            item={"type": "Throttle", "count": 1, "ttl": ids.epoch_seconds(NOW)},
        )
    )
    sessions.start(users.get("ann"), key="secret", user_agent="", address="", now=NOW)
    pending_edits.heartbeat("deal", LIVE, username="eve", name="Eve", now=NOW)
    security_events.add(SecurityEvent("signed_in", NOW, "ann", "127.0.0.1"))
    try:
        security_events.count_failures(1, now=NOW)
    except Unavailable:  # in weak mode a request may be lost, and no count is sent again
        security_events.count_failures(1, now=NOW)
    processes.write_heartbeat("worker", now=NOW)
    task_counts.store(TaskCounts(drafts=1), now=NOW)
    processes.save(Process(JOB, "worker", "one", 1, "1.0", NOW))
    leases.Lease("search-1", clock=lambda: NOW).take()
    command_runs.note("backup", by="command", began=NOW, now=NOW, ok=True, said="It is written.")
    site_switch.switch_site("open", message="", by=EDITOR, now=NOW)
    site_pages.edit(site_pages.get("terms"), en="Ours.", de="", by=EDITOR, now=NOW)
    migrations.save(migrations.begin("all"))


def everything() -> dict[keys.Key, Item]:
    return {(item["PK"], item["SK"]): item for item in table.scan_all(consistent=True)}
