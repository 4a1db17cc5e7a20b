"""Fetching pictures and pages of shops: from public addresses by https only, and from no server for long."""

import contextlib
import datetime
import gzip
import http.server
import io
import ipaddress
import socket
import ssl
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.test import override_settings
from PIL import Image

from dealsite.data.catalogue.cards import Picture
from dealsite.imports import downloads
from dealsite.imports.downloads import PICTURES, Answer, CannotFetch
from dealsite.imports.product_page import PAGES
from dealsite.pictures.uploads import MAX_BYTES
from dealsite.web import guarded_http
from tests.imports.builders import check_rows, make_row

HOST, OTHER = "images.example", "other.example"
PAGE = b"<title>Lamp</title>"
HTML = {"Content-Type": "text/html; charset=utf-8"}


def picture():
    file = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(file, "PNG")
    return file.getvalue()


class Site(http.server.ThreadingHTTPServer):
    """A web server that notes what it is asked."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.asked: list[tuple[str, str]] = []
        self.encodings: set[str] = set()  # that were asked for
        self.ended = threading.Event()

    def get_request(self):
        connection, address = super().get_request()
        connection.settimeout(5)
        return connection, address

    def finish_request(self, request, client_address):
        try:
            with self.tls.wrap_socket(request, server_side=True) as connection:
                super().finish_request(connection, client_address)
        except (OSError, ValueError):
            pass  # a client that does not trust us, or had enough

    tls: ssl.SSLContext


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers by path."""

    server: Site

    def do_GET(self):
        self.server.asked.append((self.headers["Host"], self.path))
        self.server.encodings.add(self.headers["Accept-Encoding"])
        name = self.path.partition("?")[0]
        getattr(self, f"send_{name.strip('/')}", self.send_missing)()

    def send_picture(self):
        self.send(200, picture())

    def send_page(self):
        self.send(200, PAGE, **HTML)

    def send_feed(self):
        self.send(200, PAGE, **{"Content-Type": "application/atom+xml"})

    def send_untyped(self):
        self.send(200, PAGE)

    def send_large(self):
        self.send(200, b"x" * 5_000_000, **HTML)

    def send_packed(self):
        self.send(200, gzip.compress(bytes(50_000_000)), **HTML, **{"Content-Encoding": "gzip"})

    def send_away(self):
        self.send(301, b"", Location=f"https://{OTHER}/page")

    def send_inside(self):
        self.send(302, b"", Location="https://inside.example/page")

    def send_again(self):
        self.send(302, b"", Location="/page")

    def send_missing(self):
        self.send(404, b"nothing")

    def send_elsewhere(self):
        self.send(302, b"", Location=f"https://{OTHER}/picture")

    def send_here(self):
        self.send(302, b"", Location="/picture")

    def send_plain(self):
        self.send(302, b"", Location=f"http://{HOST}/picture")

    def send_loop(self):
        self.send(302, b"", Location="/loop")

    def send_huge(self):
        self.send(200, b"x" * (MAX_BYTES + 1))

    def send_endless(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x" * 100_000)
        except OSError:
            pass

    def send_slow(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        try:
            for _ in range(1000):
                self.wfile.write(b"x")
                self.wfile.flush()
                self.server.ended.wait(0.05)
        except OSError:
            pass

    def send_astray(self):
        self.send(302, b"", Location="https://[")

    def send_odd(self):
        self.send_response(200)
        self.send_header("Content-Length", "many")
        self.end_headers()
        self.wfile.write(b"x")

    def send_short(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"x")

    def send(self, status, content, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for both hosts, and the key to it, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST), x509.DNSName(OTHER)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("certificate") / "both.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return path


@pytest.fixture
def names(monkeypatch):
    """What the name server answers: host -> addresses; every question is noted under 'asked'.

    Once asked, it may answer otherwise: as 'then' says.
    """
    answers: dict[str, Any] = {HOST: ["127.0.0.1"], "asked": [], "then": {}}

    def getaddrinfo(host, port, *_, **__):
        host = host.decode() if isinstance(host, bytes) else host
        if ":" in host or host.replace(".", "").isdigit():  # no name: an address to connect to
            found = [host]
        else:
            answers["asked"].append(host)
            if host not in answers:
                raise socket.gaierror("unknown")
            found, answers[host] = answers[host], answers["then"].get(host, answers[host])
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return answers


@pytest.fixture
def site(certificate, names, monkeypatch):
    """A web server for images.example on this machine, which passes for a public one."""
    server = Site()
    server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.tls.load_cert_chain(certificate)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setitem(guarded_http.PORTS, "https", server.server_address[1])
    monkeypatch.setattr(guarded_http, "context", lambda: ssl.create_default_context(cafile=certificate))
    monkeypatch.setattr(
        guarded_http, "is_public", lambda address: address == ipaddress.ip_address("127.0.0.1")
    )
    yield server
    server.ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(params=[PICTURES, PAGES], ids=["picture", "page"])
def rules(request):
    return request.param


def refusal(url, rules=PICTURES):
    """Why a URL is not fetched."""
    with pytest.raises(CannotFetch) as caught:
        downloads.fetch(url, rules)
    return str(caught.value)


def test_a_picture_is_fetched_with_its_name_and_query(site):
    assert downloads.fetch(f"https://{HOST}/picture?fit=crop&h=300", PICTURES).content == picture()
    assert site.asked == [(HOST, "/picture?fit=crop&h=300")]


def test_a_redirect_within_the_site_is_followed(site):
    assert downloads.fetch(f"https://{HOST}/here", PICTURES).content == picture()


def test_a_redirect_elsewhere_is_not_followed(site, names):
    names["other.example"] = ["127.0.0.1"]
    assert refusal(f"https://{HOST}/elsewhere") == "The address redirects to another site."
    assert "other.example" not in names["asked"]


def test_a_redirect_to_http_is_not_followed(site, rules):
    assert refusal(f"https://{HOST}/plain", rules) == "Only https:// addresses are fetched."


def test_a_redirect_to_what_is_no_address_is_refused(site, rules):
    assert refusal(f"https://{HOST}/astray", rules) == "This is not a web address."


def test_a_length_that_is_no_number_is_not_believed(site):
    assert downloads.fetch(f"https://{HOST}/odd", PICTURES).content == b"x"


def test_a_path_may_begin_with_two_slashes(site):
    assert downloads.fetch(f"https://{HOST}//picture?size=2", PICTURES).content == picture()
    assert site.asked == [(HOST, "/picture?size=2")]  # this server takes two for one
    assert refusal(f"https://{HOST}//[x") == "The server answered 404."


def test_redirects_come_to_an_end(site, rules):
    assert refusal(f"https://{HOST}/loop", rules) == "The address redirects too often."


def test_an_error_of_the_server_is_named(site, rules):
    assert refusal(f"https://{HOST}/missing", rules) == "The server answered 404."


@pytest.mark.parametrize(
    ("path", "rules", "most"),
    [("huge", PICTURES, 10), ("endless", PICTURES, 10), ("large", PAGES, 3), ("endless", PAGES, 3)],
)
def test_what_is_large_is_not_fetched_to_its_end(site, path, rules, most):
    assert refusal(f"https://{HOST}/{path}", rules) == f"It is larger than {most} MB."


def test_a_server_that_drips_is_left_at_the_deadline(site, rules):
    start = time.monotonic()
    assert (
        refusal(f"https://{HOST}/slow", replace(rules, seconds=0.3))
        == "The site broke off, or took too long."
    )
    assert time.monotonic() - start < 10  # it would drip for 50 seconds


def test_what_is_cut_short_is_refused(site, rules):
    assert refusal(f"https://{HOST}/short", rules) == "The site broke off, or took too long."


def test_what_is_packed_is_refused_and_never_unpacked(site, rules):
    assert (
        refusal(f"https://{HOST}/packed", rules)
        == "The server sent it compressed, although it was asked not to."
    )
    assert site.encodings == {"identity"}


@pytest.mark.parametrize("path", ["feed", "picture", "untyped"])
def test_what_a_server_does_not_call_a_page_is_none(site, path):
    assert refusal(f"https://{HOST}/{path}", PAGES) == "This is not a web page."


def test_a_page_may_redirect_to_another_site_whose_address_is_known_then(site, names):
    names[OTHER] = ["127.0.0.1"]
    answer = downloads.fetch(f"https://{HOST}/away", PAGES)
    assert (answer.content, answer.content_type, answer.url) == (
        PAGE,
        HTML["Content-Type"],
        f"https://{OTHER}/page",
    )
    assert site.asked == [(HOST, "/away"), (OTHER, "/page")]


def test_a_redirect_into_a_private_network_is_not_followed(site, names):
    names["inside.example"] = ["10.0.0.1"]
    assert refusal(f"https://{HOST}/inside", PAGES) == "The address leads into a private network."
    assert site.asked == [(HOST, "/inside")]


def test_a_name_that_leads_into_a_private_network_at_its_second_answer_is_not_followed(site, names):
    names["then"][HOST] = ["10.0.0.1"]
    assert refusal(f"https://{HOST}/again", PAGES) == "The address leads into a private network."
    assert (names["asked"], site.asked) == ([HOST, HOST], [(HOST, "/again")])


def test_the_certificate_must_be_for_the_name(site, names, rules):
    names["wrong.example"] = ["127.0.0.1"]
    assert refusal("https://wrong.example/picture", rules) == "The site's certificate is not valid."
    assert site.asked == []


def test_the_certificate_must_be_trusted(site, monkeypatch, rules):
    monkeypatch.setattr(guarded_http, "context", ssl.create_default_context)
    assert refusal(f"https://{HOST}/picture", rules) == "The site's certificate is not valid."


def test_one_private_address_among_public_ones_is_enough_to_refuse(site, names):
    names[HOST] = ["127.0.0.1", "127.0.0.2"]
    assert refusal(f"https://{HOST}/picture") == "The address leads into a private network."
    assert site.asked == []


def test_the_name_is_asked_for_once_so_a_second_answer_cannot_lead_elsewhere(site, names):
    downloads.fetch(f"https://{HOST}/picture", PICTURES)
    assert names["asked"] == [HOST]


def test_an_unknown_name_is_refused(names):
    assert refusal("https://nowhere.example/x") == "The site was not found."


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"])
def test_a_private_address_is_never_connected_to(names, monkeypatch, address, rules):
    names["inside.example"] = names["localhost"] = [address]
    monkeypatch.setattr(guarded_http, "HTTPSConnection", None)
    for host in ("inside.example", "localhost", f"[{address}]" if ":" in address else address):
        assert refusal(f"https://{host}/x", rules) == "The address leads into a private network."


def test_other_addresses_are_refused_before_any_name_is_asked_for(names, rules, subtests):
    for url in [
        "http://images.example/x",
        "ftp://images.example/x",
        "file:///etc/passwd",
        "//images.example/x",
        "x.jpg",
        "https://",
        "https://me:pw@images.example/x",
        "https://images.example:8443/x",
        "https://images.example:99999/x",
        "https://[::1/x",
    ]:
        with subtests.test(url=url):
            assert refusal(url, rules)
            assert names["asked"] == []


def deals_with(*urls):
    """Right rows with image URLs."""
    return check_rows([make_row(n, image_url=url) for n, url in enumerate(urls)])


def test_pictures_are_stored_and_failures_explained(site, tmp_path):
    with override_settings(MEDIA_ROOT=tmp_path):
        fetched = downloads.pictures_of(
            deals_with(
                f"https://{HOST}/picture",
                f"https://{HOST}/missing",
                f"https://{HOST}/short",
                f"https://{HOST}/picture",
            )
        )
    assert isinstance(fetched[2], Picture)
    assert (fetched[2].width, fetched[2].alt) == (40, "Lamp 0")
    assert fetched[3] == "The server answered 404."
    assert fetched[4] == "The site broke off, or took too long."
    assert fetched[5] == replace(fetched[2], alt="Lamp 3")
    assert [path for _, path in site.asked].count("/picture") == 1


def test_what_is_no_picture_is_explained(site, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "fetch", lambda url, rules: Answer(b"<html>", "image/png", url))
    with override_settings(MEDIA_ROOT=tmp_path):
        fetched = downloads.pictures_of(deals_with(f"https://{HOST}/picture"))
    assert str(fetched[2]).startswith("This file is not a picture")


def test_few_pictures_are_decoded_at_once(monkeypatch):
    one_too_many = threading.Barrier(downloads.DECODED_AT_ONCE + 1)
    met = []

    def store(content, alt):
        with contextlib.suppress(threading.BrokenBarrierError):
            met.append(one_too_many.wait(0.2))
        return Picture(content.decode(), 40, 30, alt)

    monkeypatch.setattr(downloads, "fetch", lambda url, rules: Answer(url[-1:].encode(), "", url))
    monkeypatch.setattr(downloads, "store_picture", store)
    fetched = downloads.pictures_of(deals_with(*(f"https://{HOST}/{n}" for n in range(6))))
    assert [one.name for _line, one in sorted(fetched.items()) if isinstance(one, Picture)] == [
        str(n) for n in range(6)
    ]
    assert met == []
