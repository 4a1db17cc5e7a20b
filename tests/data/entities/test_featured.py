"""What the chart says of featured lists."""

from typing import Any

import pytest

from dealsite.data.catalogue import featured, featured_plans
from tests.data.entities.examples_deals import CARD, DEAL
from tests.data.entities.examples_featured import EXAMPLES
from tests.data.entities.sound import assert_is_sound, problems


@pytest.mark.parametrize("item", EXAMPLES.values(), ids=EXAMPLES)
def test_a_sound_item_of_featured_lists_is_what_the_chart_says(item):
    assert_is_sound(item)


def test_an_earlier_list_is_read_as_it_was_stored():
    listed = featured.version_from_item(EXAMPLES["FeaturedVersion"])
    assert (listed.page, listed.version, listed.ids, listed.by) == ("front", 4, [DEAL], "eve")


@pytest.mark.parametrize(("state", "has_ttl"), [("planned", False), ("cancelled", True)])
def test_a_plan_is_stored_as_it_was_read_and_goes_when_it_is_over(state: str, has_ttl: bool):
    item = EXAMPLES["FeaturedPlan"] | {"state": state}
    stored = featured_plans.plan_item(featured_plans.from_item(item))
    ttl = {"ttl": stored["ttl"]} if has_ttl else {}
    kept = {name: value for name, value in item.items() if name not in ("PK", "SK", "ttl")}
    assert stored == kept | ttl


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("FrontPage", {"order": None}, ["order is missing.", "Its featured list has no order."]),
        (
            "FrontPage",
            {"cards": {DEAL: CARD | {"title": ""}}},
            [f"cards holds at {DEAL} what title has 0 characters instead of 1 to 300."],
        ),
        (
            "FrontPage",
            {"featured_by_hand": 5},
            ["Its featured list was set by hand at a version that is still to come."],
        ),
        ("FeaturedPlan", {"ttl": None}, ["It is set, and has no ttl."]),
        ("FeaturedPlan", {"state": "planned"}, ["It is planned, and has a ttl."]),
    ],
)
def test_what_a_featured_list_cannot_be_is_named(kind: str, changes: dict[str, Any], said: list[str]):
    assert problems(EXAMPLES[kind], **changes) == said
