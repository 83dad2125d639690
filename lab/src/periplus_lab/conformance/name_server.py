"""A name server for the enclosure: addresses and aliases of the lab's names, over UDP (RFC 1035)."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import cast

_A, _CNAME, _AAAA = 1, 5, 28
_NO_ERROR, _NO_NAME = 0x8180, 0x8183
"""Flags of an answer: it is a response, recursion is available; the name is there, or not."""
_SHORT = 1
"""Seconds that an answer may be kept: a trial may change it."""

Lookup = Callable[[str], str | None]
"""The addresses of a name, with spaces between them, or another name that it stands for; empty if there is no such
name, `None` to leave the question without an answer."""


class NameServer(asyncio.DatagramProtocol):
    """Answers from `lookup`, and remembers what was asked."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self.asked: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is bound."""
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer one question; what is not one is dropped."""
        try:
            name, kind, end = _question(data)
        except (IndexError, struct.error, UnicodeDecodeError):
            return
        self.asked.append(name)
        value = self._lookup(name)
        if value is None:
            return
        records = self._records(name, value, kind)
        flags = _NO_NAME if records is None else _NO_ERROR
        head = data[:2] + struct.pack(">HHHHH", flags, 1, len(records or ()), 0, 0)
        self._transport.sendto(head + data[12:end] + b"".join(records or ()), addr)

    def _records(self, name: str, value: str, kind: int) -> list[bytes] | None:
        """The records of a name and of those it stands for; `None` if there is no such name."""
        records: list[bytes] = []
        for _ in range(8):
            if not value:
                return records or None
            if value[0].isdigit() or ":" in value:
                return records + [_record(name, kind, packed) for packed in _packed(value, kind)]
            records.append(_record(name, _CNAME, _labels(value)))
            name, value = value, self._lookup(value) or ""
        return records


def _packed(addresses: str, kind: int) -> list[bytes]:
    """The addresses of a kind of record."""
    if kind == _AAAA:
        return [socket.inet_pton(socket.AF_INET6, each) for each in addresses.split() if ":" in each]
    return [socket.inet_aton(each) for each in addresses.split() if ":" not in each] if kind == _A else []


def _question(data: bytes) -> tuple[str, int, int]:
    place, labels = 12, []
    while size := data[place]:
        labels.append(data[place + 1 : place + 1 + size].decode("ascii").lower())
        place += size + 1
    (kind,) = struct.unpack_from(">H", data, place + 1)
    return ".".join(labels), kind, place + 5


def _labels(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode("ascii") for label in name.split(".")) + b"\0"


def _record(name: str, kind: int, value: bytes) -> bytes:
    return _labels(name) + struct.pack(">HHIH", kind, 1, _SHORT, len(value)) + value
