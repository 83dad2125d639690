"""Checks whether an IP address belongs to the crawler that the User-Agent names.

An address is genuine if it is in a range that the operator publishes, or by forward-confirmed reverse DNS: its name
ends with a suffix of the operator, at a label boundary, and the name resolves to the address. The last step is needed
because the owner of an address may give it any name. There are no DNS lookups unless a `AddressLookup` is passed;
`LedgerAnswers` keeps their answers.
"""

from __future__ import annotations

import queue
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path
from threading import Thread
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from periplus.formats.address_ranges import read_address_ranges
from periplus.formats.web_bot_auth import WELL_KNOWN
from periplus.model import Url
from periplus.urls import host_of
from periplus_sites.ledger import Ledger

from .agents import Crawler, well_known

LARGEST_FILE: Final = 16 << 20
"""Bytes of a file of ranges."""


class IdentityVerdict(StrEnum):
    """Whether an address is whose it claims to be."""

    VERIFIED = "verified"
    FALSE = "false claim"
    UNKNOWN = "cannot be checked"


class Answer(Struct, frozen=True):
    """What DNS says of an address: its names, and those of them that have the address.

    `names` is `None` if there was no answer, which may be different at another time.
    """

    names: tuple[str, ...] | None
    confirmed: tuple[str, ...] = ()


class AddressLookup(Protocol):
    """Looks up addresses."""

    def answers(self, addresses: Sequence[str]) -> Mapping[str, Answer]:
        """What DNS says of each of these addresses; one that is left out was not looked up."""


class NoResolver:
    """Looks nothing up."""

    def answers(self, addresses: Sequence[str]) -> Mapping[str, Answer]:  # noqa: ARG002 - the interface has it
        """An empty mapping: nothing is looked up."""
        return {}


class Ranges:
    """Published ranges by the name of their file."""

    def __init__(self, networks: Mapping[str, Sequence[IPv4Network | IPv6Network]] | None = None) -> None:
        self._by_prefix: dict[str, set[tuple[int, int, int]]] = {}
        self._lengths: dict[str, set[tuple[int, int]]] = {}
        for name, listed in (networks or {}).items():
            self._by_prefix[name] = {(net.version, net.prefixlen, int(net.network_address)) for net in listed}
            self._lengths[name] = {(net.version, net.prefixlen) for net in listed}

    def holds(self, crawler: Crawler, address: str) -> bool | None:
        """Whether an address is in the ranges of a crawler; `None` if they are not known."""
        names = [name for name in map(range_file, crawler.ranges) if name in self._by_prefix]
        if not names:
            return None
        try:
            asked = ip_address(address)
        except ValueError:
            return None
        return any(self._is_in(name, asked.version, int(asked), asked.max_prefixlen) for name in names)

    def _is_in(self, name: str, version: int, number: int, bits: int) -> bool:
        listed = self._by_prefix[name]
        return any(
            (version, length, number >> (bits - length) << (bits - length)) in listed
            for kind, length in self._lengths[name]
            if kind == version
        )


def read_ranges(folder: Path) -> tuple[Ranges, float | None]:
    """The range files of a folder (`{"prefixes": [{"ipv4Prefix": ...}]}`), and when the oldest was written."""
    found: dict[str, list[IPv4Network | IPv6Network]] = {}
    oldest: float | None = None
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        stat = path.stat()
        if stat.st_size > LARGEST_FILE:
            continue
        listed = [network for network, _ in read_address_ranges(path.read_bytes()).ranges]
        if listed:
            found[path.name] = listed
            oldest = stat.st_mtime if oldest is None else min(oldest, stat.st_mtime)
    return Ranges(found), oldest


def range_urls() -> tuple[str, ...]:
    """Where operators publish the ranges of their crawlers."""
    return tuple(dict.fromkeys(url for crawler in well_known() for url in crawler.ranges))


def verdict(crawler: Crawler, address: str, ranges: Ranges, answer: Answer | None) -> IdentityVerdict:
    """Whether an address is that of the crawler that it names."""
    is_listed = ranges.holds(crawler, address)
    if is_listed:
        return IdentityVerdict.VERIFIED
    if crawler.suffixes and answer is not None and answer.names is not None:
        is_confirmed = any(ends_with(name, crawler.suffixes) for name in answer.confirmed)
        return IdentityVerdict.VERIFIED if is_confirmed else IdentityVerdict.FALSE
    return IdentityVerdict.FALSE if is_listed is False and not crawler.suffixes else IdentityVerdict.UNKNOWN


def ends_with(name: str, suffixes: Iterable[str]) -> bool:
    """Whether a host name is one of these or below it: `crawl.googlebot.com`, and not `notgooglebot.com`."""
    plain = name.rstrip(".").lower()
    return any(plain == suffix or plain.endswith("." + suffix) for suffix in suffixes)


