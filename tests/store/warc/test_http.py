"""Header sections in records: what a server sent, told so that no reader stumbles."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.store.warc.http import MAX_HEAD, Fields, is_compressed, read_message, response_head


def lines(status: int, fields: Fields, length: int | None = 5) -> list[bytes]:
    head, is_whole = response_head(status, fields, length)
    assert is_whole
    assert head.endswith(b"\r\n\r\n")
    return head[:-4].split(b"\r\n")


def test_the_status_line_is_of_http_1_1() -> None:
    """Whatever version it came over; an undefined status has no phrase."""
    assert lines(404, ()) == [b"HTTP/1.1 404 Not Found"]
    assert lines(799, ()) == [b"HTTP/1.1 799 "]


def test_chunks_are_gone_and_said_to_be() -> None:
    """A reader must not look for chunks in the stored body."""
    assert lines(200, (("transfer-Encoding", "chunked"),))[1:] == [b"X-Archive-Orig-transfer-Encoding: chunked"]


@each_case(
    ("sent", "stored"),
    [
        (["5"], [b"Content-Length: 5"]),
        (["9"], [b"X-Archive-Orig-Content-Length: 9", b"Content-Length: 5"]),
        (["5", "9"], [b"Content-Length: 5", b"X-Archive-Orig-Content-Length: 9", b"Content-Length: 5"]),
        (["none"], [b"X-Archive-Orig-Content-Length: none", b"Content-Length: 5"]),
        ([], []),
    ],
)
def test_content_length_is_that_of_the_body(sent: list[str], stored: list[bytes]) -> None:
    """A wrong one is kept under another name, and the right one added; none stays none."""
    assert lines(200, [("Content-Length", value) for value in sent])[1:] == stored


def test_a_message_without_body_keeps_its_length() -> None:
    """In a 304 the field speaks of the representation that was not sent (RFC 9110 section 8.6)."""
    assert lines(304, (("Content-Length", "900"),), None)[1:] == [b"Content-Length: 900"]


@each_case(
    ("field", "line"),
    [
        (("A", "b\r\nSet-Cookie: evil"), b"A: b  Set-Cookie: evil"),
        (("A", "b\r\n\r\n<html>"), b"A: b    <html>"),
        (("A", "nul\0l"), b"A: nul l"),
        (("A\r\nB", "c"), b"A__B: c"),
        (("A: b", "c"), b"A__b: c"),
        (("", "c"), b"_: c"),
        (("Ä", "ä"), b"_: \xe4"),
        (("A", "日本"), "A: 日本".encode()),
        (("A", "\udce4"), b"A: ?"),
    ],
)
def test_a_field_is_one_line(field: tuple[str, str], line: bytes) -> None:
    """Line breaks, zero bytes, and letters of any script."""
    assert lines(200, (field,))[1:] == [line]


def test_fields_beyond_the_bound_are_left_out() -> None:
    """100 KB in one value is kept; what goes beyond a mebibyte in all is not, and the caller is told."""
    kept = response_head(200, (("A", "x" * 100_000),), 0)
    assert kept == (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000 + b"\r\n\r\n", True)
    head, is_whole = response_head(200, [(f"A{n}", "x" * 100_000) for n in range(30)], 0)
    assert not is_whole
    assert len(head) <= MAX_HEAD
    assert len(read_message(head).fields) == 10


def test_messages_are_read_in_any_form() -> None:
    """CRLF or LF, folded lines, white space around values; what is not a field is passed over."""
    message = read_message(b"HTTP/1.0 200 OK\nA: b\n  c \nnonsense\nD :  e \n\nbody\r\n\r\nmore")
    assert message.fields == (("A", "b c"), ("D", "e"))
    assert (message.status, message.body, message.headers.get("d")) == (200, b"body\r\n\r\nmore", "e")


@each_case("block", [b"", b"\r\n\r\n", b"GET / HTTP/1.1", b"HTTP/1.1", b"HTTP/1.1 ?", b"HTTP/1.1 2x0 OK\r\n\r\n"])
def test_a_message_may_have_no_status(block: bytes) -> None:
    """A request, or something torn."""
    assert read_message(block).status is None


@each_case(
    ("fields", "body", "expected"),
    [
        ([("content-encoding", "br")], b"??", True),
        ([("Content-Encoding", "identity")], b"<html>", False),
        ([("Content-Type", "text/html")], b"<html>", False),
        ([], b"\x1f\x8b\x08", True),
        ([], b"\x89PNG", True),
    ],
)
def test_what_is_dense_already(fields: Fields, body: bytes, expected: bool) -> None:
    """By its coding, or by how it begins."""
    assert is_compressed(fields, body) is expected
