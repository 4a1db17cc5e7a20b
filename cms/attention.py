"""What needs an editor: by topic its number and its rows, each with what can be done about it at once.

The search index says how much of a topic there is and where; what the rows show is read from the table, so that
what was just put right is no longer there although the index may lag by a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from cms.requests import EditorRequest
from cms.search import page_number
from dealsite.accounts.decorators import role
from dealsite.data import attention, deals
from dealsite.data.attention import Looked
from dealsite.data.cards import ENDING_SOON, DealCard
from dealsite.data.content import DealContent
from dealsite.data.errors import BadCursor, NotFound
from dealsite.data.ids import iso
from dealsite.data.links import LinkCheck
from dealsite.search.documents import ALT, DRAFT, LINK, PICTURE, STOCK
from dealsite.search.finding import Found, find
from dealsite.search.question import Question

SHOWN = 3  # rows of a topic on the first page
PAGE_SIZE = 25
EXTENSIONS = ((timedelta(days=1), _("A day longer")), (timedelta(days=7), _("A week longer")))
FIELDS = {
    "title": _("title"),
    "brand": _("brand"),
    "category": _("category"),
    "link": _("link"),
    "price": _("price"),
    "was_price": _("was-price"),
    "picture_alt": _("alt text"),
    "expires_at": _("end"),
    "description": _("description"),
    "voucher_code": _("voucher code"),
    "stock": _("stock"),
}


@dataclass(frozen=True)
class Row:
    """A deal or draft that needs somebody; what does not concern its topic is empty.

    `lacking`: what a draft lacks before it can be published. `ends`: (time as the form sends it, words).
    `page`: id and title of the page that features it. `check`: what is known of its link.
    """

    card: DealCard
    state: str
    address: str
    version: int
    is_draft: bool = False
    link: str = ""
    lacking: Sequence[Promise] = ()
    ends: Sequence[tuple[str, Promise]] = ()
    page: tuple[str, str] | None = None
    check: LinkCheck | None = None

    @property
    def key(self) -> str:
        """What tells it from all other rows of a page of the site."""
        return f"{self.page[0]}-{self.card.id}" if self.page else self.card.id


@dataclass(frozen=True)
class Topic:
    """One thing that needs looking after: what it is called, how to ask for it, what to read while there is none."""

    name: str
    title: Promise
    about: Promise
    fine: Promise
    icon: str
    sort: str = "newest"
    ask: Callable[[datetime], Question] | None = None
    holds: Callable[[DealContent, DealCard, LinkCheck | None, datetime], bool] = lambda *_: True


@dataclass(frozen=True)
class Shown:
    """A topic with how much there is of it, and some of its rows; not `ready` while there is no index to ask."""

    topic: Topic
    number: int
    rows: list[Row]
    ready: bool = True
    pages: int = 1

    @property
    def more(self) -> bool:
        return self.number > len(self.rows)


def end_of_today(now: datetime) -> datetime:
    """Return the last moment of today in the editor's zone."""
    zone = timezone.get_current_timezone()
    tomorrow = now.astimezone(zone).date() + timedelta(days=1)
    midnight = datetime.combine(tomorrow, datetime.min.time(), tzinfo=zone)
    return midnight - timedelta(milliseconds=1)


def _editors(**asked: object) -> Callable[[datetime], Question]:
    question = Question(for_editors=True, **asked)  # type: ignore[arg-type]
    return lambda now: question


def _today(now: datetime) -> Question:
    return Question(state="scheduled", live_until=end_of_today(now), for_editors=True)


TOPICS = {
    topic.name: topic
    for topic in (
        Topic(
            "drafts",
            _("Newest drafts"),
            _("Deals in the making. Those that lack nothing can be published right here."),
            _("There are no drafts."),
            "file-pen",
            ask=_editors(kind="draft"),
        ),
        Topic(
            "today",
            _("Goes live today"),
            _("Scheduled deals that shoppers will see before midnight in your time zone."),
            _("Nothing is scheduled for today."),
            "calendar-clock",
            sort="soonest",
            ask=_today,
            holds=lambda content, card, check, now: now < card.live_at <= end_of_today(now),
        ),
        Topic(
            "ending",
            _("Ends soon"),
            _("Deals that end within two days. Give them longer if the shop does."),
            _("Nothing ends within two days."),
            "clock",
            sort="ending",
            ask=_editors(state="ending"),
            holds=lambda content, card, check, now: (
                card.expires_at is not None and now < card.expires_at <= now + ENDING_SOON
            ),
        ),
        Topic(
            "featured",
            _("Featured, but over"),
            _("Deals on a featured list that have expired or are sold out."),
            _("Every featured deal can be had."),
            "star",
        ),
        Topic(
            "links",
            _("Broken links"),
            _("Nothing was found behind the link to the shop, twice in a row."),
            _("No broken link is known."),
            "unlink",
            ask=_editors(kind="either", lacks=LINK),
            holds=lambda content, card, check, now: check is not None and check.is_broken,
        ),
        Topic(
            "sold-out",
            _("Sold out"),
            _("Live deals without stock. Set a new stock, or end them."),
            _("Every live deal has stock."),
            "package-x",
            ask=_editors(state="live", lacks=STOCK),
            holds=lambda content, card, check, now: card.state(now) == "sold_out",
        ),
        Topic(
            "alt-texts",
            _("Pictures without words"),
            _(
                "Say what the picture shows, for those who cannot see it. A draft cannot be published without."
            ),
            _("Every picture has its alt text."),
            "eye",
            ask=_editors(kind="either", lacks=ALT),
            holds=lambda content, card, check, now: bool(content.picture and not content.picture.alt.strip()),
        ),
        Topic(
            "pictures",
            _("Without a picture"),
            _("Deals and drafts that shoppers would see without a picture."),
            _("Every deal has a picture."),
            "image",
            ask=_editors(kind="either", lacks=PICTURE),
            holds=lambda content, card, check, now: content.picture is None,
        ),
    )
}


