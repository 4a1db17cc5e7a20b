"""Looking at shops' pages: what counts as gone, no way into a private network, no server that can hold a worker up."""

from __future__ import annotations

import contextlib
import http.server
import ipaddress
import socket
import threading
import time
from datetime import timedelta

import pytest

from dealsite.data.catalogue import deal_changes, deals
from dealsite.data.editing import links as kept
from dealsite.data.jobs import jobs
from dealsite.web import guarded_http
from dealsite.worker import links, loop
from dealsite.worker.links import Finding, probe
from tests.builders import DAY, EDITOR, HOUR, LINK, NOW, make_deal
from tests.jobs import run_next

SHOP = "shop.site"
PRIVATE = [
    "127.0.0.1",
    "169.254.169.254",
    "10.0.0.1",
    "::1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "0.0.0.0",  # noqa: S104 - nothing listens there
]


class Shop(http.server.ThreadingHTTPServer):
    """A web server that notes what it is asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[tuple[str, str, str]] = []
        self.agents: set[str] = set()
        self.ended = threading.Event()

    def handle_error(self, *_) -> None:
        """Whoever hangs up may."""


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers by path: /status/404, /head/405 (GET works), /to/... redirects, and what hostile servers do."""

    server: Shop

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        self.server.asked.append((self.command, self.headers["Host"], self.path))
        self.server.agents.add(self.headers["User-Agent"])
        kind, _, rest = self.path.removeprefix("/").partition("/")
        getattr(self, f"send_{kind}", self.send_ok)(rest)

    def send_ok(self, _: str = "") -> None:
        self.send(200)

    def send_status(self, rest: str) -> None:
        self.send(int(rest))

    def send_head(self, rest: str) -> None:
        self.send(int(rest) if self.command == "HEAD" else 200)

    def send_to(self, rest: str) -> None:
        self.send(302, Location=rest)

    def send_astray(self, _: str) -> None:
        self.send(302, Location="http://[")

    def send_loop(self, _: str) -> None:
        self.send(302, Location="/loop/")

    def send_endless(self, _: str) -> None:
        """Headers at once, then a body without end."""
        self.send_response(404 if self.command == "HEAD" else 200)
        self.end_headers()
        with contextlib.suppress(OSError):
            while not self.server.ended.is_set():
                self.wfile.write(b"x" * 100_000)

    def send_dripping(self, _: str) -> None:
        """A header line without end, a byte now and then."""
        with contextlib.suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            while not self.server.ended.wait(0.05):
                self.wfile.write(b"x")
                self.wfile.flush()

    def send_silent(self, _: str) -> None:
        self.server.ended.wait(10)

    def send_nonsense(self, _: str) -> None:
        self.wfile.write(b"\x00\xff" * 1000)

    def send_bomb(self, _: str) -> None:
        with contextlib.suppress(OSError):
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n")

    def send(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def names(monkeypatch):
    """What the name server answers: host -> addresses, or the error that it answers with."""
    answers: dict[str, list[str] | int] = {SHOP: ["127.0.0.1"], "other.site": ["127.0.0.1"]}

    def getaddrinfo(host, port, *_, **__):
        host = host.decode() if isinstance(host, bytes) else host
        if host == "127.0.0.1":  # no name: an address to connect to
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))]
        found = answers.get(host, socket.EAI_NONAME)
        if isinstance(found, int):
            raise socket.gaierror(found, "no")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return answers


@pytest.fixture
def shop(names, monkeypatch):
    """A web server of some shops on this machine, which passes for a public one."""
    server = Shop()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    port = server.server_address[1]
    monkeypatch.setattr(guarded_http, "PORTS", {"http": port, "https": port})
    public = guarded_http.is_public
    monkeypatch.setattr(
        guarded_http,
        "is_public",
        lambda address: address == ipaddress.ip_address("127.0.0.1") or public(address),
    )
    yield server
    server.ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("status", [200, 204, 206])
def test_what_answers_works_and_is_asked_once(shop, status):
    assert probe(f"http://{SHOP}/status/{status}") == Finding("works")
    assert [method for method, _, _ in shop.asked] == ["HEAD"]


