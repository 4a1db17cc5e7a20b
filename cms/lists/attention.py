"""What needs an editor: by topic its number and its rows, each with what can be done about it at once.

The search index says how much of a topic there is and where; what the rows show is read from the table, so that
what was just fixed is no longer there although the index may lag by a moment.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from functools import partial

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.vary import vary_on_headers

from cms.shared.forms import FIELD_LABELS
from cms.shared.requests import EditorRequest, next_address
from dealsite.accounts.decorators import editors
from dealsite.data.catalogue import content, drafts
from dealsite.data.catalogue.cards import OVER, DealCard
from dealsite.data.catalogue.deals import Deal, LinkCheck
from dealsite.data.catalogue.drafts import AttentionData, Draft
from dealsite.data.editing import links
from dealsite.data.jobs import task_counts
from dealsite.data.table.errors import BadCursor, NotFound
from dealsite.data.table.ids import iso
from dealsite.search.documents import ALT, FEW, LINK, LOW_STOCK, PICTURE, STOCK, USE
from dealsite.search.finding import find
from dealsite.search.lists import every_found, holds, lacks, page_number
from dealsite.search.question import Question
from dealsite.worker.exports import AT_ONCE, exported

LISTED, OPENED = 9, 3  # rows of a topic on the overview: of the index, and where they can be put right
PAGE_SIZE = 25
EXTENSIONS = ((timedelta(days=1), _("A day longer")), (timedelta(days=7), _("A week longer")))


@dataclass(frozen=True)
class ProblemRow:
    """A deal or draft that needs somebody; what does not concern its topic is empty.

    `lacking`: what a draft lacks before it can be published. `ends`: (time as the form sends it, words).
    `page`: id and title of the page that features it. `check`: what is known of its link. `left`: its stock.
    """

    card: DealCard
    state: str
    address: str
    version: int
    is_draft: bool = False
    link: str = ""
    lacking: Sequence[str | Promise] = ()
    ends: Sequence[tuple[str, Promise]] = ()
    page: tuple[str, str] | None = None
    check: LinkCheck | None = None
    left: int | None = None

    @property
    def key(self) -> str:
        """What tells it from all other rows of a page of the site."""
        return f"{self.page[0]}-{self.card.id}" if self.page else self.card.id


@dataclass(frozen=True)
class Topic:
    """One thing that needs looking after: what it is called, and what to read while there is none.

    `asks` is what search is asked, None for what is known without it: the featured lists. `button` leads to its list,
    or where all of it can be done at once, to that change: `bulk` is what to ask for. It is put right
    in the `field` of a deal's form.
    """

    name: str
    title: Promise
    about: Promise
    fine: Promise
    icon: str
    asks: Question | None
    sort: str = "newest"
    button: Promise = _("Look")
    bulk: str = ""
    field: str = ""

    def question(self, now: datetime) -> Question | None:
        """Return what to ask now: what is scheduled, until the last moment of today in the editor's zone."""
        if self.asks is None or self.asks.state != "scheduled":
            return self.asks
        zone = timezone.get_current_timezone()
        tomorrow = datetime.combine(now.astimezone(zone).date() + timedelta(days=1), time(), tzinfo=zone)
        return replace(self.asks, live_until=tomorrow - timedelta(milliseconds=1))


@dataclass(frozen=True)
class TopicView:
    """A topic with how much there is of it, and some of its rows; not `ready` while there is no index to ask."""

    topic: Topic
    number: int
    rows: list[ProblemRow]
    ready: bool = True
    pages: int = 1

    @property
    def more(self) -> bool:
        return self.number > len(self.rows)


_editors = partial(Question, for_editors=True)

