"""Every form while the site is read-only or closed: nothing is changed, and nothing that was typed is lost."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

import pytest

from dealsite.accounts.decorators import SECRETS
from dealsite.data.entities.operations import SwitchState
from dealsite.data.jobs import site_switch
from dealsite.data.jobs.site_switch import SiteSwitch
from dealsite.web.pages import CLOSED
from tests.browser.conftest import PASSWORD
from tests.builders import NOW
from tests.faults.forms import CODE, FORMS, NEW, OWN, route_of
from tests.faults.site import Site
from tests.pages import ROUTES
from tests.sampling import is_due

QUICK = 6  # make test sends one form in so many
ALWAYS = {name for name, route in ROUTES.items() if getattr(route.view, "open_while", ())}
NAMES = [name for name in FORMS if route_of(name) not in ALWAYS]
FILES = ("picture_file", "file")


@pytest.fixture
def closed(site: Site) -> Iterator[Site]:
    yield site
    site_switch.of_process.keep(SiteSwitch())


def lost(sent: dict[str, Any], html: str) -> list[str]:
    """Return what was typed and does not stand in the page."""
    typed = {
        name: value for name, value in sent.items() if name not in (*SECRETS, *FILES, "csrfmiddlewaretoken")
    }
    values = [
        (name, one) for name, many in typed.items() for one in (many if isinstance(many, list) else [many])
    ]
    return [name for name, value in values if f'name="{name}" value="{escape(str(value))}"' not in html]


@pytest.mark.each_run
@pytest.mark.parametrize("state", CLOSED)
def test_a_form_is_kept_and_not_carried_out(state: SwitchState, closed: Site):
    wrong = []
    for name in NAMES:
        if not is_due(f"{state} {name}", quick=QUICK, whole=2):
            continue
        form = FORMS[name]
        who = form.visitor(name)
        if state == "maintenance" and (
            who == "root" or "admin" in getattr(closed.content.users.get(who), "roles", ())
        ):
            continue  # they get in
        site_switch.of_process.keep(SiteSwitch())
        browser = closed.browser(who)
        data = form.data(browser, closed.prepared)
        closed.put_back()
        site_switch.of_process.keep(SiteSwitch(state, "", "-", NOW))
        answer = browser.post(form.address(name, closed.prepared), data, headers=OWN)
        html = answer.content.decode()
        leaked = [
            secret for secret in (PASSWORD, NEW, CODE, "4242") if secret in html.partition('id="error"')[2]
        ]
        changes = closed.changes()
        closed.put_back()
        if answer.status_code != 503 or changes or leaked or lost(data, html):
            wrong.append((name, answer.status_code, changes, leaked, lost(data, html)))
    assert wrong == []
