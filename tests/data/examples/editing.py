"""Examples of what is asked of versions, unpublished changes, the trash, links, saved questions and views."""

from __future__ import annotations

from typing import Any

from dealsite.data.catalogue import deals
from dealsite.data.editing import (
    audit,
    links,
    pending_edits,
    presence,
    questions,
    saved_views,
    trash,
    versions,
)
from dealsite.data.editing.saved_views import SavedView
from tests.builders import EDITOR, NOW, make_content, make_deal, make_id
from tests.data.examples import measures
from tests.data.examples.catalogue import deleted, edited


def suspected() -> links.DealLink:
    """Return a link behind which nothing was found once."""
    deal = make_deal()
    links.fails(links.get(deal.id), "404", now=NOW)
    return links.get(deal.id)


@measures(questions.create)
def save_question() -> questions.SavedQuestion:
    return questions.create(question_id=make_id(), title="x", sql="SELECT 1", by=EDITOR, now=NOW)


measures(questions.note_asked)(lambda: questions.note_asked(make_id(), "SELECT 1", by=EDITOR, now=NOW))


@measures(pending_edits.keep, make_deal)
def keep_changes(deal: deals.Deal) -> pending_edits.PendingEdits:
    """Begin to change a deal, unseen by shoppers."""
    content = make_content(title="Better")
    kept: dict[str, Any] = {"brand_name": "Nordlicht", "base": 1, "seen": "", "before": None}
    return pending_edits.keep(deal, content, **kept, by=EDITOR, now=NOW)


def discard_changes() -> pending_edits.PendingEdits:
    deal = make_deal()
    pending_edits.discard(keep_changes(deal), by=EDITOR, now=NOW)
    found = pending_edits.find(deal)
    assert found is not None
    return found


def save_view(name: str = "Toys") -> SavedView:
    view = SavedView(make_id(), name)
    saved_views.save(EDITOR, view, by=EDITOR, now=NOW)
    return view


def two_views() -> SavedView:
    save_view("First")
    return save_view()


measures(versions.newest, edited)(lambda deal: versions.newest(deal.id))
measures(versions.get, edited)(lambda deal: versions.get(deal.id, 1))
measures(versions.get_many, edited)(lambda deal: versions.get_many(deal.id, [1, 2]))
measures(pending_edits.find, make_deal)(pending_edits.find)
measures(pending_edits.discard, lambda: keep_changes(make_deal()))(
    lambda kept: pending_edits.discard(kept, by=EDITOR, now=NOW)
)
measures(pending_edits.restore, discard_changes)(
    lambda discarded: pending_edits.restore(discarded, by=EDITOR, now=NOW)
)
measures(pending_edits.cards, lambda: keep_changes(make_deal()))(lambda _: pending_edits.cards())
measures(trash.newest, lambda: deleted(make_deal()))(lambda _: trash.newest())
measures(trash.find, lambda: deleted(make_deal()))(lambda deal_id: trash.find("deal", deal_id))
measures(trash.restore, lambda: deleted(make_deal()))(
    lambda deal_id: trash.restore("deal", deal_id, by=EDITOR, now=NOW)
)
measures(trash.purge, lambda: deleted(make_deal()))(
    lambda deal_id: trash.purge("deal", deal_id, by=EDITOR, now=NOW)
)
measures(links.get, make_deal)(lambda deal: links.get(deal.id))
measures(links.page, make_deal)(lambda _: links.page(after="", now=NOW))
measures(links.works, suspected)(links.works)
measures(links.fails, lambda: links.get(make_deal().id))(lambda link: links.fails(link, "404", now=NOW))
measures(links.check_again, make_deal)(lambda deal: links.check_again(deal.id, now=NOW))
measures(links.accept, make_deal)(
    lambda deal: links.accept(deal.id, link=deal.content.link, by=EDITOR, now=NOW)
)
measures(links.take_back, make_deal)(lambda deal: links.take_back(deal.id, by=EDITOR, now=NOW))
measures(links.begin_round)(lambda: links.begin_round(now=NOW))
measures(questions.get, save_question)(lambda question: questions.get(question.id))
measures(questions.newest, save_question)(lambda _: questions.newest())
measures(questions.edit, save_question)(
    lambda question: questions.edit(question, title="y", sql="SELECT 2", by=EDITOR, now=NOW)
)
measures(questions.delete, save_question)(questions.delete)
measures(saved_views.of, save_view)(lambda _: saved_views.of(EDITOR))
measures(saved_views.save, save_view)(lambda _: save_view("Other"))
measures(saved_views.rename, save_view)(
    lambda view: saved_views.rename(EDITOR, view.id, "Other", by=EDITOR, now=NOW)
)
measures(saved_views.move, two_views)(lambda view: saved_views.move(EDITOR, view.id, 0, by=EDITOR, now=NOW))
measures(saved_views.delete, save_view)(lambda view: saved_views.delete(EDITOR, view.id, by=EDITOR, now=NOW))
measures(saved_views.forget, save_view)(lambda _: saved_views.forget(EDITOR))
measures(presence.heartbeat, make_deal)(
    lambda deal: presence.heartbeat("deal", deal.id, username="eve", name="Eve", now=NOW)
)
measures(presence.leave, make_deal)(lambda deal: presence.leave("deal", deal.id, username="eve"))
measures(audit.page, make_deal)(lambda deal: audit.page(kind="deal", subject=deal.id))
measures(audit.of_target, make_deal)(lambda deal: audit.of_target("deal", deal.id))
