import re
from dataclasses import replace
from html import unescape

import pytest
from django.urls import reverse

from dealsite.data.catalogue import deals, drafts, featured
from dealsite.data.editing import trash
from dealsite.search import reader
from tests.builders import DAY, EDITOR, HOUR, NOW, make_brand, make_deal, make_draft, make_id
from tests.searching import index_table


@pytest.fixture(autouse=True)
def search_folder(settings, tmp_path):
    """An index of its own, which is not there yet."""
    settings.SEARCH_ROOT = tmp_path / "search"
    reader.forget()


def look(editor, thing):
    kind = "deals" if isinstance(thing, deals.Deal) else "drafts"
    response = editor.get(f"/cms/{kind}/{thing.id}/visibility/")
    assert response.status_code == 200
    return response


def text(response):
    return " ".join(unescape(re.sub("<[^>]+>", " ", response.content.decode())).split())


def unseen(response):
    """Return what the page says of where it is not seen."""
    found = re.search(
        "Not visible, and why (.*?)(?: Visible |Pages of the shop are kept| Deals are checked)",
        text(response),
    )
    return found[1] if found else ""


def feature(deal):
    page, found = featured.load("front", [deal.id])
    featured.set_featured(page, [found[deal.id]], version=0, by=EDITOR, now=NOW)


def test_a_live_deal_is_seen_on_its_page_in_its_lists_and_by_search(editor, calls):
    deal = make_deal()
    feature(deal)
    index_table()
    page = look(editor, deals.get(deal.id))
    assert unseen(page) == ""
    for address in (
        reverse("deal", args=[deal.id, deal.card.slug]),
        "/brands/nordlicht/",
        "/categories/peripherals-networking/",
        "/search/?q=Mechanical+keyboard",
    ):
        assert f'href="{address}"' in page.content.decode()
    assert "under the day of its publication, 21 November 2026 (UTC)" in text(page)
    assert "It is featured on: Front page." in text(page)
    assert calls(lambda: look(editor, deal)) == ["BatchGetItem"]


def test_what_is_not_featured_says_so(editor):
    assert "No page features it" in unseen(look(editor, make_deal()))


def test_a_scheduled_deal_is_seen_nowhere_yet(editor):
    deal = make_deal(live_at=NOW + DAY)
    feature(deal)
    index_table()
    page = look(editor, deals.get(deal.id))
    assert re.match(r"It is scheduled\. .*? 22 Nov 2026, 12:00 UTC Change time", unseen(page))
    assert "It shows there only while it is live." in unseen(page)
    assert "shows it to shoppers when its time comes" in unseen(page)
    assert "Everybody can open its page" not in text(page)
    assert f'href="{reverse("cms_reschedule_deal", args=[deal.id])}"' in page.content.decode()


def test_an_expired_deal_says_since_when_and_how_to_fix_it(editor):
    deal = make_deal(live_at=NOW - 2 * DAY, expires_at=NOW - DAY)
    page = look(editor, deal)
    assert re.search(r"It has expired\. .*? 20 Nov 2026, 12:00 UTC Give it a later end", unseen(page))
    assert f'href="{reverse("cms_deal", args=[deal.id])}#id_expires_at"' in page.content.decode()
    assert "Everybody can open its page." in text(page)


def test_a_deal_that_is_sold_out_says_so(editor):
    assert "It is sold out." in unseen(look(editor, make_deal(stock=0)))
    assert "sold out" not in text(look(editor, make_deal(stock=1)))


def test_what_search_does_not_know_yet_is_told(editor):
    deal = make_deal()
    assert "Search is being set up" in unseen(look(editor, deal))
    index_table()
    later = make_deal()
    assert "Search does not know it yet." in unseen(look(editor, later))
    content = replace(deal.content, title="Better")
    deals.edit(deal, content, version=1, brand=make_brand(), by=EDITOR, now=NOW)
    assert "as it was before its last change" in unseen(look(editor, deal))


def test_a_draft_says_what_it_lacks(editor, calls):
    draft = make_draft(title="Half")
    page = look(editor, draft)
    assert "only editors see it until it is published." in unseen(page)
    assert "Before it can be published: Enter the price." in unseen(page)
    assert calls(lambda: look(editor, draft)) == ["GetItem"]


def test_a_published_draft_leads_to_its_deal(editor):
    draft = make_draft(title="Half")
    deal = make_deal(draft=draft)
    response = editor.get(f"/cms/drafts/{draft.id}/visibility/")
    assert response.headers["Location"] == f"/cms/deals/{deal.id}/visibility/"


def test_what_is_in_the_trash_can_be_restored_from_here(editor):
    deal, draft = make_deal(), make_draft(title="Half")
    deals.delete(deal, by="oscar", now=NOW - HOUR)
    drafts.delete(draft, by="oscar", now=NOW - HOUR)
    for kind, thing in (("deal", deal), ("draft", draft)):
        page = look(editor, thing)
        assert "oscar deleted it. It can be restored from the trash for 30 days." in unseen(page)
        action = re.search(r'<form method="post" action="(/cms/trash/[^"]+)"', page.content.decode())
        assert action[1] == reverse("cms_restore", args=[kind, thing.id])


def test_what_is_gone_says_so(editor):
    deal = make_deal()
    deals.delete(deal, by=EDITOR, now=NOW)
    trash.purge("deal", deal.id, by=EDITOR, now=NOW)
    assert "It does not exist: it was deleted for good" in unseen(look(editor, deal))
    response = editor.get(f"/cms/drafts/{make_id()}/visibility/")
    assert "It does not exist" in text(response)


def test_pages_that_are_kept_are_told_only_where_they_are(editor, settings):
    deal = make_deal()
    settings.DEALSITE_PAGE_CACHE_SECONDS = 2
    assert "kept for 2 seconds" in text(look(editor, deal))
    settings.DEALSITE_PAGE_CACHE_SECONDS = 0
    assert "kept for" not in text(look(editor, deal))


@pytest.mark.parametrize("thing_id", ["x", "%00", "é" * 26])
@pytest.mark.parametrize("kind", ["deals", "drafts"])
def test_what_no_id_is_is_404(editor, kind, thing_id):
    assert editor.get(f"/cms/{kind}/{thing_id}/visibility/").status_code == 404


def test_the_pages_of_deals_and_drafts_lead_there(editor):
    deal, draft = make_deal(), make_draft(title="x")
    for kind, thing in (("deals", deal), ("drafts", draft)):
        html = editor.get(f"/cms/{kind}/{thing.id}/").content.decode()
        assert f"/cms/{kind}/{thing.id}/visibility/" in html
