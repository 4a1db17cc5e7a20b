"""Descriptions: Markdown as safe HTML, as plain words and as an excerpt."""

import re
import time

import pytest

from dealsite.text import markdown


def test_the_usual_markdown_becomes_html():
    source = "# Title\n\nA *soft* **warm** [shop](https://shop.example/a?b=1&c=2)\n\n- one\n- two\n\n`code`"
    assert markdown.to_html(source) == (
        "<h3>Title</h3>\n"
        "<p>A <em>soft</em> <strong>warm</strong> "
        '<a href="https://shop.example/a?b=1&amp;c=2" rel="nofollow noopener">shop</a></p>\n'
        "<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n<p><code>code</code></p>\n"
    )


def test_headings_start_below_those_of_the_page():
    source = "\n\n".join("#" * level + " x" for level in range(1, 7))
    assert re.findall(r"<(h\d)>", markdown.to_html(source)) == ["h3", "h4", "h5", "h6", "h6", "h6"]
    assert re.findall(r"<(h\d)>", markdown.to_html("x\n===\n\ny\n---")) == ["h3", "h4"]


def test_a_table_has_no_inline_style():
    shown = markdown.to_html("| a | b |\n|:--|--:|\n| 1 | 2 |")
    assert "<td>1</td>" in shown
    assert "style" not in shown


def test_a_picture_is_replaced_by_its_words():
    assert markdown.to_html(
        '![A <b> "lamp"](https://x.example/l.png)'
    ) == "<p>A &lt;b&gt; &quot;lamp&quot;</p>\n".replace("&quot;", '"')


@pytest.mark.parametrize(
    "address", ["http://a.example", "https://a.example/x", "mailto:me@a.example", "HTTPS://a.example"]
)
def test_web_and_mail_addresses_are_links(address):
    assert f'href="{address}"'.lower() in markdown.to_html(f"[x]({address})").lower()


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src=https://evil.example></iframe>",
    "<style>*{display:none}</style>",
    "<a href='javascript:alert(1)'>x</a>",
    "<p style='position:fixed'>x</p>",
    "<form action=https://evil.example><input name=password></form>",
    "<!-- --><script>alert(1)</script>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#10;script:alert(1))",
    "[x](&#x6A;avascript:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](vbscript:msgbox)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](data:image/png;base64,AAAA)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example)",
    "[x](/account/delete)",
    "[x](blob:https://a.example/1)",
    "<javascript:alert(1)>",
    "![x](javascript:alert(1))",
    "![x](https://tracker.example/pixel.gif)",
    '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
    "[x]: javascript:alert(1)\n\n[x]",
    "```<script>\nx\n```",
    '``` "onload=alert(1)\nx\n```',
    "`<script>alert(1)</script>`",
    "[<script>alert(1)</script>](https://a.example)",
    "\x00<script\x00>alert(1)</script>",
]


def test_hostile_markdown_is_harmless(subtests):
    for source in HOSTILE:
        with subtests.test(source=source):
            shown = markdown.to_html(source)
            tags = re.findall(r"<[^>]*>", shown)
            for tag in tags:
                name = re.match(r"</?([a-z0-9]+)", tag)
                assert name is not None, tag
                assert name[1] in markdown.TAGS, tag
                outside_quotes = re.sub(r'"[^"]*"', '""', tag)
                assert not re.search(r"\b(on\w+|style|src|class|id)=", outside_quotes), tag
                for address in re.findall(r'href="([^"]*)"', tag):
                    assert re.match(r"(https?://|mailto:)", address), tag


def test_the_allow_list_holds_even_if_the_parser_lets_html_through(monkeypatch):
    monkeypatch.setitem(markdown._PARSER.options, "html", True)
    shown = markdown.to_html(
        "<script>alert(1)</script><p onclick=x style=y>ok <img src=x> <a href=javascript:x>z</a></p>"
    )
    for word in ("script", "onclick", "style", "img", "javascript"):
        assert word not in shown
    assert "ok" in shown


def test_the_parser_escapes_html_even_without_the_allow_list():
    assert "<b>" not in markdown._PARSER.render("x <b>y</b>")


@pytest.mark.sample(quick=4)
def test_long_repetitions_do_not_take_long(subtests):
    for piece in ["[", "*a ", "![", "> ", "- ", "`", "<", "[a](", "**a *b ", "|a", "&#0;", "\\", "_a__b"]:
        with subtests.test(piece=piece):
            source = piece * (20_000 // len(piece))
            start = time.process_time()
            markdown.to_html(source)
            assert time.process_time() - start < 3


def test_plain_text_has_no_markup():
    assert markdown.to_plain("# Warm\n\nA *soft* [lamp](https://a.example) & <b>more</b>\n\n- x") == (
        "Warm A soft lamp & <b>more</b> x"
    )


def test_an_excerpt_is_cut_between_words():
    assert markdown.excerpt("A warm lamp, made of oak.", 16) == "A warm lamp…"
    assert markdown.excerpt("A warm lamp.", 16) == "A warm lamp."
    assert markdown.excerpt("x" * 50, 16) == "x" * 15 + "…"
    assert markdown.excerpt("") == ""


def test_no_level_of_headings_is_skipped_on_the_way_down():
    assert re.findall(r"<(h\d)>", markdown.to_html("## x\n\n#### y\n\n###### z\n\n# x\n\n### y")) == [
        *("h3", "h4", "h5", "h3", "h4")
    ]


def test_text_as_people_type_and_paste_it_is_not_taken_for_markup(subtests):
    for text, shown, plain in (
        ("Size 5*3*2 cm", "<p>Size 5*3*2 cm</p>", "Size 5*3*2 cm"),
        ("2**3**4", "<p>2**3**4</p>", "2**3**4"),
        ("5 *very* big", "<p>5 <em>very</em> big</p>", "5 very big"),
        ("1968. The year", "<p>1968. The year</p>", "1968. The year"),
        ("2. Two\n3. Three", '<ol start="2">\n<li>Two</li>\n<li>Three</li>\n</ol>', "Two Three"),
        ("One\nTwo", "<p>One<br>\nTwo</p>", "One Two"),
        (
            "Features:\n•\tSolid brass\n•\t2 year warranty",
            "<p>Features:</p>\n<ul>\n<li>Solid brass</li>\n<li>2 year warranty</li>\n</ul>",
            "Features: Solid brass 2 year warranty",
        ),
        ("3 • 4", "<p>3 • 4</p>", "3 • 4"),
    ):
        with subtests.test(text=text):
            assert markdown.to_html(text).strip() == shown
            assert markdown.to_plain(text) == plain