def show_all(now: datetime) -> list[Shown]:
    """Return every topic with its first rows. 1 batch get."""
    asked = [(topic, _ask(topic, now, size=SHOWN)) for topic in TOPICS.values() if topic.ask]
    looked = _look([found for _topic, found in asked], pages=True)
    shown = {topic.name: _shown(topic, found, looked, now) for topic, found in asked}
    shown["featured"] = _featured(looked, now, most=SHOWN)
    return [shown[name] for name in TOPICS]


def show(topic: Topic, now: datetime, *, page: int) -> Shown:
    """Return a page of one topic. 1 batch get."""
    if topic.ask is None:
        return _featured(_look([], pages=True), now)
    found = _ask(topic, now, size=PAGE_SIZE, page=page)
    return _shown(topic, found, _look([found]), now)


def _ask(topic: Topic, now: datetime, *, size: int, page: int = 1) -> Found:
    if topic.ask is None:
        raise ValueError(f"The index knows nothing of {topic.name}.")
    return find(topic.ask(now), now=now, sort=topic.sort, page=page, size=size)


def _look(found: Iterable[Found], *, pages: bool = False) -> Looked:
    hits = {hit.card.id: hit for one in found for hit in one.hits}.values()
    drafts = [hit.card.id for hit in hits if hit.kind == DRAFT]
    return attention.look([hit.card.id for hit in hits if hit.kind != DRAFT], drafts, pages=pages)


def _shown(topic: Topic, found: Found, looked: Looked, now: datetime) -> Shown:
    rows = [row for hit in found.hits if (row := _row(topic, hit.card.id, looked, now))]
    gone = len(found.hits) - len(rows)
    return Shown(topic, found.total - gone, rows, found.ready, found.pages)


def _row(topic: Topic, id_: str, looked: Looked, now: datetime) -> Row | None:
    """Return the row of a deal or draft; None where the table no longer agrees that it belongs to the topic."""
    if draft := looked.drafts.get(id_):
        if not topic.holds(draft.content, draft.card, None, now):
            return None
        lacking = [FIELDS[name] for name in deals.problems(draft.content, live_at=now)]
        address = reverse("cms_draft", args=[draft.id])
        return Row(draft.card, "draft", address, draft.version, True, lacking=lacking)
    deal, check = looked.deals.get(id_), looked.checks.get(id_)
    if deal is None or not topic.holds(deal.content, deal.card, check, now):
        return None
    ends = deal.content.expires_at
    return Row(
        deal.card,
        deal.card.state(now),
        reverse("cms_deal", args=[deal.id]),
        deal.version,
        link=deal.content.link,
        ends=[(iso(ends + longer), words) for longer, words in EXTENSIONS] if ends else [],
        check=check,
    )


def _featured(looked: Looked, now: datetime, *, most: int | None = None) -> Shown:
    rows = [
        Row(
            card,
            card.state(now),
            reverse("cms_deal", args=[card.id]),
            page.version,
            page=(page.id, page.title),
        )
        for page in looked.pages
        for card in page.cards
        if card.state(now) in ("expired", "sold_out")
    ]
    return Shown(TOPICS["featured"], len(rows), rows[:most])


@role("editor")
@require_safe
def attention_list(request: EditorRequest, topic: str) -> HttpResponse:
    """All of one topic, a page at a time."""
    if topic not in TOPICS:
        raise NotFound()
    number = page_number(request.GET.get("page", "1"))
    if not number:
        raise BadCursor()
    shown = show(TOPICS[topic], timezone.now(), page=number)
    page = {
        "shown": shown,
        "back": topic,
        "unchecked": topic == "links" and not settings.DEALSITE_CHECK_LINKS,
        "after": f"?page={number + 1}" if number < shown.pages else "",
        "before": f"?page={number - 1}" if number > 1 else "",
    }
    return render(request, "cms/attention.html", page)
