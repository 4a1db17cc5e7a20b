"""HTML of files and documents as the Markdown that means the same."""

import time

import pytest

from dealsite.text import markdown
from dealsite.text.markdown import MOST_CHARACTERS, MOST_TAGS, to_markdown

DOCUMENT = (
    '<b style="font-weight:normal"><p><span style="font-weight:700">Bold </span>'
    '<span style="font-weight: bold; font-style: italic">both</span> <a href="https://a.example/">link</a></p>'
    '<ul><li dir="ltr"><p>One</p></li><li><p>Two</p></li></ul></b>'
)


@pytest.mark.parametrize(
    ("html", "means"),
    [
        ("<p>New design.</p><ul><li>Gold</li></ul>", "New design.\n\n- Gold"),
        ("<div>One</div><div>Two</div>", "One\n\nTwo"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<h2>Why</h2><p>5*3*2 cm &amp; more</p>", "## Why\n\n5\\*3\\*2 cm & more"),
        ("<ol><li>a</li><li>b</li></ol>", "1. a\n2. b"),
        (DOCUMENT, "**Bold** ***both*** [link](https://a.example/)\n\n- One\n- Two"),
        ("<a href='javascript:alert(1)'>x</a><img src=y alt=Lamp><script>z</script>", "xLamp"),
        ("Now <b>new</b>, **really**.\n\n- Gold\n- Brass", "Now **new**, **really**.\n\n- Gold\n- Brass"),
        ("I <3 it: 5 < 6, <Acme>, a & b &amp; c", "I <3 it: 5 < 6, <Acme>, a & b &amp; c"),
        ("<p>" * 5_000, "<p>" * 5_000),
    ],
)
def test_html_becomes_what_it_means_and_other_text_stays(html, means):
    assert to_markdown(html) == means


def test_a_document_looks_on_the_page_as_it_did():
    assert markdown.to_html(to_markdown(DOCUMENT)) == (
        "<p><strong>Bold</strong> <em><strong>both</strong></em> "
        '<a href="https://a.example/" rel="nofollow noopener">link</a></p>\n'
        "<ul>\n<li>One</li>\n<li>Two</li>\n</ul>\n"
    )


@pytest.mark.sample(quick=3)
def test_no_html_takes_long(subtests):
    for piece in [
        "<div></p>",
        "<b></b>",
        "<a href='</b>",
        "<b>x</b>\n\n",
        "</p>",
        "<table><tr><td></p>",
        "<!--</p>",
        "&</p>",
        "<a href=x>",
        "<p>a" + " " * 50_000,
    ]:
        with subtests.test(piece):
            start = time.process_time()
            to_markdown(piece * (MOST_CHARACTERS // len(piece)))
            to_markdown(piece * min(MOST_CHARACTERS // len(piece), MOST_TAGS // max(1, piece.count("<"))))
            assert time.process_time() - start < 3
