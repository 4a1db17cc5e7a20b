"""python -m tests.dead_code: finds what nothing uses; Vulture reads Python alone, so it is told what templates name."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from django.conf import global_settings
from vulture import Vulture
from vulture.config import make_config

from dealsite.data.entities.chart import ROOMS
from dealsite.data.entities.entity import Entity

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("dealsite", "cms", "shopping")
TAGS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
WORDS = re.compile(r"[A-Za-z_]\w*")
CLEANED = re.compile(r'cleaned_data\["(\w+)"\]')
DOTTED = re.compile(rf'"(?:{"|".join(PACKAGES)})(?:\.\w+)*\.(\w+)"')
SETTINGS = re.compile(r'"(DEALSITE_\w+)"')  # that the schedule reads by name


def named_elsewhere() -> set[str]:
    """Return the names that templates, dotted paths and checked forms use, and Django's own settings."""
    names = {name for name in vars(global_settings) if name.isupper()}
    for path in (ROOT / "templates").rglob("*.*"):
        names |= {word for tag in TAGS.findall(path.read_text("utf-8")) for word in WORDS.findall(tag)}
    names |= set(SETTINGS.findall((ROOT / "dealsite/worker/schedule.py").read_text("utf-8")))
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text("utf-8")
            names |= {*DOTTED.findall(text), *CLEANED.findall(text)}
    return names


def declared() -> set[str]:
    """Return the names of entities: the chart takes all that its modules hold."""
    return {name for room in ROOMS for name, one in vars(room).items() if isinstance(one, Entity)}


def main() -> int:
    config = make_config(["--config", str(ROOT / "pyproject.toml")])
    vulture = Vulture(ignore_names=config["ignore_names"], ignore_decorators=config["ignore_decorators"])
    vulture.scavenge(config["paths"])
    for name in named_elsewhere() | declared():
        vulture.used_names.add(name)
    return vulture.report(min_confidence=config["min_confidence"])


if __name__ == "__main__":
    sys.exit(main())
