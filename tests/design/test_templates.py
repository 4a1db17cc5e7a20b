"""What every template must keep to, read from the templates themselves."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template.engine import Engine

ROOT = Path(settings.BASE_DIR)
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
ELEMENT = re.compile(r"<[a-z][^<>]*(?:<[^<>]*>[^<>]*)*>")
TAG = re.compile(r"\{%-?\s*(\w+).*?%\}|\{\{.*?\}\}", re.DOTALL)


@functools.cache
def source(path: Path) -> str:
    """A template without its tags and comments, which stand within elements too."""
    return re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", path.read_text("utf-8"), flags=re.DOTALL)


@functools.cache
def with_parts(path: Path) -> str:
    """A template with those that it includes by name."""
    return re.sub(
        r'{% include "([^"]+)".*?%}',
        lambda found: with_parts(ROOT / "templates" / found[1]),
        path.read_text("utf-8"),
    )


def test_no_template_loads_tags_that_it_does_not_use(subtests: pytest.Subtests):
    libraries = Engine.get_default().template_libraries
    for path in TEMPLATES:
        with subtests.test(path=path):
            tags = list(TAG.finditer(path.read_text("utf-8")))
            names = {tag[1] for tag in tags}
            filters = {name for tag in tags for name in re.findall(r"\|(\w+)", tag[0])}
            loaded = {name for tag in tags if tag[1] == "load" for name in tag[0].split()[2:-1]}
            for name in loaded:
                library = libraries[name]
                assert names & library.tags.keys() or filters & library.filters.keys(), name


def test_no_template_has_script_or_style_of_its_own(subtests: pytest.Subtests):
    for path in TEMPLATES:
        with subtests.test(path=path):
            text = source(path)
            assert not re.search(r"\sstyle\s*=|<style", text)
            assert not re.search(r"\son[a-z]+\s*=|\shx-on|javascript:", text)
            for script in re.findall(r"<script[^>]*>", text):
                assert (
                    "src=" in script
                    or 'type="application/ld+json"' in script
                    or 'type="application/json"' in script
                )


def test_what_htmx_loads_works_without_it(subtests: pytest.Subtests):
    for path in TEMPLATES:
        with subtests.test(path=path):
            for element in ELEMENT.findall(source(path)):
                if "hx-get=" in element:
                    assert re.search(r"\shref=", element) or element.startswith(
                        ("<form", "<input", "<select")
                    ), element
                if "hx-post=" in element:
                    assert element.startswith(("<form", "<button", "<input", "<select")), element
                if re.search(r"hx-(get|post)=", element):
                    assert "hx-target=" in element, element
                    assert "hx-swap=" in element, element


def test_pictures_have_a_size_and_words(subtests: pytest.Subtests):
    for path in TEMPLATES:
        with subtests.test(path=path):
            for image in re.findall(r"<img[^>]*>", source(path)):
                for attribute in ("alt=", "width=", "height="):
                    assert attribute in image, image


def test_a_form_that_posts_carries_its_token(subtests: pytest.Subtests):
    for path in TEMPLATES:
        with subtests.test(path=path):
            text = with_parts(path)
            for form in re.findall(r'<form[^>]*method="post".*?</form>', text, re.DOTALL):
                if "{% url 'add_to_cart' %}" in form:  # on pages that all visitors share: decision 10
                    continue
                assert "{% csrf_token %}" in form, form


def test_every_icon_used_is_in_the_sprite():
    listed = set((ROOT / "static" / "icons.txt").read_text("utf-8").split())
    used = {name for path in TEMPLATES for name in re.findall(r'{% icon "([^"]+)"', path.read_text("utf-8"))}
    for named in (
        r'{% nav_link "[^"]*" "[^"]*" "([^"]+)"',
        r'{% include "[^"]*" with [^%]*picture="([\w-]+)"',
    ):
        used |= {name for path in TEMPLATES for name in re.findall(named, path.read_text("utf-8"))}
    assert used - listed == set()
