"""The name server: what it answers, over a socket too, and to bytes that are not a question."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus_lab.conformance.name_server import NameServer

NAMES = {"www.lab.test": "11.77.0.1", "alias.lab.test": "www.lab.test", "loop.lab.test": "loop.lab.test"}


class Sent:
    """Keeps what a server sends."""

    def __init__(self) -> None:
        self.data: list[bytes] = []

    def sendto(self, data: bytes, _to: object) -> None:
        self.data.append(data)


def ask(name: str, kind: int = 1) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    return struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">HH", kind, 1)


def answer(question: bytes) -> list[bytes]:
    server, sent = NameServer(lambda name: NAMES.get(name, "")), Sent()
    server.connection_made(sent)  # type: ignore[arg-type]
    server.datagram_received(question, ("127.0.0.1", 1))
    return sent.data


@pytest.mark.parametrize(
    ("name", "kind", "flags", "records"),
    [
        ("www.lab.test", 1, 0x8180, 1),
        ("WWW.lab.test", 1, 0x8180, 1),
        ("alias.lab.test", 1, 0x8180, 2),
        ("www.lab.test", 28, 0x8180, 0),
        ("loop.lab.test", 1, 0x8180, 8),
        ("none.lab.test", 1, 0x8183, 0),
    ],
)
def test_answers(name: str, kind: int, flags: int, records: int) -> None:
    (said,) = answer(ask(name, kind))
    assert struct.unpack(">HHHHHH", said[:12]) == (7, flags, 1, records, 0, 0)
    assert said.endswith(socket.inet_aton("11.77.0.1")) == (records in (1, 2))


@given(st.binary(max_size=64))
def test_anything_may_come(data: bytes) -> None:
    answer(data)


def test_it_answers_over_a_socket() -> None:
    async def run() -> bytes:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: NameServer(lambda name: NAMES.get(name, "")), local_addr=("127.0.0.1", 0)
        )
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.setblocking(False)
            await loop.sock_connect(client, transport.get_extra_info("sockname"))
            await loop.sock_sendall(client, ask("alias.lab.test"))
            said = await asyncio.wait_for(loop.sock_recv(client, 512), 30)
        transport.close()
        return said

    assert asyncio.run(run()).endswith(socket.inet_aton("11.77.0.1"))
