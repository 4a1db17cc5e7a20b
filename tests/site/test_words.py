"""The words that docs/glossary.md replaces do not come back as names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
ROOMS = ("dealsite", "cms", "shopping", "tests", "benchmarks")

pytestmark = pytest.mark.promise


def replaced_words() -> list[str]:
    """Return the words of the column "instead of"."""
    table = GLOSSARY.read_text("utf-8").partition("| instead of | say |")[2]
    return [word for line in table.splitlines()[2:] for word in re.findall(r"`(\w+)`", line.split("|")[1])]


def names() -> Iterator[tuple[str, str, bool]]:
    """Yield each module, function and class but tests: where it is, its name, whether it is a class."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            place = str(path.relative_to(ROOT))
            yield place, path.parent.name if path.stem == "__init__" else path.stem, False
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                is_test = isinstance(node, ast.FunctionDef) and node.name.startswith("test_")  # a sentence
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not is_test:
                    yield f"{place}:{node.lineno}", node.name, isinstance(node, ast.ClassDef)


def says(name: str, word: str, *, is_class: bool) -> bool:
    """Tell whether a name is, or for a word in small letters holds, a replaced word."""
    if word[0].isupper():
        return is_class and name.lstrip("_") == word
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return f"_{word}_" in f"_{snake}_"


def test_no_replaced_word_comes_back_as_a_name():
    words = replaced_words()
    assert len(words) > 30
    back = [
        f"{place}: {name} says {word}"
        for place, name, is_class in names()
        for word in words
        if says(name, word, is_class=is_class)
    ]
    assert back == []


@pytest.mark.parametrize(
    ("name", "word", "is_class", "said"),
    [
        ("mend_import", "mend", False, True),
        ("MendedRow", "mended", True, True),
        ("recommend", "mend", False, False),
        ("_Asked", "Asked", True, True),
        ("asked", "Asked", False, False),
    ],
)
def test_a_word_is_found_in_a_name(name: str, word: str, is_class: bool, said: bool):
    assert says(name, word, is_class=is_class) is said
