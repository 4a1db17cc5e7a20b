"""What tests of the CMS's pages share: a table with a brand, a clock that stands still, and editors signed in."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.contrib.messages import get_messages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags
from PIL import Image

from cms.shared.requests import UndoAction, undo_from_tags
from dealsite.accounts import requests
from dealsite.data import table
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.people import sessions
from tests.builders import NOW, make_brand, make_category
from tests.people import make_user

HTMX = {"HX-Request": "true"}
_numbers = itertools.count(1)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is always NOW."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    monkeypatch.setattr("dealsite.worker.bulk.monotonic", lambda: 0.0)


@pytest.fixture(autouse=True)
def site(fresh_table: None, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty table with one brand, and a folder for pictures."""
    settings.MEDIA_ROOT = tmp_path
    settings.ALLOWED_HOSTS = ["testserver"]
    monkeypatch.setattr(category_names, "known", {})
    category_names.names()  # read once a minute; not any page's call
    category_names.missing = []  # a test makes those that it needs
    make_brand()
    make_category("peripherals-networking")


@pytest.fixture
def sign_in() -> Callable[..., Client]:
    """A function that returns a browser in which a new user with some roles is signed in."""

    def of(*roles: str, username: str = "", zone: str = "", csrf: bool = False) -> Client:
        user = make_user(username or f"user{next(_numbers)}", roles=roles, timezone=zone)
        key = requests.new_key()
        sessions.start(user, key=key, user_agent="", address="127.0.0.1", now=NOW)
        browser = Client(enforce_csrf_checks=csrf)
        browser.cookies[site_settings.SESSION_COOKIE_NAME] = f"{user.username}:{key}"
        return browser

    return of


@pytest.fixture
def editor(sign_in: Callable[..., Client]) -> Client:
    """A browser of an editor."""
    return sign_in("editor", username="eve")


@pytest.fixture
def other_editor(sign_in: Callable[..., Client]) -> Client:
    """A browser of another editor."""
    return sign_in("editor", username="oscar")


@pytest.fixture
def calls(editor: Client) -> Callable[[Callable[[], Any]], list[str]]:
    """A function that returns the operations that a request costs, without the one that finds out who asks."""

    def of(request: Callable[[], Any]) -> list[str]:
        with table.metered() as meter:
            request()
        return [operation for operation, _ in meter.log][1:]

    return of


def picture_file(name: str = "keyboard.png", colour: str = "teal") -> SimpleUploadedFile:
    """Return a small picture as a browser sends it."""
    file = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(file, "PNG")
    return SimpleUploadedFile(name, file.getvalue(), content_type="image/png")


def inputs(response: Any) -> dict[str, Any]:
    """Return what a browser would send of a page's form with the POST method: its inputs as they stand.

    Of several forms it is the first in which something can be entered, else the first; of a part of one, all of it.
    Fields that stand elsewhere on the page belong to it, too.
    """
    html = response.content.decode()
    forms = [
        part
        for part in re.findall(r"<form.*?</form>", html, re.S)
        if 'name="csrfmiddlewaretoken"' in part
        and "sign-out" not in part.split(">")[0]
        # not of the frame around each page
        and reverse("cms_choose") not in part.split(">")[0]
    ]
    entered = re.compile(r'<(?:textarea|select|input(?![^>]*type="hidden"))')
    form = next((part for part in forms if entered.search(part)), forms[0] if forms else html)
    if own := re.match(r'<form id="([^"]+)"', form):
        form += "".join(re.findall(rf'<input[^>]*form="{own[1]}"[^>]*>', html.replace(form, "")))
    sent: dict[str, Any] = {}
    for tag in re.findall(r"<input[^>]*>", form, re.S):
        attributes = dict(re.findall(r'([a-z_-]+)="([^"]*)"', tag, re.S))
        kind = attributes.get("type", "text")
        if (
            "name" not in attributes
            or kind == "file"
            or (kind in ("checkbox", "radio") and "checked" not in tag)
        ):
            continue
        value = unescape(attributes.get("value", ""))
        name = attributes["name"]
        if name in ("deal", "title", "position") and 'name="replaced"' in form:
            sent.setdefault(name, []).append(value)
        else:
            sent[name] = value
    for name, text in re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n?(.*?)</textarea>', form, re.S):
        sent[name] = unescape(text)
    for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', form, re.S):
        chosen = re.search(r'<option value="([^"]*)"[^>]*selected', options)
        sent[name] = unescape(chosen[1]) if chosen else ""
    return sent


def taken_over(html: str) -> list[str]:
    """Return what a page says that only somebody else changed: each field, and from what to what."""
    found = re.search(r'<ul[^>]*aria-labelledby="taken-over">(.*?)</ul>', html, re.S)
    lines = re.findall(r"<li[^>]*>(.*?)</li>", found[1], re.S) if found else []
    return [" ".join(unescape(strip_tags(line)).split()) for line in lines]


def mine_alone(html: str) -> str:
    """Return which fields a page says that only its editor changed."""
    found = re.search(r"Changed only by you, and kept:\s*<strong[^>]*>([^<]*)<", html)
    return found[1] if found else ""


def do(browser: Client, action: str, *things: Any, follow: Any = False, **data: Any) -> Any:
    """Do a verb to deals, or with `state="draft"` to drafts, as a button does that was shown just now."""
    sent = {"deal": [thing.id for thing in things], "asked_at": timezone.now().isoformat()}
    sent |= {"next": reverse("cms_deals")} | data
    return browser.post(reverse("cms_do", args=[action]), sent, follow=follow)


def said(response: Any) -> str:
    """Return the newest note that the next page shows."""
    return [str(message) for message in get_messages(response.wsgi_request)][-1]


def way_back(response: Any) -> UndoAction:
    """Return the button that takes back what was done."""
    *_, message = get_messages(response.wsgi_request)
    found = undo_from_tags(message.extra_tags)
    assert found is not None
    return found


def break_table(settings: Any) -> None:
    """Let the table stop answering: nothing listens where it should be."""
    settings.DYNAMODB_ENDPOINT_URL = "http://127.0.0.1:9"
    table.reset()


@pytest.fixture
def office(sign_in: Callable[..., Client]) -> Client:
    """A browser of the back office's olga."""
    return sign_in("back office", username="olga")
