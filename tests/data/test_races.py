"""One race for each conditional write: whoever wins, the table is whole and nobody's work is lost silently."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from dealsite.data.catalogue import (
    brand_merges,
    brands,
    buckets,
    categories,
    deal_changes,
    deals,
    display_names,
    drafts,
    featured,
    publishing,
)
from dealsite.data.catalogue.content import DealContent
from dealsite.data.commerce import payments
from dealsite.data.editing import trash, trash_record
from dealsite.data.entities.commerce import CANCELLED
from dealsite.data.integrity import checks
from dealsite.data.jobs import jobs
from dealsite.data.table import errors
from tests import races
from tests.builders import (
    DAY,
    EDITOR,
    HOUR,
    NOW,
    all_brands,
    make_brand,
    make_category,
    make_content,
    make_deal,
    make_draft,
    make_id,
)
from tests.payments import owe, read

pytestmark = [
    pytest.mark.engines("native", "local"),
    pytest.mark.engines_differ,
    pytest.mark.usefixtures("whole_table"),
]


def at_once(actions) -> list:
    return races.at_once(*actions)


def errors_of(results) -> list[type[Exception]]:
    return [type(result) for result in results if isinstance(result, Exception)]


def publish(deal_id: str, brand: brands.Brand, draft: drafts.Draft | None = None, **content) -> deals.Deal:
    made = make_content(brand=brand.slug, **content)
    return publishing.publish(made, deal_id=deal_id, brand=brand, by=EDITOR, now=NOW, draft=draft)


def edit(deal: deals.Deal, **changes) -> deals.Deal:
    content = replace(deal.content, **changes)
    brand = brands.get(content.brand)
    return deal_changes.edit(deal, content, version=deal.version, brand=brand, by=EDITOR, now=NOW)


def delete(deal: deals.Deal) -> None:
    deal_changes.delete(deal, by=EDITOR, now=NOW)


def feature(page: featured.FeaturedPage, *of_deals: deals.Deal) -> featured.FeaturedPage:
    return featured.set_featured(page, list(of_deals), version=page.version, by=EDITOR, now=NOW)


def test_a_deal_sent_many_times_is_published_once():
    brand, deal_id = make_brand(), make_id()
    make_category("peripherals-networking")
    results = at_once([partial(publish, deal_id, brand)] * 8)
    assert errors_of(results) == []
    assert {deal.id for deal in results} == {deal_id}
    assert brands.get_with_counts("nordlicht").deals == 1


def test_thirty_deals_published_at_once_are_all_counted():
    names = ["Nordlicht", "Aurora", "Borealis"]
    made = [make_brand(name) for name in names]
    for slug in ("toys-hobbies", "grocery-household"):
        make_category(slug)
    results = at_once(
        [
            partial(
                publish,
                make_id(NOW - HOUR - n * timedelta(hours=5)),
                made[n % 3],
                category=("toys-hobbies", "grocery-household")[n % 2],
            )
            for n in range(30)
        ]
    )
    assert errors_of(results) == []
    assert [brands.get_with_counts(brand.slug).deals for brand in made] == [10, 10, 10]
    assert [categories.get_with_counts(slug).deals for slug in ("toys-hobbies", "grocery-household")] == [
        15,
        15,
    ]
    assert len(buckets.all_days()) == len({deal.live_at.date() for deal in results})


def test_one_of_two_editors_of_a_deal_is_shown_the_others_work():
    deal = make_deal()
    results = at_once([partial(edit, deal, title=f"By {n}") for n in range(6)])
    assert errors_of(results) == [errors.VersionConflict] * 5
    (winner,) = [result for result in results if isinstance(result, deals.Deal)]
    assert deals.get(deal.id) == winner
    assert {result.current for result in results if isinstance(result, errors.VersionConflict)} == {winner}


def test_an_article_number_finds_each_of_those_that_take_it_at_once():
    deal, others = make_deal(), [make_deal() for _ in range(3)]
    results = at_once([partial(edit, deal, article_number=f"B{n}") for n in range(3)])
    results += at_once([partial(edit, other, article_number="X") for other in others])
    assert errors_of(results) == [errors.VersionConflict] * 2
    number = deals.get(deal.id).content.article_number
    assert display_names.known_by(display_names.same_number(number)) == [deal.id]
    assert set(display_names.known_by(display_names.same_number("x"))) == {other.id for other in others}
    assert checks.find(retired=True) == []


def test_a_deal_edited_while_it_is_featured_has_one_card_everywhere():
    deal, other = make_deal(), make_deal()
    page = featured.get("front")
    results = at_once([partial(edit, deal, title="New"), partial(feature, page, deal, other)])
    assert errors_of(results) == []
    assert [card.title for card in featured.get("front").cards] == ["New", "Mechanical keyboard"]


def test_a_deal_deleted_while_it_is_featured_is_nowhere():
    deal, other = make_deal(), make_deal()
    page = featured.get("front")
    results = at_once([partial(delete, deal), partial(feature, page, deal, other)])
    assert set(errors_of(results)) <= {errors.NotFound}
    with pytest.raises(errors.NotFound):
        deals.get(deal.id)
    assert deal.card not in featured.get("front").cards


def test_a_deal_edited_while_it_is_taken_off_a_list_is_off_it():
    deal, other = make_deal(), make_deal()
    page = feature(featured.get("front"), deal, other)
    deal = deals.get(deal.id)
    results = at_once([partial(edit, deal, title="New"), partial(feature, page, deals.get(other.id))])
    assert errors_of(results) == []
    assert featured.get("front").cards == [other.card]
    assert deals.get(deal.id).featured_on == frozenset()


def test_one_of_many_editors_sets_a_list_and_the_others_are_shown_it():
    some = [make_deal(title=f"Deal {n}") for n in range(4)]
    page = featured.get("front")
    results = at_once([partial(feature, page, deal) for deal in some])
    assert errors_of(results) == [errors.VersionConflict] * 3
    cards = featured.get("front").cards
    assert len(cards) == 1
    assert {
        tuple(result.current.cards) for result in results if isinstance(result, errors.VersionConflict)
    } == {tuple(cards)}


def test_lists_of_different_pages_are_set_at_once():
    deal = make_deal(category="toys-hobbies")
    pages = [featured.get(page_id) for page_id in ("front", "editors-choice", "toys-hobbies")]
    results = at_once([partial(feature, page, deal) for page in pages])
    assert errors_of(results) == []
    assert deals.get(deal.id).featured_on == {"front", "editors-choice", "toys-hobbies"}


def test_a_brand_is_created_once():
    results = at_once([partial(brands.create, "Nordlicht", by=EDITOR, now=NOW) for _ in range(6)])
    assert errors_of(results) == [errors.AlreadyExists] * 5
    assert [(brand.slug, brand.name) for brand in all_brands()] in ([], [("nordlicht", "Nordlicht")])
    assert brands.get("nordlicht").version == 1


def test_a_name_goes_to_one_of_those_that_take_it_at_once():
    edit = partial(brands.edit, description="", logo=None, by=EDITOR, now=NOW)
    results = at_once(
        [
            partial(edit, make_brand(), name="Eos"),
            partial(edit, make_brand("Vela"), name="Vela", also=["EOS"]),
            partial(brands.create, "Eos", by=EDITOR, now=NOW),
        ]
    )
    (found,) = [one for one in results if isinstance(one, brands.Brand)]
    assert [one for one in errors_of(results) if one not in (errors.AlreadyExists, errors.Invalid)] == []
    assert brands.named("Eos").slug == found.slug
    assert checks.find() == []


def test_brands_of_one_letter_created_at_once_are_all_listed():
    results = at_once([partial(brands.create, f"Brand {n}", by=EDITOR, now=NOW) for n in range(10)])
    assert errors_of(results) == []


def test_one_of_two_editors_of_a_brand_is_shown_the_others_work():
    brand = make_brand()
    results = at_once(
        [
            partial(brands.edit, brand, name=f"Name {n}", description="", logo=None, by=EDITOR, now=NOW)
            for n in range(4)
        ]
    )
    assert errors_of(results) == [errors.VersionConflict] * 3
    assert brands.get("nordlicht").version == 2


def test_one_of_two_editors_of_a_category_is_shown_the_others_work():
    make_category("toys-hobbies")
    category = categories.get("toys-hobbies")
    results = at_once(
        [
            partial(
                categories.edit, category, name=f"Toys {n}", description="", logo=None, by=EDITOR, now=NOW
            )
            for n in range(4)
        ]
    )
    assert errors_of(results) == [errors.VersionConflict] * 3


def test_a_deal_published_while_its_brand_is_renamed_shows_the_new_name_or_will():
    brand = make_brand()
    make_category("peripherals-networking")
    results = at_once(
        [
            partial(brands.edit, brand, name="Aurora", description="", logo=None, by=EDITOR, now=NOW),
            partial(publish, make_id(), brand),
        ]
    )
    assert errors_of(results) == []


def test_a_draft_is_published_once():
    draft, brand = make_draft(title="Idea"), make_brand()
    make_category("peripherals-networking")
    results = at_once([partial(publish, make_id(), brand, draft) for _ in range(5)])
    assert errors_of(results) == [errors.VersionConflict] * 4
    (deal,) = [result for result in results if isinstance(result, deals.Deal)]
    assert drafts.get(draft.id).published_as == deal.id
    assert brands.get_with_counts("nordlicht").deals == 1


def test_a_draft_is_either_saved_or_published():
    draft, brand = make_draft(title="Idea"), make_brand()
    make_category("peripherals-networking")
    results = at_once(
        [
            partial(publish, make_id(), brand, draft),
            partial(drafts.save, draft, DealContent(title="Better"), version=1, by="otto", now=NOW),
            partial(drafts.delete, draft, by=EDITOR, now=NOW),
        ]
    )
    assert set(errors_of(results)) <= {errors.VersionConflict, errors.NotFound}
    assert len(errors_of(results)) >= 1


def test_a_draft_stored_twice_is_one():
    draft_id = make_id(NOW)
    results = at_once([partial(make_draft, draft_id=draft_id, title=f"{n}") for n in range(4)])
    assert errors_of(results) == []
    assert {draft.content.title for draft in results} == {drafts.get(draft_id).content.title}


def test_a_deal_rescheduled_twice_at_once_is_at_one_time():
    deal = make_deal(live_at=NOW + HOUR)
    times = [NOW + 2 * DAY, NOW + 3 * DAY]
    results = at_once(
        [partial(publishing.reschedule, deal, to, new_id=make_id(to), by=EDITOR, now=NOW) for to in times]
    )
    assert len(errors_of(results)) == 1
    assert brands.get_with_counts("nordlicht").deals == 1


def test_a_deal_rescheduled_while_it_is_edited_and_featured_stays_one_deal():
    deal = make_deal(live_at=NOW + HOUR)
    to = NOW + 2 * DAY
    page = featured.get("front")
    at_once(
        [
            partial(publishing.reschedule, deal, to, new_id=make_id(to), by=EDITOR, now=NOW),
            partial(edit, deal, title="New"),
            partial(feature, page, deal),
        ]
    )
    assert brands.get_with_counts("nordlicht").deals == 1


def test_a_deal_rescheduled_while_it_is_deleted_is_there_once_or_not():
    deal = make_deal(live_at=NOW + HOUR)
    to = NOW + 2 * DAY
    at_once(
        [
            partial(publishing.reschedule, deal, to, new_id=make_id(to), by=EDITOR, now=NOW),
            partial(delete, deal),
        ]
    )
    assert brands.get_with_counts("nordlicht").deals in (0, 1)


def test_the_last_deals_of_a_day_deleted_at_once_unlist_the_day(wait_for_indexes):
    some = [make_deal() for _ in range(5)]
    results = at_once([partial(delete, deal) for deal in some] * 2)
    assert errors_of(results) == []
    wait_for_indexes()
    assert buckets.all_days() == []
    assert brands.get_with_counts("nordlicht").deals == 0


def test_a_day_emptied_while_a_deal_comes_is_listed():
    deal, brand = make_deal(), make_brand()
    results = at_once(
        [partial(delete, deal), partial(publish, make_id(), brand), partial(publish, make_id(), brand)]
    )
    assert errors_of(results) == []
    assert buckets.all_days() == ["2026-11-21"]


def test_a_deal_moved_two_ways_at_once_is_counted_once():
    deal = make_deal()
    make_brand("Aurora")
    make_brand("Borealis")
    results = at_once([partial(edit, deal, brand=slug) for slug in ("aurora", "borealis")])
    assert errors_of(results) == [errors.VersionConflict]
    assert sorted(
        brands.get_with_counts(slug).deals or 0 for slug in ("nordlicht", "aurora", "borealis")
    ) == [0, 0, 1]


def test_a_deal_ended_by_two_editors_at_once_has_ended():
    deal = make_deal()
    results = at_once([partial(deal_changes.expire_now, deal, by=EDITOR, now=NOW) for _ in range(4)])
    assert set(errors_of(results)) <= {errors.VersionConflict}
    assert deals.get(deal.id).card.state(NOW) == "expired"


def test_a_job_is_taken_by_one_worker():
    brand = make_brand()
    brands.edit(brand, name="Aurora", description="", logo=None, by=EDITOR, now=NOW)
    results = at_once([partial(jobs.take_next, now=NOW)] * 6)
    assert errors_of(results) == []
    (job,) = [result for result in results if result is not None]
    assert job.kind == "rename_brand"
    assert job.payload["brand"] == "nordlicht"


def renaming():
    """What the job of a renamed brand does, and the brand before."""
    brand = make_brand()
    brands.edit(brand, name="Aurora", description="", logo=None, by=EDITOR, now=NOW)
    return partial(brand_merges.rename_brand, jobs.take_next(now=NOW + DAY), NOW + DAY), brand


def a_deal_of_a_renamed_brand_is_featured():
    deal = make_deal()
    rename, _ = renaming()
    change = partial(feature, featured.get("front"), deal)
    return rename, change, lambda: [card.brand_name for card in featured.get("front").cards]


def a_draft_of_a_renamed_brand_is_saved():
    draft = make_draft(title="Idea", brand="Nordlicht")
    rename, brand = renaming()
    content = replace(draft.content, title="New")
    change = partial(drafts.save, draft, content, version=draft.version, by=EDITOR, now=NOW, brand=brand)
    return rename, change, lambda: (drafts.get(draft.id).card.title, drafts.get(draft.id).card.brand_name)


def an_edited_deal_is_featured():
    deal = make_deal()
    change = partial(feature, featured.get("front"), deal)
    return (
        partial(edit, deal, title="New"),
        change,
        lambda: [card.title for card in featured.get("front").cards],
    )


def a_draft_of_the_trash():
    draft = make_draft(title="Idea")
    drafts.delete(draft, by=EDITOR, now=NOW)
    restore = partial(drafts.restore, draft.id, by=EDITOR, now=NOW)
    return draft, restore, lambda: drafts.delete(restore(), by=EDITOR, now=NOW)


def a_restored_draft_comes_back_and_goes_again():
    draft, restore, change = a_draft_of_the_trash()
    return restore, change, lambda: drafts.get(draft.id).version


def a_purged_draft_comes_back_and_goes_again():
    draft, _, change = a_draft_of_the_trash()
    purge = partial(trash.purge, "draft", draft.id, by=EDITOR, now=NOW)
    return purge, change, lambda: trash_record.find("draft", draft.id)


def a_cancelled_payment_gets_another_card():
    (payment,) = owe()

    def change(question, **how):
        return partial(question, "ann", payment.due_at, payment.id, **how, by=EDITOR, now=NOW)

    cancel = change(payments.cancel, reason="")
    another = change(payments.change_method, method="declines")
    return cancel, another, lambda: (read(payment).status, read(payment).method)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (a_deal_of_a_renamed_brand_is_featured, ["Aurora"]),
        (a_draft_of_a_renamed_brand_is_saved, ("New", "Aurora")),
        (an_edited_deal_is_featured, ["New"]),
        (a_restored_draft_comes_back_and_goes_again, 3),
        (a_purged_draft_comes_back_and_goes_again, None),
        (a_cancelled_payment_gets_another_card, (CANCELLED, "declines")),
    ],
)
def test_what_changes_between_reading_and_writing_is_read_again(monkeypatch, case, expected):
    act, change, found = case()
    races.meanwhile(monkeypatch, change)
    act()
    assert found() == expected
