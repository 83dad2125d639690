"""The wire against hostile HTTP/2: floods, lies and silence end with a reason, within bounds, and cost no page."""

from __future__ import annotations

import contextlib
import itertools
import resource
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from tests.engine.fetch.raw_fetching import LARGEST_PAGE, fetch_all, impatient_wire, task_for
from tests.engine.fetch.raw_servers import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    OK,
    PADDED,
    PING,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Certificates,
    RawServer,
    answering,
    fields,
    frame,
    framing,
    indexed,
)

from periplus.engine.fetch import CurlWire
from periplus.model import Failed, Fetched, FetchOutcome, Purpose

pytest.importorskip("cryptography", reason="certificates need the extra `lab`")

Frames = Iterable[bytes] | Callable[[], Iterable[bytes]]
HEAD = frame(HEADERS, END_HEADERS, 1, OK)
GOOD = HEAD + frame(DATA, END_STREAM, 1, b"good")
MAX_GROWTH = 128 << 20
"""Bytes by which the process may grow during all attacks together: their servers are in it, too."""


def endless(one: bytes, *, before: bytes = HEAD, pause: float = 0.0) -> Callable[[], Iterator[bytes]]:
    """The same frames again and again, with pauses where nothing else would slow the sender down."""

    def frames() -> Iterator[bytes]:
        yield before
        for each in itertools.repeat(one):
            yield each
            time.sleep(pause)

    return frames