TOPICS = {
    topic.name: topic
    for topic in (
        Topic(
            "featured",
            _("Featured, but over"),
            _("Deals on a featured list that have expired or are sold out."),
            _("Every featured deal can be had."),
            "star",
            None,
        ),
        Topic(
            "links",
            _("Broken links"),
            _("Nothing was found behind the link to the shop, twice in a row."),
            _("No broken link is known."),
            "unlink",
            _editors(kind="either", lacks=LINK),
            field="link",
        ),
        Topic(
            "sold-out",
            _("Sold out"),
            _("Live deals without stock. Set a new stock, or end them."),
            _("Every live deal has stock."),
            "package-x",
            _editors(state="live", lacks=STOCK),
            button=_("End all"),
            bulk="state=live&lacks=stock&all=1&action=expire",
            field="stock",
        ),
        Topic(
            "low-stock",
            _("Low stock"),
            format_lazy(_("Live deals of which {most} or fewer pieces are left."), most=LOW_STOCK),
            _("Every live deal has enough stock."),
            "package",
            _editors(state="live", lacks=FEW),
            field="stock",
        ),
        Topic(
            "links-aside",
            _("Links kept aside"),
            _("Sold here, so that shoppers do not see their link. Empty it, or have the shop sell them."),
            _("Nothing that is sold here has a link."),
            "external-link",
            _editors(kind="either", lacks=USE),
            field="link",
        ),
        Topic(
            "drafts",
            _("Drafts"),
            _("Deals in the making. Those that lack nothing can be published right here."),
            _("There are no drafts."),
            "file-pen",
            _editors(kind="draft"),
            button=_("Publish"),
            bulk="state=draft&all=1&action=publish",
        ),
        Topic(
            "alt-texts",
            _("Pictures without alt text"),
            _(
                "Say what the picture shows, for those who cannot see it. A draft cannot be published without."
            ),
            _("Every picture has its alt text."),
            "eye",
            _editors(kind="either", lacks=ALT),
            button=_("Write them"),
            field="picture_alt",
        ),
        Topic(
            "pictures",
            _("Without a picture"),
            _("Deals and drafts that shoppers would see without a picture."),
            _("Every deal has a picture."),
            "image",
            _editors(kind="either", lacks=PICTURE),
            button=_("Add them"),
            field="picture_file",
        ),
        Topic(
            "today",
            _("Goes live today"),
            _("Scheduled deals that shoppers will see before midnight in your time zone."),
            _("Nothing is scheduled for today."),
            "calendar-clock",
            _editors(state="scheduled"),
            "soonest",
        ),
        Topic(
            "ending",
            _("Ending soon"),
            _("Deals that end within two days. Give them longer if the shop does."),
            _("Nothing ends within two days."),
            "clock",
            _editors(state="ending"),
            "ending",
        ),
    )
}


def summaries(now: datetime) -> list[TopicView]:
    """Return how much there is of each topic, and some of it, as the index and the menu have it. No requests."""
    return [_summary(topic, now) for topic in TOPICS.values()]


def _summary(topic: Topic, now: datetime) -> TopicView:
    question = topic.question(now)
    if question is None:
        return TopicView(topic, task_counts.of_process.current().featured, [])
    found = find(question, now=now, sort=topic.sort, size=LISTED)
    rows = [
        ProblemRow(hit.card, hit.card.state(now), reverse(f"cms_{hit.kind}", args=[hit.card.id]), 0)
        for hit in found.hits
    ]
    return TopicView(topic, found.total, rows, found.ready)


def show(topic: Topic, now: datetime, *, page: int, size: int = PAGE_SIZE) -> TopicView:
    """Return a page of one topic. 1 batch get."""
    question = topic.question(now)
    if question is None:
        return _featured(topic, now, page, size)
    found = find(question, now=now, sort=topic.sort, page=page, size=size)
    data = drafts.attention_data({hit.card.id: hit.kind for hit in found.hits})
    rows = [row for hit in found.hits if (row := _row(question, hit.card.id, data, now))]
    gone = len(found.hits) - len(rows)
    return TopicView(topic, found.total - gone, rows, found.ready, found.pages)


