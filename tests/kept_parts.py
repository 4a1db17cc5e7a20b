"""Kept parts under test: each that was kept is rendered again, and has to be the same; nothing reaches it unnamed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.template import Context
from django.utils.safestring import SafeString

from dealsite.templatetags import kept
from dealsite.templatetags.kept import KeptNode, KeptParts

RENDER = KeptNode.render  # as it is on a site


class CheckedParts(KeptParts):
    """Keeps parts from test to test, and believes none of them."""

    def get(self, owner: object, values: dict[str, Any], make: Callable[[], str]) -> SafeString:
        part = super().get(owner, values, make)
        assert part == make(), f"A part was kept that depends on more than {', '.join(values)}."
        assert 'method="post"' not in part, "A form was kept, with somebody's token or without any."
        return part


class Watched(Context):
    """A context in which nothing is looked up that the page knows and the part is not given."""

    page: Context

    def __getitem__(self, name: Any) -> Any:
        try:
            return super().__getitem__(name)
        except KeyError:
            assert name not in self.page, f"{{% kept %}} is not given {name}."
            raise

    def get(self, name: Any, otherwise: Any = None) -> Any:
        is_given = name == "csrf_token" or name in self or name not in self.page
        assert is_given, f"{{% kept %}} is not given {name}."
        return super().get(name, otherwise)

    def new(self, values: Any = None) -> Context:
        isolated: Context = super().new(values)
        isolated.__class__ = Context
        return isolated


def render(node: KeptNode, page: Context) -> SafeString:
    """Stand in for `KeptNode.render`."""
    values = {name: expression.resolve(page) for name, expression in node.given.items()}

    def make() -> str:
        inside: Any = page.new(values)
        inside.__class__ = Watched
        inside.page = page
        return node.nodelist.render(inside)

    return kept.of_process.get(node, values, make)
