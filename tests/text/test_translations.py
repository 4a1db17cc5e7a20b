"""The texts of the site: all marked, all translated, and nothing lost on the way into another language."""

import ast
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel.messages import Catalog, Message
from django.core.management import call_command
from django.template.base import Lexer, TokenType
from django.utils import translation

from dealsite.data.table import errors
from dealsite.home import ROOT
from dealsite.text import stored_words, translations

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
CODE = sorted(path for folder in ("cms", "dealsite", "shopping") for path in (ROOT / folder).rglob("*.py"))
VALUES = re.compile(r"%\(\w+\)[sd]|\{\w*\}")
TAGS = re.compile(r"<[^>]+>")
WORDS = re.compile(r"[^\W\d_]{2,}")
each_language = pytest.mark.parametrize("language", translations.languages())

# What is the same in every language: names, units, keys of the keyboard, code.
SAME = {"Dealsite", "CMS", "Esc", "Ctrl", "UTC", "ms", "px"}
SPOKEN = ("aria-label", "alt", "placeholder", "title")  # attributes that people hear or read
WIDTH = "block width"  # holds a class
SILENT = {"script", "style", "code", "kbd", "pre"}


@pytest.mark.release  # until then, what has no translation is shown in English, and make check lists it
@each_language
def test_the_file_holds_what_the_sources_say_and_nothing_else(language: str):
    found = {(text.context, text.id) for text in translations.found() if text.id}
    kept = {(text.context, text.id) for text in translations.read(language) if text.id}
    assert (found - kept, kept - found) == (set(), set()), "`make texts` brings the file up to date"


@pytest.mark.release
@each_language
def test_every_text_has_a_translation(language: str):
    missing = [
        text.id for text in translations.read(language) if text.id and not translations.is_translated(text)
    ]
    assert missing == []


@each_language
def test_values_and_html_survive_the_translation(language: str):
    lost = [(text.id, text.string) for text in translations.read(language) if text.id and not keeps_all(text)]
    assert lost == []


def keeps_all(text: Message) -> bool:
    """Tell whether each form of a translation holds the values and the tags of the text."""
    ids = [text.id] if isinstance(text.id, str) else list(text.id)
    strings = [text.string] if isinstance(text.string, str) else list(text.string)
    wanted = [(Counter(VALUES.findall(one)), Counter(TAGS.findall(one))) for one in ids]
    # A form for one may say the number in words, as the source does.
    return all((Counter(VALUES.findall(one)), Counter(TAGS.findall(one))) in wanted for one in strings if one)


@pytest.mark.thorough
@each_language
def test_the_same_sources_make_the_same_file(language: str, tmp_path: Path, monkeypatch):
    kept = tmp_path / "django.po"
    kept.write_text(translations.catalogue_file(language).read_text("utf-8"), "utf-8")
    monkeypatch.setattr(translations, "catalogue_file", lambda language: kept)
    translations.update(language)
    once = kept.read_text("utf-8")
    translations.update(language)
    assert kept.read_text("utf-8") == once
    assert str(ROOT) not in once
    assert "-Date:" not in once


@each_language
def test_what_has_no_translation_is_listed_and_nothing_is_changed(language: str, monkeypatch, capsys):
    new = Catalog()
    new.add("Quite new", locations=[("templates/new.html", 1)])
    monkeypatch.setattr(translations, "found", lambda: new)
    before = translations.catalogue_file(language).read_bytes()
    call_command("texts", check=True)
    assert capsys.readouterr().out == f"{language}: templates/new.html: 'Quite new' is shown in English\n"
    assert translations.catalogue_file(language).read_bytes() == before


