"""Merging a brand in the CMS: a preview, its progress, and undo."""

from datetime import timedelta

import pytest
from django.urls import reverse

from dealsite.data.catalogue import brands, deals
from tests.builders import NOW, make_brand, make_deal
from tests.cms.conftest import HTMX
from tests.jobs import run_next

MERGE = reverse("cms_merge_brand", args=["vela"])
START, UNDO = reverse("cms_start_merge", args=["vela"]), reverse("cms_undo_merge", args=["vela"])


def test_a_brand_is_merged_after_a_preview_and_back_for_a_day(editor, client):
    make_brand("Vela", also=["Vela GmbH"]), make_brand("Nordlicht")
    deal = make_deal(brand="Vela")
    assert MERGE in editor.get(reverse("cms_brand", args=["vela"])).text
    shown = editor.get(MERGE, {"brand": "Nordlicht"})
    assert shown.status_code == 200
    for text in ("Vela becomes Nordlicht", "/brands/vela/", "Vela GmbH"):
        assert text in shown.text
    assert brands.get("vela").slug == "vela"
    assert editor.post(START, {"into": "nordlicht"}, follow=True).redirect_chain == [(MERGE, 302)]
    assert editor.post(START, {"into": "nordlicht"}, follow=True).context["messages"]._loaded_messages == []
    for name, path in {"brand": "/brands/vela/", "brand_feed": "/brands/vela/deals.atom"}.items():
        answer = client.get(path)
        assert (answer.status_code, answer["Location"]) == (301, reverse(name, args=["nordlicht"]))
    assert editor.get(reverse("cms_brand", args=["vela"]))["Location"] == MERGE
    part = editor.get(MERGE, headers=HTMX)
    assert 'id="reload-moves"' in part.text
    assert UNDO not in part.text
    for seconds in range(11, 20):
        run_next(now=NOW + timedelta(seconds=seconds))
    assert deals.get(deal.id).card.brand_name == "Nordlicht"
    job = editor.get(reverse("cms_bulk_job", args=[brands.get_with_counts("vela").merge_jobs[0]]))
    assert MERGE in job.text
    assert "undo-bulk" not in job.text
    assert UNDO in editor.get(MERGE, headers=HTMX).text
    assert "The merge is undone." in editor.post(UNDO, follow=True).text
    while run_next(now=NOW + timedelta(minutes=1)):
        pass
    assert deals.get(deal.id).card.brand_name == "Vela"


@pytest.mark.parametrize(
    ("typed", "said"), [("Nobody", "There is no such brand."), ("Nordlicht", "cannot be merged into itself")]
)
def test_a_brand_that_cannot_be_merged_into_is_refused(editor, typed, said):
    answer = editor.get(reverse("cms_merge_brand", args=["nordlicht"]), {"brand": typed})
    assert (answer.status_code, said in answer.text) == (422, True)
    start = reverse("cms_start_merge", args=["nordlicht"])
    assert "cannot be merged into itself" in editor.post(start, {"into": "nordlicht"}, follow=True).text


def test_an_open_form_of_a_brand_that_was_merged_leads_to_its_merge(editor):
    make_brand("Vela")
    editor.post(START, {"into": "nordlicht"})
    form = {"name": "Vela 2", "version": "1"}
    assert editor.post(reverse("cms_brand", args=["vela"]), form)["Location"] == MERGE
