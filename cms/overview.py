"""The CMS's first page, by role: what needs somebody, each thing a click from being done; and how they like to work."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from cms import site_state
from cms.lists.attention import OPENED, TopicView, opened_address, show, summaries
from cms.logs import AuditRow, row
from cms.numbers import Change, Figure, figure, figure_of_today, of_snapshot, two_weeks
from cms.order_list import slips_address
from cms.shared.requests import EditorRequest
from dealsite import __version__
from dealsite.accounts.decorators import staff
from dealsite.accounts.requests import destination
from dealsite.ask.numbers import WEEK, Number
from dealsite.data.catalogue import featured_plans
from dealsite.data.commerce import orders, payment_record
from dealsite.data.commerce.order_record import OrderCard, ReturnRequest
from dealsite.data.commerce.payment_record import Totals
from dealsite.data.editing import audit, pending_edits
from dealsite.data.editing.audit import Entry
from dealsite.data.entities.commerce import PLACED, SHIPPED
from dealsite.data.entities.taxonomy import PUT_ASIDE
from dealsite.data.jobs import task_counts
from dealsite.data.jobs.task_counts import MOST
from dealsite.data.people import profiles
from dealsite.data.table.ids import first_ulid_of, iso
from dealsite.data.table.parallel import together
from dealsite.search.finding import known_of
from dealsite.search.office_finding import placed
from dealsite.text.stored_words import Text
from dealsite.text.writing import grouped, money
from dealsite.worker.schedule import SCHEDULE


class SettingsForm(forms.Form):
    """How somebody likes to work in the CMS: what can be turned off."""

    autosave = forms.BooleanField(
        required=False,
        label=gettext_lazy("Autosave drafts"),
        help_text=gettext_lazy(
            "A few seconds after you stop typing. Nothing is ever published automatically."
        ),
    )
    shortcuts = forms.BooleanField(
        required=False,
        label=gettext_lazy("Shortcuts of single keys"),
        help_text=gettext_lazy("Turn them off if you use voice control, or if they get in your way."),
    )


@staff.form("none")
def user_settings(request: EditorRequest) -> HttpResponse:
    """The choices of whoever is signed in; changed by POST."""
    chosen = request.user.preferences
    if request.method != "POST":
        form = SettingsForm(initial={"autosave": chosen.autosave, "shortcuts": chosen.shortcuts})
        return render(request, "cms/home/settings.html", {"form": form})
    form = SettingsForm(request.POST)
    if not form.is_valid():
        return render(request, "cms/home/settings.html", {"form": form}, status=422)
    profiles.save_preferences(request.user.username, **form.cleaned_data)
    messages.success(request, _("Your settings are saved."))
    return redirect("cms_settings")


@staff.action
def choose(request: EditorRequest) -> HttpResponse:
    """Keep what was chosen on a page, its language, the width of its menu or how close rows are, and go back."""
    flags = ("small_menu", "compact_rows")
    chosen: dict[str, Any] = {name: request.POST[name] == "yes" for name in flags if name in request.POST}
    if request.POST.get("language") in dict(settings.LANGUAGES):
        chosen["language"] = request.POST["language"]
    profiles.save_preferences(request.user.username, **chosen)
    if request.htmx:
        return HttpResponse(status=204)
    return redirect(destination(request, reverse("cms_home")))


@staff.page("none")
def show_help(request: EditorRequest) -> HttpResponse:
    """What the CMS's pages are for, and every shortcut."""
    return render(request, "cms/home/help.html", {"version": __version__})


VIEWS = {
    "deals": ("editor", gettext_lazy("Deals")),
    "office": ("back office", gettext_lazy("Back office")),
    "site": ("admin", gettext_lazy("Site")),
}
NUMBERS = {  # of editors
    "live_deals": "cms_deals",
    "interests": "cms_numbers",
    "cart_lines": "cms_numbers",
    "new_deals": "cms_deals",
}
CHARTS = {"deals": "cart_lines", "office": "revenue", "site": "sign_ups"}
ACTIVITY = {  # kinds of things whose changes concern a view; none: all of them
    "deals": ("deal", "draft", "brand", "category", "page", "message", "import"),
    "office": ("order", "payment"),
    "site": (),
}
ICONS = {"error": "circle-alert", "warning": "triangle-alert"}  # of problems
LISTED = 7  # of what stands beside the tasks
READ = 30  # entries of the audit log, of all kinds
LONG_ON_THE_WAY = timedelta(days=7)