HTTP2 = {"http2"}
SLOW = {"too-slow", "timeout"}
FLOODED = HTTP2 | SLOW
"""Of floods that must be answered: the first where answers pile up, the others on a machine that keeps up with them."""
ATTACKS: dict[str, tuple[Frames, set[str]]] = {
    "settings": (endless(frame(SETTINGS) * 200), FLOODED),
    "settings before the answer": (endless(frame(SETTINGS, payload=b"\0\1\0\0\0\0") * 200, before=b""), FLOODED),
    "pings": (endless(frame(PING, payload=b"12345678") * 200), FLOODED),
    "resets of streams that are not open": (endless(frame(RST_STREAM, 0, 3, b"\0\0\0\x08") * 200), HTTP2),
    "a reset": ([HEAD, frame(RST_STREAM, 0, 1, b"\0\0\0\x08")], HTTP2),
    "window updates": (endless(frame(WINDOW_UPDATE, 0, 1, b"\0\0\0\1") * 20, pause=0.02), FLOODED),
    "windows that overflow": (endless(frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff") * 2), HTTP2),
    "empty data": (endless(frame(DATA, 0, 1) * 200), HTTP2),
    "padding only": (endless(frame(DATA, PADDED, 1, b"\xff" + bytes(255)) * 4, pause=0.02), FLOODED),
    "unknown frames": (endless(frame(0xBE, 0, 1, b"x" * 100) * 50), HTTP2),
    "continuation without end": (
        endless(frame(CONTINUATION, 0, 1, fields((b"a", b"b" * 100))) * 20, before=frame(HEADERS, 0, 1, OK)),
        HTTP2,
    ),
    "empty continuation": (endless(frame(CONTINUATION, 0, 1) * 20, before=frame(HEADERS, 0, 1, OK)), HTTP2),
    "continuation that never comes": ([frame(HEADERS, 0, 1, OK)], SLOW),
    "a header list of 100 MB in 26 KB": (
        [
            frame(HEADERS, 0, 1, OK + indexed(b"x", b"v" * 4000) + b"\xbe" * 10_000)
            + frame(CONTINUATION, END_HEADERS, 1, b"\xbe" * 16_000)
        ],
        {"too-many-headers"},
    ),
    "a table larger than allowed": ([frame(HEADERS, END_HEADERS, 1, b"\x3f\xe1\xff\xff\xff\x07" + OK)], HTTP2),
    "three thousand fields": (
        [frame(HEADERS, END_HEADERS, 1, OK + fields(*[(b"a", b"b")] * 3000))],
        {"too-many-headers"},
    ),
    "interim answers": (
        endless(frame(HEADERS, END_HEADERS, 1, fields((b":status", b"103"))) * 50, before=b""),
        {"too-many-headers"},
    ),
    "goaway in the middle": ([HEAD, frame(DATA, 0, 1, b"half"), frame(GOAWAY, 0, 0, bytes(4) + b"\0\0\0\2")], HTTP2),
    "goaway at once": ([frame(GOAWAY, 0, 0, bytes(8))], {"closed-early", "http2"}),
    "an answer to another stream": ([frame(HEADERS, END_HEADERS, 7, OK)], HTTP2),
    "a stream of the server": ([frame(HEADERS, END_HEADERS, 2, OK)], HTTP2),
    "no end of the stream": ([HEAD, frame(DATA, 0, 1, b"<p>text")], SLOW),
    "no answer": ([], SLOW),
    "a byte at a time": (endless(frame(DATA, 0, 1, b"x"), pause=0.05), SLOW),
    "more than the length": (
        [frame(HEADERS, END_HEADERS, 1, OK + fields((b"content-length", b"2"))) + frame(DATA, END_STREAM, 1, b"long")],
        HTTP2,
    ),
    "less than the length": (
        [frame(HEADERS, END_HEADERS, 1, OK + fields((b"content-length", b"9"))) + frame(DATA, END_STREAM, 1, b"short")],
        HTTP2,
    ),
    "no status": ([frame(HEADERS, END_HEADERS, 1, fields((b"a", b"b")))], HTTP2),
    "a field in capitals": ([frame(HEADERS, END_HEADERS, 1, OK + fields((b"Upper", b"b")))], HTTP2),
    "trailers without end": (endless(frame(HEADERS, END_HEADERS, 1, fields((b"t", b"u" * 900)))), HTTP2),
    "a frame of 16 MB": ([HEAD, b"\xff\xff\xff\0\0\0\0\0\1" + b"x" * 100], HTTP2),
    "bytes that are no frames": ([bytes(100)], HTTP2),
}
PAGES: dict[str, tuple[Frames, bytes]] = {
    "good": ([GOOD], b"good"),
    "goaway before the rest": (
        [HEAD, frame(GOAWAY, 0, 0, b"\0\0\0\1" + bytes(4)), frame(DATA, END_STREAM, 1, b"whole")],
        b"whole",
    ),
    "a pushed answer beside it": ([frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\2" + OK), GOOD], b"good"),
    "a line break in a value": (
        [
            frame(HEADERS, END_HEADERS, 1, OK + fields((b"a", b"b\r\nset-cookie: x")))
            + frame(DATA, END_STREAM, 1, b"page")
        ],
        b"page",
    ),
    "a body without end": (endless(frame(DATA, 0, 1, b"x" * 16_000)), b"x" * LARGEST_PAGE),
    "more than the window": (endless(frame(DATA, 0, 1, b"x" * 16_384) * 100), b"x" * LARGEST_PAGE),
}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("http2"))


@pytest.fixture(scope="module")
def wire(certificates: Certificates) -> Iterator[CurlWire]:
    wire = impatient_wire(ca_file=str(certificates.path), timeout=10.0)
    yield wire
    wire.close()


@pytest.fixture(scope="module")
def attacked(certificates: Certificates, wire: CurlWire) -> tuple[dict[str, FetchOutcome], int]:
    """The outcomes of all attacks, made together, and by how many bytes the process grew at its largest."""
    context = certificates.context("a.test", protocols=("h2",))
    frames = {name: what for name, (what, _) in (*ATTACKS.items(), *PAGES.items())}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(RawServer(framing(one), context)) for one in frames.values()]
        outcomes = fetch_all(wire, [task_for(f"https://a.test:{server.port}/") for server in servers])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return dict(zip(frames, outcomes, strict=True)), grown * 1024


@pytest.mark.proof
@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_end_with_a_reason(attacked: tuple[dict[str, FetchOutcome], int], name: str) -> None:
    """One outcome each, whatever the server sends or leaves out."""
    outcome = attacked[0][name]
    assert isinstance(outcome, Failed)
    assert outcome.reason in ATTACKS[name][1], outcome.detail


@pytest.mark.parametrize("name", PAGES)
def test_odd_answers_are_still_pages(attacked: tuple[dict[str, FetchOutcome], int], name: str) -> None:
    """What is unusual and harmless is read, up to the limit; a line break in a value makes no second field."""
    outcome = attacked[0][name]
    assert isinstance(outcome, Fetched)
    assert outcome.body == PAGES[name][1]
    assert outcome.is_truncated == (len(outcome.body) == LARGEST_PAGE)
    assert "set-cookie" not in dict(outcome.headers)


def test_attacks_leave_nothing_behind(attacked: tuple[dict[str, FetchOutcome], int], wire: CurlWire) -> None:
    """All at once: every slot and byte is free again, and the process did not grow by what was claimed."""
    assert wire.under_way == 0
    wire.finished(0)
    assert wire.buffered_bytes == 0
    assert attacked[1] < MAX_GROWTH


def test_a_site_with_broken_http2_is_asked_with_http1(certificates: Certificates, tmp_path: Path) -> None:
    """The second attempt is HTTP/1.1, also for robots.txt, and so are first attempts at the site from then on."""
    agreed: list[str | None] = []
    http1 = answering([b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\ngood"])
    broken = framing([frame(RST_STREAM, 0, 1, b"\0\0\0\2")])

    def converse(sock: socket.socket) -> None:
        agreed.append(sock.selected_alpn_protocol())  # type: ignore[attr-defined]
        (broken if agreed[-1] == "h2" else http1)(sock)

    wire = impatient_wire(ca_file=str(certificates.path))
    with RawServer(converse, certificates.context("a.test", protocols=("h2", "http/1.1"))) as server:
        url = f"https://a.test:{server.port}"
        [first] = fetch_all(wire, [task_for(f"{url}/robots.txt", purpose=Purpose.ROBOTS)])
        [second] = fetch_all(wire, [task_for(f"{url}/robots.txt", purpose=Purpose.ROBOTS, attempt=2)])
        [page] = fetch_all(wire, [task_for(f"{url}/page")])
    wire.close()
    assert isinstance(first, Failed)
    assert first.reason == "http2"
    assert isinstance(second, Fetched)
    assert isinstance(page, Fetched)
    assert agreed == ["h2", "http/1.1", "http/1.1"]
