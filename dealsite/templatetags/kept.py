"""`{% kept %}`: a part of a page that is rendered once for the same values, in the same language and time zone.

Two thirds of a page's time are its template, and most of its parts are the same as on the page before: the menu, the
dialogs, a row of a list. Inside, a template sees nothing but the values that it is given, so these are all that it
depends on. Times that pass, as in "in 3 h", are given to it in words.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec
from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token, token_kwargs
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()

MAX_CHARACTERS = 4_000_000  # in one process
Key = tuple[object, str | None, str, bool, bytes]


class KeptParts:
    """The parts of one process, MAX_CHARACTERS at most; those go that were not asked for longest."""

    def __init__(self) -> None:
        self._parts: OrderedDict[Key, SafeString] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, owner: object, values: dict[str, Any], make: Callable[[], str]) -> SafeString:
        """Return what `make` renders of some values for its owner; TypeError for values that are no plain data."""
        zone = timezone.get_current_timezone()
        is_chosen = getattr(zone, "chosen", False)
        key = (owner, get_language(), str(zone), is_chosen, _encoder.encode(values))
        with self._lock:
            if part := self._parts.get(key):
                self._parts.move_to_end(key)
                return part
        part = SafeString(make())
        with self._lock:
            self._size += _size(key, part) if key not in self._parts else 0
            self._parts[key] = part
            while self._size > MAX_CHARACTERS:
                self._size -= _size(*self._parts.popitem(last=False))
        return part


def _size(key: Key, part: str) -> int:
    return len(key[-1]) + len(part)


def _plain(value: Any) -> Any:
    """Return what stands for a value that MessagePack does not know."""
    if isinstance(value, SafeString):
        return ["safe", value[:]]
    if isinstance(value, Promise):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no plain data, which a kept part is rendered from.")


_encoder = msgspec.msgpack.Encoder(enc_hook=_plain)
of_process = KeptParts()


class KeptNode(template.Node):
    """What stands between `{% kept %}` and `{% endkept %}`."""

    def __init__(self, given: dict[str, FilterExpression], nodelist: NodeList) -> None:
        self.given = given
        self.nodelist = nodelist

    def render(self, context: template.Context) -> SafeString:
        values = {name: expression.resolve(context) for name, expression in self.given.items()}
        return of_process.get(self, values, lambda: self.nodelist.render(context.new(values)))


@register.tag
def kept(parser: Parser, token: Token) -> KeptNode:
    """`{% kept row=page.row columns %} ... {% endkept %}`: values by name; a name alone stands for what it is."""
    words = [word if "=" in word else f"{word}={word}" for word in token.split_contents()[1:]]
    given = token_kwargs(words, parser)
    if words:
        raise template.TemplateSyntaxError(f"{{% kept %}} does not know what {words[0]!r} is.")
    nodelist = parser.parse(("endkept",))
    parser.delete_first_token()
    return KeptNode(given, nodelist)
