"""Turns HTML, as files hold it and documents paste it, into the Markdown of descriptions."""

import re

from bs4 import BeautifulSoup
from bs4.element import Tag
from markdownify import MarkdownConverter

from dealsite.text.markdown import is_link

MOST_CHARACTERS = 60_000  # a description and as much markup again, twice
MOST_TAGS = 3_000  # tags in one another, and runs of spaces, cost as much as their number squared
SPACES = re.compile(r"[ \t]{100,}")
INLINE = re.compile(r"</(?:span|b|strong|i|em|u|s|a|code|font)>", re.IGNORECASE)
BLOCKS = re.compile(r"</(?:p|div|ul|ol|li|h[1-6]|table|blockquote|pre)>|<(?:br|p) ?/?>", re.IGNORECASE)
BOLD, NOT_BOLD = re.compile(r"font-weight:(?:bold|[6-9]00)"), re.compile(r"font-weight:(?:normal|[1-5]00)")
ITALIC = re.compile(r"font-style:italic")
BLANK_LINES = re.compile(r"\n\s*\n")


def to_markdown(text: str) -> str:
    """Return HTML as the Markdown that means the same, and any other text as it is.

    Where only words are marked, line ends and Markdown count as well.
    """
    has_blocks = BLOCKS.search(text)
    if len(text) > MOST_CHARACTERS or text.count("<") > MOST_TAGS or not (has_blocks or INLINE.search(text)):
        return text
    text = SPACES.sub(" " * 100, text)
    parts = [text] if has_blocks else BLANK_LINES.split(text)
    is_html = bool(has_blocks)
    converter = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        escape_asterisks=is_html,
        escape_underscores=is_html,
        escape_misc=False,
    )
    try:
        converted = "\n\n".join(converter.convert_soup(_soup(part)) for part in parts)
    except RecursionError:  # of thousands of tags in one another
        return text
    return "\n".join(line.rstrip(" \t") for line in converted.split("\n")).strip()


def _soup(text: str) -> BeautifulSoup:
    """Return HTML with tags for what documents say by style alone; of a picture, or a bad link, the words."""
    soup = BeautifulSoup(text, "html.parser")
    for tag in soup.find_all(["span", "b", "a", "img"]):
        style = str(tag.get("style", "")).replace(" ", "").lower()
        if tag.name == "img":
            tag.replace_with(str(tag.get("alt", "")))
        elif (
            NOT_BOLD.search(style)
            if tag.name == "b"
            else tag.name == "a" and not is_link(str(tag.get("href")))
        ):
            tag.unwrap()
        elif tag.name == "span":
            if ITALIC.search(style):
                tag.wrap(Tag(name="i"))
            if BOLD.search(style):
                tag.name = "b"
    return soup
