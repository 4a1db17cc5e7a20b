"""Where the values of columns come from that are no attributes of their items, and the days of partitions."""

from datetime import datetime

from django.utils.crypto import salted_hmac

from dealsite.data.table.convert import Item
from dealsite.data.table.ids import folded, from_iso, time_of
from dealsite.lake.columns import Source


def by_id(item: Item) -> datetime:
    """When the item's id was made."""
    return time_of(item["id"])


def by_creation(item: Item) -> datetime:
    return from_iso(item["created_at"])


def by_beginning(item: Item) -> datetime:
    return from_iso(item["since"])


def hashed_email(item: Item) -> str | None:
    """The e-mail address as a hash with the site's key (64 hexadecimal digits)."""
    email = item.get("email")
    return hash_of_email(email) if email else None


def hash_of_email(email: str) -> str:
    return salted_hmac("dealsite.lake.email", folded(email), algorithm="sha256").hexdigest()


def of_address(name: str, characters: int = 120) -> Source:
    return lambda item: item["address"].get(name, "")[:characters]


def last_step(name: str) -> Source:
    """A field of the newest entry of a timeline."""
    return lambda item: item["timeline"][-1].get(name)


def is_there(name: str) -> Source:
    return lambda item: name in item
