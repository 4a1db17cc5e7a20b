"""Sentences for people, translated when they are shown: most errors that are made ready are never raised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

translate: Callable[[str], Any] = str  # `configure` sets another


class Sentence:
    """A sentence in English; as text it is in the language of whoever reads it."""

    def __init__(self, english: str) -> None:
        self.english = english

    def __str__(self) -> str:
        return str(translate(self.english))
