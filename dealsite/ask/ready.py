"""The questions that come with the site: a .sql file each, in the order of their numbers."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "ready"
FILE = re.compile(r"\d\d-(?P<slug>[a-z-]+)\.sql")
HEAD = re.compile(r"-- (?P<title>[^\n]+)\n-- (?P<about>[^\n]+)\n")


@dataclass(frozen=True, slots=True)
class ReadyQuestion:
    """A question with its title, and a sentence about what the answer holds."""

    slug: str
    title: str
    about: str
    sql: str


@cache
def questions() -> dict[str, ReadyQuestion]:
    """Return the ready questions by slug: the first comment of each file is its title, the second what it is about."""
    found = {}
    for path in sorted(FOLDER.iterdir()):
        name = FILE.fullmatch(path.name)
        text = path.read_text("utf-8")
        head = HEAD.match(text)
        if name and head:
            slug = name["slug"]
            found[slug] = ReadyQuestion(slug, head["title"], head["about"], text[head.end() :].strip())
    return found
