"""Every form that changes something, as the log sees it: a line of its own, and nothing of what is secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from tests.accounts.test_no_secret_is_logged import HIDDEN, Log, collected
from tests.browser.conftest import PASSWORD
from tests.faults.forms import CODE, FORMS, NEW, OWN, SECRET, route_of
from tests.faults.site import Site

CARD = "4242 4242 4242 4242"
ACCOUNT = [*list(FORMS)[: list(FORMS).index("delete_account") + 1], "finish_card"]
OTHERS = [name for name in FORMS if name not in ACCOUNT]
LINKS = ("reset_link", "confirmation_link", "take_back_link")


@pytest.fixture
def log() -> Iterator[Log]:
    with collected("dealsite.web.counting") as made:
        yield made


def secrets_of(site: Site, browser: Client, answer: Any) -> set[str]:
    """What nobody but the visitor may know: what was typed, what cookies and hidden fields hold, and links in mails."""
    cookies = [morsel.value for one in (browser, answer) for morsel in one.cookies.values()]
    tokens = {part for value in cookies for part in (value, *value.split(":")[1:])}
    links = {site.more[name].rstrip("/").rpartition("/")[2] for name in LINKS}
    hidden = set(HIDDEN.findall(answer.content.decode())) if not answer.streaming else set()
    return {PASSWORD, NEW, CODE, SECRET, CARD, CARD.replace(" ", "")} | links | tokens | hidden


@pytest.mark.parametrize(
    "names",
    [pytest.param(ACCOUNT, id="account"), pytest.param(OTHERS, id="others", marks=pytest.mark.thorough)],
)
def test_a_form_leaves_its_line_in_the_log_and_no_secret(names: list[str], site: Site, log: Log):
    wrong = []
    for name in names:
        form = FORMS[name]
        site.forget()
        browser = site.browser(form.visitor(name))
        data = form.data(browser, site.prepared)
        log.out.truncate(0)
        answer = browser.post(form.address(name, site.prepared), data, headers=OWN)
        written = log.text
        known = secrets_of(site, browser, answer)
        answer.close()
        site.put_back()
        found = [
            text for text in known if len(text) > 3 and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", written)
        ]
        if found or written.count(f"event='request' view='{route_of(name)}' method='POST' status=") != 1:
            wrong.append((name, found, written))
    assert wrong == []
