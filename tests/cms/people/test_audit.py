"""The pages of the audit log."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest

from dealsite.data import table
from dealsite.data.catalogue import deal_changes
from dealsite.data.editing import audit
from tests.builders import DAY, NOW, make_brand, make_content, make_deal

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def admin(sign_in):
    """A browser of an admin."""
    return sign_in("admin", username="root")


def entry(what: str = "did it", **more) -> None:
    filled: dict[str, Any] = {"by": "eve", "kind": "page", "subject": "front", "what": what, "now": NOW}
    table.write(audit.entry_write(**(filled | more)))


def page(browser, question: str = "", status: int = 200) -> str:
    response = browser.get(f"/cms/audit/{question}")
    assert response.status_code == status
    return response.content.decode()


def test_the_log_of_today_shows_who_did_what_before_and_after(admin):
    deal = make_deal()
    content = make_content(price=Decimal("69.90"))
    deal_changes.edit(deal, content, version=1, brand=make_brand(), by="oscar", now=NOW)
    html = " ".join(page(admin).split())
    for words in (">changed<", "1 field", ">oscar<", f'href="/cms/deals/{deal.id}/"'):
        assert words in html
    changes = [
        re.sub(r"<.*?>", "", found).split() for found in re.findall(r'<dl class="changes">.*?</dl>', html)
    ]
    assert ["Price", "Before:", "79.90", "After:", "69.90"] in changes


def test_what_others_wrote_is_shown_as_text(admin):
    entry(HOSTILE, note=HOSTILE, before={HOSTILE: HOSTILE}, after={"x": HOSTILE})
    html = page(admin)
    assert HOSTILE not in html
    assert html.count("&lt;script&gt;") == 5


def test_the_log_is_filtered_by_person_thing_and_day(admin):
    entry("one")
    entry("two", by="oscar")
    entry("three", subject="toys-hobbies")
    entry("four", now=NOW - DAY)

    def shown(question: str) -> list[str]:
        html = page(admin, question)
        return [what for what in ("one", "two", "three", "four") if f">{what}</span>" in html]

    assert shown("") == ["one", "two", "three"]
    assert shown("?day=2026-11-20") == ["four"]
    assert shown("?by=oscar") == ["two"]
    assert shown("?kind=page&subject=toys-hobbies") == ["three"]
    assert shown("?kind=page&subject=front&day=2026-11-20") == ["four"]
    assert shown("?by=nobody") == []


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("?kind=deal", "by its kind and its id together"),
        ("?subject=x", "by its kind and its id together"),
        ("?by=eve&kind=deal&subject=x", "not for both"),
        ("?day=yesterday", "valid date"),
        ("?kind=ghost&subject=x", "Select a valid choice"),
    ],
)
def test_what_cannot_be_asked_is_said(admin, question, words):
    assert words in page(admin, question, 422)


def test_a_damaged_cursor_is_a_400(admin):
    page(admin, "?day=2026-11-21&after=x", 400)


@pytest.mark.parametrize("question", ["?by=%00", "?by=a%23b", "?kind=deal&subject=a%23b", f"?by={'x' * 30}"])
def test_hostile_questions_find_nothing(admin, question):
    assert admin.get(f"/cms/audit/{question}").status_code in (200, 422)


def test_days_are_walked_through(admin):
    html = page(admin, "?day=2026-11-20")
    assert 'href="?day=2026-11-19"' in html
    assert 'href="?day=2026-11-21"' in html
    assert 'href="?day=2026-11-22"' not in page(admin)
    assert page(admin, "?day=0001-01-01")
    assert page(admin, "?day=9999-12-31")


def test_long_lists_take_pages(admin, monkeypatch):
    monkeypatch.setattr(audit, "PAGE_SIZE", 2)
    for n in range(3):
        entry(f"no. {n}", by="oscar")
    first = admin.get("/cms/audit/?by=oscar")
    second = admin.get("/cms/audit/" + first.context["after"])
    whats = [row.entry.what for response in (first, second) for row in response.context["rows"]]
    assert sorted(whats) == ["no. 0", "no. 1", "no. 2"]
    assert second.context["newest"] == "?by=oscar"


def test_the_log_is_for_admins_and_for_looking(editor, admin):
    assert editor.get("/cms/audit/").status_code == 403
    assert "Audit log" not in editor.get("/cms/").content.decode()
    assert admin.post("/cms/audit/").status_code == 405
