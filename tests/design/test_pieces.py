"""The pieces that pages are made of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django import forms
from django.template.loader import render_to_string
from django.utils import timezone

from dealsite.templatetags.design import brief, moment, time_left
from dealsite.text.writing import money, price

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Example(forms.Form):
    title = forms.CharField(help_text="What a shopper reads first.")
    when = forms.ChoiceField(choices=[("now", "Now"), ("later", "Later")], widget=forms.RadioSelect)
    note = forms.CharField(widget=forms.Textarea, required=False)
    featured = forms.BooleanField(required=False)
    token = forms.CharField(widget=forms.HiddenInput, required=False)


def test_how_far_off_a_time_is_is_said_briefly_and_whole(subtests: pytest.Subtests):
    for off, words in [
        (timedelta(minutes=42), "in 42 min"),
        (timedelta(hours=3, minutes=8), "in 3 h 08"),
        (timedelta(hours=35, minutes=59), "in 35 h"),
        (timedelta(days=18, hours=5), "in 18 d"),
        (timedelta(0), "0 min ago"),
        (timedelta(minutes=-59), "59 min ago"),
        (timedelta(hours=-3, minutes=-8), "3 h ago"),
        (timedelta(days=-16), "16 d ago"),
    ]:
        with subtests.test(off=off, words=words):
            shown = brief(NOW + off, NOW)
            assert f">{words}<" in shown
            assert "2026, " in shown.split('title="')[1]  # the whole time, for pointer and screen reader
            assert shown.count(" UTC") == 2
    assert ">09:00<" in brief(NOW - timedelta(hours=3), NOW, clock=NOW.date())


def test_the_time_left_is_said_in_whole_units(subtests: pytest.Subtests):
    for left, words in [
        (timedelta(seconds=-5), "Less than a minute left"),
        (timedelta(seconds=59), "Less than a minute left"),
        (timedelta(minutes=1), "1 minute left"),
        (timedelta(minutes=119), "119 minutes left"),
        (timedelta(hours=2), "2 hours left"),
        (timedelta(hours=47, minutes=59), "47 hours left"),
        (timedelta(hours=48), "2 days left"),
        (timedelta(days=9, hours=23), "9 days left"),
    ]:
        with subtests.test(left=left, words=words):
            assert time_left(NOW + left, NOW) == words


def test_money_has_the_currency_sign_thousands_and_cents(settings):
    assert money(Decimal("1299.5")) == "€1,299.50"
    assert money(None) == ""
    settings.DEALSITE_CURRENCY = "CHF"
    assert money(Decimal("5")) == "CHF 5.00"
    assert price(Decimal("5")) == 'CHF 5<span class="price-cents">.00</span>'


def test_a_moment_names_its_zone():
    assert ">21 Nov 2026, 12:00 UTC</time>" in moment(NOW)
    with timezone.override("Europe/Berlin"):
        assert ">21 Nov 2026, 13:00 CET</time>" in moment(NOW)
    assert 'datetime="2026-11-21T12:00:00Z"' in moment(NOW)


def test_a_form_ties_labels_help_and_errors_to_their_fields():
    html = " ".join(render_to_string("_form.html", {"form": Example({"title": ""})}).split())
    assert '<label class="field-label" for="id_title">' in html
    assert 'aria-describedby="id_title_helptext id_title_error"' in html
    assert 'id="id_title_helptext"' in html
    assert 'id="id_title_error"' in html
    assert 'class="input"' in html
    assert 'class="textarea"' in html
    assert html.count("(optional)") == 1  # a box to tick always is


def test_the_error_summary_leads_to_every_field_and_takes_the_focus():
    html = " ".join(render_to_string("_form.html", {"form": Example({})}).split())
    assert 'class="error-summary" role="alert" tabindex="-1" autofocus' in html
    assert '<a href="#id_title">Title: This field is required.</a>' in html
    assert '<a href="#id_when">When: This field is required.</a>' in html
    assert 'id="id_when" tabindex="-1"' in html


def test_a_form_without_errors_has_no_summary():
    html = render_to_string("_form.html", {"form": Example()})
    assert "error-summary" not in html


def test_an_error_that_quotes_the_visitor_is_text():
    form = Example({"title": "x", "when": "<script>alert(1)</script>"})
    assert "<script>" not in render_to_string("_form.html", {"form": form})
