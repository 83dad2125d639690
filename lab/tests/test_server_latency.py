"""A lab with a latency: the first byte of an answer comes no sooner, and answers keep their order."""

from __future__ import annotations

import socket
import time

import pytest
from tests.lab.crawling import standing

from periplus_lab import World
from periplus_lab.http import Request

WAIT = 0.15


@pytest.fixture(scope="module")
def world() -> World:
    return World(11, 3, pages=60)


def asked(host: str, *targets: str, last: str = "Connection: close\r\n") -> bytes:
    """Requests in one piece, the last of which ends the connection."""
    heads = [f"GET {target} HTTP/1.1\r\nHost: {host}\r\n" for target in targets]
    return "\r\n".join([*heads[:-1], heads[-1] + last, ""]).encode()


def ask(port: int, request: bytes) -> tuple[float, bytes]:
    """Seconds until the first byte, and all of them."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        begun_at = time.monotonic()
        client.sendall(request)
        said = client.recv(1)
        waited = time.monotonic() - begun_at
        while piece := client.recv(65_536):
            said += piece
    return waited, said


def test_the_first_byte_waits_as_long_as_the_host_demands(world: World) -> None:
    """The request decides; the answer itself is as without; the log has the wait."""
    slow, quick = (site.host for site in world.sites()[:2])

    def latency(request: Request) -> float:
        return WAIT if request.host == slow and request.target == "/" else 0.0

    with standing(world, latency=latency) as lab, standing(world) as plain:
        waited, said = ask(lab.port, asked(slow, "/"))
        assert waited >= WAIT
        assert said == ask(plain.port, asked(slow, "/"))[1]
        for _ in range(5):
            ask(lab.port, asked(quick, "/"))
        took = [(visit.host, visit.real_ended_at - visit.real_started_at) for visit in lab.log.wait_for(6)]
    assert [seconds for host, seconds in took if host == slow and seconds >= WAIT * 0.99]
    assert min(seconds for host, seconds in took if host == quick) < WAIT  # the least: the machine may be busy


def test_what_was_asked_meanwhile_waits_its_turn(world: World) -> None:
    """Requests in one piece are answered one after the other, each with its own wait; then the connection ends."""
    host = world.sites()[0].host
    with standing(world, latency=lambda _request: WAIT / 3) as lab:
        begun_at = time.monotonic()
        _, said = ask(lab.port, asked(host, "/", "/robots.txt", "/"))
        assert time.monotonic() - begun_at >= WAIT
        visits = lab.log.wait_for(3)
    assert said.count(b"HTTP/1.1 200") == 3
    assert [visit.target for visit in visits] == ["/", "/robots.txt", "/"]


def test_a_client_that_has_said_all_still_gets_its_answer(world: World) -> None:
    """It may close its side while it waits."""
    host = world.sites()[0].host
    with standing(world, latency=lambda _request: WAIT) as lab:
        with socket.create_connection(("127.0.0.1", lab.port), timeout=60) as client:
            client.sendall(asked(host, "/", last=""))
            client.shutdown(socket.SHUT_WR)
            said = b""
            while piece := client.recv(65_536):
                said += piece
        assert said.startswith(b"HTTP/1.1 200")


def test_a_client_that_leaves_is_not_waited_for(world: World) -> None:
    """Its visit is noted as incomplete when it goes, and nothing is sent after it."""
    host, quick = (site.host for site in world.sites()[:2])
    with standing(world, latency=lambda request: 600.0 if request.host == host else 0.0) as lab:
        client = socket.create_connection(("127.0.0.1", lab.port), timeout=60)
        client.sendall(asked(host, "/", last=""))
        for _ in range(3):  # what was sent before has been read when these are answered
            ask(lab.port, asked(quick, "/"))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()  # with a reset
        [visit] = lab.log.wait_for(1, host)
    assert not visit.is_complete
    assert visit.sent == 0


def test_hostile_hosts_wait_as_well(world: World) -> None:
    """Before their script begins; `pace`, which shortens scripts, does not shorten this."""
    with standing(world, latency=lambda _request: WAIT, pace=0.001) as lab:
        waited, said = ask(lab.port, asked("slow-first-byte.hostile.lab.test", "/"))
    assert waited >= WAIT
    assert b"200" in said[:20]
