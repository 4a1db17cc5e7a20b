"""Texts that would be scripts, in every field of the table that people fill in: Chromium shows them all, and runs none.

They are written into the table itself, past all checks of forms: what a page shows has to be safe without them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from django.test import Client, override_settings
from playwright.sync_api import Dialog, Page

from dealsite.data import table
from dealsite.data.table import schema
from dealsite.data.table.writes import Put
from dealsite.text.markdown import to_html
from tests.browser.troubles import Troubles
from tests.builders import EDITOR
from tests.pages import PAGES
from tests.searching import index_table
from tests.seeded import ADMIN, SHOPPER, VISITOR, Content, seed

RUN = "window.xss=1"
VECTORS = [
    f"<script>{RUN}</script><xss-mark>",
    f'"><img src=x onerror={RUN}><xss-mark a="',
    f"'><svg onload={RUN}><xss-mark a='",
    f"</textarea></title></style></script></noscript></option></select><xss-mark><svg/onload={RUN}>",
    f'" autofocus onfocus={RUN} onmouseover={RUN} style="position:fixed',
    '-->]]><iframe srcdoc="<script>parent.xss=1</script>"></iframe><xss-mark>',
    f"{{{{constructor.constructor('{RUN}')()}}}}${{{RUN}}}`;{RUN}//\\u003cxss-mark\\u003e",
    f'[a](javascript:{RUN}) [b](JaVa&#x09;ScRiPt:{RUN}) ![c](x"onerror="{RUN}) <javascript:{RUN}>',
    f"\n\n[d][]\n\n[d]: javascript:{RUN}\n\n",
    f'<a href="data:text/html,<script>opener.xss=1</script>">e</a><math><mi//xlink:href="javascript:{RUN}">',
    "&lt;xss-mark&gt;&#60;xss-mark&#62; \uff1cxss-mark\uff1e \u202e\u2028\u2066 %3Cxss-mark%3E",
]
HOSTILE = " ".join(VECTORS)
# What people type, by the name that it is stored under, wherever it stands in an item.
FIELDS = {
    *(
        "title",
        "brand_name",
        "headline",
        "text",
        "description",
        "voucher_code",
        "alt",
        "street",
        "city",
        "country",
    ),
    *(
        "postcode",
        "extra",
        "label",
        "note",
        "reason",
        "column",
        "samples",
        "titles",
        "name",
        "why",
        "value",
        "sql",
    ),
}
# In which those names stand for something else: what a job is to do, how a bulk change begins.
LEFT_ALONE = {"Job", "BulkChunk", "BulkRow", "Payment", "ImportLayout"}
DANGER = """() => {
  const found = [];
  if (window.xss) found.push("a script ran");
  for (const element of document.querySelectorAll("*")) {
    if (element.localName === "xss-mark") found.push("a tag of the text is one of the page");
    if (element.closest("svg") && element.localName === "script") found.push("a script in a drawing");
    for (const { name, value } of element.attributes) {
      if (name.startsWith("on")) found.push(`${element.localName} ${name}`);
      const leads = ["href", "src", "action", "formaction", "xlink:href", "srcdoc", "data"].includes(name);
      const url = value.replace(/[\\u0000-\\u0020]/g, "").toLowerCase();
      if (leads && /^(javascript|vbscript|data:text)/.test(url)) found.push(`${element.localName} ${name}=${value}`);
    }
  }
  return found;
}"""
KEY_PAGES = ("front_page", "deal", "cart", "open_message", "order", "cms_deal", "cms_draft", "cms_order")
REFLECTED = [
    (VISITOR, "/search/?q={}"),
    (VISITOR, "/search/?q=deal&brand={}&price_from={}"),
    (VISITOR, "/account/sign-in/?next={}&then={}"),
    (VISITOR, "/nowhere/{}/"),
    (VISITOR, "/?after={}"),
    (VISITOR, "/brands/{}/"),
    (VISITOR, "/account/sign-up/?next={}"),
    (VISITOR, "/account/password-reset/{}/{}/"),
    (SHOPPER, "/account/orders/?status={}&after={}"),
    (SHOPPER, "/account/orders/{}/"),
    (SHOPPER, "/account/card/finish/?token={}&next={}"),
    (EDITOR, "/cms/deals/?words={}&state={}&brand={}"),
    (EDITOR, "/cms/go/?q={}"),
    (EDITOR, "/cms/deals/{}/"),
    (EDITOR, "/cms/messages/new/?deal={}&headline={}"),
    (EDITOR, "/cms/brands/new/?name={}"),
    (ADMIN, "/cms/ask/?sql={}&title={}"),
    (ADMIN, "/cms/users/?q={}&role={}"),
    (ADMIN, "/cms/audit/?who={}&subject={}"),
    (ADMIN, "/cms/orders/find/?q={}"),
    (ADMIN, "/cms/payments/account/?account={}"),
]


def hostile(value: Any, name: str = "", of: str = "") -> Any:
    """Return what is stored, its texts of people followed by the hostile one."""
    if isinstance(value, dict):
        is_picture = "width" in value and "alt" in value
        return {
            key: one if is_picture and key == "name" else hostile(one, key, of) for key, one in value.items()
        }
    if isinstance(value, list):
        return [hostile(one, name, of) for one in value]
    if name == "link" and isinstance(value, str) and value.startswith("https://"):
        return f"{value}?a=\"><script>{RUN}</script><xss-mark>'{quote(HOSTILE)}"
    return f"{value} {HOSTILE}" if isinstance(value, str) and value and name in FIELDS else value


def poison() -> int:
    """Write hostile texts into every item of the table; return into how many."""
    changed = 0
    for item in list(table.scan_all(consistent=True)):
        other = item if item["type"] in LEFT_ALONE else hostile(item)
        if other != item:
            table.write(Put(key=(item["PK"], item["SK"]), item=other))
            changed += 1
    return changed


@pytest.fixture(scope="module")
def poisoned(native_engine: str, tmp_path_factory: pytest.TempPathFactory) -> Content:
    """A site with content of every kind, in which every text is hostile."""
    folder = tmp_path_factory.mktemp("poisoned")
    media, search, var = (folder / name for name in ("media", "search", "var"))
    options: dict[str, Any] = {
        "DYNAMODB_ENDPOINT_URL": native_engine,
        "DEALSITE_TABLE": f"poisoned-{folder.name}",
    }
    options |= {"MEDIA_ROOT": media, "SEARCH_ROOT": search, "VAR": var, "DEALSITE_LAKE": ""}
    with override_settings(**options):
        table.reset()
        schema.create_table()
        made = seed(options["DEALSITE_TABLE"], media, search, var)
        assert poison() > 200
        index_table()
        table.reset()
    return made


@pytest.fixture
def open_as(
    poisoned: Content,
    engine: str,
    address: str,
    settings: Any,
    troubles: Troubles,
    window: Callable[..., Page],
) -> Callable[[str], Page]:
    """A function that opens a window of a user of that site; a dialog is a flaw."""
    settings.DEALSITE_TABLE, settings.MEDIA_ROOT = poisoned.table_name, poisoned.media
    settings.SEARCH_ROOT, settings.VAR = poisoned.search, poisoned.var

    def open_window(who: str) -> Page:
        page = window(poisoned.users.get(who), alone=True)

        def refuse(dialog: Dialog) -> None:
            dialog.dismiss()
            troubles.found.append(f"A dialog: {dialog.message}")

        page.on("dialog", refuse)
        return page

    return open_window


def dangers(page: Page, path: str) -> list[str]:
    """Open a page; return what is dangerous in it, also after everything was pointed at and given the focus."""
    page.goto(path)
    page.keyboard.press("Tab")
    return [f"{path[:100]}: {danger}" for danger in page.evaluate(DANGER)]


def found_on(names: list[str], open_as: Callable[[str], Page], content: Content) -> list[str]:
    pages: dict[str, Page] = {}
    found = []
    for name in names:
        who, addresses = PAGES[name]
        if who not in pages:
            pages[who] = open_as(who)
        for path in addresses(content):
            found += dangers(pages[who], path)
    return found


def test_no_text_is_a_script_where_most_of_them_are_shown(open_as, poisoned):
    assert found_on(list(KEY_PAGES), open_as, poisoned) == []


@pytest.mark.sample(quick=12, whole=3)
@pytest.mark.parametrize("part", range(12))
def test_no_text_is_a_script_on_any_other_page(open_as, poisoned, part):
    others = sorted(PAGES.keys() - {*KEY_PAGES})
    assert found_on(others[part::12], open_as, poisoned) == []


@pytest.mark.sample(quick=4, whole=2)
@pytest.mark.parametrize(("who", "path"), REFLECTED)
def test_nothing_of_an_address_is_a_script_in_its_page(open_as, who, path):
    assert dangers(open_as(who), path.replace("{}", quote(" ".join(VECTORS[:5]), safe=""))) == []


def test_the_texts_are_on_the_pages_as_they_were_typed(open_as, poisoned, troubles):
    """Else the tests above would prove nothing."""
    page = open_as(VISITOR)
    page.goto(poisoned.deal("live"))
    assert page.get_by_role("heading", level=1).inner_text().count("<xss-mark") >= 5
    page.set_content(f"<p>{HOSTILE}</p>")
    assert "a tag of the text is one of the page" in page.evaluate(DANGER)
    found, troubles.found = " ".join(troubles.found), []
    assert "Content Security Policy" in found


@pytest.mark.parametrize("path", ["/deals.atom", "/brands/nordlicht/deals.atom", "/sitemaps/brands-14.xml"])
def test_feeds_stay_well_formed(open_as, path):
    tree = ElementTree.fromstring(Client().get(path).content)  # noqa: S314 - of this site
    assert not [
        element.tag for element in tree.iter() if "xss-mark" in element.tag or "script" in element.tag
    ]


def test_no_markdown_is_a_script():
    for vector in VECTORS:
        html = to_html(vector)
        assert "<xss-mark" not in html
        assert not re.search("<[^>]*(javascript:|data:| on\\w+=)", html, re.IGNORECASE)
