"""Which addresses the crawler may connect to, and for which site.

A link, a redirect, a sitemap or a name server can point anywhere: at this machine, at the network around it, at the
metadata service of a cloud. So every address is checked right before a connection is made to it, however the URL spelt
it. Special are all blocks of the IANA special-purpose registries (RFC 6890 and its updates) that are not globally
reachable, multicast and reserved space, and all of IPv6 outside of 2000::/3 (global unicast, RFC 4291). An IPv6 address
that carries an IPv4 address (mapped RFC 4291, NAT64 RFC 6052, 6to4 RFC 3056) is judged by that one, an ISATAP address
(RFC 5214) by both.

A special address is refused unless the owner of the crawl has opened it, and it is only ever opened for one site (a
host and a port), never for a network: that 10.0.0.1 is open lets no other site lead there. Two settings open it:

- `wire.allow_private` (`--allow-private`), a list of addresses and names, each with or without a port. An address is
  opened for its own site; `localhost` and names below it may lead to loopback addresses; another name may lead into a
  private network or to this machine, but never to link-local addresses, where clouds keep their secrets.
- `dns.hosts` (`--resolve`), the table of fixed addresses: its names, on the ports that `allow_private` has for such
  names, or else on the default ports.

A seed by itself opens nothing, as a page, an archive or a program may have named it. A seed that a *person* typed adds
its site to `allow_private` (`opened_by`); that is done in one place, `collection.collection.planned`. What a name
resolves to opens nothing either: its DNS can change that at any time.

Pure: names are looked up in `dns`. In values by host name, `*.example.org` stands for every name below `example.org`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, Generic, TypeVar

from periplus.model import ConfigError, Site, Url
from periplus.urls import canonical, site_of

V = TypeVar("V")


class NamePatterns(Generic[V]):
    """A table from names and wildcards to values. An exact name wins over a wildcard, a longer wildcard over a shorter.

    Names are compared in lower case and without the dot that ends a fully qualified name. A name may carry a port
    (`*.example.org:8080`), which then has to be the same.
    """

    def __init__(self, values: Mapping[str, V]) -> None:
        self._values = {name.lower().rstrip("."): value for name, value in values.items()}

    def find(self, name: str) -> V | None:
        """The value of the best matching entry, or `None`."""
        if not self._values:
            return None
        name = name.lower().rstrip(".")
        found = self._values.get(name)
        while found is None and "." in name:
            name = name.partition(".")[2]
            found = self._values.get(f"*.{name}")
        return found


IpAddress = IPv4Address | IPv6Address
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
_LOOPBACK: Final[frozenset[Network]] = frozenset({IPv4Network("127.0.0.0/8"), IPv6Network("::1/128")})
_INTRANET: Final = _LOOPBACK | {
    IPv4Network("10.0.0.0/8"),
    IPv4Network("100.64.0.0/10"),
    IPv4Network("172.16.0.0/12"),
    IPv4Network("192.168.0.0/16"),
    IPv6Network("fc00::/7"),
}
"""Blocks that a name in `allow_private` may resolve to: private networks, carrier-grade NAT and VPNs, this machine."""
_REMEMBERED: Final = 4096
"""Verdicts in each of the two caches, of addresses and of sites with special addresses: far more than a shard has
connections at a time."""
_DEFAULT_PORTS: Final = ("80", "443")
_BAD_PORTS: Final = frozenset(
    str(port)
    for port in (
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
        109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
        526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
        3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    )
)  # fmt: skip
"""Ports of other protocols, to which no browser speaks HTTP (WHATWG Fetch, section 2.9): a page could have us talk to
the mail server of somebody else."""
_ENTRY: Final = re.compile(r"(\*\.)?([^\s*/?#@]+)")


def special_block(ip: str) -> Network | None:
    """The block that makes an address special, `None` for a public address. Text that is not an address is special."""
    address = address_of(ip)
    if address is None:
        return _SPECIAL_6[-1]
    if isinstance(address, IPv6Address):
        carried, block = _carried(address), None
        if carried is None:
            carried, block = _tunnelled(address), _special_6(address)
        if carried is None or block is not None:
            return block
        address = carried
    return next((block for block in _SPECIAL_4 if address in block), None)


def address_of(text: str) -> IpAddress | None:
    """The address that a text is, without the zone of an IPv6 address; `None` if it is not an address."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def literal_address(host: str) -> IpAddress | None:
    """The IP address in the host of a URL, in brackets or not; `None` for a name, at nearly no cost."""
    if not (host[-1:] == "]" or host[-1:].isdigit() or ":" in host):
        return None
    return address_of(host.strip("[]"))


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address inside an IPv6 address, if that is where a packet would end."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def _tunnelled(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address in an ISATAP address (RFC 5214), whose network may have a tunnel to it."""
    number = int(address)
    is_isatap = number >> 32 & 0xFDFF_FFFF == 0x0000_5EFE
    return IPv4Address(number & 0xFFFF_FFFF) if is_isatap else None