@dataclass(frozen=True)
class Task:
    """Something that needs somebody, and the one button that leads to its end, if any does.

    What unfolds below it: `rows` in the template `part`, or those of a topic, which if not `shown` come from `more`;
    `next` is where forms in them lead. `or_more`: there may be more than the number says.
    """

    name: str
    icon: str
    title: str | Promise
    address: str
    number: int | None = None
    note: Text = ""
    button: str | Promise = gettext_lazy("Look")
    rows: Sequence[Any] = ()
    part: str = ""
    more: str = ""
    shown: TopicView | None = None
    next: str = ""
    or_more: bool = False


@staff.page(
    "4 queries + 1 batch get or 4 queries or 11 queries + 1 batch get or 15 queries + 1 batch get or "
    f"1 get + {6 + len(SCHEDULE)} queries",
    at=("", "?view=deals", "?view=office", "?view=site", "?open=drafts"),
)
def overview(request: EditorRequest) -> HttpResponse:
    """What needs somebody in their role, how the last days went, and what was done."""
    now = timezone.now()
    views = [(name, words) for name, (needed, words) in VIEWS.items() if request.user.has_role(needed)]
    asked = request.GET.get("view", "")
    view = asked if asked in dict(views) else views[-1][0]
    context: dict[str, Any] = {"view": view, "views": views}
    numbers = of_snapshot()
    if view == "deals":
        read = partial(_deals, now, request.GET.get("open", ""), numbers)
    elif view == "office":
        read = partial(_office, now, numbers, is_editor=request.user.has_role("editor"))
    else:
        read = partial(_site, now)
    parts, entries = together(read, partial(audit.newest, now=now, most=READ))
    number = numbers.get(CHARTS[view])
    context |= {"number": number, "change": number and two_weeks(number)}
    context |= parts | {"activity": _activity(entries, ACTIVITY[view])}
    return render(request, "cms/home/overview.html", context)


def _todays_orders(numbers: dict[str, Number], now: datetime) -> list[Figure]:
    """Return the orders of today (UTC) and what they come to, compared with the same day of last week by this time."""
    midnight, week = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0), timedelta(WEEK)
    today, before = placed(midnight, now), placed(midnight - week, now - week)
    if today is None or before is None:
        return []
    return [
        figure_of_today(
            numbers.get(name) or Number(name, ()),
            Decimal(today[part]),
            Decimal(before[part]),
            (midnight - week).date(),
            reverse(url),
        )
        for part, (name, url) in enumerate({"orders": "cms_orders", "revenue": "cms_payments"}.items())
    ]


def _paid(due: Totals, today: date) -> Figure:
    address = reverse("cms_payments", query={"list": "processed", "first": today, "last": today})
    paid, refunded = due["processed"].amount, due["refunded"].amount
    words = _("of %(due)s due today, %(refunded)s refunded") if refunded else _("of %(due)s due today")
    whole = paid + refunded + due["open"].amount + due["failed"].amount
    note = words % {"due": money(whole), "refunded": money(refunded)}
    return Figure(_("Paid today"), money(paid), address, Change("", note))


def _count(title: str, number: int, address: str, note: str = "") -> Figure:
    shown = f"{number - 1}+" if number >= MOST else grouped(number)
    return Figure(title, shown, address, Change("", note))


