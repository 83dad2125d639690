"""The wire against hostile HTTP/1.1: no end, contradictions, early closes at every byte, and a byte at a time."""

from __future__ import annotations

import contextlib
import itertools
import socket
import time
from collections.abc import Callable, Iterable, Iterator

import pytest
from tests.engine.fetch.raw_fetching import LARGEST_PAGE, fetch_all, impatient_wire, task_for
from tests.engine.fetch.raw_servers import (
    END_HEADERS,
    HEADERS,
    OK,
    SETTINGS,
    RawServer,
    answering,
    frame,
    read_head,
    wait_for_close,
)

from periplus.engine.fetch import CurlWire
from periplus.model import Failed, Fetched, FetchOutcome, Purpose

Parts = Iterable[bytes] | Callable[[], Iterable[bytes]]
STATUS = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = STATUS + b"Transfer-Encoding: chunked\r\n\r\n"
PAGE = STATUS + b"Content-Length: 4\r\n\r\npage"
SLOW = {"too-slow", "timeout"}
HEADERS_END = {"too-many-headers"}
BAD = {"bad-response"}


def endless(one: bytes, *, before: bytes = b"", pause: float = 0.0) -> Callable[[], Iterator[bytes]]:
    """The same bytes again and again, with pauses where nothing else would slow the sender down."""

    def parts() -> Iterator[bytes]:
        yield before
        for each in itertools.repeat(one):
            yield each
            time.sleep(pause)

    return parts


def dripped(answer: bytes) -> Callable[[], Iterator[bytes]]:
    """A byte at a time, for longer than anyone waits."""

    def parts() -> Iterator[bytes]:
        for byte in answer:
            yield bytes([byte])
            time.sleep(0.1)

    return parts


