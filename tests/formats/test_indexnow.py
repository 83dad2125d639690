"""IndexNow: keys, messages of one URL and of many, and which URLs a key covers."""

from __future__ import annotations

import json

import pytest
from tests.each_case import each_case

from periplus.formats import indexnow
from periplus.formats.indexnow import Submission
from periplus.model import Problem

KEY = "73134416ae45434d98edc086e0bf6740"


def batch(**fields: object) -> bytes:
    message = {"host": "www.example.com", "key": KEY, "urlList": ["https://www.example.com/url1"]} | fields
    return json.dumps({name: value for name, value in message.items() if value is not None}).encode()


def reasons(found: Submission) -> list[str]:
    return [problem.reason for problem in found.problems]


@each_case(
    ("key", "is_valid"),
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
def test_keys(key: str, is_valid: bool) -> None:
    """8 to 128 letters, digits and dashes."""
    assert indexnow.is_key(key) is is_valid
    if not is_valid:
        with pytest.raises(ValueError, match="8 to 128"):
            indexnow.key_file(key)


def test_key_file() -> None:
    """The file has the name of its key and contains it, whatever an editor has added."""
    file = indexnow.key_file(KEY)
    assert file.name == f"{KEY}.txt"
    assert indexnow.holds_key(file.body, KEY)
    assert indexnow.holds_key(b"\xef\xbb\xbf" + file.body + b"\r\n", KEY)
    assert not indexnow.holds_key(b"x" + file.body, KEY)
    assert not indexnow.holds_key(b"", KEY)
    assert not indexnow.holds_key(b"\n", "")


def test_the_protocols_own_examples() -> None:
    """One URL by GET, several by POST."""
    found = indexnow.read_query(f"url=https://www.example.com/product.html&key={KEY}")
    assert found == Submission(
        "www.example.com", KEY, f"https://www.example.com/{KEY}.txt", ("https://www.example.com/product.html",)
    )
    urls = ["https://www.example.com/url1", "https://www.example.com/folder/url2", "http://www.example.com/url3"]
    assert indexnow.read_batch(batch(urlList=urls)) == Submission(
        "www.example.com", KEY, f"https://www.example.com/{KEY}.txt", tuple(urls)
    )


def test_key_covers_its_directory() -> None:
    """A key file in /catalog/ covers URLs in /catalog/ on its own host, and no others."""
    urls = [
        "http://example.com/catalog/show?item=1",
        "https://example.com/catalog/sub/x",
        "http://example.com/catalog",
        "http://example.com/catalog/../help/x",
        "http://example.com/catalogue/x",
        "http://www.example.com/catalog/x",
    ]
    found = indexnow.read_batch(
        batch(host="example.com", keyLocation="http://example.com/catalog/key.txt", urlList=urls)
    )
    assert found.urls == tuple(urls[:2])
    assert reasons(found) == ["outside-key-location"] * 3 + ["other-host"]


@each_case(
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
        (b" " * (indexnow.MAX_BYTES + 1), ["too-large"]),
    ],
)
def test_invalid_batches(body: bytes, expected: list[str]) -> None:
    """No URL of a message that cannot be trusted is accepted, and the reason is given."""
    found = indexnow.read_batch(body)
    assert (found.urls, reasons(found)) == ((), expected)


@each_case(
    ("query", "expected"),
    [
        ("", ["bad-key", "bad-host", "bad-key-location", "no-urls"]),
        (f"url=x&key={KEY}", ["bad-host", "bad-key-location"]),
        ("url=https://e.com/&key=short", ["bad-key"]),
        ("&".join(["a=b"] * 100), ["bad-query"]),
        ("x" * 100_000, ["too-large"]),
    ],
)
def test_invalid_queries(query: str, expected: list[str]) -> None:
    """The same for a single URL."""
    assert reasons(indexnow.read_query(query)) == expected


def test_tolerated_variants() -> None:
    """White space, a scheme and capitals in the host, repeated URLs and fields, a null, a byte order mark."""
    found = indexnow.read_batch(
        batch(host="https://WWW.Example.com", key=f"{KEY} ", urlList=[" https://www.example.com/a"] * 2)
    )
    assert (found.urls, found.problems) == (("https://www.example.com/a",), ())
    found = indexnow.read_batch(b"\xef\xbb\xbf" + batch(keyLocation=None, urlList=["https://www.example.com/a"]))
    assert (found.urls, found.problems) == (("https://www.example.com/a",), ())
    query = f"?url=https%3A%2F%2Fe.com%2F%3Fa%3Db&key={KEY}&key=other&utm=1"
    assert indexnow.read_query(query).urls == ("https://e.com/?a=b",)


def test_bounds() -> None:
    """10,000 URLs of a message are read, and 100 of its problems listed."""
    found = indexnow.read_batch(batch(urlList=[f"https://www.example.com/{n}" for n in range(10_001)]))
    assert (len(found.urls), found.problems) == (10_000, (Problem("too-many-urls", "10001"),))
    assert len(indexnow.read_batch(batch(urlList=["x"] * 500)).problems) == indexnow.MAX_PROBLEMS


def test_batches_are_split() -> None:
    """A sender does not have to count."""
    urls = [f"https://www.example.com/{number}" for number in range(10_500)]
    batches = [indexnow.read_batch(body) for body in indexnow.write_batches("www.example.com", urls, KEY)]
    assert [len(found.urls) for found in batches] == [10_000, 500]
    assert [url for found in batches for url in found.urls] == urls
    assert list(indexnow.write_batches("www.example.com", [], KEY)) == []


@each_case(
    ("body", "status"),
    [
        (batch(), None),
        (batch(urlList=["https://www.example.com/", "nonsense"]), None),
        (batch(urlList=["nonsense"]), 400),
        (b"{", 400),
        (batch(urlList=[]), 400),
        (batch(key="short"), 422),
        (batch(keyLocation="https://other.example/key.txt"), 422),
        (batch(urlList=["https://www.example.com/", "https://other.example/"]), 422),
        (b" " * (indexnow.MAX_BYTES + 1), 413),
    ],
)
def test_status_of_a_refused_message(body: bytes, status: int | None) -> None:
    """As the protocol has it; a message with URLs of another host is refused as a whole."""
    assert indexnow.read_batch(body).refusal == status


def test_key_file_of_a_site_without_tls() -> None:
    """The default place of the key file has the scheme of the first URL."""
    assert indexnow.read_query(f"url=http://e.com/a&key={KEY}").key_location == f"http://e.com/{KEY}.txt"