def _deals(now: datetime, opened: str, numbers: dict[str, Number]) -> dict[str, Any]:
    """Return what needs an editor, and the figures of the last day.

    2 queries, and 1 batch get for the topic that is open: else the first one.
    """
    plans, changed = together(featured_plans.newest, pending_edits.cards)
    found = summaries(now)
    there = [view for view in found if view.number and view.topic.name != "ending"]
    if opened not in [view.topic.name for view in there]:
        opened = next((view.topic.name for view in there if view.topic.name != "featured"), "")
    tasks = [_topic_task(view, now, is_open=view.topic.name == opened) for view in there]
    if skipped := [plan for plan in plans if plan.state == PUT_ASIDE]:
        rows = [
            (plan.title, f"{reverse('cms_featured_page', args=[plan.page])}?plan={plan.id}", plan.at)
            for plan in skipped
        ]
        tasks.append(_links("put-aside", "star", _("Skipped planned lists"), rows))
    not_in_trash = known_of(card.id for card in changed)
    if kept := [card for card in changed if card.id in not_in_trash]:
        rows = [
            (card.title or _("Without a title"), f"{reverse('cms_deal', args=[card.id])}?changes=1", None)
            for card in kept
        ]
        tasks.append(_links("unpublished", "file-pen", _("Unpublished changes"), rows))
    return {
        "tasks": [task for task in tasks if task.number],
        "ready": all(view.ready for view in found),
        "fine": [view.topic.fine for view in found if view.ready and not view.number],
        "ending": next(view for view in found if view.topic.name == "ending"),
        "figures": [
            figure(numbers[name], reverse(url), today=now.astimezone(UTC).date())
            for name, url in NUMBERS.items()
            if numbers
        ],
    }


def _topic_task(view: TopicView, now: datetime, *, is_open: bool) -> Task:
    topic, more = view.topic, reverse("cms_attention", args=[view.topic.name])
    shown = show(topic, now, page=1, size=OPENED) if is_open else None
    return Task(
        topic.name,
        topic.icon,
        topic.title,
        f"{reverse('cms_bulk')}?{topic.bulk}" if topic.bulk else more,
        (shown or view).number,
        note=", ".join(row.card.title for row in view.rows),
        button=topic.button,
        more=more,
        shown=shown,
        next=opened_address(topic.name),
    )


def _links(
    name: str, icon: str, title: str | Promise, rows: Sequence[tuple[str, str, datetime | None]]
) -> Task:
    note = ", ".join(words for words, _address, _at in rows)
    return Task(name, icon, title, rows[0][1], len(rows), note, rows=rows, part="cms/home/_task_links.html")


def _office(now: datetime, numbers: dict[str, Number], *, is_editor: bool) -> dict[str, Any]:
    """Return what needs the back office, worst first, and the figures of today.

    9 queries and 1 batch get, and 4 queries more where not all orders to ship fit on a page.
    """
    today = now.astimezone(UTC).date()
    to_ship, on_the_way, asked, due = together(
        partial(orders.waiting, PLACED),
        partial(orders.waiting, SHIPPED, size=LISTED),
        orders.returns_asked,
        partial(payment_record.totals_of_days, today, today),
    )
    latest = to_ship.rows
    if to_ship.after:
        last = f"{iso(now + timedelta(days=1))}#{first_ulid_of(now)}"
        latest = orders.waiting(PLACED, before=last, size=LISTED).rows
    counts, tasks = task_counts.of_process.current(), []
    if counts.payments:
        failed = Task(
            "failed", "credit-card", _("Failed payments"), reverse("cms_payments", query={"list": "failed"})
        )
        tasks.append(_counted(failed, counts.payments))
    if counts.overdue:
        note = _("failed ones among them") if counts.payments else ""
        address = reverse("cms_overdue_payments")
        overdue = Task("overdue", "alarm-clock", _("Overdue payments"), address, note=note)
        tasks.append(_counted(overdue, counts.overdue))
    if cards := to_ship.rows:
        number = max(len(cards), counts.orders) if to_ship.after else len(cards)
        slips = Task(
            "to-ship", "package", _("Orders to ship"), slips_address(cards), button=_("Packing slips")
        )
        tasks.append(_with_orders(_counted(slips, number), cards))
    if asked.rows:
        tasks.append(_returns(asked.rows, or_more=bool(asked.after)))
    if late := [card for card in on_the_way.rows if now - card.placed_at > LONG_ON_THE_WAY]:
        shipped = reverse("cms_orders", query={"list": "shipped"})
        more = len(late) == LISTED and bool(on_the_way.after)
        slow = Task("late", "truck", _("On the way for over a week"), shipped, len(late), or_more=more)
        tasks.append(_with_orders(slow, late))
    stock = [view for view in summaries(now) if view.topic.field == "stock"]
    tasks += [_stock(view, now, is_editor=is_editor) for view in stock if view.number]
    ready = all(view.ready for view in stock)
    placed_list = reverse("cms_orders", query={"list": "placed"})
    figures = [
        *_todays_orders(numbers, now),
        _paid(due[today], today),
        _count(_("To ship"), counts.orders, placed_list),
    ]
    return {"tasks": tasks, "ready": ready, "latest": latest[::-1][:LISTED], "figures": figures}


