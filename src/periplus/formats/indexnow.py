"""IndexNow: a site tells search engines which of its URLs changed, and proves with a key file that it may.

The protocol is at indexnow.org: a key of 8 to 128 letters, digits and dashes, published as the text file `KEY.txt`; one
URL as the query of a GET, or up to 10,000 of one host as the JSON of a POST. A key file elsewhere than at the root
(`keyLocation`) speaks only for the URLs in its own directory and below. The scheme does not count: http and https may
be mixed.

Here are the messages, for those who send and those who receive. Fetching the key file, and believing it, is for the
receiver: `Ping.key_location` says where it should be and `holds_key` whether it says what it should.

Reasons of `Problem`: `too-large`, `not-json` (or not of the right shape), `bad-query`, `bad-key`, `bad-host`,
`bad-key-location` (no URL, or of another host), `no-urls`, `too-many-urls` (the first 10,000 are read); of single URLs
`bad-url`, `other-host` and `outside-key-location`.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import islice
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
from msgspec import Struct

from periplus.model import Problem
from periplus.urls import whatwg

MOST_URLS = 10_000
"""Of one message."""

LARGEST = 16 * 1024 * 1024
"""Bytes of one message."""

MOST_PROBLEMS = 100
"""Told of one message; more of the same help nobody."""

_LONGEST_URL = 8_192
_LONGEST_QUERY = 4 * _LONGEST_URL
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")


class Ping(Struct, frozen=True):
    """A message as received: the URLs it may speak of if its key holds, and what was wrong with the rest."""

    host: str = ""
    key: str = ""
    key_location: str = ""
    urls: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class KeyFile(Struct, frozen=True):
    """What a site publishes at its root to own a key."""

    name: str
    body: bytes


class _Batch(Struct, rename="camel", omit_defaults=True):
    """The JSON of a POST."""

    host: str
    key: str
    url_list: list[str]
    key_location: str | None = None


def is_key(text: str) -> bool:
    """Whether a key is one by the rules."""
    return _KEY.fullmatch(text) is not None


def key_file(key: str) -> KeyFile:
    """The file that proves a key. Raises `ValueError` for what is no key."""
    return KeyFile(f"{_checked(key)}.txt", key.encode())


def holds_key(body: bytes, key: str) -> bool:
    """Whether a key file says this key: on a line of its own, whatever editors have put around it."""
    lines = body[:_LONGEST_URL].decode("utf-8-sig", "replace").split("\n")
    return is_key(key) and key in (line.strip() for line in lines)


def read_query(query: str) -> Ping:
    """A GET: what follows the question mark."""
    if len(query) > _LONGEST_QUERY:
        return Ping(problems=(Problem("too-large", f"{len(query)} characters"),))
    try:
        fields = dict(reversed(parse_qsl(query.removeprefix("?"), keep_blank_values=True, max_num_fields=32)))
    except ValueError as error:
        return Ping(problems=(Problem("bad-query", str(error)),))
    url = fields.get("url", "")
    host = _host_and_path(url)[0]
    return _judge(host, fields.get("key", ""), fields.get("keyLocation", ""), [url] if url else [])


def read_batch(body: bytes) -> Ping:
    """A POST."""
    if len(body) > LARGEST:
        return Ping(problems=(Problem("too-large", f"{len(body)} bytes"),))
    try:
        batch = msgspec.json.decode(body.removeprefix(BOM_UTF8), type=_Batch)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Ping(problems=(Problem("not-json", str(error)[:200]),))
    host = batch.host.strip()
    host, _ = _host_and_path(host if "://" in host else f"https://{host}/")
    return _judge(host, batch.key.strip(), batch.key_location or "", batch.url_list)


def write_query(url: str, key: str, key_location: str = "") -> str:
    """A GET for one URL: what follows the question mark. Raises `ValueError` for what is no key."""
    fields = {"url": url, "key": _checked(key)}
    if key_location:
        fields["keyLocation"] = key_location
    return urlencode(fields)


def write_batches(host: str, urls: Iterable[str], key: str, key_location: str = "") -> Iterator[bytes]:
    """As many POSTs as the URLs of one host need. Raises `ValueError` for what is no key."""
    remaining = iter(urls)
    while some := list(islice(remaining, MOST_URLS)):
        yield msgspec.json.encode(_Batch(host, _checked(key), some, key_location or None))


def _checked(key: str) -> str:
    if not is_key(key):
        raise ValueError("an IndexNow key is 8 to 128 letters, digits and dashes")
    return key


def _judge(host: str, key: str, key_location: str, urls: list[str]) -> Ping:
    """What a message may speak of: nothing where who speaks, or where the key lies, is not clear."""
    location = whatwg(key_location.strip()) if key_location else f"https://{host}/{key}.txt"
    location_host, location_path = _host_and_path(location or "")
    claims = (
        (is_key(key), "bad-key", key),
        (bool(host), "bad-host", host),
        (bool(location_host) and location_host == host, "bad-key-location", key_location),
        (bool(urls), "no-urls", ""),
    )
    problems = [Problem(reason, detail[:200]) for holds, reason, detail in claims if not holds]
    if problems or location is None:
        return Ping(host, key, location or "", (), tuple(problems))
    if len(urls) > MOST_URLS:
        problems.append(Problem("too-many-urls", str(len(urls))))
    accepted: dict[str, None] = {}
    for url in urls[:MOST_URLS]:
        verdict = _judge_url(url, host, location_path.rpartition("/")[0] + "/")
        if not isinstance(verdict, Problem):
            accepted[verdict] = None
        elif len(problems) < MOST_PROBLEMS:
            problems.append(verdict)
    return Ping(host, key, location, tuple(accepted), tuple(problems))


def _judge_url(url: str, host: str, directory: str) -> str | Problem:
    href = whatwg(url.strip()) if len(url) <= _LONGEST_URL else None
    url_host, path = _host_and_path(href or "")
    if href is None or not url_host:
        return Problem("bad-url", url[:200])
    if url_host != host:
        return Problem("other-host", url[:200])
    if not path.startswith(directory):
        return Problem("outside-key-location", url[:200])
    return href


def _host_and_path(url: str) -> tuple[str, str]:
    """The host with its port, in canonical form, and the path; both empty for what is no URL of the web."""
    href = whatwg(url) if url else None
    if href is None or not href.startswith(("http://", "https://")):
        return "", ""
    parts = urlsplit(href)
    return parts.netloc.rpartition("@")[2], parts.path
