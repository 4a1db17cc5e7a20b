"""What needs an editor: by topic its number and its rows, each with what can be done about it at once.

The search index says how much of a topic there is and where; what the rows show is read from the table, so that
what was just fixed is no longer there although the index may lag by a moment.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.vary import vary_on_headers

from cms.lists.search import page_number
from cms.shared.forms import FIELD_LABELS
from cms.shared.requests import EditorRequest, editor_action, editor_page, next_address
from dealsite.data.catalogue import content
from dealsite.data.catalogue.cards import DealCard
from dealsite.data.catalogue.entries import AttentionData
from dealsite.data.editing import links
from dealsite.data.editing.links import LinkCheck
from dealsite.data.jobs import task_counts
from dealsite.data.table.errors import BadCursor, NotFound
from dealsite.data.table.ids import iso
from dealsite.search import attention as needs
from dealsite.search.attention import Today
from dealsite.search.deal_lists import every_found
from dealsite.search.finding import SearchPage, find
from dealsite.worker.list_export import AT_ONCE, exported

LISTED, OPENED = 9, 3  # rows of a topic on the overview: of the index, and where they can be put right
PAGE_SIZE = 25
EXTENSIONS = ((timedelta(days=1), _("A day longer")), (timedelta(days=7), _("A week longer")))


@dataclass(frozen=True)
class ProblemRow:
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
    lacking: Sequence[str | Promise] = ()
    ends: Sequence[tuple[str, Promise]] = ()
    page: tuple[str, str] | None = None
    check: LinkCheck | None = None

    @property
    def key(self) -> str:
        """What tells it from all other rows of a page of the site."""
        return f"{self.page[0]}-{self.card.id}" if self.page else self.card.id


@dataclass(frozen=True)
class Topic:
    """One thing that needs looking after: what it is called, and what to read while there is none.

    `button` leads to its list, or where all of it can be done at once, to that change: `bulk` is what to ask for.
    """

    name: str
    title: Promise
    about: Promise
    fine: Promise
    icon: str
    button: Promise = _("Look")
    bulk: str = ""

    @property
    def wanted(self) -> needs.Topic:
        """How to ask for it."""
        return needs.TOPICS[self.name]


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


TOPICS = {
    topic.name: topic
    for topic in (
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
        ),
        Topic(
            "sold-out",
            _("Sold out"),
            _("Live deals without stock. Set a new stock, or end them."),
            _("Every live deal has stock."),
            "package-x",
            _("End all"),
            "state=live&lacks=stock&all=1&action=expire",
        ),
        Topic(
            "links-aside",
            _("Links kept aside"),
            _("Sold here, so that shoppers do not see their link. Empty it, or have the shop sell them."),
            _("Nothing that is sold here has a link."),
            "external-link",
        ),
        Topic(
            "drafts",
            _("Drafts"),
            _("Deals in the making. Those that lack nothing can be published right here."),
            _("There are no drafts."),
            "file-pen",
            _("Publish"),
            "state=draft&all=1&action=publish",
        ),
        Topic(
            "alt-texts",
            _("Pictures without alt text"),
            _(
                "Say what the picture shows, for those who cannot see it. A draft cannot be published without."
            ),
            _("Every picture has its alt text."),
            "eye",
            _("Write them"),
        ),
        Topic(
            "pictures",
            _("Without a picture"),
            _("Deals and drafts that shoppers would see without a picture."),
            _("Every deal has a picture."),
            "image",
            _("Add them"),
        ),
        Topic(
            "today",
            _("Goes live today"),
            _("Scheduled deals that shoppers will see before midnight in your time zone."),
            _("Nothing is scheduled for today."),
            "calendar-clock",
        ),
        Topic(
            "ending",
            _("Ending soon"),
            _("Deals that end within two days. Give them longer if the shop does."),
            _("Nothing ends within two days."),
            "clock",
        ),
    )
}


def summaries(now: datetime) -> list[TopicView]:
    """Return how much there is of each topic, and some of it, as the index and the menu have it. No requests."""
    today = _today(now)
    return [_summary(topic, _find(topic, today, size=LISTED), now) for topic in TOPICS.values()]


def _summary(topic: Topic, found: SearchPage | None, now: datetime) -> TopicView:
    if found is None:
        return TopicView(topic, task_counts.of_process.current().featured, [])
    rows = [
        ProblemRow(hit.card, hit.card.state(now), reverse(f"cms_{hit.kind}", args=[hit.card.id]), 0)
        for hit in found.hits
    ]
    return TopicView(topic, found.total, rows, found.ready)


def show(topic: Topic, now: datetime, *, page: int, size: int = PAGE_SIZE) -> TopicView:
    """Return a page of one topic. 1 batch get."""
    today = _today(now)
    found = _find(topic, today, size=size, page=page)
    if found is None:
        return _featured(needs.look([], pages=True), now, page, size)
    return _view(topic, found, needs.look(found.hits), today)


def _today(now: datetime) -> Today:
    return Today.of(now, timezone.get_current_timezone())


def _find(topic: Topic, today: Today, *, size: int, page: int = 1) -> SearchPage | None:
    """Return what search finds of a topic, None for one that is known without it."""
    wanted = topic.wanted
    if wanted.ask is None:
        return None
    return find(wanted.ask(today), now=today.now, sort=wanted.sort, page=page, size=size)


def _view(topic: Topic, found: SearchPage, data: AttentionData, today: Today) -> TopicView:
    rows = [row for hit in found.hits if (row := _row(topic.wanted, hit.card.id, data, today))]
    gone = len(found.hits) - len(rows)
    return TopicView(topic, found.total - gone, rows, found.ready, found.pages)


def _row(topic: needs.Topic, id_: str, data: AttentionData, today: Today) -> ProblemRow | None:
    """Return the row of a deal or draft; None where the table no longer agrees that it belongs to the topic."""
    if draft := data.drafts.get(id_):
        if not topic.holds(draft.content, draft.card, None, today):
            return None
        lacking = [FIELD_LABELS[name] for name in content.problems(draft.content, live_at=today.now)]
        address = reverse("cms_draft", args=[draft.id])
        return ProblemRow(
            draft.card, "draft", address, draft.version, True, draft.content.link, lacking=lacking
        )
    deal, check = data.deals.get(id_), data.checks.get(id_)
    if deal is None or not topic.holds(deal.content, deal.card, check, today):
        return None
    ends = deal.content.expires_at
    return ProblemRow(
        deal.card,
        deal.card.state(today.now),
        reverse("cms_deal", args=[deal.id]),
        deal.version,
        link=deal.content.link,
        ends=[(iso(ends + longer), words) for longer, words in EXTENSIONS] if ends else [],
        check=check,
    )


def _featured(data: AttentionData, now: datetime, page: int, size: int) -> TopicView:
    rows = []
    for listed, card in needs.featured_but_over(data.pages, now):
        address, place = reverse("cms_deal", args=[card.id]), (listed.id, listed.title)
        rows.append(ProblemRow(card, card.state(now), address, 0, page=place))
    shown = rows[(page - 1) * size : page * size]
    return TopicView(TOPICS["featured"], len(rows), shown, pages=-(-len(rows) // size))


def opened_address(topic: str) -> str:
    """Return the overview with a topic unfolded."""
    return f"{reverse('cms_home')}?view=deals&open={topic}"


def _all_rows(query: QueryDict, now: datetime, topic: str) -> Iterator[ProblemRow]:
    """Yield all of one topic. 1 batch get for each 100; Unavailable while there is no index to ask."""
    if topic not in TOPICS:
        raise NotFound()
    return every_found(partial(show, TOPICS[topic], now, size=AT_ONCE), "rows")


@editor_page("1 batch get", at=tuple(f"/cms/attention/{name}/" for name in TOPICS))
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


@editor_action
def check_link(request: EditorRequest, deal_id: str) -> HttpResponse:
    """Have the worker look at a deal's link now."""
    linked = links.get(deal_id)
    if settings.DEALSITE_CHECK_LINKS:
        links.check_again(linked.deal_id, now=timezone.now())
        messages.info(request, _("The link is being checked. Look again in a moment."))
    else:
        messages.error(request, _("Links are not checked here: the setting DEALSITE_CHECK_LINKS is off."))
    return HttpResponseRedirect(next_address(request))
