"""What one machine does is there on another: pages, feeds, pictures, answers; also while their builds differ."""

from __future__ import annotations

import contextlib
import re
import shutil
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import orjson
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from dealsite.data import keys, table
from dealsite.data.catalogue import deals, drafts
from dealsite.data.catalogue.deals import Deal
from dealsite.data.jobs import command_runs, jobs, leases
from dealsite.data.table.ids import new_ulid
from dealsite.home import ROOT
from dealsite.pictures.renditions import MARK, WIDTHS
from dealsite.search import reader
from dealsite.search.documents import FORMAT
from tests.buckets import bucket
from tests.builders import make_announcement
from tests.machines.conftest import PICTURES, PICTURES_HOST, Machine, publish, seconds_until
from tests.people import make_user
from tests.pictures.test_store_picture import make_file
from tests.setup.conftest import wait_for
from tests.setup.mixed_load import WHOLE, Browser

SHOWN_SECONDS = 6.0  # from publishing until all pages of another machine show it, which are cached for two
PICTURE = re.compile(rf"https://{re.escape(PICTURES_HOST)}/([\w/.-]+)")
AS_OF = re.compile(r'As of <time datetime="([^"]+)"')
NEWER_KIND = "newer_kind"


def publish_by_form(editor: Browser, word: str, **more: str) -> Deal:
    """Publish a deal as an editor does."""
    draft_id = new_ulid(timezone.now())
    link = f"https://shop.example/{draft_id}"
    form = WHOLE | {"title": f"{word} of the day", "link": link} | more
    answer = editor.send(f"/cms/drafts/{draft_id}/", form)
    assert answer.status == 302, answer
    return deals.get(drafts.get(draft_id).published_as)


@pytest.mark.sample(quick=0, whole=2)
def test_what_is_published_on_one_machine_another_shows_finds_and_feeds_with_its_picture(
    start_machine: Callable[..., Machine], moto_engine: str, record_property: Callable[[str, object], None]
):
    publish("Mug")
    a = start_machine("a")  # which feeds the index
    seconds_until(lambda: a.finds("Mug"))
    b = start_machine("b")
    seconds_until(lambda: b.finds("Mug"))
    lists = ["/", "/brands/nordlicht/", "/deals.atom", "/brands/nordlicht/deals.atom"]
    assert {b.browser.send(path).status for path in lists} == {200}  # now they are cached

    editor = Browser.of("eve", a.site.port, ["editor"])
    file = SimpleUploadedFile("lamp.png", make_file(), "image/png")
    uploaded = editor.send("/cms/pictures/", {"picture_file": file}).text
    (token,) = re.findall(r'name="picture_kept"\s+value="([^"]+)"', uploaded)
    name = PICTURE.findall(uploaded)[0].rpartition("-")[0]
    pictures = bucket(moto_engine, PICTURES)
    # A worker makes its further files, the mark last.
    wait_for(lambda: name + MARK in {file.key for file in pictures.objects.filter(Prefix=name)}, pause=0.2)

    deal = publish_by_form(editor, "Lamp", picture_kept=unescape(token), picture_alt="A lamp")
    page = f"/deals/{deal.id}/{deal.card.slug}/"
    lists.append(f"/sitemaps/deals-{deal.live_at.date()}.xml")
    took = seconds_until(lambda: b.finds("Lamp") and all(page in b.browser.send(path).text for path in lists))
    assert "Lamp of the day" in b.browser.send(page).text
    assert b.calls()["GetRecords"] == 0  # it fetched the index from the bucket

    shown, made = set[str](), {f"{name}-{width}.avif" for width in WIDTHS}

    def shows_all() -> bool:  # each web process learns of them by itself
        shown.update(path for path in PICTURE.findall(b.browser.send(page).text) if path.startswith(name))
        return made <= shown

    wait_for(shows_all)
    assert {pictures.Object(path).content_type for path in shown} == {"image/avif", "image/webp"}
    record_property("printed", f"shown by another machine after {took:.1f} s")
    assert took < SHOWN_SECONDS


@pytest.mark.sample(quick=0, whole=2)
def test_a_question_has_the_same_answer_on_each_machine(start_machine: Callable[..., Machine]):
    publish("Lamp")
    publish("Mug")
    a, b = start_machine("a"), start_machine("b")
    at_a = Browser.of("eve", a.site.port, ["back office"])
    at_b = at_a.at(b.site.port)
    waits = at_a.send("/cms/ask/snapshot/", {}).location

    def as_of(browser: Browser) -> list[str]:
        page = browser.send(waits).text
        return [] if "A newer one is being made" in page else AS_OF.findall(page)

    def answer(browser: Browser) -> str:
        sent = browser.send("/cms/ask/", {"sql": "SELECT count(*) AS deals FROM deals", "title": ""})
        file = sent.location.partition("#")[0] + "csv/"
        wait_for(lambda: browser.send(file).status == 200, pause=0.5)
        return browser.send(file).text

    wait_for(lambda: bool(as_of(at_a) and as_of(at_b)), pause=0.2)
    publish("Fan")  # which the snapshot does not know
    assert answer(at_a) == answer(at_b) == "\ufeffdeals\r\n2\r\n"
    assert as_of(at_a) == as_of(at_b)


