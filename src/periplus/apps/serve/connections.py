"""Which connections are open, and which of them makes room for another one. Pure: nothing here is a socket.

A connection that waits for a request costs its client nothing and must not keep others out. So the one that has waited
longest is closed where there are too many: of the same address first, then of all. A connection whose request is being
answered is never closed for another one; if all are, the new one is refused.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """A connection."""

    def make_room(self) -> None:
        """Close it."""


C = TypeVar("C", bound=Closable)


class Connections(Generic[C]):
    """The open connections of a server: at most `most`, and `most_of_one` of an address.

    `shared` are addresses without a limit of their own, because a proxy sends the requests of many from there.
    """

    def __init__(self, most: int, most_of_one: int, shared: frozenset[str] = frozenset()) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._shared = shared
        self._open: dict[C, str] = {}
        """The address of each, the one that has waited longest first."""
        self._of: dict[str, dict[C, None]] = {}

    def add(self, connection: C, host: str, is_waiting: Callable[[C], bool]) -> bool:
        """Count a new connection, and close another one for it if there are too many; false if there is no room."""
        address = network_of(host)
        others = self._of.get(address, {})
        has_room = True
        if host not in self._shared and len(others) >= self._most_of_one:
            has_room = self._close_one(others, is_waiting)
        elif len(self._open) >= self._most:
            has_room = self._close_one(self._open, is_waiting)
        self._open[connection] = address
        self._of.setdefault(address, {})[connection] = None
        return has_room

    def waits_again(self, connection: C) -> None:
        """Note that a response is complete: all other connections that wait have waited longer."""
        address = self._open.pop(connection, None)
        if address is None:
            return
        self._open[connection] = address
        del self._of[address][connection]
        self._of[address][connection] = None

    def remove(self, connection: C) -> None:
        """Forget a connection that was closed."""
        address = self._open.pop(connection, None)
        if address is None:
            return
        del self._of[address][connection]
        if not self._of[address]:
            del self._of[address]

    def _close_one(self, among: Iterable[C], is_waiting: Callable[[C], bool]) -> bool:
        longest = next((each for each in among if is_waiting(each)), None)
        if longest is None:
            return False
        self.remove(longest)
        longest.make_room()
        return True


def network_of(host: str) -> str:
    """The address of a client; for IPv6 its /64 network, all of which one person may use."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    mapped = address.ipv4_mapped  # a client over IPv4, at a socket for both
    return str(mapped or ipaddress.ip_network((address, 64), strict=False))