@pytest.mark.parametrize("status", [404, 410])
def test_what_is_not_found_is_gone(shop, status):
    assert probe(f"http://{SHOP}/status/{status}") == Finding("gone", str(status))
    assert [method for method, _, _ in shop.asked] == ["HEAD", "GET"]


def test_whoever_refuses_is_not_gone(shop, subtests):
    for status in [400, 401, 403, 405, 429, 451, 500, 503]:
        with subtests.test(status=status):
            assert probe(f"http://{SHOP}/status/{status}").state == "unsure"


@pytest.mark.parametrize("status", [404, 405, 501, 403])
def test_a_server_that_knows_no_head_is_asked_by_get(shop, status):
    assert probe(f"http://{SHOP}/head/{status}") == Finding("works")


def test_it_says_who_asks(shop, settings):
    settings.DEALSITE_NAME, settings.DEALSITE_URL = "Schnäppchen", "https://deals.site"
    probe(f"http://{SHOP}/")
    assert shop.agents == {"Schn?ppchen link check (+https://deals.site)"}


# Redirects


def test_redirects_are_followed_also_to_another_site(shop):
    assert probe(f"http://{SHOP}/to//status/200") == Finding("works")
    assert probe(f"http://{SHOP}/to/http://other.site/status/404").state == "gone"
    assert shop.asked[-1] == ("GET", "other.site", "/status/404")


def test_a_redirect_to_what_is_no_address_says_nothing(shop):
    assert probe(f"http://{SHOP}/astray/") == Finding("unsure", "This is not a web address.")


def test_a_path_may_begin_with_two_slashes(shop):
    assert probe(f"http://{SHOP}//status/404").state == "gone"
    assert shop.asked[-1] == ("GET", SHOP, "/status/404")  # this server takes two for one


def test_redirects_without_end_are_left(shop):
    assert probe(f"http://{SHOP}/loop/").reason == "It redirects too often."
    assert len(shop.asked) <= 2 * (links.REDIRECTS + 1)


@pytest.mark.parametrize("address", PRIVATE)
def test_no_private_address_is_asked_neither_at_once_nor_behind_a_redirect(shop, names, monkeypatch, address):
    monkeypatch.setattr(
        guarded_http, "is_public", lambda one: str(one) == "127.0.0.1" and address != "127.0.0.1"
    )
    if address == "127.0.0.1":
        assert probe(f"http://{SHOP}/").reason == "The address leads into a private network."
        assert shop.asked == []
        return
    names["inside.site"] = [address]
    for url in (f"http://{SHOP}/to/http://inside.site/latest/meta-data/", "http://inside.site/"):
        assert probe(url) == Finding("unsure", "The address leads into a private network.")
    assert [host for _, host, _ in shop.asked] == [SHOP]


def test_real_checks_know_private_addresses():
    for address in PRIVATE:
        assert not guarded_http.is_public(ipaddress.ip_address(address)), address


def test_one_private_address_among_public_ones_is_enough_to_refuse(shop, names):
    names["mixed.site"] = ["127.0.0.1", "10.0.0.1"]
    assert probe("http://mixed.site/").state == "unsure"
    assert shop.asked == []


def test_what_is_no_usual_web_address_is_not_asked(shop, subtests):
    for url in [
        *("", "x", "ftp://shop.site/", "file:///etc/passwd", "javascript:alert(1)", "http://", "http:///x"),
        *(
            "http://me@shop.site/",
            "http://me:pw@shop.site/",
            "http://shop.site:22/",
            "http://shop.site:99999/",
        ),
        *("http://[::1", "http://shop.site:x/", "http://\udcff/", "http://xn--\u0130.site/"),
    ]:
        with subtests.test(url=url):
            assert probe(url).state == "unsure"
            assert probe(f"http://{SHOP}/to/{url}").state in ("unsure", "works", "gone")
            assert {host for _, host, _ in shop.asked} <= {SHOP}


def test_a_path_cannot_smuggle_another_request(shop):
    probe(f"http://{SHOP}/a\r\nHost: other.site\r\n\r\nGET /b")
    probe(f"http://{SHOP}/ä ö?q=ü#x")
    assert {host for _, host, _ in shop.asked} == {SHOP}
    assert all(path.isascii() and " " not in path for _, _, path in shop.asked)


# Names


def test_a_site_that_nobody_knows_is_gone(shop):
    assert probe("http://nowhere.site/") == Finding("gone", links.NO_SUCH_NAME)


