"""IndexNow: keys, single and batch messages, and what a key may speak of."""

from __future__ import annotations

import json

import pytest

from periplus.formats import indexnow
from periplus.formats.indexnow import Ping
from periplus.model import Problem

KEY = "73134416ae45434d98edc086e0bf6740"


def batch(**fields: object) -> bytes:
    message = {"host": "www.example.com", "key": KEY, "urlList": ["https://www.example.com/url1"]} | fields
    return json.dumps({name: value for name, value in message.items() if value is not None}).encode()


def reasons(ping: Ping) -> list[str]:
    return [problem.reason for problem in ping.problems]


@pytest.mark.parametrize(
    ("key", "is_one"),
    [
        ("a" * 8, True),
        ("A-z-0-9-", True),
        ("a" * 128, True),
        ("a" * 7, False),
        ("a" * 129, False),
        ("a_bcdefgh", False),
        ("ключключ", False),
        ("", False),
    ],
)
def test_keys(key: str, is_one: bool) -> None:
    """8 to 128 letters, digits and dashes."""
    assert indexnow.is_key(key) is is_one
    if not is_one:
        with pytest.raises(ValueError, match="8 to 128"):
            indexnow.key_file(key)


def test_key_file() -> None:
    """The file is named for its key and says it, whatever an editor has added."""
    file = indexnow.key_file(KEY)
    assert file.name == f"{KEY}.txt"
    assert indexnow.holds_key(file.body, KEY)
    assert indexnow.holds_key(b"\xef\xbb\xbf" + file.body + b"\r\n", KEY)
    assert not indexnow.holds_key(b"x" + file.body, KEY)
    assert not indexnow.holds_key(b"", KEY)
    assert not indexnow.holds_key(b"\n", "")


def test_the_protocols_own_examples() -> None:
    """One URL by GET, several by POST."""
    ping = indexnow.read_query(f"url=https://www.example.com/product.html&key={KEY}")
    assert ping == Ping(
        "www.example.com", KEY, f"https://www.example.com/{KEY}.txt", ("https://www.example.com/product.html",)
    )
    urls = ["https://www.example.com/url1", "https://www.example.com/folder/url2", "http://www.example.com/url3"]
    assert indexnow.read_batch(batch(urlList=urls)) == Ping(
        "www.example.com", KEY, f"https://www.example.com/{KEY}.txt", tuple(urls)
    )


def test_a_key_speaks_for_its_directory() -> None:
    """A key file in /catalog/ may name what is in /catalog/, of its own host, and nothing else."""
    urls = [
        "http://example.com/catalog/show?item=1",
        "https://example.com/catalog/sub/x",
        "http://example.com/catalog",
        "http://example.com/catalog/../help/x",
        "http://example.com/catalogue/x",
        "http://www.example.com/catalog/x",
    ]
    ping = indexnow.read_batch(
        batch(host="example.com", keyLocation="http://example.com/catalog/key.txt", urlList=urls)
    )
    assert ping.urls == tuple(urls[:2])
    assert reasons(ping) == ["outside-key-location"] * 3 + ["other-host"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", ["not-json"]),
        (b"{", ["not-json"]),
        (b"[]", ["not-json"]),
        (b"\xff\xfe", ["not-json"]),
        (b"[" * 100_000, ["not-json"]),
        (b'{"host": "\xff"}', ["not-json"]),
        (batch(key=None), ["not-json"]),
        (batch(urlList="https://www.example.com/"), ["not-json"]),
        (batch(urlList=[1]), ["not-json"]),
        (batch(urlList=[]), ["no-urls"]),
        (batch(key="short"), ["bad-key"]),
        (batch(host=""), ["bad-host", "bad-key-location"]),
        (batch(keyLocation="https://other.example/key.txt"), ["bad-key-location"]),
        (batch(keyLocation="key.txt"), ["bad-key-location"]),
        (batch(urlList=["/relative"]), ["bad-url"]),
        (batch(urlList=["ftp://www.example.com/"]), ["bad-url"]),
        (batch(urlList=["https://www.example.com/" + "x" * 9000]), ["bad-url"]),
        (batch(urlList=["https://example.com/"]), ["other-host"]),
        (batch(urlList=["https://www.example.com:8443/"]), ["other-host"]),
        (b" " * (indexnow.LARGEST + 1), ["too-large"]),
    ],
)
def test_what_a_batch_can_do_wrong(body: bytes, expected: list[str]) -> None:
    """Nothing is accepted of a message that cannot be trusted, and the reason is told."""
    ping = indexnow.read_batch(body)
    assert (ping.urls, reasons(ping)) == ((), expected)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["bad-key", "bad-host", "bad-key-location", "no-urls"]),
        (f"url=x&key={KEY}", ["bad-host", "bad-key-location"]),
        ("url=https://e.com/&key=short", ["bad-key"]),
        ("&".join(["a=b"] * 100), ["bad-query"]),
        ("x" * 100_000, ["too-large"]),
    ],
)
def test_what_a_query_can_do_wrong(query: str, expected: list[str]) -> None:
    """The same for a single URL."""
    assert reasons(indexnow.read_query(query)) == expected


def test_dirt_that_is_understood() -> None:
    """White space, a scheme in the host, other letters in it, repeats, the first of repeated fields, a null, a mark."""
    ping = indexnow.read_batch(
        batch(host="https://WWW.Example.com", key=f"{KEY} ", urlList=[" https://www.example.com/a"] * 2)
    )
    assert (ping.urls, ping.problems) == (("https://www.example.com/a",), ())
    ping = indexnow.read_batch(b"\xef\xbb\xbf" + batch(keyLocation=None, urlList=["https://www.example.com/a"]))
    assert (ping.urls, ping.problems) == (("https://www.example.com/a",), ())
    query = f"?url=https%3A%2F%2Fe.com%2F%3Fa%3Db&key={KEY}&key=other&utm=1"
    assert indexnow.read_query(query).urls == ("https://e.com/?a=b",)


def test_bounds() -> None:
    """10,000 URLs of a message are read, and 100 of its problems told."""
    ping = indexnow.read_batch(batch(urlList=[f"https://www.example.com/{n}" for n in range(10_001)]))
    assert (len(ping.urls), ping.problems) == (10_000, (Problem("too-many-urls", "10001"),))
    assert len(indexnow.read_batch(batch(urlList=["x"] * 500)).problems) == indexnow.MOST_PROBLEMS


def test_batches_are_split() -> None:
    """Nobody has to count."""
    urls = [f"https://www.example.com/{number}" for number in range(25_000)]
    batches = [indexnow.read_batch(body) for body in indexnow.write_batches("www.example.com", urls, KEY)]
    assert [len(ping.urls) for ping in batches] == [10_000, 10_000, 5_000]
    assert [url for ping in batches for url in ping.urls] == urls
    assert list(indexnow.write_batches("www.example.com", [], KEY)) == []
