"""Which addresses may be visited: what strangers' links must never lead to, and what a seed opens."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.crawl.fetch import AddressGuard, special_block

REFUSED = [
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::1",
    "2002:0a00:0001::1",
    "2001:db8::1",
    "2001::1",
    "2001:10::1",
    "3fff::1",
    "100::1",
    "5f00::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
PUBLIC = [
    "1.1.1.1",
    "93.184.215.14",
    "100.63.255.255",
    "100.128.0.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.0.1.1",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "::ffff:93.184.215.14",
    "64:ff9b::5db8:d70e",
    "2002:5db8:d70e::1",
]


@pytest.mark.parametrize("ip", REFUSED)
def test_special_addresses_are_nobodys_business(ip: str) -> None:
    """Every special-purpose block is refused, however the address is written or wrapped."""
    assert not AddressGuard().allows(ip)


@pytest.mark.parametrize("ip", PUBLIC)
def test_public_addresses_may_be_visited(ip: str) -> None:
    """The neighbours of special blocks, and public addresses inside IPv6, are not refused with them."""
    assert AddressGuard().allows(ip)


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.1", "2130706433", "0x7f.0.0.1", "1.2.3.4.5", "[::1]", "1.1.1.1 "]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """Only an address in its plain form is judged; everything else is not trusted."""
    assert not AddressGuard().allows(text)
    assert not AddressGuard([text]).allows(text)


def test_a_seed_opens_its_own_block_and_no_other() -> None:
    """Who crawls 10.1.2.3 crawls an intranet: 10.0.0.0/8, and neither this machine nor the cloud's secrets."""
    guard = AddressGuard(["10.1.2.3"])
    assert guard.allows("10.200.0.1")
    assert guard.allows("::ffff:10.0.0.9")
    assert not guard.allows("127.0.0.1")
    assert not guard.allows("169.254.169.254")
    assert not guard.allows("192.168.0.1")


def test_public_seeds_open_nothing() -> None:
    """An ordinary crawl allows no special block."""
    assert AddressGuard(["93.184.215.14", "2606:4700::1"]).allowed == frozenset()


def test_the_catch_all_cannot_be_opened() -> None:
    """A seed in unassigned space does not open all of IPv6."""
    guard = AddressGuard(["5f00::1"])
    assert not guard.allows("5f00::1")
    assert not guard.allows("fc00::1")


@given(st.ip_addresses())
def test_nothing_private_by_the_standard_library_is_public_here(address: IPv4Address | IPv6Address) -> None:
    """Python's own table of private, loopback, link-local and multicast addresses is contained in ours."""
    is_special = address.is_private or address.is_loopback or address.is_link_local or address.is_multicast
    if is_special or address.is_unspecified:
        carried = getattr(address, "ipv4_mapped", None)
        if carried is None or carried.is_private:
            assert special_block(str(address)) is not None


@given(st.ip_addresses(v=4))
def test_wrapping_changes_nothing(address: IPv4Address) -> None:
    """An IPv4 address inside an IPv6 one is judged as itself."""
    plain = special_block(str(address))
    number = int(address)
    for wrapped in (0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80):
        assert special_block(str(ip_address(wrapped))) == plain