def test_a_name_server_that_is_away_says_nothing_of_the_shop(shop, names):
    names["later.site"] = socket.EAI_AGAIN
    assert probe("http://later.site/").state == "unsure"


@pytest.mark.parametrize("host", ["shop.example", "www.example.com", "a.test", "x.invalid", "localhost"])
def test_names_that_stand_for_examples_are_not_looked_up(shop, names, host):
    names[host] = ["127.0.0.1"]
    assert probe(f"https://{host}/").reason == "The address stands for an example."
    assert not links.is_example("shopexample.com")


def test_a_server_without_a_certificate_is_no_broken_link(shop):
    assert probe(f"https://{SHOP}/").state == "unsure"
    assert shop.asked == []


# Servers that would hold a worker up


@pytest.mark.parametrize("trick", ["dripping", "silent", "nonsense", "bomb"])
def test_no_server_holds_a_check_up(shop, monkeypatch, trick):
    monkeypatch.setattr(links, "SECONDS", 0.6)
    began = time.monotonic()
    assert probe(f"http://{SHOP}/{trick}/").state == "unsure"
    assert time.monotonic() - began < 3


def test_a_body_without_end_is_not_read(shop, monkeypatch):
    monkeypatch.setattr(links, "SECONDS", 3.0)
    began = time.monotonic()
    assert probe(f"http://{SHOP}/endless/") == Finding("works")
    assert time.monotonic() - began < 2


# The worker's rounds


@pytest.fixture
def on(settings, monkeypatch):
    """Links are checked, and nobody sleeps; returns the pauses that were made."""
    settings.DEALSITE_CHECK_LINKS = True
    paused: list[float] = []
    monkeypatch.setattr(links, "sleep", paused.append)
    return paused


@pytest.fixture
def found(monkeypatch):
    """What probing finds by link, 'works' unless it is said; the links asked for are noted in order."""
    findings: dict[str, Finding] = {}
    asked: list[str] = []

    def look(url: str) -> Finding:
        asked.append(url)
        return findings.get(url, Finding("works"))

    monkeypatch.setattr(links, "probe", look)
    return findings, asked


def run_round(now=NOW, most=200) -> int:
    """Run this week's round to its end, as a worker does; return how many portions it took."""
    kept.begin_round(now=now)
    for number in range(1, most):
        assert run_next(now=now)
        if jobs.get(kept.round_id(now)).state == "done":
            return number
        now += links.BETWEEN
    raise AssertionError("The round does not end.")


@pytest.mark.usefixtures("whole_table", "on")
def test_a_round_asks_for_every_link_once_in_small_portions(found):
    _, asked = found
    made = [
        make_deal(live_at=NOW - number * HOUR, link=f"https://shop{number}.site/x") for number in range(1, 21)
    ]
    make_deal(live_at=NOW - 2 * DAY, expires_at=NOW - DAY, link="https://over.site/x")
    assert run_round() == 3
    assert sorted(asked) == sorted(deal.content.link for deal in made)
    assert jobs.get(kept.round_id(NOW)).checkpoint["counts"] == {"works": 20}


@pytest.mark.usefixtures("whole_table")
def test_one_shop_is_asked_two_things_at_most_in_a_portion_and_with_a_pause(found, on):
    _, asked = found
    for number in range(1, 8):
        make_deal(live_at=NOW - number * HOUR, link=f"https://one.site/{number}")
    assert run_round() == 4
    assert len(asked) == 7
    assert on == [links.HOST_PAUSE] * 3
    assert links.OF_A_HOST / links.BETWEEN.total_seconds() <= 1
    assert links.AT_ONCE / links.BETWEEN.total_seconds() <= 2


@pytest.mark.usefixtures("whole_table", "on")
def test_a_name_server_that_is_away_is_waited_for_once_for_each_host(found):
    findings, asked = found
    made = [make_deal(link=f"https://one.site/{number}") for number in range(2)]
    findings |= {deal.content.link: Finding("unsure", links.NO_NAME_SERVER) for deal in made}
    run_round()
    assert len(asked) == 1
    assert jobs.get(kept.round_id(NOW)).checkpoint["counts"] == {"unsure": 2}


