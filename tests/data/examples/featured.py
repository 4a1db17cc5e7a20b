"""Examples of what is asked of featured lists, their versions and plans."""

from __future__ import annotations

from dealsite.data.catalogue import deals, featured, featured_plans, featured_versions
from dealsite.data.catalogue.featured_plans import FeaturedPlan
from dealsite.data.jobs import jobs
from tests.builders import EDITOR, HOUR, NOW, make_deal, make_id
from tests.data.examples import measures


@measures(featured.set_featured, lambda: featured.load("front", [make_deal().id]))
def set_featured(loaded: tuple[featured.FeaturedPage, dict[str, deals.Deal]]) -> None:
    page, found = loaded
    featured.set_featured(page, list(found.values()), version=page.version, by=EDITOR, now=NOW)


def feature() -> None:
    """Set the front page's list, so that there is one before."""
    set_featured(featured.load("front", [make_deal().id]))


def feature_twice() -> None:
    feature()
    feature()


def plan() -> FeaturedPlan:
    listed = featured_versions.listed_of([make_deal().card])
    return featured_plans.create(
        featured.get("front"), listed, at=NOW + HOUR, plan_id=make_id(), by=EDITOR, now=NOW
    )


@measures(featured_plans.change, plan)
def change_plan(of: FeaturedPlan) -> None:
    page = featured.FeaturedPage("front", "", 0, [])
    featured_plans.change(of, page, of.deals, at=NOW + HOUR, by=EDITOR, now=NOW)


measures(featured.get)(lambda: featured.get("front"))
measures(featured.load, make_deal)(lambda deal: featured.load("front", [deal.id]))
measures(featured_versions.of_page, feature)(lambda _: featured_versions.of_page("front"))
measures(featured_versions.get, feature_twice)(lambda _: featured_versions.get("front", 1))
measures(featured_plans.create, lambda: featured_versions.listed_of([make_deal().card]))(
    lambda listed: featured_plans.create(
        featured.FeaturedPage("front", "", 0, []),
        listed,
        at=NOW + HOUR,
        plan_id=make_id(),
        by=EDITOR,
        now=NOW,
    )
)
measures(featured_plans.get, plan)(lambda of: featured_plans.get(of.id))
measures(featured_plans.newest, plan)(lambda _: featured_plans.newest())
measures(featured_plans.cancel, plan)(lambda of: featured_plans.cancel(of, by=EDITOR, now=NOW))
measures(featured_plans.set_planned, lambda: jobs.get(plan().job))(
    lambda job: featured_plans.set_planned(job, NOW + HOUR)
)
