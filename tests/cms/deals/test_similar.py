"""What a draft may be already: shown while it is typed and before it is published, opened, or given its price."""

import re
from decimal import Decimal

import pytest
from django.urls import reverse

from dealsite.data.catalogue import deals, drafts
from dealsite.data.editing import trash
from tests.builders import CONDITION, DAY, HOUR, LINK, NOW, make_deal, make_draft, make_id
from tests.cms.conftest import inputs, said, way_back
from tests.cms.deals.test_drafts import WHOLE, address, published

SAME_LINK = "https://WWW.shop.example:443/keyboard/?utm_source=mail&gclid=1"
NEAR_TITLE = "Keyboard, mechanical"


def shown(page):
    """What a page shows as there already: title, why, and whether it takes the price."""
    rows = re.findall(r"<li\b.*?</li>", page.content.decode(), re.DOTALL)
    return [
        (
            re.search(r"<b[^>]*>(.*?)</b>", row)[1],
            re.search(r"The same link|Nearly the same title", row)[0],
            "reprice" in row,
        )
        for row in rows
        if "Open it" in row
    ]


@pytest.fixture
def similar(editor):
    """Return what is shown for what is typed."""

    def typed(draft_id="", **data):
        page = editor.get(reverse("cms_similar", args=[draft_id or make_id(NOW)]), data)
        assert page.status_code == 200
        return shown(page)

    return typed


@pytest.fixture
def there():
    """A deal with the link of WHOLE."""
    return make_deal(link=WHOLE["link"], price=Decimal("89.90"), was_price=None)


def test_a_link_is_the_same_however_it_is_written(similar, there):
    title = there.content.title
    for link in (WHOLE["link"], SAME_LINK, f" {WHOLE['link']}#top "):
        assert similar(link=link) == [(title, "The same link", True)], link
    for link in ("", "https://shop.example/", "https://shop.example/other", "https://[", "x" * 9000, "\x00"):
        assert similar(link=link) == [], link


def test_a_title_is_near_within_its_brand(similar, search_index):
    deal = make_deal(**CONDITION)
    draft = make_draft(title="Nordlicht mechanical keyboard", brand="Nordlicht")
    search_index()
    found = {(one.content.title, "Nearly the same title", False) for one in (deal, draft)}
    assert set(similar(title=NEAR_TITLE, brand="Nordlicht")) == found
    assert set(similar(title=f"{NEAR_TITLE} Nordlicht")) == found
    assert len(similar(draft.id, title=NEAR_TITLE, brand="Nordlicht")) == 1
    assert similar(title=NEAR_TITLE, brand="Other") == []
    assert similar(title="Keyboard", brand="Nordlicht") == []


def test_what_is_over_or_a_draft_can_only_be_opened(similar):
    make_deal(link=LINK, title="Over", live_at=NOW - DAY, expires_at=NOW - HOUR)
    make_draft(link=LINK, title="Begun")
    assert sorted(similar(link=LINK)) == [("Begun", "The same link", False), ("Over", "The same link", False)]


def test_what_has_another_link_by_now_or_was_published_or_deleted_is_not_shown(similar, editor, there):
    draft_id = make_id(NOW)
    editor.post(address(draft_id), WHOLE | {"link": LINK, "action": "publish", "version": "0"})
    assert [title for title, *_ in similar(link=LINK)] == [WHOLE["title"]]
    form = inputs(editor.get(reverse("cms_deal", args=[there.id])))
    editor.post(reverse("cms_deal", args=[there.id]), form | {"link": f"{LINK}/2", "action": "save"})
    assert similar(link=WHOLE["link"]) == []


def test_it_is_shown_before_it_is_published_and_published_all_the_same(editor, there):
    draft_id = make_id(NOW)
    for action in ("publish", "publish-new", "schedule"):
        typed = WHOLE | {"publish_at": "2026-12-20T09:00"} if action == "schedule" else WHOLE
        page = editor.post(address(draft_id), typed | {"action": action, "version": "0"})
        assert page.status_code == 422
        assert shown(page) == [(there.content.title, "The same link", True)]
        assert re.search(rf'value="{action}">\s*Publish all the same', page.content.decode())
        assert inputs(page)["title"] == WHOLE["title"]
    assert len(published()) == 1
    editor.post(address(draft_id), inputs(page) | {"action": "publish"})
    assert len(published()) == 2
    assert drafts.get(draft_id).published_as


