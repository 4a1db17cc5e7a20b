"""A page in German: nothing English is left of what the site itself says."""

from __future__ import annotations

import functools
import re

from playwright.sync_api import Page

from dealsite.text import translations

# What a page says, node by node, and what it says to those who do not see it.
SAID = """() => {
  const said = [];
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest("script, style, textarea")) said.push(walker.currentNode.data);
  }
  for (const name of ["aria-label", "alt", "placeholder", "title"]) {
    for (const element of document.querySelectorAll(`[${name}]`)) said.push(element.getAttribute(name));
  }
  return said.map((text) => text.replace(/\\s+/g, " ").trim()).filter(Boolean);
}"""
VALUE = re.compile(r"%\\\((?:\w+)\\\)[sd]|%\((?:\w+)\)[sd]|\\\{\w*\\\}")
HTML = re.compile(r"<[^>]+>")


@functools.cache
def english() -> re.Pattern[str]:
    """Return what finds a text of the sources that has another one in German: of two words at least."""
    found = set()
    for text in filter(translations.is_translated, translations.read("de")):
        forms = [text.id] if isinstance(text.id, str) else list(text.id or ())
        strings = [text.string] if isinstance(text.string, str) else list(text.string or ())
        for form in forms:
            words = re.findall(r"[A-Za-z’']{2,}", VALUE.sub(" ", re.escape(form)))
            if len(words) > 1 and form not in strings and not HTML.search(form):
                found.add(VALUE.sub(".+", re.escape(form)))
    return re.compile("|".join(sorted(found)))


def english_texts(page: Page) -> list[str]:
    """Return what the page that is open says in English while the site speaks German."""
    assert page.evaluate("document.documentElement.lang") == "de"
    return [f"in English: {said}" for said in page.evaluate(SAID) if english().fullmatch(said)]
