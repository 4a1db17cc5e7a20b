"""What needs an editor is read at once: deals, drafts, what is known of links, and all featured lists."""

from __future__ import annotations

import pytest

from dealsite.data import table
from dealsite.data.catalogue import deal_changes, drafts, featured, publishing
from dealsite.data.catalogue.deals import Deal
from dealsite.data.catalogue.featured import PAGES
from dealsite.data.editing import links
from tests.builders import (
    EDITOR,
    HOUR,
    LINK,
    NOW,
    make_brand,
    make_category,
    make_content,
    make_deal,
    make_draft,
    make_id,
)
from tests.measuring import measured

pytestmark = pytest.mark.usefixtures("whole_table")


@pytest.mark.moto
def test_it_finds_what_is_there_and_says_nothing_of_what_is_not():
    deal, draft = make_deal(link=LINK), make_draft(title="Half")
    links.fails(links.get(deal.id), "404", now=NOW)
    page, found = featured.load("front", [deal.id])
    featured.set_featured(page, [found[deal.id]], version=0, by=EDITOR, now=NOW)
    looked = measured(drafts.attention_data)(
        {deal.id: "deal", make_id(): "deal", draft.id: "draft", make_id(): "draft"}, pages=True
    )
    assert set(looked.entries) == {deal.id, draft.id}
    assert looked.entries[draft.id] == draft
    found_deal = looked.entries[deal.id]
    assert isinstance(found_deal, Deal)
    assert found_deal.link_check
    assert found_deal.link_check.failures == 1
    assert [one.id for one in looked.pages] == list(PAGES)
    assert looked.pages[0].ids == [deal.id]
    assert [one.ids for one in looked.pages[1:]] == [[]] * (len(PAGES) - 1)


def test_a_published_draft_is_none_any_more():
    draft, content = make_draft(title="Ready"), make_content(link=LINK)
    make_category(content.category)
    measured(publishing.publish)(
        content, deal_id=make_id(NOW), brand=make_brand(), by=EDITOR, now=NOW, draft=draft
    )
    assert drafts.get(draft.id).published_as
    assert drafts.attention_data({draft.id: "draft"}).entries == {}


def test_a_deal_is_as_the_table_has_it_now():
    deal = make_deal(expires_at=NOW + HOUR)
    deal_changes.expire_now(deal, by=EDITOR, now=NOW)
    assert drafts.attention_data({deal.id: "deal"}).entries[deal.id].content.expires_at == NOW


@pytest.mark.budget
def test_it_costs_one_request_and_none_where_nothing_is_asked_for():
    made = [make_deal() for _ in range(3)]
    with table.metered() as meter:
        drafts.attention_data({deal.id: "deal" for deal in made} | {make_id(): "draft"}, pages=True)
        drafts.attention_data({})
    assert [operation for operation, _ in meter.log] == ["BatchGetItem"]
