"""The alarms, the dashboard, docs/runbooks.md and docs/metrics.md name what /metrics shows, and each other.

That /metrics shows each metric of the chart, with its labels, is tested in tests/metrics/test_page.py.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from dealsite.web.counting import CHART, Kind, Metric

ROOT = Path(__file__).resolve().parent.parent.parent
ALARMS, DASHBOARD = ROOT / "deploy" / "alarms.yml", ROOT / "deploy" / "grafana.json"
RUNBOOKS, PAGE = ROOT / "docs" / "runbooks.md", ROOT / "docs" / "metrics.md"
OF_PROMETHEUS = {"up", "instance", "job", "le"}
METRIC = re.compile(r"\b(dealsite_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"')
WORD = re.compile(r"`([a-z_]+)`")


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALARMS.read_text("utf-8"))["groups"] for rule in group["rules"]]


def expressions() -> dict[str, str]:
    """Return all that alarms and dashboard ask, by what asks it."""
    asked = {rule["alert"]: rule["expr"] for rule in rules()}
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    for panel in dashboard["panels"]:
        for number, target in enumerate(panel.get("targets", [])):
            asked[f"{panel['title']} {number}"] = target["expr"]
    for variable in dashboard["templating"]["list"]:
        asked[variable["name"]] = variable["query"]
    return asked


def metric_of(name: str) -> Metric:
    """Return the metric that a name in an expression means; KeyError for one that is not shown."""
    for ending in ("_bucket", "_sum", "_count"):
        whole = CHART.get(name.removesuffix(ending))
        if name.endswith(ending) and whole is not None and whole.kind is Kind.HISTOGRAM:
            return whole
    if CHART[name].kind is Kind.HISTOGRAM:
        raise KeyError(name)
    return CHART[name]


def test_what_is_asked_is_shown(subtests: pytest.Subtests):
    for asker, expression in expressions().items():
        with subtests.test(asker=asker, expression=expression):
            for name, matchers in METRIC.findall(expression):
                metric = metric_of(name)
                for label, value in MATCHER.findall(matchers):
                    assert label in {*metric.labels, *OF_PROMETHEUS}
                    words = set(WORD.findall(metric.about))
                    if label in ("outcome", "state", "cause", "part", "result"):
                        assert set(value.split("|")) <= words
            for label in re.findall(r"by \(([^)]*)\)", expression):
                known = {one for name, _ in METRIC.findall(expression) for one in metric_of(name).labels}
                assert set(label.split(", ")) <= known | OF_PROMETHEUS


def test_each_metric_is_watched():
    asked = {metric_of(name).name for one in expressions().values() for name, _ in METRIC.findall(one)}
    assert asked == CHART.keys()


def test_each_alarm_has_a_section_in_the_runbooks():
    sections = re.findall(r"^### (.*)", RUNBOOKS.read_text("utf-8"), re.MULTILINE)
    assert sections == [rule["alert"] for rule in rules()]


def test_each_alarm_says_who_is_woken_and_what_is_wrong():
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"]["summary"]


def test_prometheus_takes_the_alarms():
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip(
            "THE ALARMS ARE NOT READ BY PROMETHEUS: there is no promtool (Debian's package prometheus)"
        )
    done = subprocess.run([promtool, "check", "rules", ALARMS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
