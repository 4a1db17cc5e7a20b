"""Every page of the site, read from its addresses: what each view says of itself, filled in with a site's content."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from dealsite.web.pages import Page, page_of
from tests.builders import EDITOR
from tests.seeded import ADMIN, SHOPPER, VISITOR, Content

EXAMPLES = {"shopper": SHOPPER, "admin": ADMIN}


@dataclass(frozen=True)
class Route:
    """An address of the site with its view."""

    name: str
    pattern: str  # as in cms/deals/<str:deal_id>/
    view: Callable[..., Any]

    @property
    def page(self) -> Page:
        """What the view says of its page."""
        page = page_of(self.view)
        assert page, f"{self.name} says nothing of itself: see dealsite/web/pages.py."
        return page

    @property
    def roles(self) -> frozenset[str] | None:
        """The roles of which a user needs one; empty if any user will do, None if any visitor will."""
        return getattr(self.view, "required_roles", None)

    @property
    def seen_by(self) -> str:
        """Who of the seeded site looks at it."""
        if self.page.seen_by or self.roles is None:
            return EXAMPLES.get(self.page.seen_by, VISITOR)
        if not self.roles:
            return SHOPPER
        return EDITOR if "editor" in self.roles else ADMIN

    def addresses(self, content: Content) -> list[str]:
        """Return where it is opened on the seeded site."""
        examples = content.examples(self.name)
        parts = set(re.findall(r"<\w+:(\w+)>", self.pattern))
        assert parts <= examples.keys(), f"{self.pattern}: Content.examples (tests/seeded.py) lacks a value."
        own = "/" + re.sub(r"<\w+:(\w+)>", lambda match: str(examples[match[1]]), self.pattern)
        return [f"{'' if at.startswith('/') else own}{at.format(**examples)}" for at in self.page.at]


def routes(resolver: URLResolver | None = None, before: str = "") -> Iterator[Route]:
    """Walk over every address of the site."""
    for pattern in (resolver or get_resolver("dealsite.urls")).url_patterns:
        here = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern, here)
        elif isinstance(pattern, URLPattern):
            yield Route(pattern.name or here, here, pattern.callback)


ROUTES = {route.name: route for route in routes()}  # of two under one name, the last: it says more
PAGES = {
    name: (route.seen_by, route.addresses) for name, route in ROUTES.items() if route.page.kind == "page"
}
