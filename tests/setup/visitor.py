"""Somebody who uses a public site as a browser does, through the proxy that stands in front of it."""

from __future__ import annotations

import re
from html import unescape
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests


class Visitor:
    """A browser at the other end of a proxy that speaks TLS for a site, which listens at a port of this machine."""

    def __init__(self, port: int, host: str) -> None:
        self.site, self.host = f"http://127.0.0.1:{port}", host
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.cookies.set_policy(DefaultCookiePolicy(secure_protocols=("http", "https")))
        self.session.headers |= {
            "Host": host,
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "203.0.113.9",
            "Referer": f"https://{host}/",
        }

    def open(self, path: str) -> str:
        """Return a page, after its redirects; fails unless it is one."""
        return self._page(self.session.get(f"{self.site}{path}", allow_redirects=False, timeout=20))

    def send(self, page: str, action: str, *, files: dict[str, Any] | None = None, **fields: str) -> str:
        """Fill in the form of a page that leads to an address, and return what comes then."""
        forms = re.findall(r"<form.*?</form>", page, re.S)
        form = next(one for one in forms if action in _attributes(one[: one.index(">")]).get("action", ""))
        sent = _entered(form) | fields
        address = _attributes(form[: form.index(">")])["action"]
        answer = self.session.post(
            f"{self.site}{address}", data=sent, files=files, allow_redirects=False, timeout=20
        )
        return self._page(answer)

    def _page(self, answer: requests.Response) -> str:
        while answer.is_redirect:
            path = answer.headers["Location"].removeprefix(f"https://{self.host}")
            self.at = path
            answer = self.session.get(f"{self.site}{path}", allow_redirects=False, timeout=20)
        assert answer.status_code == 200, f"{answer.status_code} at {answer.url}: {answer.text[:3000]}"
        return answer.text


def _attributes(tag: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in re.findall(r'([a-z_-]+)="([^"]*)"', tag, re.S)}


def _entered(form: str) -> dict[str, str]:
    """Return what a form holds before anybody types into it."""
    sent = {}
    for tag in re.findall(r"<input[^>]*>", form, re.S):
        found = _attributes(tag)
        is_chosen = found.get("type") not in ("checkbox", "radio") or re.search(r"\schecked\b", tag)
        if "name" in found and found.get("type") != "file" and is_chosen:
            sent[found["name"]] = found.get("value", "on" if found.get("type") == "checkbox" else "")
    return sent
