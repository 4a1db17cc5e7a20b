"""Which addresses are of the public internet; what asks through this guard has its own tests of it."""

import ipaddress

import pytest

from dealsite.web import guarded_http


@pytest.mark.parametrize(
    "address",
    [
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
    ],
)
def test_addresses_of_private_networks_are_not_public(address):
    assert not guarded_http.is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1"])
def test_addresses_of_the_internet_are_public(address):
    assert guarded_http.is_public(ipaddress.ip_address(address))
