"""A link for colleagues shows one thing for seven days to whoever has a role, and nothing to anybody else."""

import re
from datetime import timedelta

import pytest
from django.core.signing import Signer
from django.urls import reverse
from django.utils import timezone

from cms.deals.share_links import shared_link, token_of
from dealsite.data.catalogue import drafts
from tests.builders import DAY, EDITOR, NOW, make_content, make_deal, make_draft, make_id


def address(token):
    return reverse("cms_shared", args=[token])


def test_a_draft_is_shown_as_shoppers_would_see_it_as_it_is_now(editor, office, calls):
    draft = make_draft(brand="Nordlicht", title="Idea", description="Quiet **switches**.")
    token = token_of("draft", draft.id, NOW)
    drafts.save(draft, draft.content, version=1, by="oscar", now=NOW)
    assert calls(lambda: editor.get(address(token))) == ["GetItem"]
    for browser in (editor, office):
        answer = browser.get(address(token))
        html = answer.content.decode()
        assert answer.status_code == 200
        assert re.search(r"<h1[^>]*>Idea</h1>", html)
        assert "<strong>switches</strong>" in html
        assert "last changed 21 Nov 2026, 12:00 UTC by oscar" in re.sub(r"<[^>]+>", "", html)
        assert ("Open its form" in html) is (browser is editor)


def test_nothing_of_it_is_kept_or_found_or_bought(editor):
    answer = editor.get(address(token_of("draft", make_draft(title="Idea").id, NOW)))
    assert answer["Cache-Control"] == "private, no-store"
    assert answer["X-Robots-Tag"] == "noindex, nofollow, noarchive"
    assert answer["Referrer-Policy"] == "same-origin"
    html = answer.content.decode()
    assert '<meta name="robots" content="noindex">' in html
    assert re.search(r'<button class="btn btn-primary btn-lg flex-1"\s+type="submit"\s+disabled>', html)


def test_a_scheduled_deal_is_shown_and_once_it_is_live_the_link_leads_to_its_page(editor, monkeypatch):
    deal = make_deal(live_at=NOW + DAY)
    token = token_of("deal", deal.id, NOW)
    assert "Mechanical keyboard" in editor.get(address(token)).content.decode()
    monkeypatch.setattr(timezone, "now", lambda: NOW + 2 * DAY)
    assert editor.get(address(token))["Location"] == f"/deals/{deal.id}/"


def test_a_published_draft_leads_to_its_deal(editor):
    scheduled, live = make_draft(title="a"), make_draft(title="b")
    deal = make_deal(draft=live)
    make_deal(draft=scheduled, live_at=NOW + DAY, title="To come")
    assert editor.get(address(token_of("draft", live.id, NOW)))["Location"] == f"/deals/{deal.id}/"
    assert "To come" in editor.get(address(token_of("draft", scheduled.id, NOW))).content.decode()


def test_after_seven_days_the_link_is_over_and_says_so(editor, monkeypatch):
    token = token_of("draft", make_draft(title="Idea").id, NOW)
    for later, status in ((7 * DAY - timedelta(seconds=1), 200), (7 * DAY, 410)):
        monkeypatch.setattr(timezone, "now", lambda later=later: NOW + later)
        answer = editor.get(address(token))
        assert answer.status_code == status
    assert "Links to previews hold for seven days." in answer.content.decode()
    assert "Idea" not in answer.content.decode()


def test_a_link_shows_nothing_else_however_it_is_changed(editor):
    mine, other = make_draft(title="Mine"), make_draft(title="Other")
    token = token_of("draft", mine.id, NOW)
    body, _, signature = token.partition(":")
    other_body = token_of("draft", other.id, NOW).partition(":")[0]
    foreign = Signer(salt="cms.shared.kept_pictures").sign_object(["draft", other.id, 9_999_999_999])
    for changed in (other_body + ":" + signature, body, token[:-1], foreign, "x", "%00", "é", token * 9):
        answer = editor.get(address(changed))
        assert answer.status_code == 404
        assert "Other" not in answer.content.decode()


def test_what_was_deleted_is_404(editor):
    draft = make_draft(title="Idea")
    drafts.delete(draft, by=EDITOR, now=NOW)
    for token in (token_of("draft", draft.id, NOW), token_of("deal", make_id(), NOW)):
        assert editor.get(address(token)).status_code == 404


def test_visitors_sign_in_first_and_shoppers_see_nothing(client, sign_in):
    token = token_of("draft", make_draft(title="Secret").id, NOW)
    assert client.get(address(token))["Location"].startswith(reverse("sign_in"))
    answer = sign_in().get(address(token))
    assert answer.status_code == 403
    assert "Secret" not in answer.content.decode()


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_a_link_is_only_looked_at(editor, method):
    token = token_of("draft", make_draft(title="Idea").id, NOW)
    assert getattr(editor, method)(address(token)).status_code == 405


def test_the_link_stands_on_the_pages_of_what_shoppers_do_not_see(editor, settings):
    draft, scheduled, live = make_draft(title="x"), make_deal(live_at=NOW + DAY), make_deal()
    for kind, thing_id in (("draft", draft.id), ("deal", scheduled.id)):
        html = editor.get(reverse(f"cms_{kind}", args=[thing_id])).content.decode()
        link = shared_link(kind, thing_id, NOW)
        assert f'value="{link}"' in html
        assert link.startswith(settings.DEALSITE_URL)
    for page in (reverse("cms_deal", args=[live.id]), reverse("cms_new_draft")):
        assert "shared-link" not in editor.get(page).content.decode()


def test_hostile_content_does_no_harm(editor):
    content = vars(make_content(title="<script>alert(1)</script>", description="<script>alert(1)</script>"))
    draft = make_draft(**content)
    html = editor.get(address(token_of("draft", draft.id, NOW))).content.decode()
    assert "<script>alert" not in html
