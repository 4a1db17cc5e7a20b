"""The arithmetic of costs at Amazon, and the alarms that deploy/README.md explains."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import cloud_costs
from tests.deploy.stack import resources


def test_twice_the_pages_cost_twice_the_reads():
    site = cloud_costs.SITES[1]
    once, twice = cloud_costs.costs(site), cloud_costs.costs(replace(site, pages=2 * site.pages))
    assert twice["table: reads"] == pytest.approx(2 * once["table: reads"])
    assert twice["table: writes"] == once["table: writes"]


def test_an_order_costs_the_units_that_its_questions_take():
    of = cloud_costs.units()
    units = (
        2 * of["cart_changes.add"][1]
        + of["order_changes.place"][1]
        + of["charging.claim"][1]
        + of["order_changes.deliver"][1]
    )
    nothing = replace(cloud_costs.SITES[0], orders=0, notices=0, published=0)
    assert cloud_costs.costs(nothing)["table: writes"] == 0
    million = cloud_costs.costs(replace(nothing, orders=1_000_000))["table: writes"]
    assert million == pytest.approx(units * 0.625)


def test_secrets_and_alarms_are_counted_as_the_template_has_them():
    nothing = replace(cloud_costs.SITES[0], picture_gb=0)
    secrets, alarms = resources("SecretsManager::Secret"), resources("CloudWatch::Alarm")
    assert cloud_costs.costs(nothing)["pictures, secrets, alarms"] == pytest.approx(
        len(secrets) * 0.40 + len(alarms) * 0.10
    )


def test_each_worker_looks_for_jobs_and_one_of_them_renews_the_lease_of_the_stream():
    site = cloud_costs.SITES[0]
    one, three = (
        {rest.what: rest.a_second for rest in cloud_costs.at_rest(replace(site, workers=number))}
        for number in (1, 3)
    )
    assert one["workers look for jobs"] == pytest.approx(1 / 3)
    assert three["workers look for jobs"] == pytest.approx(1)
    assert one["the lease of the stream: renewed"] == three["the lease of the stream: renewed"] == 0.1
    assert (one["the same: read by standby workers"], three["the same: read by standby workers"]) == (0, 0.2)
    assert one["`GetRecords` of each shard"] == three["`GetRecords` of each shard"] == 4