def _special_6(address: IPv6Address) -> IPv6Network | None:
    blocks = _SPECIAL_6[:-1] if address in _GLOBAL_6 else _SPECIAL_6
    return next((block for block in blocks if address in block), None)


def _split(site: str) -> tuple[str, str]:
    """The host of a site, an IPv6 address without its brackets, and its port; `""` is the default port."""
    host, colon, port = site.rpartition(":")
    if not colon or site.endswith("]"):
        host, port = site, ""
    return host.strip("[]").rstrip("."), port


def _with_default_port(site: str) -> str:
    """A site without port 80 or 443, whichever scheme it was written with."""
    host, colon, port = site.rpartition(":")
    return host if colon and not site.endswith("]") and port in _DEFAULT_PORTS else site


def has_bad_port(site: Site) -> bool:
    """Whether a site is at a port that belongs to another protocol than HTTP."""
    return _split(site)[1] in _BAD_PORTS


def is_localhost(host: str) -> bool:
    """Whether a name always means this machine (RFC 6761 section 6.3)."""
    return host == "localhost" or host.endswith(".localhost")


def private_entry(text: str) -> str:
    """An entry of `allow_private` in the form of a `Site`, perhaps with `*.` before it. Raises `ConfigError`."""
    address = address_of(text)
    text = f"[{text}]" if isinstance(address, IPv6Address) else text.strip()
    found = _ENTRY.fullmatch(text)
    url = canonical(f"http://{found[2]}/") if found else None
    if found is None or url is None or (found[1] and literal_address(_split(site_of(url))[0]) is not None):
        raise ConfigError(
            f"allow_private: {text!r} is not a host",
            hint="Write a name or an address, with a port if it is not 80 or 443: "
            "intranet.example, *.corp.example, 10.0.0.7:8080",
        )
    return f"{found[1] or ''}{_with_default_port(site_of(url))}"


def opened_by(typed: Iterable[Url], hosts: Mapping[str, str], allow_private: Sequence[str]) -> tuple[str, ...]:
    """The entries of `allow_private`, and those that URLs typed by a person add: each for the URL's own site.

    Entries are added for addresses that are special, for `localhost`, for names in `allow_private` on another port,
    and for each port of names in `hosts`. Other names add nothing.
    """
    entries = dict.fromkeys(map(private_entry, allow_private))
    table, allowed = NamePatterns(hosts), NamePatterns(dict.fromkeys(entries, True))
    table_ports = {_split(entry)[1] for entry in entries if table.find(_split(entry)[0]) is not None}
    for url in typed:
        site = _with_default_port(site_of(url))
        host, port = _split(site)
        if table.find(host) is not None:
            if port not in table_ports:
                table_ports.add(port)
                entries[site] = None
        elif literal_address(host) is not None:
            if special_block(host) is not None:
                entries[site] = None
        elif is_localhost(host) or (allowed.find(host) is not None and allowed.find(site) is None):
            entries[site] = None
    return tuple(entries)


class AddressGuard:
    """Decides for a site and an address whether a connection may be made. Public addresses are open to every site.

    `allow_private` and `hosts` are the settings of these names; the module's docstring says what each of them opens.
    """

    def __init__(self, *, allow_private: Sequence[str] = (), hosts: Mapping[str, str] | None = None) -> None:
        entries = [private_entry(text) for text in allow_private]
        self._table = NamePatterns(hosts or {})
        self._allowed = NamePatterns(dict.fromkeys(entries, True))
        self._literal: dict[str, IpAddress] = {}
        table_ports: set[str] = set()
        for entry in entries:
            host, port = _split(entry)
            address = literal_address(host)
            if address is not None:
                self._literal[entry] = address
            if self._table.find(host) is not None:
                table_ports.add(port)
        self._table_ports = frozenset(table_ports or {""})
        self._block = lru_cache(maxsize=_REMEMBERED)(special_block)
        self._is_opened = lru_cache(maxsize=_REMEMBERED)(self._opens)

    def allows(self, site: Site, ip: str) -> bool:
        """Whether a connection to an address may be made for a URL of this site."""
        block = self._block(ip)
        return block is None or self._is_opened(site, ip, block)

    def allows_by_name(self, site: Site) -> bool:
        """Whether a proxy, which looks names up itself, may be used for a site: not for its own localhost."""
        host, _ = _split(site)
        if literal_address(host) is not None:
            return self.allows(site, host)
        return not is_localhost(host) or self.allows(site, "127.0.0.1")

    def _opens(self, site: Site, ip: str, block: Network) -> bool:
        """Whether the owner opened a special address for this site."""
        address, entry = address_of(ip), _with_default_port(site)
        if address is None or entry in self._literal:
            return address is not None and self._literal[entry] == address
        host, port = _split(entry)
        if port in self._table_ports and self._table.find(host) is not None:
            return True  # the address is from the table, or was when the site was last looked up
        if self._allowed.find(entry) is None:
            return False
        return block in (_LOOPBACK if is_localhost(host) else _INTRANET)
