"""Writing a description: buttons and keys mark words, a document keeps its looks when pasted, and all can be undone."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.deal_form import field
from tests.browser.flaws import flaws
from tests.text.test_from_html import DOCUMENT

PASTE = """([html, plain]) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/html", html);
  clipboardData.setData("text/plain", plain);
  document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


def test_words_are_marked_and_what_a_document_pastes_keeps_its_looks(editor_window):
    page: Page = editor_window()
    page.goto("/cms/deals/new/")
    area = field(page, "Description")

    def choose(words: str) -> None:
        area.evaluate(
            "(area, words) => area.setSelectionRange(...[0, words.length].map(n => n + area.value.indexOf(words)))",
            words,
        )

    def press(name: str) -> None:
        page.get_by_role("toolbar", name="Formatting").get_by_role("button", name=name, exact=True).click()

    area.fill("One\nTwo three")
    choose("Two")
    press("Bold")
    expect(area).to_have_value("One\n**Two** three")
    page.keyboard.press("Control+i")
    expect(area).to_have_value("One\n***Two*** three")
    page.keyboard.press("Control+i")
    page.keyboard.press("Control+b")
    expect(area).to_have_value("One\nTwo three")
    page.keyboard.press("Control+z")
    expect(area).to_have_value("One\n**Two** three")
    choose("One\n**Two**")
    press("List")
    expect(area).to_have_value("- One\n- **Two** three")
    press("Numbered list")
    expect(area).to_have_value("1. One\n2. **Two** three")
    press("Numbered list")
    choose("three")
    press("Link")
    page.keyboard.type("https://a.example/")
    expect(area).to_have_value("One\n**Two** [three](https://a.example/)")

    area.fill("")
    area.focus()
    page.evaluate(PASTE, [f"<html><style>p{{}}</style><body>{DOCUMENT}</body></html>", "plain"])
    expect(area).to_have_value("**Bold** ***both*** [link](https://a.example/)\n\n- One\n- Two")
    area.fill("")
    page.route("**/cms/markdown/", lambda route: route.fulfill(status=409))
    page.evaluate(PASTE, [DOCUMENT, "Bold both link"])
    expect(area).to_have_value("Bold both link")
    assert flaws(page) == []
