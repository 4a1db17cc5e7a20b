"""The projections of the stream, by name."""

from __future__ import annotations

from collections.abc import Callable

from dealsite.lake.projection import Lake
from dealsite.search.projection import SearchIndex
from dealsite.stream.projection import Projection

PROJECTIONS: dict[str, Callable[[], Projection]] = {Lake.name: Lake, SearchIndex.name: SearchIndex}
