"""The texts of the site in other languages: found in the sources, kept in locale/, compiled into build/locale/."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from dealsite.ask import runs
from dealsite.home import ROOT
from dealsite.text import stored_words

SOURCES = ("cms", "dealsite", "shopping", "templates")
TEMPLATES = (".html", ".txt", ".xml")
KEYWORDS = {
    **DEFAULT_KEYWORDS,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext_lazy": (1, 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext_lazy": ((1, "c"), 2, 3),
}
HEADER = (
    'msgid ""\nmsgstr ""\n'
    '"Language: {language}\\n"\n'
    '"MIME-Version: 1.0\\n"\n'
    '"Content-Type: text/plain; charset=utf-8\\n"\n'
    '"Content-Transfer-Encoding: 8bit\\n"\n'
    '"Plural-Forms: {plurals}\\n"\n\n'
)


def catalogue_file(language: str) -> Path:
    """Where the translations into a language are kept."""
    return ROOT / "locale" / language / "LC_MESSAGES" / "django.po"


def languages() -> list[str]:
    """Return the languages that there are translations into."""
    return sorted(path.name for path in (ROOT / "locale").iterdir() if path.is_dir())


def read(language: str) -> Catalog:
    """Return the translations into a language as they are kept."""
    with catalogue_file(language).open("rb") as file:
        return read_po(file, locale=language)


def found() -> Catalog:
    """Return all texts that the sources mark, each with the files that it stands in: no line numbers, no dates."""
    catalogue = Catalog(charset="utf-8")
    for path in _sources():
        name = path.relative_to(ROOT).as_posix()
        for _, message, comments, context in _texts_in(path):
            catalogue.add(message, locations=[(name, 1)], auto_comments=comments, context=context)
    for question in runs.ready_questions().values():
        for text in (question.title, question.about):
            catalogue.add(text, locations=[("dealsite/ask/ready", 1)])
    for text in stored_words.WORDS:
        catalogue.add(text, locations=[("dealsite/text/stored_words.txt", 1)])
    return catalogue


def update(language: str) -> None:
    """Update a language's file: new texts without a translation, none that are gone; nothing is guessed."""
    catalogue = read(language)
    catalogue.update(found(), no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    write(catalogue, language)


def write(catalogue: Catalog, language: str) -> None:
    """Write a language's file, sorted: the same texts make the same file."""
    body = io.BytesIO()
    write_po(body, catalogue, width=100, omit_header=True, sort_output=True, include_lineno=False)
    header = HEADER.format(language=language, plurals=catalogue.plural_forms)
    catalogue_file(language).write_text(header + body.getvalue().decode("utf-8").lstrip("\n"), "utf-8")


def is_translated(message: Message) -> bool:
    """Tell whether a text has a translation that somebody has seen: all of its forms, and none of them guessed."""
    strings = (message.string,) if isinstance(message.string, str) else tuple(message.string or ("",))
    return not message.fuzzy and all(strings)


def compile_all(target: Path) -> None:
    """Write what gettext reads, a file for each language, below a folder: the same texts make the same file."""
    for language in languages():
        catalogue = read(language)
        catalogue.creation_date = datetime.fromtimestamp(0, UTC)  # Babel's own is now
        compiled = target / language / "LC_MESSAGES" / "django.mo"
        compiled.parent.mkdir(parents=True, exist_ok=True)
        made = compiled.with_suffix(".new")
        with made.open("wb") as file:
            write_mo(file, catalogue)
        made.replace(compiled)


def _sources() -> Iterator[Path]:
    for folder in SOURCES:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix == ".py" or (path.suffix in TEMPLATES and folder == "templates"):
                yield path


def _texts_in(path: Path) -> Iterator[tuple[int, str | tuple[str, ...], list[str], str | None]]:
    source = path.read_text("utf-8")
    if path.suffix in TEMPLATES:
        # Django makes of a template what gettext's tools read; without its indents it is Python enough for Babel, too.
        source = "\n".join(line.strip() for line in templatize(source).splitlines())
    yield from extract("python", io.BytesIO(source.encode("utf-8")), KEYWORDS, ("Translators:",))
