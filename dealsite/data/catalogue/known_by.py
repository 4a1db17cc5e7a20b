"""What a file can know a deal or draft by, besides its id: its link and article number.

An item says that a deal had a link or number once. It is never taken back: whoever finds a
deal by it reads it and compares.
"""

import re
from collections.abc import Collection, Iterable
from functools import partial
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from dealsite.data import keys, table
from dealsite.data.entities.deals import DEAL_BY
from dealsite.data.names import normalise, without_unseen
from dealsite.data.table.access_patterns import access_pattern
from dealsite.data.table.ids import hash_of
from dealsite.data.table.parallel import together
from dealsite.data.table.writes import Put

MOST = 200  # deals and drafts of one link or number that are looked at, the newest
AT_ONCE = 8
# What tells shops where a visitor is from.
FROM_WHERE = ("gclid", "dclid", "fbclid", "msclkid", "mc_cid", "mc_eid", "_ga")
PORTS = {"http": 80, "https": 443}


def same_link(link: str) -> str:
    """Return one form of all links to a page: without scheme, www., default port, or where a visitor comes from."""
    parts = urlsplit(link.strip())
    host = (parts.hostname or "").removeprefix("www.").rstrip(".")
    try:
        host = host.encode("idna").decode()
        port = parts.port
    except ValueError:
        return link
    asked = sorted(
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if not name.lower().startswith("utm_") and name.lower() not in FROM_WHERE
    )
    is_page = parts.fragment.startswith(("/", "!"))  # one that is made in the browser
    place = parts.fragment if is_page else ""
    return (
        f"{host}{f':{port}' if port and port != PORTS.get(parts.scheme) else ''}"
        f"{quote(unquote(parts.path)).rstrip('/')}?{urlencode(asked)}#{place}"
    )


def shop_of(link: str) -> str:
    """Return the host, and the port, that a link leads to; '' for what is no link."""
    same = same_link(link)
    return "" if same == link else re.split("[/?]", same)[0]


def is_of_many(link: str) -> bool:
    """Tell whether a link in its one form is that of a whole site, which says nothing of a deal."""
    return link.endswith("?#") and "/" not in link


def same_number(article_number: str) -> str:
    """Return one form of all ways to write an article number; '' for one without letters and digits, such as -."""
    number = without_unseen(normalise(article_number)).casefold()
    return f"#{number}" if any(map(str.isalnum, number)) else ""


def names_of(link: str, article_number: str) -> list[str]:
    """Return what a deal or draft is known by: its link and its article number, each in its one form."""
    return [*([same_link(link)] if link else []), *filter(None, [same_number(article_number)])]


def write(target_id: str, names: Iterable[str], before: Collection[str] = ()) -> list[Put]:
    """Return the writes that let a deal or draft be found by its link and article number, where they are new."""
    item = DEAL_BY.item({"id": target_id})
    return [Put(key=keys.deal_by(name, target_id), item=item) for name in names if name not in before]


@access_pattern("deals and drafts that have, or had, a link or article number", "1 query")
def known_by(name: str) -> list[str]:
    """Return the ids of up to 200 deals and drafts, the newest, that have, or had, a link or number in its one form."""
    rows = table.query(keys.deal_by.partition(hash_of(name)), newest_first=True, limit=MOST, consistent=True)
    return [row["id"] for row in rows]


def all_known_by(names: Collection[str]) -> dict[str, list[str]]:
    """Return what is known by each of some links and numbers. 1 query for each, eight at a time."""
    reads, found = [partial(known_by, name) for name in names], []
    for first in range(0, len(reads), AT_ONCE):
        found += together(*reads[first : first + AT_ONCE])
    return dict(zip(names, found, strict=True))
