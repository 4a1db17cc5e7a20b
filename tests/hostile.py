"""Texts as an attacker, or the world, would type them."""

import os
from datetime import UTC, datetime

from hypothesis import strategies as st

# Few examples of whole tables on each run, on three engines; many with EXAMPLES=500 in the environment.
EXAMPLES = int(os.environ.get("EXAMPLES") or 12)
FIRST, LAST = datetime(2000, 1, 1), datetime(2100, 1, 1)  # noqa: DTZ001 - hypothesis adds the zone

TRICKS = [
    "#",
    "\uff03",  # NFKC makes `#` of it
    "\ufe5f",  # and of this
    "\x00",
    "\u202e",  # right to left override
    "\u200b",  # zero width space
    "\ud800",  # a lone surrogate
    "\U0010ffff",
    "~",
    "é",
    "e\u0301",
    "ﬁ",
    "İ",
    "ß",
    "👩‍👩‍👧",
    "عربى",
    "日本",
    "../",
    "\r\n",
    "' OR 1=1",
    "DEAL",
    "USER",
    "BRAND",
    "CATEGORY",
]

texts = st.lists(st.one_of(st.sampled_from(TRICKS), st.text(max_size=8)), max_size=8).map("".join)
huge = st.sampled_from(["x", "#", "é", "👩", "\uff03"]).map(lambda c: c * 400_000)
moments = st.datetimes(min_value=FIRST, max_value=LAST, timezones=st.just(UTC))
