"""What pages weigh on the wire, and how soon a phone on a slow network shows them.

The browser slows requests, not packets: each waits `latency` for its answer, however many round trips that would take,
and opening a connection costs nothing. "Fast 3G" of Chrome's developer tools makes up for that with 3.75 times the
150 ms of WebPageTest's "3G Fast" and 90% of its 1.6 Mbit/s. CONNECTED takes 150 ms as they are: a phone that has its
connections already.
"""

from __future__ import annotations

import contextlib
import http.client
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.conf import settings
from playwright.sync_api import Browser, sync_playwright

from benchmarks import pages, serving
from dealsite.install import system

KB = 1_000  # bytes
BUDGETS = {  # each is held below
    "front page": 10 * KB,  # of its HTML, as a browser that takes both br and gzip gets it
    "category": 10 * KB,
    "brand": 15 * KB,
    "CMS list": 15 * KB,
    "LCP, connected": 1.5,  # seconds until the largest thing is painted
    "LCP": 1.9,  # the same on FAST_3G: 1.5 is the goal, docs/performance.md says what is in its way
    "CLS": 0.02,  # how much is shifted
}
FAST_3G = {"latency": 150 * 3.75, "downloadThroughput": 0.9 * 1.6e6 / 8, "uploadThroughput": 0.9 * 750e3 / 8}
CONNECTED = {"latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 750e3 / 8}
SLOWER = 4  # times: the processor
VISITED = ("front page", "category", "brand", "deal")
WEIGHED = (*VISITED, "CMS list")
ENCODINGS = ("identity", "gzip", "br", "br, gzip")
KINDS = {"Document": "HTML", "Stylesheet": "CSS", "Script": "scripts", "Font": "fonts", "Image": "pictures"}
CONTENTS = 2  # the demo, with pictures, and 2,000 deals: pages of 41,000 weigh the same
TIMES = 5
PAINTED = """() => new Promise((done) => {
  let lcp = 0, cls = 0;
  const see = (type, note) =>
    new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({type, buffered: true});
  see("largest-contentful-paint", (entry) => { lcp = entry.startTime / 1000; });
  see("layout-shift", (entry) => { cls += entry.value; });
  setTimeout(() => done([lcp, cls]), 300);
})"""


@dataclass(frozen=True)
class Weight:
    """What the HTML of a page weighs, in bytes without headers, for each encoding that a client accepts."""

    content: str
    page: str
    sizes: dict[str, int]


class Load(NamedTuple):
    """A first load: requests, bytes with headers by their kind, seconds until the largest thing is painted, shifts."""

    requests: int
    kinds: Counter[str]
    lcp: float
    cls: float


@dataclass(frozen=True)
class Showing:
    """First loads of a page, each the median by its LCP."""

    content: str
    page: str
    fast_3g: Load
    connected: Load


def measure(content: str, environ: dict[str, str]) -> tuple[list[Weight], list[Showing]]:
    """Serve what the table holds, weigh its pages, and load them in a browser."""
    addresses, session = pages.addresses(), pages.client_of().cookies[settings.SESSION_COOKIE_NAME].value
    with serving.served(environ | {"DEALSITE_PAGE_CACHE_SECONDS": "2"}) as port, _chromium() as browser:
        cookie = f"{settings.SESSION_COOKIE_NAME.replace(str(settings.PORT), str(port))}={session}"
        weights = [
            Weight(content, page, {how: _weigh(port, addresses[page], how, cookie) for how in ENCODINGS})
            for page in WEIGHED
        ]
        showings = []
        for page in VISITED:
            url = f"http://127.0.0.1:{port}{addresses[page]}"
            showings.append(
                Showing(content, page, _median(browser, url, FAST_3G), _median(browser, url, CONNECTED))
            )
        return weights, showings


def _weigh(port: int, path: str, encoding: str, cookie: str) -> int:
    headers = {"Accept-Encoding": encoding} | ({"Cookie": cookie} if path.startswith("/cms/") else {})
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise SystemExit(f"{path} answers {answer.status}.")
        return len(answer.read())


@contextlib.contextmanager
def _chromium() -> Iterator[Browser]:
    program = system.chromium()
    if program is None:
        raise SystemExit("There is no Chromium: run make setup-dev, or install Debian's package chromium.")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        yield browser
        browser.close()


def _median(browser: Browser, url: str, network: dict[str, float]) -> Load:
    loads = [_load(browser, url, network) for _ in range(1 + TIMES)]
    return sorted(loads[1:], key=lambda load: load.lcp)[TIMES // 2]


def _load(browser: Browser, url: str, network: dict[str, float]) -> Load:
    """Load a page on a phone whose cache is empty."""
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, device_scale_factor=2, is_mobile=True, has_touch=True
    )
    window = context.new_page()
    devtools = context.new_cdp_session(window)
    kind_of: dict[str, str] = {}
    received: dict[str, int] = {}

    def finished(event: dict[str, Any]) -> None:
        received[event["requestId"]] = int(event["encodedDataLength"])

    devtools.on("Network.responseReceived", lambda event: kind_of.update({event["requestId"]: event["type"]}))
    devtools.on("Network.loadingFinished", finished)
    devtools.send("Network.enable")
    devtools.send("Network.emulateNetworkConditions", {"offline": False, **network})
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    window.goto(url, wait_until="networkidle")
    lcp, cls = window.evaluate(PAINTED)
    context.close()
    kinds = Counter[str]()
    for request, size in received.items():
        kinds[KINDS.get(kind_of.get(request, ""), "others")] += size
    return Load(len(received), kinds, lcp, cls)


def tables_of(weights: list[Weight], showings: list[Showing]) -> str:
    """Return the results as two Markdown tables."""
    lines = ["| content | HTML in KB | as it is | gzip | br | either | budget |", f"|---|---|{'---:|' * 5}"]
    for one in weights:
        cells = [_kb(one.sizes[how]) for how in ENCODINGS]
        budget = BUDGETS.get(one.page)
        lines.append(
            f"| {one.content} | {one.page} | {' | '.join(cells)} | {_kb(budget) if budget else ''} |"
        )
    columns = [*KINDS.values(), "others"]
    lines += [
        "",
        f"| content | first load, in KB | requests | {' | '.join(columns)} | LCP, s | connected: LCP, s | CLS |",
        f"|---|---|{'---:|' * (len(columns) + 4)}",
    ]
    for shown in showings:
        load = shown.fast_3g
        cells = [f"{load.requests}", *(_kb(load.kinds[kind]) for kind in columns)]
        cells += [f"{load.lcp:.2f}", f"{shown.connected.lcp:.2f}", f"{load.cls:.3f}"]
        lines.append(f"| {shown.content} | {shown.page} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _kb(size: float) -> str:
    return f"{size / KB:.1f}"


def too_much(weights: list[Weight], showings: list[Showing]) -> list[str]:
    """Return a sentence for each budget that is not held."""
    found = []
    for one in weights:
        size, budget = one.sizes["br, gzip"], BUDGETS.get(one.page)
        if budget and size >= budget:
            found.append(f"{one.content}: the {one.page} weighs {_kb(size)} KB, and has {_kb(budget)}.")
    for shown in showings:
        cls = shown.fast_3g.cls
        for which, lcp in (("LCP", shown.fast_3g.lcp), ("LCP, connected", shown.connected.lcp)):
            if lcp >= BUDGETS[which]:
                found.append(
                    f"{shown.content}: the {shown.page} takes {lcp:.2f} s ({which}), and has {BUDGETS[which]}."
                )
        if cls >= BUDGETS["CLS"]:
            found.append(
                f"{shown.content}: the {shown.page} shifts by {cls:.3f}, and may by {BUDGETS['CLS']}."
            )
    return found
