"""IndexNow under any bytes: no message raises, and what is written is read back."""

from __future__ import annotations

import json
from urllib.parse import urlencode

from hypothesis import given
from hypothesis import strategies as st

from periplus.formats import indexnow

KEYS = st.from_regex(r"[A-Za-z0-9-]{8,128}", fullmatch=True)
PATHS = st.text(st.characters(min_codepoint=97, max_codepoint=122), max_size=8)
VALUES = st.text() | st.integers() | st.none() | st.lists(st.text() | st.just("https://e.com/"), max_size=4)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "host": VALUES | st.just("e.com"),
        "key": VALUES | KEYS,
        "keyLocation": VALUES | st.just("https://e.com/k.txt"),
        "urlList": VALUES,
    },
)


@given(st.binary() | MESSAGES.map(lambda message: json.dumps(message).encode()))
def test_no_bytes_make_a_reader_raise(body: bytes) -> None:
    """All URLs that are accepted are of the host that the message names."""
    found = indexnow.read_batch(body)
    assert found.urls or found.problems
    assert all(f"//{found.host}/" in url.replace("@", "//") for url in found.urls)
    indexnow.holds_key(body, "a" * 8)


@given(st.text())
def test_no_query_makes_a_reader_raise(query: str) -> None:
    """A query gives URLs or problems, too."""
    found = indexnow.read_query(query)
    assert found.urls or found.problems


@given(KEYS, st.lists(PATHS, min_size=1, max_size=5, unique=True), st.sampled_from(["", "https://e.com/k.txt"]))
def test_round_trip(key: str, paths: list[str], location: str) -> None:
    """A key, its place and its URLs survive both ways of sending."""
    urls = tuple(f"https://e.com/{path}" for path in paths)
    [body] = indexnow.write_batches("e.com", urls, key, location)
    expected = indexnow.Submission("e.com", key, location or f"https://e.com/{key}.txt", urls)
    assert indexnow.read_batch(body) == expected
    single = indexnow.read_query(
        urlencode({"url": urls[0], "key": key} | ({"keyLocation": location} if location else {}))
    )
    assert single == indexnow.Submission("e.com", key, expected.key_location, urls[:1])
