"""Every page in German: nothing English is left of what the site itself says, and long words stick out nowhere."""

import re

import pytest
from playwright.sync_api import Page

from dealsite import texts
from tests.browser.every_page.pages import PAGES
from tests.browser.looking import NEXT_FRAME, OVERHANG

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
# A report is in the language of whoever had the file checked, which was English here.
REPORTS = {"cms_import", "cms_mend_import"}


def english() -> re.Pattern[str]:
    """Return what finds a text of the sources that has another one in German: of two words at least."""
    found = set()
    for text in texts.read("de"):
        forms = [text.id] if isinstance(text.id, str) else list(text.id or ())
        strings = [text.string] if isinstance(text.string, str) else list(text.string or ())
        for form in forms:
            words = re.findall(r"[A-Za-z’']{2,}", VALUE.sub(" ", re.escape(form)))
            if len(words) > 1 and form not in strings and not HTML.search(form):
                found.add(VALUE.sub(".+", re.escape(form)))
    return re.compile("|".join(sorted(found)))


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_is_german_and_nothing_sticks_out(look, content, settings, name):
    settings.LANGUAGE_CODE = "de"
    who, addresses = PAGES[name]
    page: Page = look(who, width=390)
    known, found = english(), []
    for path in addresses(content):
        page.goto(path)
        page.evaluate(NEXT_FRAME)
        assert page.evaluate("document.documentElement.lang") == "de"
        if name not in REPORTS:
            found += [(path, said) for said in page.evaluate(SAID) if known.fullmatch(said)]
        if (overhang := page.evaluate(OVERHANG)) > 0:
            found.append((path, f"sticks out by {overhang} pixels"))
    assert found == []
