"""Examples of what is asked of deals, drafts, brands, categories and their lists."""

from __future__ import annotations

from dealsite.data.catalogue import (
    attention,
    brand_renames,
    brands,
    categories,
    deal_lists,
    deals,
    drafts,
    featured,
    feeds,
    prices,
    relations,
    renditions,
)
from dealsite.data.catalogue.content import DealContent
from dealsite.data.editing import versions
from dealsite.data.jobs import jobs
from tests.builders import (
    EDITOR,
    HOUR,
    NOW,
    make_brand,
    make_category,
    make_content,
    make_deal,
    make_draft,
    make_id,
)
from tests.data.examples import measures
from tests.data.examples.featured import set_featured


@measures(deals.edit, make_deal)
def edit(deal: deals.Deal) -> None:
    content = make_content(brand="aurora", category="toys-hobbies")
    deals.edit(
        deal, content, version=deal.version, brand=brands.Brand("aurora", "Aurora"), by=EDITOR, now=NOW
    )


@measures(deals.publish_many, make_brand)
def publish_many(brand: brands.Brand) -> None:
    deals.publish_many([(make_id(), make_content(), brand) for _ in range(10)], by=EDITOR, now=NOW)


@measures(brands.edit, make_brand)
def rename(brand: brands.Brand) -> brands.Brand:
    return brands.edit(brand, name="New name", description="", logo=None, by=EDITOR, now=NOW)


@measures(categories.edit, lambda: categories.get("toys-hobbies"))
def edit_category(category: categories.Category) -> None:
    categories.edit(category, name="Toys", description="", logo=None, by=EDITOR, now=NOW)


def scheduled() -> deals.Deal:
    deal = make_deal(live_at=NOW + HOUR)
    set_featured(featured.load("front", [deal.id]))
    return deals.get(deal.id)


@measures(deals.reschedule, scheduled)
def reschedule(deal: deals.Deal) -> None:
    deals.reschedule(deal, NOW + 2 * HOUR, new_id=make_id(NOW + 2 * HOUR), by=EDITOR, now=NOW)


def edited() -> deals.Deal:
    """Return a deal that was changed once."""
    deal = make_deal()
    edit(deal)
    return deals.get(deal.id)


def deleted(thing: deals.Deal | drafts.Draft) -> str:
    """Delete a deal or draft; return its id."""
    if isinstance(thing, deals.Deal):
        deals.delete(thing, by=EDITOR, now=NOW)
    else:
        drafts.delete(thing, by=EDITOR, now=NOW)
    return thing.id


@measures(deals.publish, lambda: (make_brand(), make_draft(title="x")))
def publish_draft(prepared: tuple[brands.Brand, drafts.Draft]) -> None:
    brand, draft = prepared
    deals.publish(make_content(), deal_id=make_id(), brand=brand, by=EDITOR, now=NOW, draft=draft)


def brand_of_one_deal() -> brands.Brand:
    return brands.get(make_deal(brand="Other").card.brand)


def watch() -> None:
    relations.add(relations.BRAND_WATCH, "aurora", "ann", now=NOW)


measures(deals.get, make_deal)(lambda deal: deals.get(deal.id))
measures(deals.get_many, make_deal)(lambda deal: deals.get_many([deal.id, make_id()]))
measures(deals.get_visible, make_deal)(lambda deal: deals.get_visible(deal.id, now=NOW))
measures(deals.expire_now, make_deal)(lambda deal: deals.expire_now(deal, by=EDITOR, now=NOW))
measures(deals.delete, make_deal)(lambda deal: deals.delete(deal, by=EDITOR, now=NOW))
measures(deals.restore, lambda: deleted(make_deal()))(
    lambda deal_id: deals.restore(deal_id, by=EDITOR, now=NOW)
)
measures(deals.revert, lambda: (deal := edited(), versions.get(deal.id, 1)))(
    lambda both: deals.revert(both[0], both[1], version=2, stock=False, end=True, by=EDITOR, now=NOW)
)
measures(drafts.restore, lambda: deleted(make_draft(title="x")))(
    lambda draft_id: drafts.restore(draft_id, by=EDITOR, now=NOW)
)
measures(drafts.create)(lambda: make_draft(title="x"))
measures(drafts.get, lambda: make_draft(title="x"))(lambda draft: drafts.get(draft.id))
measures(drafts.save, lambda: make_draft(title="x"))(
    lambda draft: drafts.save(draft, DealContent(title="y"), version=1, by=EDITOR, now=NOW)
)
measures(drafts.delete, lambda: make_draft(title="x"))(lambda draft: drafts.delete(draft, by=EDITOR, now=NOW))
measures(prices.of_deal, make_deal)(lambda deal: prices.of_deal(deal.id))
measures(attention.look, make_deal)(lambda deal: attention.look([deal.id], [make_id()], pages=True))
measures(brands.create)(lambda: make_brand("Quite new"))
measures(brands.get)(lambda: brands.get("aurora"))
measures(brands.get_with_counts)(lambda: brands.get_with_counts("aurora"))
measures(brands.all_brands)(brands.all_brands)
measures(categories.create)(lambda: make_category("fashion-beauty"))
measures(categories.get)(lambda: categories.get("toys-hobbies"))
measures(categories.get_with_counts)(lambda: categories.get_with_counts("toys-hobbies"))
measures(categories.all_categories)(categories.all_categories)
measures(feeds.front_page)(lambda: feeds.front_page(now=NOW))
measures(feeds.category_page)(lambda: feeds.category_page("peripherals-networking", now=NOW))
measures(feeds.brand_page)(lambda: feeds.brand_page("nordlicht", now=NOW))
measures(feeds.editors_choice)(lambda: feeds.editors_choice(now=NOW))
measures(feeds.past_days)(lambda: feeds.past_days(now=NOW))
measures(feeds.deals_of_day)(lambda: list(feeds.deals_of_day(NOW.date(), now=NOW)))
measures(deal_lists.cms_list)(lambda: deal_lists.cms_list(deal_lists.DealFilter(), now=NOW))
measures(renditions.request)(lambda: renditions.request(["pictures/ab/x"], now=NOW))
measures(relations.likes_of)(lambda: relations.likes_of("ann"))
measures(relations.watched_by, watch)(lambda _: relations.watched_by("ann"))
measures(relations.mute_watch, watch)(
    lambda _: relations.mute_watch(relations.BRAND_WATCH, "aurora", username="ann", muted=True)
)
measures(relations.mute_all, watch)(lambda _: relations.mute_all("ann", muted=True, limit=100))
measures(relations.mute_all_later)(lambda: relations.mute_all_later("ann", muted=True, now=NOW))
measures(brands.counts)(lambda: brands.counts(["aurora", "nordlicht"]))
measures(brands.get_many)(lambda: brands.get_many(["aurora", "nordlicht"]))
measures(brands.create_many)(lambda: brands.create_many(["Quite new", "Newer"], by=EDITOR, now=NOW))
measures(categories.create_all)(categories.create_all)
measures(categories.missing)(categories.missing)
measures(relations.add)(lambda: relations.add(relations.BRAND_LIKE, "aurora", "ann", now=NOW))
measures(relations.remove, watch)(lambda _: relations.remove(relations.BRAND_WATCH, "aurora", "ann"))
measures(relations.relation_state_of)(lambda: relations.relation_state_of("ann", "brand", "aurora"))
measures(relations.remove_all, watch)(lambda _: relations.remove_all("ann"))


measures(brand_renames.rename_brand, lambda: jobs.get(rename(brand_of_one_deal()).last_edit))(
    lambda job: brand_renames.rename_brand(job, NOW)
)