def test_what_came_since_an_editor_was_told_is_shown_again(editor, there):
    draft_id = make_id(NOW)
    told = inputs(editor.post(address(draft_id), WHOLE | {"action": "publish", "version": "0"}))
    make_deal(link=WHOLE["link"], title="Faster", live_at=NOW - 2 * HOUR)
    page = editor.post(address(draft_id), told | {"action": "publish"})
    assert page.status_code == 422
    assert {title for title, *_ in shown(page)} == {"Faster", there.content.title}
    assert drafts.get_many([draft_id]) == {}


def test_saving_a_draft_asks_nothing(editor, there):
    draft_id = make_id(NOW)
    assert editor.post(address(draft_id), WHOLE | {"action": "save", "version": "0"}).status_code == 302


def test_a_deal_that_is_there_gets_the_price_and_the_draft_goes_to_the_trash(editor, there):
    draft = make_draft(title="Again", link=WHOLE["link"])
    sent = inputs(editor.get(address(draft.id))) | {"price": "79.90", "action": f"reprice-{there.id}"}
    answer = editor.post(address(draft.id), sent)
    assert answer["Location"] == reverse("cms_deal", args=[there.id])
    assert said(answer) == f"“{there.content.title}” has its new price. This draft is in the trash."
    assert deals.get(there.id).content.price == Decimal("79.90")
    assert drafts.get_many([draft.id]) == {}
    assert [one.id for one in trash.newest().rows] == [draft.id]
    undo = way_back(answer)
    editor.post(undo.address, undo.fields)
    assert deals.get(there.id).content.price == Decimal("89.90")


def test_a_draft_that_is_not_stored_or_that_others_changed_stays(editor, there):
    sent = WHOLE | {"action": f"reprice-{there.id}", "version": "0"}
    assert said(editor.post(address(make_id(NOW)), sent)) == f"“{there.content.title}” has its new price."
    draft = make_draft(title="Again")
    old = inputs(editor.get(address(draft.id))) | {"price": "69.90", "action": f"reprice-{there.id}"}
    drafts.save(draft, draft.content, version=1, brand=None, by="jonas", now=NOW)
    assert said(editor.post(address(draft.id), old)) == f"“{there.content.title}” has its new price."
    assert drafts.get(draft.id).updated_by == "jonas"


def test_why_a_deal_is_not_given_a_price_is_said_and_nothing_is_lost(editor, there):
    over = make_deal(**CONDITION)
    draft = make_draft(title="Again")
    for deal_id, price, error in [
        (there.id, "", "Enter the price that the deal is to have."),
        (there.id, "89.90", "It costs that already."),
        (there.id, "x", "such as"),
        (over.id, "79.90", "It has a condition instead of a price."),
        (make_id(NOW - DAY), "79.90", "It was deleted meanwhile."),
        ("../x", "79.90", "It was deleted meanwhile."),
        ("", "79.90", "It was deleted meanwhile."),
    ]:
        sent = inputs(editor.get(address(draft.id))) | {"price": price, "action": f"reprice-{deal_id}"}
        page = editor.post(address(draft.id), sent)
        assert page.status_code == 422, deal_id
        assert error in page.content.decode().replace("&#x27;", "'"), (deal_id, price)
        assert inputs(page)["title"] == "Again"
    assert deals.get(there.id) == there
    assert drafts.get(draft.id) == draft


def test_of_two_that_give_a_price_at_once_both_are_heard(editor, other_editor, there):
    sent = WHOLE | {"version": "0", "action": f"reprice-{there.id}"}
    for browser, price in ((editor, "79.90"), (other_editor, "69.90")):
        assert browser.post(address(make_id(NOW)), sent | {"price": price}).status_code == 302
    assert deals.get(there.id).content.price == Decimal("69.90")
    assert deals.get(there.id).version == there.version + 2


def test_looking_costs_one_query_and_as_many_reads_as_something_is_found(editor, calls, there):
    look = reverse("cms_similar", args=[make_id(NOW)])
    assert calls(lambda: editor.get(look)) == []
    assert calls(lambda: editor.get(look, {"link": LINK + "/x"})) == ["Query"]
    found = calls(lambda: editor.get(look, {"link": WHOLE["link"]}))
    assert sorted(found) == ["BatchGetItem", "BatchGetItem", "Query"]
