"""Somebody who uses a public site as a browser does, through the proxy that stands in front of it."""

from __future__ import annotations

import re
import time
from html import unescape
from http.cookies import SimpleCookie
from typing import Any

import requests

TRIES = 20  # of what a site that is busy answers with 503, a second apart


class Visitor:
    """A browser at the other end of a proxy that speaks TLS for a site, which listens at a port of this machine."""

    def __init__(self, port: int, host: str) -> None:
        self.site, self.host = f"http://127.0.0.1:{port}", host
        self.at = ""  # where it was led last
        self.cookies: dict[str, str] = {}  # those of requests go over TLS alone
        self.headers = {"Host": host, "Referer": f"https://{host}/", "Origin": f"https://{host}"}
        self.headers |= {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}

    def open(self, path: str) -> str:
        """Return a page, after its redirects; fails unless it is one."""
        return self._page(self._ask("GET", path))

    def send(self, page: str, leads_to: str, *, files: dict[str, Any] | None = None, **fields: str) -> str:
        """Fill in the form of a page that leads to an address, or as little below it as any does; return what comes."""
        forms = {
            _attributes(one[: one.index(">")]).get("action", ""): one
            for one in reversed(re.findall(r"<form.*?</form>", page, re.S))
        }
        address = min((one for one in forms if leads_to in one), key=len)
        sent = _entered(forms[address]) | fields
        return self._page(self._ask("POST", address, data=sent, files=files))

    def _ask(self, method: str, path: str, **sent: Any) -> requests.Response:
        """Return the answer; as the page of a 503 says, what was sent is sent again in a moment."""
        for _ in range(TRIES):
            answer = self._ask_once(method, path, **sent)
            if answer.status_code != 503:
                break
            time.sleep(1)
        return answer

    def _ask_once(self, method: str, path: str, **sent: Any) -> requests.Response:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = requests.request(
            method,
            f"{self.site}{path}",
            headers=self.headers | {"Cookie": cookies},
            allow_redirects=False,
            timeout=20,
            **sent,
        )
        for line in answer.raw.headers.getlist("Set-Cookie"):
            for name, morsel in SimpleCookie(line).items():
                self.cookies[name] = morsel.value
        return answer

    def _page(self, answer: requests.Response) -> str:
        while answer.is_redirect:
            path = answer.headers["Location"].removeprefix(f"https://{self.host}")
            self.at = path
            answer = self._ask("GET", path)
        assert answer.status_code == 200, f"{answer.status_code} at {answer.url}: {words(answer.text)}"
        return answer.text


def words(page: str) -> str:
    """Return what stands in the main part of a page."""
    return " ".join(re.sub(r"<[^>]*>", " ", page.partition("<main")[2].partition("</main")[0]).split())


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
