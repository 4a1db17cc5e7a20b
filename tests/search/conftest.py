"""The index without any table: it is made of items, as the stream and a scan would bring them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from dealsite.data.catalogue.categories import CATEGORIES
from dealsite.data.catalogue.content import DealContent
from dealsite.data.catalogue.display_names import category_names
from dealsite.data.names import slugify
from dealsite.data.table.convert import Item, from_attributes, to_attributes
from dealsite.search import opensearch, reader
from dealsite.search.finding import SearchPage, find
from dealsite.search.question import Question
from dealsite.search.site_index import search_index
from dealsite.stream.projection import Checkpoint
from tests.builders import HOUR, NOW, make_content, make_id
from tests.opensearch import StandIn

START = Checkpoint("stream", NOW, {"shard": "0"})


@pytest.fixture(scope="session")
def opensearch_server() -> Iterator[StandIn]:
    with StandIn("3.2.0") as server:
        yield server


class OwnLease:
    """A lease that nobody else wants."""

    is_held = True

    def __init__(self, name: str, **_: Any) -> None:
        pass

    def take(self, *, by_force: bool = False) -> bool:
        return True

    def give_back(self) -> None:
        pass


@pytest.fixture
def use_opensearch(settings: Any, monkeypatch: pytest.MonkeyPatch, opensearch_server: StandIn) -> StandIn:
    """An empty OpenSearch that keeps the index, which only one process feeds."""
    opensearch_server.reset()
    settings.DEALSITE_OPENSEARCH_URL = opensearch_server.url
    monkeypatch.setattr(opensearch, "Lease", OwnLease)
    monkeypatch.setattr(opensearch, "_away_until", float("-inf"))
    return opensearch_server


@pytest.fixture(params=["folder", "opensearch"])
def backend(request: pytest.FixtureRequest, search_root: None) -> str:
    """What keeps the index: each finds the same."""
    if request.param == "opensearch":
        request.getfixturevalue("use_opensearch")
    kept: str = request.param
    return kept


in_a_folder = pytest.mark.parametrize("backend", ["folder"], indirect=True)
in_opensearch = pytest.mark.parametrize("backend", ["opensearch"], indirect=True)


@pytest.fixture(autouse=True)
def search_root(settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own for each test, and the categories' first names."""
    settings.SEARCH_ROOT = tmp_path / "search"
    reader.forget()
    monkeypatch.setattr(category_names, "names", lambda: dict(CATEGORIES))


@pytest.fixture
def index(backend: str) -> Callable[..., None]:
    """A function that makes an index of some items."""

    def make(*items: Item) -> None:
        projection = search_index()
        projection.build(items, START)
        projection.swap()

    return make


def deal_item(
    title: str = "Mechanical keyboard",
    *,
    deal_id: str = "",
    live_at: datetime = NOW - HOUR,
    brand: str = "Nordlicht",
    kind: str = "Deal",
    **content: Any,
) -> Item:
    """Return a deal's item as a scan brings it; what is not named is as in `make_content`."""
    deal_id = deal_id or make_id(live_at)
    filled = make_content(**({"title": title, "brand": slugify(brand), "description": ""} | content))
    return _item(kind, deal_id, filled, brand)


def draft_item(title: str = "Unfinished lamp", *, draft_id: str = "", **content: Any) -> Item:
    """Return a draft's item; what is not named is empty."""
    return _item("Draft", draft_id or make_id(), replace(DealContent(title=title), **content), "")


def _item(kind: str, item_id: str, content: DealContent, brand: str) -> Item:
    key = f"{kind.upper()}#{item_id}"
    item = {
        "PK": key,
        "SK": key,
        "type": kind,
        "id": item_id,
        "card": content.card(item_id, brand).as_item(),
        "description": content.description,
    }
    return from_attributes(to_attributes(item))  # as the table would give it back


def titles(found: SearchPage) -> list[str]:
    return [card.title for card in found.cards]


def search(
    text: str = "", *, now: datetime = NOW, sort: str = "", page: int = 1, **filters: Any
) -> SearchPage:
    return find(Question(text=text, **filters), now=now, sort=sort, page=page, narrowing=True)
