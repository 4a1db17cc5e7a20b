"""Turns the Markdown of descriptions into safe HTML and plain text, and HTML, as files hold it, into Markdown.

Raw HTML is shown as the text it is, and what the Markdown parser made passes a strict allow-list
as well: neither alone decides what reaches a page.
"""

import html
import re
from collections.abc import Sequence
from typing import Any

import nh3
from bs4 import BeautifulSoup
from bs4.element import Tag
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, list_block
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markdownify import MarkdownConverter

TAGS = {
    *("p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "a"),
    *("ul", "ol", "li", "h2", "h3", "h4", "h5", "h6"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
SCHEMES = {"http", "https", "mailto"}
LINK = re.compile(r"(https?://[^/]|mailto:.)", re.IGNORECASE)

TIMES = re.compile(r"(?<=\d)\*+(?=\d)")
YEAR = re.compile(r"\d{3,}[.)]")
BULLET = re.compile(r"^( {0,3})[•●▪‣◦·][ \t\u00a0]*", re.MULTILINE)


def to_html(markdown: str, *, top: int = 3) -> SafeString:
    """Return sanitised HTML of CommonMark with tables, in which line ends stay and pasted bullets are lists.

    Headings start at h3, or another `top`, below the page's own. Links go to http, https and mailto only and are
    marked nofollow noopener. Pictures are replaced by their alt text.
    """
    sanitised = nh3.clean(
        _PARSER.render(markdown, {"top": top}),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes=SCHEMES,
        link_rel="nofollow noopener",
        strip_comments=True,
    )
    return mark_safe(sanitised)  # noqa: S308 - by the line above


def to_plain(markdown: str) -> str:
    """Return the words of a Markdown text on one line, without any markup."""
    return " ".join(html.unescape(nh3.clean(_PARSER.render(markdown), tags=set())).split())


def excerpt(markdown: str, characters: int = 160) -> str:
    """Return the beginning of a Markdown text in plain words, cut between words: a meta description."""
    # Only the beginning is parsed: markup seldom takes more than the words themselves.
    plain = to_plain(markdown[: characters * 8])
    if len(plain) <= characters:
        return plain
    cut = plain[:characters].rpartition(" ")[0] or plain[: characters - 1]
    return cut.rstrip(" ,;:.–-") + "…"


def is_link(url: str) -> bool:
    """Tell whether an address may be that of a link: http, https or mailto."""
    return LINK.match(url.strip()) is not None


def _alt_only(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return html.escape(self.renderInlineAsText(tokens[index].children or [], options, env))


def _demote_headings(state: Any) -> None:
    top: int = state.env.get("top", 3)
    deepest = top  # no level is left out on the way down, which would lose those who listen
    for token in state.tokens:
        if token.type == "heading_open":
            level = min(int(token.tag[1]) + top - 1, deepest)
            tag = token.tag = f"h{level}"
            deepest = min(level + 1, 6)
        elif token.type == "heading_close":
            token.tag = tag


def _times(state: StateInline, silent: bool) -> bool:
    """Leave asterisks between digits as they are: 5*3*2 cm is a size."""
    stars = TIMES.match(state.src, state.pos)
    if not stars:
        return False
    if not silent:
        state.pending += stars[0]
    state.pos = stars.end()
    return True


def _list(state: StateBlock, first_line: int, last_line: int, silent: bool) -> bool:
    """Begin a list, but not at a year: "1968. The year …" is a sentence."""
    if YEAR.match(state.src, state.bMarks[first_line] + state.tShift[first_line]):
        return False
    return list_block(state, first_line, last_line, silent)


def _pasted_bullets(state: StateCore) -> None:
    state.src = BULLET.sub(r"\1- ", state.src)


_PARSER = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
_PARSER.inline.ruler.before("emphasis", "times", _times)
_PARSER.block.ruler.at("list", _list, {"alt": ["paragraph", "reference", "blockquote"]})
_PARSER.core.ruler.after("normalize", "pasted_bullets", _pasted_bullets)
_PARSER.validateLink = is_link  # type: ignore[method-assign]
_PARSER.add_render_rule("image", _alt_only)
_PARSER.core.ruler.push("demote_headings", _demote_headings)


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
