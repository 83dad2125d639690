"""The head of an answer: what is kept, what is passed over, and when enough is enough."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.engine.fetch.head import STOP, Head, WantedTypes


def fed(*lines: bytes, max_bytes: int = 10_000, max_fields: int = 100, welcome: bool = True) -> tuple[Head, list[int]]:
    head = Head(max_bytes, max_fields, lambda: welcome)
    stops = [number for number, line in enumerate(lines) if head.feed(line) == STOP]
    return head, stops


def test_names_and_values_as_sent() -> None:
    """Order, case, repeats and octets beyond ASCII stay; white space around them does not."""
    head, stops = fed(b"HTTP/1.1 200 OK\r\n", b"B:  1 \r\n", b"a: x:y\r\n", b"B:2\r\n", b"c: \xfc\r\n", b"\r\n")
    assert head.headers() == (("B", "1"), ("a", "x:y"), ("B", "2"), ("c", "ü"))
    assert (head.status, head.value(b"b:"), head.value(b"d:"), stops) == (200, "1", None, [])


def test_lines_that_end_in_a_newline_alone() -> None:
    """RFC 9112 section 2.2 lets a recipient accept them."""
    head, _ = fed(b"HTTP/1.0 404 \n", b"A: b\n", b"\n")
    assert (head.status, head.headers()) == (404, (("A", "b"),))


def test_http_2_has_a_shorter_status_line() -> None:
    """libcurl writes one for it, without minor version and reason."""
    assert fed(b"HTTP/2 301 \r\n", b"location: /\r\n", b"\r\n")[0].status == 301


def test_interim_answers_are_passed_over() -> None:
    """103 Early Hints comes before the answer, and its fields are not the answer's."""
    head, _ = fed(b"HTTP/1.1 103 \r\n", b"Link: x\r\n", b"\r\n", b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n")
    assert (head.status, head.headers()) == (200, (("A", "b"),))


def test_trailers_are_not_part_of_the_head() -> None:
    """Not even one that looks like another answer."""
    head, stops = fed(b"HTTP/1.1 200 OK\r\n", b"\r\n", b"HTTP/1.1 302 No\r\n", b"Location: /\r\n", b"\r\n")
    assert (head.status, head.headers(), stops) == (200, (), [])


def test_an_unwelcome_body_is_refused_at_the_end_of_the_head() -> None:
    """Before a byte of it."""
    assert fed(b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n", welcome=False)[1] == [2]


def test_bytes_are_bounded_over_all_heads() -> None:
    """Endless interim answers end as endless fields do."""
    head, stops = fed(*[b"HTTP/1.1 100 Continue\r\n", b"\r\n"] * 10, max_bytes=100)
    assert head.is_too_large
    assert stops[0] == 8


def test_fields_are_bounded() -> None:
    """By their number, too."""
    head, _ = fed(b"HTTP/1.1 200 OK\r\n", *[b"A: b\r\n"] * 11, b"\r\n", max_fields=10)
    assert head.is_too_large


@given(st.lists(st.binary(max_size=30)))
def test_no_line_is_too_strange(lines: list[bytes]) -> None:
    """Whatever libcurl lets through, the head takes it and says something."""
    head, _ = fed(b"HTTP/1.1 200 OK\r\n", *lines, b"\r\n")
    assert all(name is not None for name, _ in head.headers())
    head.value(b"content-type:")


@each_case(
    ("content_type", "wanted"),
    [
        (None, True),
        ("", True),
        ("text/html", True),
        ("TEXT/HTML; charset=x", True),
        ("text/html;charset=utf-8, text/html", True),
        ("charset=utf-8", True),
        ("text/css", False),
        ("image/png", False),
        ("application/octet-stream", False),
        ("text/htmlx", False),
    ],
)
def test_types_that_are_wanted(content_type: str | None, wanted: bool) -> None:
    """What says nothing is wanted: the bytes will tell."""
    assert WantedTypes(("text/html", "application/xhtml+xml")).wants(content_type) is wanted


def test_groups_of_types() -> None:
    """`text/*` is every text, `*/*` everything."""
    assert WantedTypes(("text/*",)).wants("text/css")
    assert not WantedTypes(("text/*",)).wants("textile/css")
    assert not WantedTypes(()).wants("text/html")
    assert WantedTypes(("*/*",)).wants("application/x-anything")


def test_what_is_remembered_of_types_is_bounded() -> None:
    """A server may invent a type for every answer."""
    types = WantedTypes(("text/html",))
    assert not any(types.wants(f"text/x-{number}") for number in range(5000))
    assert len(types._known) <= 1024
