"""What questions about the editors' views and plans cost: how each is prepared, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dealsite.data import featured, featured_plans, featured_versions, jobs, saved_views
from dealsite.data.featured_plans import Plan
from dealsite.data.saved_views import SavedView
from tests.builders import EDITOR, HOUR, NOW, make_deal, make_id


def save_view(name: str = "Toys") -> SavedView:
    view = SavedView(make_id(), name)
    saved_views.save(EDITOR, view, by=EDITOR, now=NOW)
    return view


def two_views() -> SavedView:
    save_view("First")
    return save_view()


def feature() -> None:
    """Set the front page's list, so that there is one before."""
    page, found = featured.load("front", [make_deal().id])
    featured.set_featured(page, list(found.values()), version=page.version, by=EDITOR, now=NOW)


def feature_twice() -> None:
    feature()
    feature()


def plan() -> Plan:
    listed = featured_versions.listed_of([make_deal().card])
    return featured_plans.create(
        featured.get("front"), listed, at=NOW + HOUR, plan_id=make_id(), by=EDITOR, now=NOW
    )


def change_plan(of: Plan) -> None:
    page = featured.FeaturedPage("front", "", 0, [])
    featured_plans.change(of, page, of.deals, at=NOW + HOUR, by=EDITOR, now=NOW)


MEASURED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "saved_views.of": (save_view, lambda _: saved_views.of(EDITOR)),
    "saved_views.save": (save_view, lambda _: save_view("Other")),
    "saved_views.rename": (
        save_view,
        lambda view: saved_views.rename(EDITOR, view.id, "Other", by=EDITOR, now=NOW),
    ),
    "saved_views.move": (two_views, lambda view: saved_views.move(EDITOR, view.id, 0, by=EDITOR, now=NOW)),
    "saved_views.delete": (save_view, lambda view: saved_views.delete(EDITOR, view.id, by=EDITOR, now=NOW)),
    "saved_views.forget": (save_view, lambda _: saved_views.forget(EDITOR)),
    "featured_versions.of_page": (feature, lambda _: featured_versions.of_page("front")),
    "featured_versions.get": (
        feature_twice,
        lambda _: featured_versions.get("front", 1),
    ),
    "featured_plans.create": (
        lambda: featured_versions.listed_of([make_deal().card]),
        lambda listed: featured_plans.create(
            featured.FeaturedPage("front", "", 0, []),
            listed,
            at=NOW + HOUR,
            plan_id=make_id(),
            by=EDITOR,
            now=NOW,
        ),
    ),
    "featured_plans.get": (plan, lambda of: featured_plans.get(of.id)),
    "featured_plans.newest": (plan, lambda _: featured_plans.newest()),
    "featured_plans.change": (plan, change_plan),
    "featured_plans.cancel": (plan, lambda of: featured_plans.cancel(of, by=EDITOR, now=NOW)),
    "featured_plans.set_planned": (
        lambda: jobs.get(plan().job),
        lambda job: featured_plans.set_planned(job, NOW + HOUR),
    ),
}
