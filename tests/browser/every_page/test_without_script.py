"""Every page works without script: what htmx would send or load belongs to a form that is sent, or to a link."""

from __future__ import annotations

from html.parser import HTMLParser

from django.conf import settings as site_settings
from django.test import Client

from tests.browser.conftest import new_session
from tests.browser.every_page.due import every_page
from tests.pages import PAGES

Attributes = dict[str, str | None]
CONTROLS = {"button", "input", "select", "textarea"}


class Controls(HTMLParser):
    """Reads a page; collects its forms and, with the form that each stands in, its controls and htmx's elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[Attributes] = []
        self.found: list[tuple[str, Attributes, Attributes | None]] = []
        self.open: Attributes | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "form":
            self.open = attributes
            self.forms.append(attributes)
        if tag in CONTROLS or attributes.keys() & {"hx-get", "hx-post"}:
            self.found.append((tag, attributes, self.open))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.open = None

    def form_of(self, attributes: Attributes, around: Attributes | None) -> Attributes | None:
        """Return the form that a control belongs to, wherever it stands."""
        if "form" not in attributes:
            return around
        return next((form for form in self.forms if form.get("id") == attributes["form"]), None)


def faults(page: str) -> list[str]:
    """Return what only a script could send or load, and what would be sent to the wrong place without one."""
    read, found = Controls(page), []
    for tag, attributes, around in read.found:
        form = read.form_of(attributes, around)
        described = f"{tag} {attributes}"
        if "form" in attributes and form is None:
            found.append(f"its form is missing: {described}")
        if "hx-post" in attributes:
            if form is None or (attributes.get("formmethod") or form.get("method")) != "post":
                found.append(f"no form that posts: {described}")
            elif tag == "form" and (form.get("action") or attributes["hx-post"]) != attributes["hx-post"]:
                found.append(f"goes elsewhere without script: {described}")
        if "hx-get" in attributes and form is None and "href" not in attributes:
            found.append(f"no link and no form: {described}")
        if tag == "button" and attributes.get("type", "submit") == "submit" and form is None:
            found.append(f"a button that sends nothing: {described}")
    return found


def test_what_needs_a_script_is_noticed():
    assert faults('<form method="post" hx-post="/a/" action="/a/"><button>Go</button></form>') == []
    assert faults('<form method="post" id="f"></form><button form="f">Go</button>') == []
    for page in (
        '<button form="f">Go</button>',
        '<button hx-post="/a/" type="button">Go</button>',
        '<form hx-post="/a/"><button>Go</button></form>',
        '<form method="post" action="/b/" hx-post="/a/"></form>',
        '<a hx-get="/a/">More</a>',
        "<button>Go</button>",
    ):
        assert faults(page) != [], page


@every_page
def test_a_page_needs_no_script(shown, name):
    who, addresses = PAGES[name]
    client = Client()
    if who:
        client.cookies[site_settings.SESSION_COOKIE_NAME] = new_session(shown.users[who])
    for path in addresses(shown):
        answer = client.get(path, follow=True)
        assert "/sign-in/" not in "".join(to for to, _ in answer.redirect_chain) or name == "sign_in_code"
        page = b"".join(answer)
        assert faults(page.decode()) == [], path
