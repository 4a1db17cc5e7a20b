"""docs/operations.md, word for word: the shell blocks of the first day are run, and the site that they make is used.

Only names differ: folders, ports, the mail server; what Amazon would be are DynamoDB Local and moto's S3.
"""

from __future__ import annotations

import os
import re
import signal
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
import pyotp
import pytest
from moto.server import ThreadedMotoServer

from dealsite.engine.server import free_port
from tests.cms.conftest import picture_file
from tests.setup.conftest import ROOT, wait_for
from tests.setup.test_setup_site import MailServer
from tests.setup.visitor import Visitor, words

pytestmark = pytest.mark.release
HOST = "deals.example"
COPY = "This is a copy of the site"
PASSWORD = "quiet-otters-at-noon"
BLOCK = re.compile(r"^```sh( stays)?\n(.*?)^```$", re.M | re.S)
DEAL: dict[str, Any] = {
    "title": "Mechanical keyboard",
    "brand": "Nordlicht",
    "brand_new": "on",
    "category": "peripherals-networking",
    "price": "79.90",
    "sold": "here",
    "description": "Quiet switches.",
    "picture_alt": "A keyboard",
    "action": "publish",
}
ADDRESS: dict[str, Any] = {
    "name": "Olga Otter",
    "street": "1 High Street",
    "postcode": "10115",
    "city": "Berlin",
    "country": "Germany",
}


@dataclass
class FirstDay:
    """The blocks of a section, each run once in the order of the page; `renamed` is what differs from it."""

    section: str
    folder: Path
    renamed: dict[str, str]
    environ: dict[str, str]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        page = (ROOT / "docs" / "operations.md").read_text("utf-8")
        begin = page.index(f"### {self.section}")
        self.ran: list[tuple[str, str]] = []
        self.blocks = BLOCK.findall(page[begin : page.index("\n##", begin + 4)])
        self.environ |= {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
        (self.folder / "password").write_text(f"{PASSWORD}\n")

    def next(self, named: str) -> str:
        """Run the next block, in which something stands; return what it prints. One that stays is left running."""
        block = self.blocks.pop(0)
        self.ran.append(block)
        return self._run(block, named)

    def again(self, named: str) -> None:
        """Run a block once more that ran before."""
        self._run(next(block for block in self.ran if named in block[1]), named)

    def _run(self, block: tuple[str, str], named: str) -> str:
        stays, text = block
        assert named in text, f"The next block is: {text}"
        for ours, here in self.renamed.items():
            text = text.replace(ours, here)
        exported = self.folder / "exported"
        script = f"[ -e {exported} ] && . {exported}\n{text}\nexport -p > {exported}\n"
        if stays:
            script = f". {exported}; {text.strip().replace('.venv', 'exec .venv', 1)}"
        log = self.folder / f"{len(self.ran)}-{len(self.running)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", script],
                cwd=ROOT,
                env=self.environ,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        if stays:
            self.running.append(process)
            return ""
        status = process.wait(300)
        assert status == 0, f"{text}\n{log.read_text()}"
        return log.read_text()

    def stop(self) -> None:
        """End what runs, as a service manager would."""
        for process in self.running:
            process.send_signal(signal.SIGTERM)
        for process in self.running:
            assert process.wait(60) == 0
        self.running.clear()


@pytest.fixture
def first_day(tmp_path: Path) -> Iterator[object]:
    """A function that begins the first day of a section of the page."""
    with ExitStack() as stack:
        mail = stack.enter_context(socketserver.ThreadingTCPServer(("127.0.0.1", 0), MailServer))
        threading.Thread(target=mail.serve_forever, args=(0.05,), daemon=True).start()
        stack.callback(mail.shutdown)
        renamed = {
            "/srv/deals": str(tmp_path),
            "DEALSITE_SMTP_PORT=25": f"DEALSITE_SMTP_PORT={mail.server_address[1]}",
            "--host 0.0.0.0": "--host 127.0.0.1",
            "8000": str(free_port()),
            "8001": str(free_port()),
        }

        def begin(section: str, **environ: str) -> FirstDay:
            made = FirstDay(section, tmp_path, renamed, environ)
            stack.callback(made.stop)
            return made

        yield begin