@pytest.mark.usefixtures("whole_table", "on")
def test_what_is_gone_twice_is_broken_and_what_is_unsure_is_not(found):
    findings, _ = found
    gone, away = make_deal(link="https://a.site/"), make_deal(link="https://b.site/")
    findings |= {"https://a.site/": Finding("gone", "404"), "https://b.site/": Finding("unsure", "503")}
    run_round()
    assert kept.get(gone.id).check.failures == 1
    assert run_next(now=NOW + kept.APART)  # the job that looks again
    assert kept.get(gone.id).check.is_broken
    assert kept.get(away.id).check is None
    findings.clear()
    run_round(NOW + 7 * DAY)
    assert kept.get(gone.id).check is None


@pytest.mark.usefixtures("whole_table", "on")
def test_a_round_goes_on_where_a_worker_died(found, monkeypatch):
    _, asked = found
    for number in range(1, 21):
        make_deal(live_at=NOW - number * HOUR, link=f"https://shop{number}.site/")
    kept.begin_round(now=NOW)
    assert run_next(now=NOW)
    job = jobs.take_next(now=NOW + links.BETWEEN)
    assert job is not None

    class Killed(BaseException):
        pass

    def die(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "save_checkpoint", die)
        with pytest.raises(Killed):
            links.check_links(job, NOW + links.BETWEEN)
    run_round(NOW + timedelta(minutes=5))
    assert {url: asked.count(url) for url in asked} == {
        f"https://shop{number}.site/": 2 if 9 <= number <= 16 else 1 for number in range(1, 21)
    }


@pytest.mark.usefixtures("whole_table", "on")
def test_when_no_site_at_all_is_known_it_is_not_the_shops_fault(found):
    findings, _ = found
    made = [make_deal(link=f"https://shop{number}.site/") for number in range(4)]
    findings |= {deal.content.link: Finding("gone", links.NO_SUCH_NAME) for deal in made}
    run_round()
    assert [kept.get(deal.id).check for deal in made] == [None] * 4
    findings.pop(made[0].content.link)
    run_round(NOW + 7 * DAY)
    assert [kept.get(deal.id).check is None for deal in made] == [True, False, False, False]


@pytest.mark.usefixtures("whole_table")
def test_where_links_are_not_checked_no_shop_is_asked(found, settings):
    _, asked = found
    deal = make_deal(link=LINK)
    make_deal(stock=3, link="https://shop.example/kept-aside")
    settings.DEALSITE_CHECK_LINKS = False
    kept.begin_round(now=NOW)
    kept.check_again(deal.id, now=NOW + timedelta(seconds=1))
    assert run_next(now=NOW + timedelta(seconds=1))
    assert run_next(now=NOW + timedelta(seconds=1))
    assert asked == []
    assert jobs.get(kept.round_id(NOW)).state == "open"  # it goes on once they are
    settings.DEALSITE_CHECK_LINKS = True
    run_round(NOW + timedelta(hours=2))
    assert asked == [deal.content.link]


@pytest.mark.usefixtures("whole_table", "on")
def test_a_round_that_is_late_makes_room_for_the_next(found):
    make_deal()
    kept.begin_round(now=NOW)
    assert run_next(now=NOW + 7 * DAY)
    job = jobs.get(kept.round_id(NOW))
    assert (job.state, job.error) == ("cancelled", "The next round has begun.")


@pytest.mark.usefixtures("whole_table", "on")
def test_a_deal_that_is_gone_needs_no_check(found):
    _, asked = found
    deal = make_deal()
    kept.check_again(deal.id, now=NOW)
    deal_changes.delete(deals.get(deal.id), by=EDITOR, now=NOW)
    assert run_next(now=NOW)
    assert asked == []


@pytest.mark.usefixtures("fresh_table")
@pytest.mark.parametrize("wanted", [True, False])
def test_a_worker_begins_the_rounds_if_links_are_to_be_checked(settings, monkeypatch, wanted):
    settings.DEALSITE_CHECK_LINKS = wanted
    stop, begun = threading.Event(), []
    monkeypatch.setattr(kept, "begin_round", lambda now: begun.append(now))
    monkeypatch.setattr(loop, "take", lambda **_: stop.set())
    loop.run(stop, expire=False, clock=lambda: NOW)
    assert begun == ([NOW] if wanted else [])
