"""HTTP as bytes: heads read, answers framed; no sockets."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus_lab.http import Answer, Head, Refusal, chunked, frame, read_head

HTML = (("content-type", "text/html"),)


def head_of(text: str) -> Head:
    head = read_head(text.replace("\n", "\r\n").encode())
    assert isinstance(head, Head)
    return head


def refusal_of(text: str) -> Refusal:
    refusal = read_head(text.replace("\n", "\r\n").encode())
    assert isinstance(refusal, Refusal)
    return refusal


def test_origin_form() -> None:
    """Host loses its port and its case; the target stays as sent."""
    head = head_of("GET /A%20b?c=D HTTP/1.1\nHost: Site.LAB.test:8080\nUser-Agent: me/1")
    assert (head.host, head.target, head.agent) == ("site.lab.test", "/A%20b?c=D", "me/1")
    assert head.keeps_alive
    assert not head.is_proxied


@pytest.mark.parametrize(
    ("target", "host", "path"),
    [
        ("http://a.lab.test/x?y", "a.lab.test", "/x?y"),
        ("http://A.lab.test:80", "a.lab.test", "/"),
        ("http://a.lab.test?q=1", "a.lab.test", "/?q=1"),
        ("http://me:secret@a.lab.test/", "a.lab.test", "/"),
        ("http://[::1]:80/x", "::1", "/x"),
    ],
)
def test_absolute_form_makes_the_lab_a_proxy(target: str, host: str, path: str) -> None:
    """The URL of a proxied request wins over Host (RFC 9112 section 3.2.2)."""
    head = head_of(f"GET {target} HTTP/1.1\nHost: other.test")
    assert (head.host, head.target, head.is_proxied) == (host, path, True)


@pytest.mark.parametrize(
    ("version", "connection", "keeps_alive"),
    [
        ("1.1", "", True),
        ("1.1", "Connection: close", False),
        ("1.0", "", False),
        ("1.0", "Connection: Keep-Alive", True),
    ],
)
def test_keep_alive_of_both_versions(version: str, connection: str, keeps_alive: bool) -> None:
    """1.1 stays open unless told, 1.0 closes unless asked."""
    assert head_of(f"GET / HTTP/{version}\nHost: a\n{connection}".rstrip("\n")).keeps_alive is keeps_alive


@pytest.mark.parametrize(
    ("accepts", "takes"),
    [("gzip, br", True), ("br;q=1, GZIP;q=0.5", True), ("identity", False), ("gzip;q=0", False), ("*", True)],
)
def test_accept_encoding(accepts: str, takes: bool) -> None:
    """Gzip only for those who want it."""
    assert head_of(f"GET / HTTP/1.1\nHost: a\nAccept-Encoding: {accepts}").takes_gzip is takes


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("nonsense", 400),
        ("GET / HTTP/2.0\nHost: a", 400),
        ("GET ftp://a/ HTTP/1.1\nHost: a", 400),
        ("GET / HTTP/1.1", 400),
        ("GET / HTTP/1.1\nHost: a\n folded: b", 400),
        ("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked", 411),
        ("POST / HTTP/1.1\nHost: a\nContent-Length: 99999999", 413),
        ("POST / HTTP/1.1\nHost: a\nContent-Length: -1", 400),
    ],
)
def test_what_is_refused(text: str, status: int) -> None:
    """A head that cannot be served has a status that says why."""
    assert refusal_of(text).status == status


@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_raise(block: bytes) -> None:
    """Whatever a client sends is a head or a refusal."""
    assert isinstance(read_head(block), Head | Refusal)


@given(st.lists(st.binary(max_size=50)))
def test_chunks_join_to_the_body(pieces: list[bytes]) -> None:
    """The chunked coding loses nothing, and only its end has length zero."""
    wire, body = b"".join(chunked(pieces)), b""
    while True:
        size, _, wire = wire.partition(b"\r\n")
        if not int(size, 16):
            break
        body, wire = body + wire[: int(size, 16)], wire[int(size, 16) + 2 :]
    assert body == b"".join(pieces)
    assert wire == b"\r\n"


def framed(answer: Answer, request: str = "GET / HTTP/1.1\nHost: a") -> tuple[str, bytes]:
    found = frame(answer, head_of(request), 1_767_571_200.0)
    start, _, body = (found.start + b"".join(found.rest or ())).partition(b"\r\n\r\n")
    return start.decode(), body


def test_the_date_is_virtual() -> None:
    """Date tells the lab's time, not the machine's."""
    assert "Date: Mon, 05 Jan 2026 00:00:00 GMT" in framed(Answer(200, HTML, b"x"))[0]


def test_gzip_for_text_of_some_size() -> None:
    """A compressed answer inflates to the page, has its own length, and says that it varies."""
    page = b"<p>word</p>" * 500
    start, body = framed(Answer(200, HTML, page), "GET / HTTP/1.1\nHost: a\nAccept-Encoding: gzip")
    assert zlib.decompress(body, 31) == page
    assert f"Content-Length: {len(body)}" in start
    assert "Vary: Accept-Encoding" in start


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, HTML, b"short"),
        Answer(200, (("content-type", "image/png"),), bytes(5000)),
        Answer(200, (*HTML, ("content-encoding", "br")), bytes(5000)),
    ],
)
def test_no_gzip_where_it_does_not_pay(answer: Answer) -> None:
    """Small, binary or already coded bodies go as they are."""
    start, body = framed(answer, "GET / HTTP/1.1\nHost: a\nAccept-Encoding: gzip")
    assert body == answer.body
    assert "gzip" not in start


def test_head_has_the_length_and_no_body() -> None:
    """HEAD differs from GET by the body alone (RFC 9110 section 9.3.2)."""
    answer = Answer(200, HTML, b"x" * 2000)
    start, body = framed(answer, "HEAD / HTTP/1.1\nHost: a")
    assert (start, body) == (framed(answer)[0], b"")


def test_not_modified_has_neither_body_nor_length() -> None:
    """A 304 ends with its head."""
    start, body = framed(Answer(304, (("etag", '"1"'),), b"ignored"))
    assert body == b""
    assert "Content-Length" not in start


def test_streams_are_chunked_or_end_with_the_connection() -> None:
    """HTTP/1.1 gets chunks; HTTP/1.0 cannot, and reads to the end."""

    def pieces() -> Iterator[bytes]:
        yield b"one"
        yield b"two"

    start, body = framed(Answer(200, HTML, pieces()))
    assert body == b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
    assert "Transfer-Encoding: chunked" in start
    start, body = framed(Answer(200, HTML, pieces()), "GET / HTTP/1.0\nHost: a\nConnection: keep-alive")
    assert body == b"onetwo"
    assert "Connection: close" in start
