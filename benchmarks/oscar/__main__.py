"""python -m benchmarks.oscar [FOLDER] [--rounds N]: compare pages with those of a django-oscar site, by turns."""

from __future__ import annotations

import argparse
import collections
import contextlib
import csv
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks import content
from benchmarks.oscar import postgres
from benchmarks.oscar.ratios import Compared, Taken, tables_of, too_little

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / "build" / "oscar" / "bin" / "python"
FILE = "deals_2000.csv"
TIMES = 25  # requests of a round
PAGES = ("list", "category", "product", "search")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.oscar", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help=f"where {FILE} is")
    parser.add_argument("--rounds", type=int, default=8, help=f"of {TIMES} requests of each page")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # nothing stays behind
    with tempfile.TemporaryDirectory(prefix="dealsite-oscar-") as folder:
        arguments = _content(options.folder, Path(folder))
        with postgres.running() as socket:
            oscar_environ = {"PGHOST": str(socket), "OSCAR_MEDIA": str(Path(folder) / "media")}
            with (
                _site([PYTHON, "-m", "benchmarks.oscar.oscar_pages", *arguments], oscar_environ) as oscar,
                _site([sys.executable, "-m", "benchmarks.oscar.dealsite_pages", *arguments], {}) as dealsite,
            ):
                rows = _compared(oscar, dealsite, options.rounds)
    print(f"\n{tables_of(rows)}\n")
    wrong = too_little(rows)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


def _content(named: Path | None, spare: Path) -> list[str]:
    """Return the file of deals, its largest category and a word that is in many of them."""
    file, word = content.folder(ROOT, named) / FILE, "keyboard"
    if not file.is_file():
        print(f"{file} is not there: {content.FILES[FILE]:,} generated deals take its place.")
        file, word = spare / FILE, "title"
        with file.open("w", encoding="utf-8", newline="") as opened:
            content.write_rows(opened, content.FILES[FILE])
    with file.open(encoding="utf-8", newline="") as opened:
        categories = collections.Counter(row["category"] for row in csv.DictReader(opened))
    return [str(file), categories.most_common(1)[0][0], word]


@dataclass(frozen=True)
class Site:
    """The process of a site, which answers each line."""

    asks: IO[str]
    answers: IO[str]

    def answer(self) -> Any:
        line = self.answers.readline()
        if not line:
            raise SystemExit("A site ended before its time.")
        return json.loads(line)

    def round(self, page: str, way: str) -> Any:
        print(json.dumps({"page": page, "times": TIMES, "way": way}), file=self.asks, flush=True)
        return self.answer()


@contextlib.contextmanager
def _site(command: list[Any], environ: dict[str, str]) -> Iterator[Site]:
    """Run the process of a site, from when its pages are ready; out of reach of Ctrl-C, for it cleans up by itself."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **environ}, stdin=pipe, stdout=pipe, text=True, process_group=0
    ) as process:
        assert process.stdin and process.stdout  # noqa: S101, PT018 - pipes
        site = Site(process.stdin, process.stdout)
        try:
            site.answer()
            yield site
        finally:
            site.asks.close()  # which ends it
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.terminate()


def _compared(oscar: Site, dealsite: Site, rounds: int) -> list[Compared]:
    """Ask both sites for rounds of each page, by turns."""
    rows = []
    for page in PAGES:
        asked = {"oscar": oscar, "fresh": dealsite, "kept": dealsite, "cached": dealsite}
        if page == "search":
            del asked["cached"]  # no search is in the page cache
        answers: dict[str, list[Any]] = {way: [] for way in asked}
        for _ in range(rounds):
            for way, site in asked.items():
                answers[way].append(site.round(page, way))
        taken = {way: _taken(given) for way, given in answers.items()}
        rows.append(Compared(page, taken.pop("oscar"), taken))
    return rows


def _taken(answers: list[Any]) -> Taken:
    """Return the lowest median and processor time of rounds: others had to share the machine."""
    return Taken(
        min(statistics.median(one["taken"]) for one in answers),
        min(one["processor"] for one in answers),
        answers[-1]["asked"],
    )


if __name__ == "__main__":
    sys.exit(main())