def _row(question: Question, id_: str, data: AttentionData, now: datetime) -> ProblemRow | None:
    """Return the row of a deal or draft; None where the table no longer agrees that it belongs to the topic."""
    entry = data.entries.get(id_)
    if entry is None or not holds(question, entry, now=now):
        return None
    row = ProblemRow(
        entry.card,
        entry.card.state(now),
        reverse(f"cms_{entry.kind}", args=[id_]),
        entry.version,
        link=entry.content.link,
        check=entry.link_check if isinstance(entry, Deal) else None,
        left=entry.content.stock,
    )
    if isinstance(entry, Draft):
        lacking = [FIELD_LABELS[name] for name in content.problems(entry.content, live_at=now)]
        return replace(row, state="draft", is_draft=True, lacking=lacking)
    if ends := entry.content.expires_at:
        here = timezone.localtime(ends)  # a day is one by the clock
        return replace(row, ends=[(iso(here + longer), words) for longer, words in EXTENSIONS])
    return row


def _featured(topic: Topic, now: datetime, page: int, size: int) -> TopicView:
    rows = []
    for listed, card in drafts.attention_data({}, pages=True).over(now):
        address, place = reverse("cms_deal", args=[card.id]), (listed.id, listed.title)
        rows.append(ProblemRow(card, card.state(now), address, 0, page=place))
    shown = rows[(page - 1) * size : page * size]
    return TopicView(topic, len(rows), shown, pages=-(-len(rows) // size))


def topics_of(entry: Deal, state: str) -> list[Topic]:
    """Return what needs an editor in a deal that is in a state. No requests."""
    found = [topic for topic in TOPICS.values() if topic.asks and topic.asks.lacks in lacks(entry)]
    return [TOPICS["featured"], *found] if entry.featured_on and state in OVER else found


def opened_address(topic: str) -> str:
    """Return the overview with a topic unfolded."""
    return f"{reverse('cms_home')}?view=deals&open={topic}"


def _all_rows(query: QueryDict, now: datetime, topic: str) -> Iterator[ProblemRow]:
    """Yield all of one topic. 1 batch get for each 100; Unavailable while there is no index to ask."""
    if topic not in TOPICS:
        raise NotFound()
    return every_found(partial(show, TOPICS[topic], now, size=AT_ONCE), "rows")


@editors.page("1 batch get", at=tuple(f"/cms/attention/{name}/" for name in TOPICS))
@vary_on_headers("HX-Request")
@exported(
    _("Needs attention"),
    "id=card.id, state, title=card.title, brand=card.brand_name, category=card.category, price=card.price, "
    "@live=card.live_at, @expires=card.expires_at, lacks=lacking, link, link_error=check.reason, "
    "@link_broken_since=check.since, featured_on=page",
    _all_rows,
)
def attention_list(request: EditorRequest, topic: str) -> HttpResponse:
    """All of one topic, a page at a time; for the overview, which asks by htmx, its first rows."""
    if topic not in TOPICS:
        raise NotFound()
    number = page_number(request.GET.get("page", "1"))
    if not number:
        raise BadCursor()
    if request.htmx:
        shown = show(TOPICS[topic], timezone.now(), page=1, size=OPENED)
        return render(
            request, "cms/lists/_attention_rows.html", {"shown": shown, "next": opened_address(topic)}
        )
    shown = show(TOPICS[topic], timezone.now(), page=number)
    page = {
        "shown": shown,
        "next": request.get_full_path(),
        "unchecked": topic == "links" and not settings.DEALSITE_CHECK_LINKS,
        "after": f"?page={number + 1}" if number < shown.pages else "",
        "before": f"?page={number - 1}" if number > 1 else "",
    }
    return render(request, "cms/lists/attention.html", page)


@editors.action
def check_link(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Have the worker look at a deal's link now."""
    linked = links.get(deal_id)
    if settings.DEALSITE_CHECK_LINKS:
        links.check_again(linked.deal_id, now=timezone.now())
        messages.info(request, _("The link is being checked. Look again in a moment."))
    else:
        messages.error(request, _("Links are not checked here: the setting DEALSITE_CHECK_LINKS is off."))
    return HttpResponseRedirect(next_address(request))
