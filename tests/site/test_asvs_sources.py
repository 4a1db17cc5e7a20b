"""What the site's sources do without, because each would open a hole (docs/asvs.csv names these tests)."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("dealsite", "cms", "shopping")
# What makes these harmless stands beside them: a template of our own, made-up content, a pause before another try.
KNOWN = {
    ("dealsite/data/entities/entity.py", "exec"),
    ("dealsite/data/table/key_templates.py", "exec"),
    ("dealsite/data/table/client.py", "random"),
    ("dealsite/data/commerce/charging.py", "random"),
    ("dealsite/data/jobs/jobs.py", "random"),
    ("dealsite/worker/crew.py", "random"),
    ("dealsite/demo/deals.py", "random"),
    ("dealsite/demo/purchases.py", "random"),
    (
        "dealsite/imports/product_page.py",
        "lxml",
    ),  # as HTML, which knows no entities of its own and loads nothing
}
CALLS = {"eval", "exec", "compile", "__import__"}
MODULES = {
    "pickle",
    "marshal",
    "shelve",
    "dill",
    "yaml",
    "xml",
    "lxml",
    "random",
    "ctypes",
    "telnetlib",
    "ftplib",
}
# By ctypes: to confine a process, to end what it leaves, to keep it small.
CALLS_THE_SYSTEM = ("dealsite/ask/", "dealsite/engine/", "dealsite/processes/")
WEAK = {"md5", "sha1", "new", "_create_unverified_context", "CERT_NONE", "PROTOCOL_TLS"}
SAFE_MARKUP = {
    "cms/templatetags/cms.py",
    "dealsite/accounts/second_factor.py",
    "dealsite/search/finding.py",
    "dealsite/search/documents.py",
    "dealsite/templatetags/dealsite.py",
    "dealsite/templatetags/design.py",
    "dealsite/templatetags/kept.py",
    "dealsite/text/markdown.py",
    "dealsite/text/writing.py",
    "shopping/catalogue/pages.py",
    "shopping/templatetags/shopping.py",
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield each module of the site, parsed."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def dangerous(tree: ast.Module) -> set[str]:
    """Return which ways to run what a text says, to read what can run, or to encrypt badly a module uses."""
    found = set(imported(tree)) & MODULES
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            found.add(node.func.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner, name = node.value.id, node.attr
            if name == "from_string" or (owner, name) == ("template", "Template"):
                found.add("template of a text")
            if (owner in ("hashlib", "ssl") and name in WEAK) or (owner, name) in (
                ("os", "system"),
                ("os", "popen"),
            ):
                found.add(f"{owner}.{name}")
        if isinstance(node, ast.keyword) and node.arg in ("shell", "verify"):
            wanted = node.arg == "verify"
            if isinstance(node.value, ast.Constant) and node.value.value is not wanted:
                found.add(f"{node.arg}={node.value.value!r}")
    return found


def test_no_module_runs_texts_reads_what_can_run_or_encrypts_badly():
    found = {
        (path, name)
        for path, tree in modules()
        for name in dangerous(tree)
        if name != "ctypes" or not path.startswith(CALLS_THE_SYSTEM)
    }
    assert found == KNOWN


def test_markup_is_declared_safe_in_known_places_only():
    found = {
        path
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.safestring"
    }
    assert found == SAFE_MARKUP
    pages = (ROOT / "templates").rglob("*.html")
    unescaped = re.compile(r"\|\s*safe(?:seq)?\b|autoescape off")
    assert [path.name for path in pages if unescaped.search(path.read_text("utf-8"))] == []


def test_scripts_run_no_texts_and_take_no_messages():
    dangerous = re.compile(
        r"\beval\(|new Function|document\.write|insertAdjacentHTML|\.outerHTML|\.innerHTML|postMessage"
        r"|addEventListener\(\s*[\"']message|__proto__|createContextualFragment|set(?:Timeout|Interval)\(\s*[\"']"
    )
    found = {
        (path.relative_to(ROOT).as_posix(), match[0])
        for path in (ROOT / "static").rglob("*.js")
        for match in dangerous.finditer(path.read_text("utf-8"))
    }
    # The preview's frame, which may run no script; an icon of our own sprite.
    assert found == {("static/cms/shared/preview.js", ".innerHTML")}


def test_browsers_store_nothing_but_looks_and_what_an_editor_typed_while_the_site_was_away():
    stored = re.compile(r"(?:localStorage|sessionStorage)\.setItem\(([^,]+),|indexedDB|document\.cookie\s*=")
    found = {
        (path.name, match[1])
        for path in (ROOT / "static").rglob("*.js")
        for match in stored.finditer(path.read_text("utf-8"))
    }
    assert found == {
        ("preview.js", "`preview-${name}`"),
        ("theme.js", '"theme"'),
        ("autosave.js", "KEY"),  # docs/decisions/0053-copy-in-the-browser.md
    }


def test_ruffs_rules_about_security_hold_in_the_whole_product():
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]
    assert "S" in ruff["select"]
    ignored = {
        where: [rule for rule in rules if rule.startswith("S")]
        for where, rules in ruff["per-file-ignores"].items()
    }
    assert {where for where, rules in ignored.items() if rules} == {
        "tests/**",
        "benchmarks/**",
        "dealsite/install/**",
    }
