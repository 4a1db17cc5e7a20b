"""How long things are kept is written as spans, and what cannot be is refused in words."""

from datetime import timedelta

import pytest

from dealsite import retention_chart


def test_spans_that_are_not_said_are_the_usual_ones():
    spans = retention_chart.read(" messages=2w\n audit=never ")
    assert spans == retention_chart.read("") | {"messages": timedelta(days=14), "audit": None}
    assert (spans["jobs"], spans["drafts"]) == (timedelta(days=90), None)


def test_units_are_days_weeks_months_and_years():
    spans = retention_chart.read("messages=3d read=3w jobs=3m events=3y")
    assert [spans[kind].days for kind in ("messages", "read", "jobs", "events")] == [3, 21, 90, 1095]


def test_what_is_no_span_is_refused(subtests):
    for text, said in [
        ("orders=1y", "'orders' is none"),
        ("messages=0d", "spans like"),
        ("messages=1h", "spans like"),
        ("messages", "spans like"),
        ("audit=99y", "up to 50 years"),
        ("exports=never", "cannot be kept for good"),
        ("exports=91d", "no longer for exports than for jobs"),
    ]:
        with subtests.test(text=text, said=said), pytest.raises(ValueError, match=said):
            retention_chart.read(text)


def test_files_may_be_kept_as_long_as_jobs_are_kept_for_good():
    assert retention_chart.read("exports=1y jobs=never")["exports"] == timedelta(days=365)
