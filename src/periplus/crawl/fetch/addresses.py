"""Which addresses are nobody's business: what a crawler that follows strangers' links must never connect to.

A link, a redirect or a name server can point anywhere: at this machine, at the owner's network, at the metadata service
of a cloud. So every address is judged right before a connection is made to it, however the URL spelt it. Refused is
every block of the IANA special-purpose registries (RFC 6890 and its updates) that is not globally reachable, multicast
and reserved space, and all of IPv6 outside of 2000::/3 (global unicast, RFC 4291). An IPv6 address that carries an IPv4
one (mapped RFC 4291, NAT64 RFC 6052, 6to4 RFC 3056) is what that one is.

The exception is made by the owner: where a seed lies in such a block, the block is allowed as a whole (a person who
crawls `http://10.1.2.3/` crawls an intranet, whose pages lie on other machines of 10.0.0.0/8), and no other one.

Pure: names are looked up in `dns`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Network = IPv4Network | IPv6Network

_SPECIAL_4: Final = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network, RFC 791; 0.0.0.0 is this machine on many systems
        "10.0.0.0/8",  # private, RFC 1918
        "100.64.0.0/10",  # shared address space of carriers, RFC 6598
        "127.0.0.0/8",  # loopback, RFC 1122
        "169.254.0.0/16",  # link-local, RFC 3927; clouds keep their secrets here
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, RFC 6890
        "192.0.2.0/24",  # documentation, RFC 5737
        "192.88.99.0/24",  # 6to4 relays, deprecated by RFC 7526
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks, RFC 2544
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast, RFC 5771
        "240.0.0.0/4",  # reserved and broadcast, RFC 1112
    )
)
_GLOBAL_6: Final = IPv6Network("2000::/3")
_SPECIAL_6: Final = tuple(
    IPv6Network(block)
    for block in (
        "::1/128",  # loopback
        "64:ff9b:1::/48",  # NAT64 into a private network, RFC 8215
        "fc00::/7",  # unique local, RFC 4193
        "fe80::/10",  # link-local
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
        "2001:db8::/32",  # documentation, RFC 3849
        "3fff::/20",  # documentation, RFC 9637
        "::/0",  # all that is not global unicast, and comes last
    )
)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_REMEMBERED: Final = 4096


def special_block(ip: str) -> Network | None:
    """The block that makes an address special, or `None` where anybody may visit it. What is no address is special."""
    try:
        address = ip_address(ip.partition("%")[0])
    except ValueError:
        return _SPECIAL_6[-1]
    if isinstance(address, IPv6Address):
        carried = _carried(address)
        if carried is None:
            return _special_6(address)
        address = carried
    return next((block for block in _SPECIAL_4 if address in block), None)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address inside an IPv6 address, if that is where a packet would end."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def _special_6(address: IPv6Address) -> IPv6Network | None:
    blocks = _SPECIAL_6[:-1] if address in _GLOBAL_6 else _SPECIAL_6
    return next((block for block in blocks if address in block), None)


class AddressGuard:
    """Says for every address whether it may be visited: the public ones, and the blocks where `seeds` lie.

    `seeds` are addresses, not names: look names up first (`Resolver.find_all`).
    """

    def __init__(self, seeds: Iterable[str] = ()) -> None:
        self.allowed: frozenset[Network] = frozenset(
            block for seed in seeds if (block := special_block(seed)) is not None and block.prefixlen > 0
        )
        self.allows = lru_cache(maxsize=_REMEMBERED)(self._allows)

    def _allows(self, ip: str) -> bool:
        block = special_block(ip)
        return block is None or block in self.allowed
