"""Names of addresses from the system's resolver, and the answers that a ledger keeps of them."""

from __future__ import annotations

import queue
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from threading import Thread
from typing import Final

import msgspec

from periplus.publish.ledger import Ledger

from .identity import Answer, NoResolver, Resolver

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
        self, ledger: Ledger, resolver: Resolver | None = None, clock: Callable[[], float] = time.time
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
        if not db.execute("select 1 from sqlite_master where name = 'dns_answers'").fetchone():
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