def _counted(task: Task, number: int) -> Task:
    """Return a task of so many, up to what is counted."""
    return replace(task, number=min(number, MOST - 1), or_more=number >= MOST)


def _returns(asked: Sequence[ReturnRequest], *, or_more: bool) -> Task:
    rows = [
        (f"{one.order[-6:]}, {one.name}", reverse("cms_order", args=[one.username, one.order]), one.at)
        for one in asked
    ]
    task = _links("returns", "undo-2", _("Returns to answer"), rows)
    note = ", ".join(one.name for one in asked)
    return replace(task, address=reverse("cms_returns"), note=note, rows=rows[:LISTED], or_more=or_more)


def _stock(view: TopicView, now: datetime, *, is_editor: bool) -> Task:
    """Return the task of deals with little or no stock: a list for editors, who wants them for the back office."""
    if is_editor:
        task = _topic_task(view, now, is_open=False)
        return replace(task, address=task.more, button=Task.button)
    rows = [(row.card.title, reverse("cms_buyers", args=[row.card.id]), None) for row in view.rows]
    task = _links(view.topic.name, view.topic.icon, view.topic.title, rows)
    return replace(task, address="", number=view.number)


def _with_orders(task: Task, cards: list[OrderCard]) -> Task:
    note = ", ".join(card.name for card in cards)
    return replace(task, note=note, rows=cards[:LISTED], part="cms/home/_task_orders.html")


def _site(now: datetime) -> dict[str, Any]:
    """Return what needs an admin. 1 get, 4 queries, and 1 for each command of the schedule."""
    state = site_state.read(now=now)
    operations = reverse("cms_operations")
    tasks = [
        Task(
            f"problem-{number}",
            ICONS.get(one.tone, "info"),
            one.text,
            one.address or operations,
            note=one.advice,
        )
        for number, one in enumerate(site_state.find(state))
    ]
    waiting, failed = (sum(kind.jobs[name] for kind in state.queue.kinds) for name in ("due", "failed"))
    check = state.check
    figures = [
        _count(_("Jobs waiting"), waiting, reverse("cms_jobs")),
        _count(_("Failed jobs"), failed, reverse("cms_jobs")),
        _count(_("Processes"), len(state.living), operations, ", ".join(state.versions)),
        _count(
            _("Problems of the table"),
            check.left if check else 0,
            operations,
            "" if check else _("not checked yet"),
        ),
    ]
    return {"tasks": tasks, "ready": True, "figures": figures, "machines": state.machines}


def _activity(entries: Iterable[Entry], kinds: Sequence[str]) -> list[tuple[AuditRow, str]]:
    """Return the newest entries of some kinds, or of all, each with its thing's title or id. No requests."""
    shown = [entry for entry in entries if not kinds or entry.kind in kinds][:LISTED]
    known = known_of(entry.subject for entry in shown if entry.kind in ("deal", "draft"))
    titles = {id_: stored.card.title for id_, stored in known.items() if stored.card}
    return [(row(entry), titles.get(entry.subject, entry.subject)) for entry in shown]