class Spoken(HTMLParser):
    """Collects the words of a page without what the template fills in."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag, attrs):
        self.silent += tag in SILENT
        self.found += [value or "" for name, value in attrs if name in SPOKEN]

    def handle_endtag(self, tag):
        self.silent -= tag in SILENT

    def handle_data(self, data):
        if not self.silent:
            self.found.append(data)


def unmarked(source: str) -> list[str]:
    """Return the words of a template that stand outside its translate tags."""
    page, inside = [], False
    for token in Lexer(source).tokenize():
        name = token.contents.partition(" ")[0]
        if token.token_type == TokenType.BLOCK and (
            name in ("blocktranslate", "comment") or token.contents == WIDTH
        ):
            inside = True
        elif token.token_type == TokenType.BLOCK and name in ("endblocktranslate", "endcomment", "endblock"):
            inside = False
        elif token.token_type == TokenType.TEXT and not inside:
            page.append(token.contents)
    parser = Spoken()
    parser.feed("".join(page))
    return [text.strip() for text in parser.found if set(WORDS.findall(text)) - SAME]


def test_every_text_of_the_templates_is_marked():
    found = {path.relative_to(ROOT).as_posix(): unmarked(path.read_text("utf-8")) for path in TEMPLATES}
    assert {name: words for name, words in found.items() if words} == {}


def test_an_unmarked_text_is_found():
    assert unmarked('<p title="{{ a }} Old">{% translate "Good" %} bad</p>') == ["Old", "bad"]
    assert unmarked("{% blocktranslate %}Good{% endblocktranslate %} <kbd>Ctrl</kbd> {{ x }} · 5 %") == []


ERRORS = {"ValidationError", "Http404"} | {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.DataError)
}
SHOWN_AS = {"label", "help_text", "message", "required", "invalid"}


def unmarked_in_code(source: str) -> list[str]:
    """Return the sentences that a module shows to people without looking for their translation."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            found += [text for part in _shown(node) if (text := _bare(part))]
    return found


def _shown(call: ast.Call) -> list[ast.expr]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    base = getattr(getattr(call.func, "value", None), "id", "")
    shown = [word.value for word in call.keywords if word.arg in SHOWN_AS]
    if name in ERRORS:
        shown += call.args[:1]
        shown += [
            word.value for word in call.keywords if word.arg not in ("field", "status", "current", "reason")
        ]
    elif name == "add_error" or (
        base in ("messages", "notes") and name in ("success", "info", "warning", "error")
    ):
        shown += call.args[1:2]
    return shown


def _bare(part: ast.expr) -> str:
    """Return a sentence that stands there as it is; '' for everything else."""
    if isinstance(part, ast.JoinedStr):
        text = "".join(str(value.value) for value in part.values if isinstance(value, ast.Constant))
    elif isinstance(part, ast.Constant) and isinstance(part.value, str):
        text = part.value
    else:
        return ""
    return text if len(WORDS.findall(text)) > 1 or text.istitle() else ""


# What goes wrong in the code, not for people: it ends on the page for mistakes of ours.
OF_DEVELOPERS = {
    "dealsite/accounts/decorators.py",
    "dealsite/data/table/client.py",
    "dealsite/data/table/schema.py",
    "dealsite/lake/exports.py",  # of a command, whose words stand in stored_words.txt
    "dealsite/site_setup.py",  # of a command
    "dealsite/stream/rebuilding.py",
    "dealsite/stream/records.py",
    "dealsite/worker/loop.py",
}


def test_every_sentence_of_the_code_is_marked():
    found = {path.relative_to(ROOT).as_posix(): unmarked_in_code(path.read_text("utf-8")) for path in CODE}
    assert {name: words for name, words in found.items() if words and name not in OF_DEVELOPERS} == {}


def test_an_unmarked_sentence_is_found():
    assert unmarked_in_code('raise NotFound("It is gone.")') == ["It is gone."]
    assert unmarked_in_code('messages.success(request, f"{name} is back.")') == [" is back."]
    assert unmarked_in_code('raise NotFound(_("It is gone."))') == []


def test_what_is_stored_is_shown_in_the_readers_language():
    with translation.override("de"):
        assert stored_words.shown("moved to another time") == "auf eine andere Zeit verschoben"
        assert stored_words.shown("Tracking number JD-14") == "Sendungsnummer JD-14"
        assert stored_words.shown("published with 3 others") == "mit 3 anderen veröffentlicht"
        assert stored_words.shown("Somebody typed this") == "Somebody typed this"
    assert stored_words.shown("Tracking number JD-14") == "Tracking number JD-14"
