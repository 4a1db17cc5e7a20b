"""The frame of the CMS's pages: its menu and what is to do there, what is chosen in it, and errors inside it."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from dealsite.data.catalogue import deals
from dealsite.data.jobs import task_counts
from dealsite.data.jobs.task_counts import TaskCounts
from dealsite.data.people import users
from dealsite.data.table import errors
from tests.builders import NOW, make_deal, make_id
from tests.cms.conftest import HTMX

JOBS, CHOOSE = reverse("cms_jobs"), reverse("cms_choose")


def menu(response) -> dict[str, str]:
    """Return what the menu says is to do at each of its places; the urgent ones with a bang."""
    side = re.search(r'<nav class="side-nav".*?</nav>', response.content.decode(), re.S)
    assert side
    found = {}
    for link in re.findall(r"<a .*?</a>", side[0], re.S):
        badge = re.search(r'class="badge-count"\s*(data-tone="now")?[^>]*>([^<]+)', link)
        found[re.search(r'title="([^"]+)"', link)[1]] = (
            f"{badge[2]}{'!' if badge[1] else ''}" if badge else ""
        )
    return found


def is_in_frame(response) -> bool:
    page = response.content.decode()
    assert ("site-header" in page) != ('class="side"' in page)
    return 'class="side"' in page


@pytest.mark.parametrize(
    ("role", "shown", "withheld"),
    [
        ("editor", {"Deals": "99+", "Featured": "1!", "Brands": ""}, "Orders"),
        ("back office", {"Orders": "6!", "Payments": ""}, "Deals"),
        ("admin", {"Deals": "99+", "Orders": "6!", "Users": ""}, "Trash"),
    ],
)
def test_the_menu_says_what_there_is_to_do(sign_in, role, shown, withheld):
    task_counts.of_process.keep(TaskCounts(drafts=100, featured=1, orders=6))
    task_counts.of_process._read_at = float("inf")
    found = menu(sign_in(role).get(JOBS))
    assert found.items() >= shown.items()
    assert withheld not in found


def test_errors_of_the_cms_stand_in_its_frame_for_those_who_work_there(editor, sign_in, client, monkeypatch):
    nowhere = reverse("cms_deal", args=[make_id(NOW)])
    missing = editor.get(nowhere)
    assert (missing.status_code, is_in_frame(missing)) == (404, True)
    assert "To the overview" in missing.content.decode()
    forbidden = editor.get(reverse("cms_users"))
    assert (forbidden.status_code, is_in_frame(forbidden)) == (403, True)
    assert (
        editor.get(nowhere, headers=HTMX).content.decode().count("<h1") == 2
    )  # the bar's, and that of the part
    shopper = sign_in().get(JOBS)
    assert (shopper.status_code, is_in_frame(shopper)) == (403, False)
    assert not is_in_frame(client.get("/nowhere/"))
    address = reverse("cms_deal", args=[make_deal().id])

    def away(*arguments, **options):
        raise errors.Unavailable

    monkeypatch.setattr(deals, "get", away)
    failed = editor.get(address)
    assert (failed.status_code, is_in_frame(failed)) == (503, True)


def test_the_language_is_chosen_in_the_menu_and_leads_back(editor):
    response = editor.post(CHOOSE, {"language": "de", "next": JOBS}, follow=True)
    assert response.redirect_chain == [(JOBS, 302)]
    page = response.content.decode()
    assert '<html lang="de">' in page
    assert re.findall(r'name="language"[^>]*>([^<]+)<', page) == ["English", "Deutsch"]
    editor.post(CHOOSE, {"language": "xx", "small_menu": "yes"})
    chosen = users.get("eve").preferences
    assert (chosen.language, chosen.small_menu) == ("de", True)
    assert editor.post(CHOOSE, {}, headers=HTMX).status_code == 204
