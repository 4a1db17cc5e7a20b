"""What is said of the rows of an import: as a file for spreadsheets, with the refused rows as they were."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.utils.translation import gettext as _

from dealsite.imports import lines
from dealsite.imports.lines import Record
from dealsite.imports.rows import Remark
from dealsite.worker import exports

SHOWN = 50  # remarks that the page shows; the file has all
MENDABLE = 200  # refused rows that can be mended in the page
MENDABLE_CHARACTERS = 4_000  # of such a row
REPORT, REFUSED, MENDABLE_ROWS = "report.csv", "refused.csv", "mendable.json"


def file_name(import_id: str, part: str) -> str:
    """Return where a file of an import lies: what was brought is its `rows.csv`."""
    return f"imports/{import_id}/{part}"


class Report:
    """Gathers the remarks of one run in a file of a folder; memory holds the first ones and the refused lines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.first: list[dict[str, Any]] = []
        self.refused: set[int] = set()
        self.wrong: dict[int, list[tuple[str, str]]] = defaultdict(list)
        self._file = (folder / REPORT).open("w", encoding="utf-8-sig", newline="")
        self._write(_("Line"), _("Refused"), _("Column"), _("Value"), _("Reason"))

    def __enter__(self) -> Report:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, remark: Remark) -> None:
        if remark.refused:
            self.refused.add(remark.line)
            if remark.line in self.wrong or len(self.wrong) < MENDABLE:
                self.wrong[remark.line].append((remark.column, remark.reason))
        if len(self.first) < SHOWN:
            shown = {"line": remark.line, "column": remark.column, "value": remark.value}
            self.first.append(shown | {"reason": remark.reason, "refused": remark.refused})
        refused = _("yes") if remark.refused else _("no")
        self._write(remark.line, refused, remark.column, remark.value, remark.reason)

    def finish(self, path: Path, separator: str, import_id: str) -> int:
        """Write the refused rows, in the columns of the file, and store all; return how many can be mended in place."""
        self._file.close()
        mendable: list[dict[str, Any]] = []
        with (self.folder / REFUSED).open("w", encoding="utf-8-sig", newline="") as file:
            write = csv.writer(file).writerow
            titles: list[str] = []
            for record in lines.read(path, separator):
                if not titles:
                    titles = record.cells
                    write([exports.safe_cell(_clean(cell)) for cell in titles])
                elif record.line in self.refused:
                    cells = _cells(record, separator, len(titles))
                    write([exports.safe_cell(_clean(cell)) for cell in cells])
                    if record.line in self.wrong and sum(map(len, cells)) <= MENDABLE_CHARACTERS:
                        wrong = self.wrong[record.line]
                        mendable.append(
                            {"line": record.line, "cells": [_clean(c) for c in cells], "wrong": wrong}
                        )
        (self.folder / MENDABLE_ROWS).write_text(json.dumps(mendable), "utf-8")
        for part in (REPORT, REFUSED, MENDABLE_ROWS):
            with (self.folder / part).open("rb") as file:
                name = file_name(import_id, part)
                exports.storage().delete(name)
                exports.storage().save(name, File(file))
        return len(mendable)

    def _write(self, *cells: object) -> None:
        csv.writer(self._file).writerow([exports.safe_cell(cell) for cell in cells])


def _cells(record: Record, separator: str, width: int) -> list[str]:
    """Return a refused row's cells, as well as they can be told apart where its quotes are wrong."""
    if record.problem:
        bare = [cell.strip().strip('"') for cell in record.text.rstrip("\r\n").split(separator)]
        return (bare + [""] * width)[: max(width, len(bare))]
    return record.cells


def _clean(text: str) -> str:
    """Return a text that can be written as UTF-8: what could not be read of it becomes question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
