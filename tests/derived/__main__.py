"""Writes the parts of docs and deployment that code says already: make docs. With --check, says which are old.

Such a part stands between two lines, `derived: NAME` and `derived: end`; NAME is one of tests/derived/parts.py.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

import django

from tests.derived import sizes

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*(ROOT / "docs").glob("*.md"), ROOT / "deploy" / "README.md", ROOT / "deploy" / "cloudformation.yml"]
PART = re.compile(r"(^[^\n]*derived: (.+?)(?: -->)?\n)(.*?)(^[^\n]*derived: end)", re.DOTALL | re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="change nothing, and end with 1 if a part is old"
    )
    check = parser.parse_args().check
    old = rewrite(check=check)
    too_large = list(sizes.problems())
    print(*too_large, sep="\n", end="\n" if too_large else "", file=sys.stderr)  # noqa: T201
    for path in old:
        print(f"{path.relative_to(ROOT)} {'is old: make docs writes it anew' if check else 'was old'}")  # noqa: T201
    return 1 if too_large or (old and check) else 0


def rewrite(*, check: bool) -> list[Path]:
    """Write every part anew, or with `check` none; return the files with an old one."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    from tests.derived.parts import PARTS

    old = []
    for path in PAGES:
        text = path.read_text("utf-8")
        new = PART.sub(lambda part: "\n".join([part[1].rstrip(), *PARTS[part[2]](), part[4]]), text)
        if new != text:
            old.append(path)
            if not check:
                path.write_text(new, "utf-8")
    return old


if __name__ == "__main__":
    sys.exit(main())
