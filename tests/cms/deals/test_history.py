import re
from dataclasses import replace
from decimal import Decimal
from html import unescape

import pytest
from django.urls import reverse
from django.utils import timezone

from dealsite.data import keys, table
from dealsite.data.catalogue import brands, deal_changes, deals, drafts
from dealsite.data.editing import versions
from dealsite.data.table.writes import Delete, Put
from tests.builders import DAY, EDITOR, HOUR, NOW, PICTURE, make_brand, make_deal, make_draft, make_id
from tests.cms.conftest import do, inputs, said, way_back

RESTORE = "/cms/deals/do/restore-version/"


def change(deal, *, by="oscar", now=NOW, **fields):
    """Change a deal as another editor would."""
    content = replace(deal.content, **fields)
    return deal_changes.edit(
        deal, content, version=deal.version, brand=brands.get(content.brand), by=by, now=now
    )


def history(thing):
    kind = "deal" if isinstance(thing, deals.Deal) else "draft"
    return f"/cms/{kind}s/{thing.id}/history/"


def text(response):
    return " ".join(unescape(re.sub("<[^>]+>", " ", response.content.decode())).split())


def test_the_history_lists_versions_with_who_and_what_changed(editor):
    deal = change(make_deal(), title="New", price=Decimal("60"))
    change(deal, description="Other", by="ann", now=NOW + HOUR)
    page = text(editor.get(history(deal)))
    assert re.search(r"Version 3 Now by ann, .*? Changed: Description", page)
    assert re.search(r"Version 2 by oscar, .*? Changed: Title, Price", page)
    assert re.search(r"Version 1 by eve, .*? How it began", page)
    assert "up to the last 200" in page


def test_the_pages_of_deals_and_drafts_lead_to_their_history(editor):
    deal, draft = make_deal(), make_draft(title="x")
    assert history(deal) in editor.get(reverse("cms_deal", args=[deal.id])).content.decode()
    assert history(draft) in editor.get(reverse("cms_draft", args=[draft.id])).content.decode()


def test_two_versions_stand_side_by_side(editor):
    deal = make_deal(picture=PICTURE, description="Quiet <b> switches, small")
    edited = change(
        deal, description="Quiet <b> keys, small", price=Decimal("60"), expires_at=NOW + DAY, picture=None
    )
    html = editor.get(f"{history(deal)}compare/?a=1&b=2").content.decode()
    before, after = html.index("Quiet &lt;b&gt; switches, small"), html.index("Quiet &lt;b&gt; keys, small")
    assert html.index("Description") < before < after
    assert PICTURE.name in html
    table_text = text(editor.get(f"{history(deal)}compare/?a=2&b=1"))
    assert table_text.index("79.90") < table_text.index("60.00") < table_text.index("the same in both")
    assert edited.version == 2


def test_two_versions_that_hold_the_same_say_so(editor):
    deal = change(change(make_deal(), title="New"), title="Mechanical keyboard")
    assert "These two versions hold the same." in text(editor.get(f"{history(deal)}compare/?a=1&b=3"))


@pytest.mark.parametrize(
    "query", ["a=1", "a=1&b=9", "a=x&b=1", "a=1&b=-1", "a=1&b=999999999999", "a=%00&b=²"]
)
def test_versions_that_are_not_kept_are_404(editor, query):
    deal = change(make_deal(), title="New")
    assert editor.get(f"{history(deal)}compare/?{query}").status_code == 404


def test_without_two_versions_the_history_is_shown_to_choose_from(editor):
    deal = change(make_deal(), title="New")
    assert editor.get(f"{history(deal)}compare/").headers["Location"] == history(deal)


@pytest.mark.parametrize("entry_id", ["x", "%00", "é" * 26])
@pytest.mark.parametrize("kind", ["deal", "draft"])
def test_what_no_id_is_has_no_history(editor, kind, entry_id):
    for page in ("", "compare/?a=1&b=1"):
        assert editor.get(f"/cms/{kind}s/{entry_id}/history/{page}").status_code == 404


def test_a_version_is_restored_and_that_is_undone(editor):
    deal = make_deal(stock=3, expires_at=NOW + DAY)
    edited = change(deal, title="New", stock=5, expires_at=NOW + 2 * DAY)
    page = editor.get(f"{history(deal)}compare/?a=1&b=2")
    sent = inputs(page)
    assert (sent["version"], sent["then_end"], sent.get("then_stock")) == ("2", "", None)
    response = editor.post(RESTORE, sent | {"then_end": "on"})
    assert said(response) == "“New” is as it was in version 1."
    assert response["Location"] == history(deal)
    assert deals.get(deal.id).content == replace(deal.content, stock=5)
    editor.post(way_back(response).address, way_back(response).fields)
    assert deals.get(deal.id).content == edited.content


def test_stock_comes_back_where_it_is_asked_for_and_with_undo_goes_again(editor):
    deal = make_deal(stock=3)
    edited = change(deal, stock=5)
    response = do(editor, "restore-version", deal, version="2", to_version="1", then_stock="on")
    assert deals.get(deal.id).content == deal.content
    editor.post(way_back(response).address, way_back(response).fields)
    assert deals.get(deal.id).content == edited.content


def test_an_end_that_has_passed_is_refused_with_what_to_do(editor):
    deal = make_deal(live_at=NOW - 9 * DAY, expires_at=NOW - DAY)
    change(deal, expires_at=None, title="New")
    page = editor.get(f"{history(deal)}compare/?a=1&b=2")
    assert "then_end" not in inputs(page)
    assert "This end has passed" in text(page)
    response = editor.post(RESTORE, inputs(page) | {"then_end": "on"})
    assert "Keep the end that it has now." in said(response)
    assert deals.get(deal.id).version == 2
    editor.post(RESTORE, inputs(page))
    assert deals.get(deal.id).content == replace(deal.content, expires_at=None)