NEWER_SCHEMA = 'SCHEMAS["Deal"] = table.Schema(SCHEMAS["Deal"].version + 1)'
NEWER = (  # where in a newer build something else stands, and what
    ("search/documents.py", f"\nFORMAT = {FORMAT} ", f"\nFORMAT = {FORMAT + 1} "),
    ("data/__init__.py", "\nMISSING = ", f"\n{NEWER_SCHEMA}\nMISSING = "),
    (
        "worker/loop.py",
        "    PART: work_on_part,",
        f'    PART: work_on_part, "{NEWER_KIND}": lambda *_: None,',
    ),
)


@pytest.fixture
def newer_build(tmp_path: Path) -> Path:
    """This code with another format of the index, one more schema of deals and one more kind of job."""
    build = tmp_path / "newer"
    for name in ("dealsite", "cms", "shopping"):
        shutil.copytree(ROOT / name, build / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "manage.py", build)
    for name in ("templates", "static", "locale", "build", "node_modules"):
        (build / name).symlink_to(ROOT / name)
    for module, known, newer in NEWER:
        path = build / "dealsite" / module
        text = path.read_text("utf-8")
        assert text.count(known) == 1, module
        path.write_text(text.replace(known, newer), "utf-8")
    return build


@contextlib.contextmanager
def visited(machine: Machine, deal: Deal) -> Iterator[Counter[object]]:
    """Somebody reads pages and searches on a machine, for the time of a block; what they got."""
    over, got = threading.Event(), Counter[object]()
    word = deal.content.title.partition(" ")[0]

    def read() -> None:
        while not over.is_set():
            for path in ("/", "/brands/nordlicht/", f"/deals/{deal.id}/{deal.card.slug}/"):
                got[machine.browser.send(path).status] += 1
            got["found" if machine.finds(word) else "not found"] += 1
            over.wait(0.1)

    visitor = threading.Thread(target=read)
    visitor.start()
    try:
        yield got
    finally:
        over.set()
        visitor.join()


@pytest.mark.sample(quick=0, whole=2)
def test_one_of_two_machines_is_upgraded_and_neither_index_disturbs_the_other(
    start_machine: Callable[..., Machine],
    newer_build: Path,
    moto_engine: str,
    record_property: Callable[[str, object], None],
):
    private = bucket(moto_engine, "private")
    older, newer = reader.READABLE, reader.READABLE.replace(f"{FORMAT}-", f"{FORMAT + 1}-", 1)

    def indexes() -> list[tuple[str, str, int]]:
        """By format: which index is published, who feeds it, and the how manieth that is."""
        found = []
        for format_ in (older, newer):
            pointer = private.Object(f"search/{table.name()}/{format_}/current.json").get()["Body"].read()
            lease = leases.read(f"search-{format_}")
            found.append((orjson.loads(pointer)["generation"], lease.holder, lease.term))
        return found

    def announce(deal: Deal) -> str:
        return make_announcement(deal.id, new_ulid(timezone.now()), by="eve", now=timezone.now())

    def is_done(job_id: str) -> bool:
        return jobs.get(job_id).state == "done"

    def beats() -> list[int]:
        return [leases.read(f"search-{format_}").beat for format_ in (older, newer)]

    make_user("eve", roles=["editor"])
    lamp = publish("Lamp")
    b = start_machine("b")
    seconds_until(lambda: b.finds("Lamp"))
    a = start_machine("a")  # which fetches what b feeds
    seconds_until(lambda: a.finds("Lamp"))
    newer_job = command_runs.plan(NEWER_KIND, due=timezone.now())
    sent = [announce(lamp)]
    with visited(a, lamp) as got:
        b.site.stop(signal.SIGTERM)
        sent.append(announce(publish("Mug")))
        seconds_until(lambda: a.finds("Mug"))
        assert jobs.get(newer_job).state == "open"

        b = start_machine("b", build=newer_build)
        seconds_until(lambda: b.finds("Mug") and b.finds("Lamp"))
        published = indexes()
        fan = publish_by_form(Browser.of("ann", b.site.port, ["editor"]), "Fan")
        publish_by_form(Browser.of("bob", a.site.port, ["editor"]), "Cup")
        seconds_until(lambda: all(one.finds(word) for one in (a, b) for word in ("Fan", "Cup")))
        sent.append(announce(lamp))
        seconds_until(lambda: all(map(is_done, [newer_job, *sent])))
        before = beats()  # each goes on with its own for so long that it would have looked at the other's
        wait_for(
            lambda: all(beat > known + 1 for beat, known in zip(beats(), before, strict=True)), pause=0.5
        )
        publish("Pen")
        seconds_until(lambda: a.finds("Pen") and b.finds("Pen"))
    assert indexes() == published
    assert "" not in {holder for _, holder, _ in published}
    assert table.get(keys.deal(fan.id))["schema"] == table.get(keys.deal(lamp.id))["schema"] + 1
    rows = [row for row in table.scan_all(consistent=True) if row["type"] == "Message"]
    assert sorted(row["id"] for row in rows if row["username"] == "eve") == sorted(sent)
    assert got.keys() == {200, "found"}, got
    record_property("printed", f"{dict(got)} {published}")
