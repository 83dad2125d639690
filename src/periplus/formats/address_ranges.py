"""Address ranges that operators publish for their crawlers: `{"prefixes": [{"ipv4Prefix": "66.249.64.0/20"}]}`.

After draft-illyes-webbotauth-jafar (JAFAR 1.0), which wrote down what large crawlers publish. A file of a higher major
version is not read (problem `format-version`), nor one that is not such a file (`unreadable`); an object that is not
exactly one range is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, Final

import msgspec
from msgspec import Struct

MAX_RANGES: Final = 100_000
"""Ranges of one file; the largest published list has a few thousand."""
_MAJOR: Final = "1"
_KINDS: Final = ("ipv4Prefix", "ipv6Prefix")


class AddressRanges(Struct, frozen=True):
    """The ranges of a file, each with the service that it names, or why there are none."""

    ranges: tuple[tuple[IPv4Network | IPv6Network, str], ...] = ()
    problem: str = ""

    def service(self, address: str) -> str | None:
        """The service of the longest range that has an address, empty if it names none; `None` if no range has it."""
        try:
            asked = ip_address(address)
        except ValueError:
            return None
        holding = [(net.prefixlen, name) for net, name in self.ranges if net.version == asked.version and asked in net]
        return max(holding)[1] if holding else None


def read_address_ranges(body: bytes) -> AddressRanges:
    """The ranges of a file."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = None
    prefixes = found.get("prefixes") if isinstance(found, dict) else None
    if not isinstance(prefixes, list):
        return AddressRanges(problem="unreadable")
    if str(found.get("formatVersion", _MAJOR)).partition(".")[0] > _MAJOR:
        return AddressRanges(problem="format-version")
    read = (_range(each) for each in prefixes[:MAX_RANGES] if isinstance(each, dict))
    return AddressRanges(tuple(each for each in read if each is not None))


def _range(given: Mapping[str, Any]) -> tuple[IPv4Network | IPv6Network, str] | None:
    kinds = [kind for kind in _KINDS if given.get(kind) is not None]
    if len(kinds) != 1:
        return None
    try:
        network = ip_network(str(given[kinds[0]]), strict=False)
    except ValueError:
        return None
    service = given.get("service")
    is_its_kind = f"ipv{network.version}Prefix" == kinds[0]
    return (network, service if isinstance(service, str) else "") if is_its_kind else None