def test_a_version_is_not_restored_over_what_somebody_else_has_changed_since(editor):
    deal = change(make_deal(now=NOW - DAY), title="New")
    sent = inputs(editor.get(f"{history(deal)}compare/?a=1&b=2"))
    change(deal, title="Newer")
    assert said(editor.post(RESTORE, sent)) == "oscar changed it meanwhile."
    assert deals.get(deal.id).content.title == "Newer"


def test_restoring_twice_changes_nothing_the_second_time(editor):
    deal = change(make_deal(now=NOW - DAY), title="New")
    do(editor, "restore-version", deal, to_version="1")
    again = do(editor, "restore-version", deal, to_version="1", asked_at=(NOW - HOUR).isoformat())
    assert said(again) == "It is as it was in this version already."
    assert deals.get(deal.id).version == 3


def test_a_version_of_a_brand_that_is_gone_says_so(editor):
    make_brand("Aurora")
    deal = change(make_deal(), brand="aurora")
    brand = table.get(keys.brand("nordlicht"))
    table.write(Delete(key=keys.brand("nordlicht")))
    response = do(editor, "restore-version", deal, version="2", to_version="1")
    assert said(response) == "Its brand does not exist any more."
    table.write(Put(key=keys.brand("nordlicht"), item=brand))


def test_what_was_done_is_undone_from_the_history_for_a_month(editor, monkeypatch):
    deal = make_deal(now=NOW - DAY)
    do(editor, "price", deal, to_price="=", amount="9.00", given="1")
    job = re.search(
        r'href="(/cms/deals/bulk/[^"]+/)"[^>]*>Details and undo', editor.get(history(deal)).content.decode()
    )
    undo = re.search(r'action="([^"]+/undo/)"', editor.get(job[1]).content.decode())
    editor.post(undo[1], {"next": job[1]})
    assert deals.get(deal.id).content == deal.content
    monkeypatch.setattr(timezone, "now", lambda: NOW + 30 * DAY)
    assert "Details and undo" not in editor.get(history(deal)).content.decode()


def test_a_draft_is_made_what_it_was(editor):
    draft = make_draft(title="Half", brand="Nordlicht", stock=4)
    drafts.save(
        draft, replace(draft.content, title="More"), version=1, by="oscar", now=NOW, brand=make_brand()
    )
    assert "Changed: Title" in text(editor.get(history(draft)))
    sent = inputs(editor.get(f"{history(draft)}compare/?a=1&b=2"))
    response = editor.post(RESTORE, sent)
    assert drafts.get(draft.id).content == draft.content
    editor.post(way_back(response).address, way_back(response).fields)
    assert drafts.get(draft.id).content.title == "More"


def test_the_history_of_a_published_draft_goes_on_with_its_deal(editor):
    draft = make_draft(title="Half")
    draft = drafts.save(draft, replace(draft.content, title="More"), version=1, by="oscar", now=NOW)
    deal = make_deal(draft=draft)
    html = editor.get(history(draft)).content.decode()
    assert history(deal) in html
    assert history(draft) in editor.get(history(deal)).content.decode()
    response = do(editor, "restore-version", draft, state="draft", to_version="1")
    assert said(response) == "It was published already."


def test_the_history_of_what_is_in_the_trash_can_be_looked_at(editor):
    deal = change(make_deal(stock=2), title="New")
    deal_changes.delete(deal, by=EDITOR, now=NOW + HOUR)
    page = editor.get(history(deal))
    assert "This is in the trash." in text(page)
    assert reverse("cms_restore", args=["deal", deal.id]) in page.content.decode()
    assert page.content.decode().index("deleted") < page.content.decode().index("published")
    compared = editor.get(f"{history(deal)}compare/?a=1&b=2")
    assert "Restore version" not in text(compared)
    assert said(do(editor, "restore-version", deal, to_version="1")) == "It was deleted meanwhile."


def test_what_is_gone_has_what_was_done_to_it(editor):
    response = editor.get(f"/cms/deals/{make_id()}/history/")
    assert "No version is kept" in text(response)


def test_the_history_has_pages(editor, monkeypatch):
    monkeypatch.setattr(versions, "PAGE_SIZE", 2)
    deal = make_deal()
    for number in range(4):
        deal = change(deal, title=f"Title {number}")
    page = editor.get(history(deal))
    assert re.findall(r"Version (\d) (?:Now )?by", text(page)) == ["5", "4", "3"]
    link = re.search(r'href="([?]below=[^"]+)"', page.content.decode())
    older = editor.get(f"{history(deal)}{link[1]}")
    assert re.findall(r"Version (\d) (?:Now )?by", text(older)) == ["2", "1"]


@pytest.mark.parametrize("number", [10**8, 10**1500], ids=["9 digits", "1501 digits"])
def test_a_version_of_a_number_that_there_cannot_be_is_404(editor, number):
    deal = make_deal()
    assert editor.get(f"{history(deal)}compare/?a={number}&b=1").status_code == 404
    page = editor.get(do(editor, "restore-version", deal, to_version=str(number))["Location"])
    assert (page.status_code, deals.get(deal.id).version) == (422, 1)


def test_a_version_beside_itself_can_be_restored_once(editor):
    deal = change(make_deal(), title="New")
    html = editor.get(f"{history(deal)}compare/?a=1&b=1").content.decode()
    assert "These two versions hold the same." in html
    assert html.count('id="restore-1"') == 1