ATTACKS: dict[str, tuple[Parts, set[str]]] = {
    "frames of HTTP/2": ([frame(SETTINGS) + frame(HEADERS, END_HEADERS, 1, OK)], BAD),
    "a preface of HTTP/2": ([b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], BAD),
    "another protocol": ([b"HTTP/1.1 101 X\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + frame(SETTINGS)], BAD),
    "an endless status line": (endless(b"b" * 8000, before=b"HTTP/1.1 200 "), HEADERS_END),
    "an endless field": (endless(b"b" * 8000, before=STATUS + b"x: "), HEADERS_END),
    "endless fields": (endless(b"a: b\r\n" * 500, before=STATUS), HEADERS_END),
    "endless folding": (endless(b" z\r\n" * 500, before=STATUS + b"x: y\r\n"), HEADERS_END),
    "endless interim answers": (endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 50), HEADERS_END),
    "slow interim answers": (endless(b"HTTP/1.1 102 Wait\r\n\r\n", pause=0.4), SLOW),
    "an endless chunk extension": (endless(b"x" * 8000, before=CHUNKED + b"4;", pause=0.02), SLOW),
    "chunks with long extensions": (endless(b"1;" + b"x" * 8000 + b"\r\na\r\n", before=CHUNKED, pause=0.05), SLOW),
    "an endless chunk length": (endless(b"0" * 8000, before=CHUNKED), BAD),
    "a chunk beyond 64 bits": ([CHUNKED, b"ffffffffffffffffff\r\nabc"], BAD),
    "a negative chunk": ([CHUNKED, b"-5\r\nabc"], BAD),
    "a chunk that is longer than its length": ([CHUNKED, b"3\r\nabcX"], BAD),
    "endless trailers": (endless(b"t: u\r\n" * 200, before=CHUNKED + b"1\r\na\r\n0\r\n"), HEADERS_END),
    "an endless trailer": (endless(b"u" * 8000, before=CHUNKED + b"1\r\na\r\n0\r\nt: "), HEADERS_END),
    "two lengths": ([STATUS + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\npagex"], BAD),
    "two lengths in a field": ([STATUS + b"Content-Length: 4, 5\r\n\r\npagex"], BAD),
    "a negative length": ([STATUS + b"Content-Length: -4\r\n\r\npage"], BAD),
    "a length in hexadecimal": ([STATUS + b"Content-Length: 0x4\r\n\r\npage"], BAD),
    "a coding that was not asked for": ([STATUS + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"], BAD),
    "a carriage return in a field": ([b"HTTP/1.1 200 OK\r\nA: b\rSet-Cookie: c\r\nContent-Length: 0\r\n\r\n"], BAD),
    "a zero byte in a field": ([b"HTTP/1.1 200 OK\r\nA: b\0c\r\nContent-Length: 0\r\n\r\n"], BAD),
    "no head": ([b"<html>hello"], BAD),
    "a slow head": (dripped(PAGE), SLOW),
    "slow fields": (endless(b"a: b\r\n", before=STATUS, pause=0.2), SLOW),
    "a slow chunk length": (dripped(CHUNKED[-4:]), SLOW | BAD),
    "slow trailers": (endless(b"t: u\r\n", before=CHUNKED + b"1\r\na\r\n0\r\n", pause=0.2), SLOW),
    "a slow body": (endless(b"x", before=STATUS + b"\r\n", pause=0.1), SLOW),
}
SILENCES: dict[str, bytes] = {
    "in the head": STATUS,
    "before the body": STATUS + b"Content-Length: 4\r\n\r\n",
    "in a body of a petabyte": STATUS + b"Content-Length: 999999999999999\r\n\r\npage",
    "in a chunk of 8 exabytes": CHUNKED + b"7fffffffffffffff\r\nabc",
    "in the trailers": CHUNKED + b"1\r\na\r\n0\r\n",
}
PAGES: dict[str, tuple[Parts, bytes]] = {
    "the same length twice": ([STATUS + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\npage"], b"page"),
    "a length and chunks": (
        [STATUS + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n"],
        b"page",
    ),
    "a second answer behind the first": ([PAGE + PAGE.replace(b"page", b"evil")], b"page"),
    "trailers that look like a head": ([CHUNKED + b"4\r\npage\r\n0\r\nLocation: /x\r\n\r\n"], b"page"),
    "line feeds only": ([PAGE.replace(b"\r\n", b"\n")], b"page"),
    "an endless body": (endless(b"x" * 50_000, before=STATUS + b"\r\n"), b"x" * LARGEST_PAGE),
}


@pytest.fixture(scope="module")
def wire() -> Iterator[CurlWire]:
    wire = impatient_wire()
    yield wire
    wire.close()


@pytest.fixture(scope="module")
def outcomes(wire: CurlWire) -> dict[str, FetchOutcome]:
    """All of them at once."""
    answers = {name: answering(parts) for name, (parts, _) in (*ATTACKS.items(), *PAGES.items())}
    answers |= {name: answering([sent], closes=False) for name, sent in SILENCES.items()}
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(RawServer(converse)) for converse in answers.values()]
        found = fetch_all(wire, [task_for(f"http://a.test:{server.port}/") for server in servers])
    return dict(zip(answers, found, strict=True))


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_end_with_a_reason(outcomes: dict[str, FetchOutcome], name: str) -> None:
    """Refused, or given up after a while without progress."""
    outcome = outcomes[name]
    assert isinstance(outcome, Failed)
    assert outcome.reason in ATTACKS[name][1], outcome.detail


@pytest.mark.parametrize(("length", "connections"), [(b"Content-Length: 3\r\n", 3), (b"", 1)])
def test_no_connection_is_kept_after_an_answer_with_a_length_and_chunks(length: bytes, connections: int) -> None:
    """RFC 9112 section 6.3: such an answer may hide another one, so that nothing else is asked there."""
    answer = STATUS + length + b"Transfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n\r\n"

    def converse(sock: socket.socket) -> None:
        while read_head(sock):
            sock.sendall(answer)

    wire = impatient_wire()
    with RawServer(converse) as server, contextlib.closing(wire):
        for number in range(3):
            [outcome] = fetch_all(wire, [task_for(f"http://a.test:{server.port}/{number}")])
            assert isinstance(outcome, Fetched)
            assert outcome.body == b"page"
    assert server.connections == connections


@pytest.mark.parametrize("name", SILENCES)
def test_silence_ends(outcomes: dict[str, FetchOutcome], name: str) -> None:
    """At every stage of an answer, whatever size it has announced."""
    outcome = outcomes[name]
    assert isinstance(outcome, Failed)
    assert outcome.reason in SLOW


def test_the_first_byte_has_as_long_as_the_whole_answer() -> None:
    """`low_speed_time` begins with the answer: a server that thinks is not slow, one that sends bytes singly is.

    Also where an answer has come before: libcurl would count the wait then.
    """

    def converse(sock: socket.socket) -> None:
        while head := read_head(sock):
            time.sleep(3.0 if b"/late" in head else 0.0)
            for part in endless(b"x", before=STATUS + b"\r\n", pause=0.1)() if b"/slow" in head else [PAGE]:
                sock.sendall(part)

    wire = impatient_wire(low_speed_time=1)
    with RawServer(converse) as server, contextlib.closing(wire):
        outcomes = [
            fetch_all(wire, [task_for(f"http://a.test:{server.port}{path}")]) for path in ("/", "/late", "/slow")
        ]
    [[first], [late], [slow]] = outcomes
    assert isinstance(first, Fetched)
    assert isinstance(late, Fetched), late
    assert isinstance(slow, Failed)
    assert slow.reason == "too-slow"


@pytest.mark.parametrize("name", PAGES)
def test_odd_answers_are_still_pages(outcomes: dict[str, FetchOutcome], name: str) -> None:
    """What a browser shows: the first answer only, no field of a trailer, an endless body up to the limit."""
    outcome = outcomes[name]
    assert isinstance(outcome, Fetched)
    assert outcome.body == PAGES[name][1]
    assert "Location" not in dict(outcome.headers)


def test_nothing_is_left_behind(outcomes: dict[str, FetchOutcome], wire: CurlWire) -> None:
    """Every slot and byte is free again."""
    assert len(outcomes) == len(ATTACKS) + len(SILENCES) + len(PAGES)
    wire.finished(0)
    assert wire.under_way == wire.buffered_bytes == 0


@pytest.mark.proof
@pytest.mark.parametrize(
    "answer", [PAGE, CHUNKED + b"4\r\npage\r\n0\r\nT: u\r\n\r\n"], ids=["with a length", "in chunks"]
)
def test_an_early_close_at_every_byte(answer: bytes) -> None:
    """`closed-early`, which is tried again, at each of them; never a page that is only said to be whole."""

    def converse(sock: socket.socket) -> None:
        head = read_head(sock)
        if head:
            sock.sendall(answer[: int(head.split()[1][1:])])
            sock.shutdown(socket.SHUT_WR)
            wait_for_close(sock)

    with RawServer(converse) as server:
        wire = impatient_wire(low_speed_time=20)
        sizes = range(len(answer) + 1)
        *cut, whole = fetch_all(wire, [task_for(f"http://a.test:{server.port}/{size}") for size in sizes])
        robots = task_for(f"http://a.test:{server.port}/{len(answer) - 1}", purpose=Purpose.ROBOTS, attempt=2)
        [rules] = fetch_all(wire, [robots])
        wire.close()
    assert [getattr(one, "reason", "fetched") for one in cut] == ["closed-early"] * len(cut)
    assert isinstance(whole, Fetched)
    assert (whole.body, whole.is_truncated) == (b"page", False)
    assert isinstance(rules, Failed)  # rules may be missing
