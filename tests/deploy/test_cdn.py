"""The CDN of the deployment: what it may share among visitors, and what it tells the site."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from fnmatch import fnmatch
from typing import Any

import pytest
from django.conf import settings
from django.urls import get_resolver

from dealsite.middleware import FROM_PROXY
from dealsite.web.page_cache import REVALIDATING
from dealsite.web.pages import page_of
from tests.deploy.stack import properties


def cached_for_all() -> list[str]:
    behaviours = properties("Cdn")["DistributionConfig"]["CacheBehaviors"]
    return [one["PathPattern"] for one in behaviours if one["CachePolicyId"] == {"Ref": "ForAll"}]


def _routes() -> dict[str, Any]:
    """The views by their addresses, with a word for each part that varies."""
    found: dict[str, Any] = {}

    def walk(patterns: list[Any], before: str) -> None:
        for one in patterns:
            here = before + re.sub(r"<[^>]+>", "x", str(one.pattern))
            if hasattr(one, "url_patterns"):
                walk(one.url_patterns, here)
            else:
                found[here] = one.callback

    walk(get_resolver().url_patterns, "/")
    return found


def test_the_cdn_shares_no_page_that_knows_its_visitor():
    """What it shares among all are files, and feeds that say so themselves."""
    shared = {}
    for route in _routes():
        if any(fnmatch(route, pattern) for pattern in cached_for_all()):
            shared[route] = page_of(_routes()[route])
    assert {route.strip("/") for route, page in shared.items() if page and page.kind != "feed"} == set()
    assert len(shared) == 7


def test_the_key_of_a_page_holds_all_that_pages_read():
    key = properties("PerVisitor")["CachePolicyConfig"]["ParametersInCacheKeyAndForwardedToOrigin"]
    assert key["CookiesConfig"] == {"CookieBehavior": "all"}
    assert key["QueryStringsConfig"] == {"QueryStringBehavior": "all"}
    sources = [
        path.read_text("utf-8")
        for room in ("dealsite", "cms", "shopping")
        for path in (settings.BASE_DIR / room).rglob("*.py")
    ]
    asked = r'request\.headers\.get\("([\w-]+)"|"([A-Z][\w-]+)" in request\.headers'
    read = {name for text in sources for names in re.findall(asked, text) for name in names if name}
    varies = re.findall(r"(?:patch_vary_headers|vary_on_headers)\(([^)]*)\)", "\n".join(sources))
    read |= {name for names in varies for name in re.findall(r'"(HX-[\w-]+)"', names)}
    assert {"HX-Request", "HX-Target", "Authorization", "Page-Language"} <= read
    of_forms = {"Origin", "Sec-Fetch-Site", "User-Agent"}  # nothing is kept of a POST
    never_shared = {"Sec-Purpose"}  # of a page that forbids all caches to keep it
    by_switch = {"Accept-Encoding"}
    assert key["EnableAcceptEncodingGzip"] is key["EnableAcceptEncodingBrotli"] is True
    assert read - of_forms - never_shared - by_switch - set(key["HeadersConfig"]["Headers"]) == set()
    assert 2 + REVALIDATING <= properties("PerVisitor")["CachePolicyConfig"]["MaxTTL"] <= 60
    assert properties("PerVisitor")["CachePolicyConfig"]["DefaultTTL"] == 0


def test_no_error_is_kept():
    kept = properties("Cdn")["DistributionConfig"]["CustomErrorResponses"]
    assert {one["ErrorCachingMinTTL"] for one in kept} == {0}
    assert {one["ErrorCode"] for one in kept} == {400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504}


def test_each_request_gets_its_id_from_the_cdn():
    behaviours = properties("Cdn")["DistributionConfig"]
    to_web = [behaviours["DefaultCacheBehavior"], *behaviours["CacheBehaviors"]]
    for one in to_web:
        assert ("FunctionAssociations" in one) == (one["TargetOriginId"] == "web")
    assert (
        "['x-request-id'] = {value: event.context.requestId.replace(/=+$/, '')}"
        in properties("CdnRequestId")["FunctionCode"]
    )
    assert FROM_PROXY.fullmatch("EXAMPLE4fBcHQ-_x8Rc3kVsQGAG6Kxhb5qYxn5sfMbg0zH9yT4n5Xw==".rstrip("="))


@pytest.mark.thorough
def test_a_visitor_cannot_choose_the_id_of_a_request():
    node = shutil.which("node")
    if node is None:
        pytest.skip("There is no Node here.")
    event = {
        "context": {"requestId": "EXAMPLE4fBc-_x8Rc3kVs=="},
        "request": {
            "uri": "/",
            "headers": {"x-request-id": {"value": "mine"}, "host": {"value": "deals.example"}},
        },
    }
    code = properties("CdnRequestId")["FunctionCode"]
    script = f"{code}\nconsole.log(JSON.stringify(handler({json.dumps(event)})));"
    said = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True)
    headers = json.loads(said.stdout)["headers"]
    assert headers == {"x-request-id": {"value": "EXAMPLE4fBc-_x8Rc3kVs"}, "host": {"value": "deals.example"}}


def test_the_cdn_reads_what_pages_show_and_nothing_else():
    (_tls, reads, not_uploads) = properties("MediaBucketPolicy")["PolicyDocument"]["Statement"]
    assert reads["Resource"] == {"Fn::Sub": "${MediaBucket.Arn}/pictures/*"}
    assert (not_uploads["Effect"], not_uploads["Resource"]) == (
        "Deny",
        {"Fn::Sub": "${MediaBucket.Arn}/pictures/*-original.webp"},
    )