def signs_for(agent: str, crawler: Crawler) -> bool:
    """Whether the agent of a verified signature is a crawler: its keys are at the well-known URL of an own host.

    Elsewhere on a host may be what others put there: archived pages, uploads, answers to a query.
    """
    host = host_of(Url(agent))
    return ends_with(host, crawler.suffixes) and agent == f"https://{host}{WELL_KNOWN}"


def range_file(url: str) -> str:
    """The name under which the file of a URL is kept."""
    return url.rpartition("/")[2]


IN_FLIGHT: Final = 20
"""Addresses that are looked up at a time."""
TIMEOUT: Final = 3.0
"""Seconds an address may take on average when `IN_FLIGHT` are looked up at a time."""
KEPT_FOR: Final = 7 * 86_400.0
"""Seconds for which an answer is used: operators move their crawlers to other addresses within weeks."""
MOST_KEPT: Final = 100_000
"""Answers that a ledger keeps; the oldest go first."""
_NO_SUCH_NAME: Final = (1, 4, -2, -5)
"""HOST_NOT_FOUND, NO_DATA, EAI_NONAME and EAI_NODATA: there is no such name, as opposed to no answer."""
_TABLE: Final = (
    "create table if not exists dns_answers(address text primary key, answer blob not null, at real not null)"
)


class SystemResolver:
    """The resolver of this machine. An address that it does not answer for in time has no answer."""

    def answers(self, addresses: Sequence[str]) -> Mapping[str, Answer]:
        """What DNS says of each of these addresses."""
        waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[str, Answer]] = queue.SimpleQueue()
        for address in addresses:
            waiting.put(address)
        for _ in range(min(IN_FLIGHT, len(addresses))):
            Thread(target=_look_up, args=(waiting, done), daemon=True).start()
        found: dict[str, Answer] = {}
        until = time.monotonic() + TIMEOUT * (1 + len(addresses) / IN_FLIGHT)
        while len(found) < len(addresses):
            try:
                address, answer = done.get(timeout=max(until - time.monotonic(), 0.001))
            except queue.Empty:
                break
            found[address] = answer
        return found


def _look_up(waiting: queue.SimpleQueue[str], done: queue.SimpleQueue[tuple[str, Answer]]) -> None:
    while True:
        try:
            address = waiting.get_nowait()
        except queue.Empty:
            return
        done.put((address, confirm(address, _names, _addresses)))


def confirm(
    address: str, names_of: Callable[[str], Sequence[str]], addresses_of: Callable[[str], Sequence[str]]
) -> Answer:
    """The names of an address, and those of them that have the address. Either look-up may raise `OSError`."""
    try:
        names = tuple(names_of(address))
    except OSError as error:
        return Answer(() if error.errno in _NO_SUCH_NAME else None)
    confirmed = []
    for name in names:
        try:
            if _same(address) in map(_same, addresses_of(name)):
                confirmed.append(name)
        except OSError as error:
            if error.errno not in _NO_SUCH_NAME:
                return Answer(None)
    return Answer(names, tuple(confirmed))


def _same(address: str) -> str:
    """An address in its usual form."""
    try:
        return str(ip_address(address))
    except ValueError:
        return address


def _names(address: str) -> Sequence[str]:
    name, aliases, _ = socket.gethostbyaddr(address)
    return (name, *aliases)


def _addresses(name: str) -> Sequence[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]


class LedgerAnswers:
    """Answers that a ledger keeps for a week, and those of another resolver for the rest."""

    def __init__(
        self, ledger: Ledger, resolver: AddressLookup | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._ledger = ledger
        self._resolver = resolver or NoResolver()
        self._clock = clock

    def answers(self, addresses: Sequence[str]) -> Mapping[str, Answer]:
        """What is known of each of these addresses; new answers are kept."""
        now = self._clock()
        kept = self._kept(addresses, now)
        asked = dict(self._resolver.answers([each for each in addresses if each not in kept]))
        known = [(each, msgspec.json.encode(answer), now) for each, answer in asked.items() if answer.names is not None]
        if known:
            with self._ledger.writing() as db:
                db.execute(_TABLE)
                db.executemany("insert or replace into dns_answers values(?, ?, ?)", known)
                db.execute("delete from dns_answers where at < ?", (now - KEPT_FOR,))
                db.execute(
                    "delete from dns_answers where address in"
                    " (select address from dns_answers order by at desc limit -1 offset ?)",
                    (MOST_KEPT,),
                )
        return {**kept, **asked}

    def _kept(self, addresses: Sequence[str], now: float) -> dict[str, Answer]:
        db = self._ledger.db
        if not self._ledger.has_table("dns_answers"):
            return {}
        found = {}
        for address in addresses:
            row = db.execute(
                "select answer from dns_answers where address = ? and at between ? and ?",
                (address, now - KEPT_FOR, now),
            ).fetchone()
            if row is not None:
                found[address] = msgspec.json.decode(row[0], type=Answer)
        return found