def wait_until_ready(visitor: Visitor, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            visitor.open("/readyz")
            return
        except OSError:  # it does not listen yet
            assert time.monotonic() < end
            time.sleep(0.2)


def sign_in(visitor: Visitor) -> None:
    """Sign in as the first admin, and set up the second factor that a public site asks for."""
    visitor.send(visitor.open("/account/sign-in/"), "/account/sign-in/", name="olga", password=PASSWORD)
    page = visitor.open("/account/two-factor/set-up/")
    (address,) = set(re.findall(r'otpauth://[^"<\s]+', page))
    app = pyotp.TOTP(re.findall(r"[?&;]secret=(\w+)", address)[0])
    page = visitor.send(page, "/account/two-factor/set-up/", code=app.now(), old_password=PASSWORD)
    assert "Two-factor sign-in is on." in words(page)


def publish(visitor: Visitor) -> None:
    """Publish a deal with a picture."""
    files = {"picture_file": ("keyboard.png", picture_file().read(), "image/png")}
    page = visitor.send(visitor.open("/cms/deals/new/"), "/cms/drafts/", files=files, **DEAL)
    assert "Mechanical keyboard Live" in words(page)


def find(visitor: Visitor) -> str:
    """Return the address of the deal, as the search finds it a moment later."""
    end = time.monotonic() + 60
    while True:
        found = re.search(r'href="(/deals/[^"]*keyboard[^"]*)"', visitor.open("/search/?q=keyborad"))
        if found:
            return found[1]
        assert time.monotonic() < end
        time.sleep(0.5)


def order(visitor: Visitor, deal: str) -> str:
    """Add a card and buy the deal with it; return the order's id."""
    page = visitor.send(visitor.open("/account/card/"), "/account/card/")
    visitor.send(page, "/account/card/", number="4242 4242 4242 4242")
    visitor.send(visitor.open(deal), "/cart/add/")
    page = visitor.send(visitor.open("/checkout/"), "/checkout/", **ADDRESS)
    assert visitor.at.endswith("/done/"), words(page)
    return visitor.at.split("/")[2]


def test_one_machine(first_day):
    day = first_day("One machine")
    day.next("DEALSITE_URL=https://deals.example")
    assert day.next("setup_site --admin").endswith("The site is ready.\n")
    day.next("manage.py run")
    visitor = Visitor(int(day.renamed["8000"]), HOST)
    wait_until_ready(visitor)
    assert '"ready": true' in day.next("/readyz")
    sign_in(visitor)
    publish(visitor)
    order_id = order(visitor, find(visitor))
    day.next("manage.py backup")
    day.next("restored")
    elsewhere = Visitor(int(day.renamed["8001"]), HOST)
    elsewhere.cookies = visitor.cookies
    wait_until_ready(elsewhere)
    find(elsewhere)
    assert "Mechanical keyboard" in elsewhere.open(f"/account/orders/{order_id}/")
    wait_for(lambda: COPY in words(elsewhere.open("/brands/")))
    day.stop()
    day.again("manage.py run")
    wait_until_ready(visitor)
    assert day.next("migrate_items")
    assert day.blocks == []


def test_amazon(first_day, local_engine, settings):
    with ExitStack() as stack:
        server = ThreadedMotoServer(port=0, verbose=False)
        server.start()
        stack.callback(server.stop)
        s3 = f"http://127.0.0.1:{server.get_host_and_port()[1]}"
        keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
        buckets = boto3.client("s3", "us-east-1", endpoint_url=s3, **keys)
        for name in ("media", "private"):
            buckets.create_bucket(Bucket=f"deals-example-{name}")
            buckets.create_bucket(Bucket=f"deals-example-copy-{name}")
        day = first_day(
            "Amazon",
            DYNAMODB_ENDPOINT_URL=local_engine,
            AWS_ENDPOINT_URL_S3=s3,
            AWS_ACCESS_KEY_ID="x",
            AWS_SECRET_ACCESS_KEY="x",
        )
        day.next("DEALSITE_MEDIA_BUCKET")
        said = day.next("setup_site --admin")
        assert said.endswith("The site is ready.\n")
        assert "deals-example-private takes, returns and deletes files." in said
        day.next("manage.py web")
        day.next("manage.py worker")
        visitor = Visitor(int(day.renamed["8000"]), HOST)
        wait_until_ready(visitor)
        assert '"ready": true' in day.next("/readyz")
        sign_in(visitor)
        publish(visitor)
        stored = buckets.list_objects_v2(Bucket="deals-example-media")["Contents"]
        assert all(one["Key"].startswith("pictures/") for one in stored)
        deal = find(visitor)
        order_id = order(visitor, deal)
        buckets.put_object(Bucket="deals-example-private", Key="exports/orders.csv", Body=b"id;total")
        assert "The table deals-copy is whole." in day.next("manage.py restore")
        for name in ("media", "private"):
            assert files_in(buckets, f"deals-example-copy-{name}") == files_in(
                buckets, f"deals-example-{name}"
            )
        day.next("manage.py web")
        elsewhere = Visitor(int(day.renamed["8001"]), HOST)
        elsewhere.cookies = visitor.cookies
        wait_until_ready(elsewhere)
        assert "deals-example-copy-media" in elsewhere.open(deal)
        assert "Mechanical keyboard" in elsewhere.open(f"/account/orders/{order_id}/")
        wait_for(lambda: COPY in words(elsewhere.open("/brands/")))
        assert day.next("migrate_items")
        assert day.blocks == []


def files_in(buckets: Any, bucket: str) -> dict[str, str]:
    """The names of a bucket's files, each with what tells if it is the same."""
    listed = buckets.list_objects_v2(Bucket=bucket)
    return {one["Key"]: one["ETag"] for one in listed["Contents"] if not one["Key"].startswith("search/")}
