"""Which addresses are of the public internet; what asks through this guard has its own tests of it."""

import ipaddress
import socket
import time

import pytest

from dealsite.web import guarded_http
from dealsite.web.guarded_http import NoAnswer, Reason


def test_addresses_of_private_networks_are_not_public(subtests):
    for address in [
        "0.0.0.0",  # noqa: S104 (refused here)
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:7f00:1::",
        "2001:0:a00:1::f5ff:fffe",
        "fc00::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ]:
        with subtests.test(address=address):
            assert not guarded_http.is_public(ipaddress.ip_address(address))


# However an address of a private network is written; the machine's own resolver reads these without asking anybody.
SPELLED = [
    "http://127.0.0.1/", "http://127.1/", "http://127.0.1/", "http://0/", "http://0.0.0.0/",
    "http://2130706433/", "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0x7f.1/",
    "http://017700000001/", "http://0177.0.0.1/", "http://0177.0.0.01/", "http://127.000.000.001/",
    "http://\u2460\u2461\u2466.0.0.1/", "http://\uff11\uff12\uff17.0.0.1/",
    "http://127\u30020\u30020\u30021/", "http://127.0.0.1./", "http://3232235777/", "http://0xc0a80101/",
    "http://192.168.257/", "http://10.1/", "http://0xa.1/", "http://012.1/", "http://2852039166/",
    "http://0xa9fea9fe/", "http://169.254.43518/", "http://0251.0376.0251.0376/",
    "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://[::]/",
    "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/",
    "http://[::ffff:a9fe:a9fe]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/",
    "http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://[ff02::1]/", "http://[::127.0.0.1]/",
    "http://localhost/", "http://LOCALHOST/",
    "http://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/",
]  # fmt: skip
NOT_ASKED = [
    "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:6379/_x", "dict://127.0.0.1:11211/",
    "http:///x", "http:127.0.0.1", "//127.0.0.1/", "http://user@127.0.0.1/",
    "http://user:pass@shop.example/", "http://shop.example@127.0.0.1/", "http://@127.0.0.1/",
    "http://shop.example:22/", "http://shop.example:8000/", "https://shop.example:80/",
    "http://shop.example:443/", "http://127.0.0.1:99999/", "http://[::1/",
    "http://127.0.0.1\\@shop.example:1/", "javascript:alert(1)", "data:text/html,x",
    "http://[::1%25lo]:80x/", "",
]  # fmt: skip


def asks(url: str) -> Reason:
    """Return why a web address is not asked."""
    with pytest.raises(NoAnswer) as caught:
        guarded_http.ask(
            "GET",
            guarded_http.target_of(url, schemes=("http", "https")),
            headers={},
            deadline=time.monotonic() + 5,
            connect_seconds=1.0,
            read_seconds=1.0,
            read=lambda response: response.status,
        )
    return caught.value.reason


@pytest.fixture
def no_connections(monkeypatch):
    """No connection is made at all, and no name server asked: names other than these are unknown here."""
    resolve = socket.getaddrinfo

    def known(host, *arguments, **options):
        if host.strip(".").isalpha() and host != "localhost":
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return resolve(host, *arguments, **options)

    def connected(*_):
        raise AssertionError("connected")

    monkeypatch.setattr(socket, "getaddrinfo", known)
    monkeypatch.setattr(guarded_http, "_connection", connected)


def test_no_spelling_of_a_private_address_is_asked(no_connections, subtests):
    for url in SPELLED:
        with subtests.test(url=url):
            assert asks(url) in (
                Reason.PRIVATE_NETWORK,
                Reason.UNKNOWN_NAME,
                Reason.UNREADABLE_NAME,
                Reason.NO_WEB_ADDRESS,
            )


def test_no_other_scheme_user_or_port_is_asked(no_connections, subtests):
    for url in NOT_ASKED:
        with subtests.test(url=url):
            assert asks(url) in (Reason.OTHER_SCHEME, Reason.USER_OR_PORT, Reason.NO_WEB_ADDRESS)


def test_a_name_with_one_private_address_among_public_ones_is_not_asked(monkeypatch):
    found = [(socket.AF_INET, 1, 6, "", (address, 80)) for address in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert asks("http://shop.example/") == Reason.PRIVATE_NETWORK


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1"])
def test_addresses_of_the_internet_are_public(address):
    assert guarded_http.is_public(ipaddress.ip_address(address))
