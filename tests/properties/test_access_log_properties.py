"""Access logs under any bytes: no line raises, and what is written is read back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.reference import access_log_writing

from periplus.formats import access_log
from periplus.formats.access_log import LoggedRequest
from periplus.model import Problem

PIECES = st.lists(
    st.sampled_from(
        [b'"', b"\\", b"\\x", b"e9", b" ", b"-", b"[10/Oct/2000:13:55:36 -0700]", b"GET / HTTP/1.1", b"200", b"5",
         b"::1", b"192.0.2.7", b"h:80", b"\xff", b"\n"]
    ),
    max_size=24,
).map(b"".join)  # fmt: skip
# A dash is how a log says "nothing", and "" how Apache says "no name".
SAID = st.text(st.characters(codec="utf-8"), max_size=20).filter(lambda text: text not in ("-", '""'))
WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12).filter(lambda t: t not in ("-", '""'))


@given(st.binary() | PIECES)
def test_no_bytes_make_a_reader_raise(line: bytes) -> None:
    """A log holds what strangers sent: every line is a hit or a problem."""
    assert isinstance(access_log.read_line(line), LoggedRequest | Problem)
    assert len(list(access_log.read([line, line]))) in (0, 2)


@given(
    st.builds(
        LoggedRequest,
        ip=st.sampled_from(["192.0.2.7", "2001:db8::1", "::1"]),
        at=st.integers(-(10**9), 10**11).map(float),
        method=st.sampled_from(["GET", "POST", "VERSION-CONTROL"]),
        path=WORDS.map(lambda path: "/" + path),
        protocol=st.sampled_from(["HTTP/1.0", "HTTP/1.1", "HTTP/2.0"]),
        status=st.integers(0, 999),
        size=st.integers(0, 10**15),
        referrer=SAID,
        agent=SAID,
        user=SAID,
        host=st.sampled_from(["", "example.com", "example.com:8080"]),
    )
)
def test_round_trip(hit: LoggedRequest) -> None:
    """Every field survives escaping."""
    assert access_log.read_line(access_log_writing.write(hit).encode()) == hit
