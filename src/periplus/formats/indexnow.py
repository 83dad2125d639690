"""IndexNow: a site sends the URLs that changed to search engines, and proves with a key file that it may.

The protocol is at indexnow.org. A key is 8 to 128 letters, digits and dashes, published as the text file `KEY.txt`. A
message is the query of a GET for one URL, or the JSON of a POST for up to 10,000 URLs of one host. A key file elsewhere
than at the root (`keyLocation`) covers only URLs in its own directory and below. The scheme does not count: http and
https may be mixed.

Both sides are here: `read_query` and `read_batch` for a receiver, `write_batches` and `key_file` for a
sender. Fetching the key file is for the receiver: `Submission.key_location` is its URL, and `holds_key` checks its
content. `refusal` is the status that the protocol has for a message that cannot be used.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct

from periplus.model import Problem
from periplus.urls import whatwg

MAX_URLS: Final = 10_000
"""URLs in one message: the limit of the protocol."""

MAX_BYTES: Final = 16 * 1024 * 1024
"""Bytes of one message: 10,000 URLs of 1,600 characters, far more than real ones have."""

MAX_PROBLEMS: Final = 100
"""Problems that are listed for one message: enough for its sender to find the cause."""

MAX_KEY_FILE: Final = 4096
"""Bytes of a key file that are read: a key of 128 characters with anything an editor adds fits many times."""

_MAX_URL = 8_192
_MAX_QUERY = 4 * _MAX_URL
_MAX_DETAIL = 200
_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")
_STATUS: Final = {
    "too-large": 413,
    "not-json": 400,
    "bad-query": 400,
    "bad-host": 400,
    "no-urls": 400,
    "bad-key": 422,
    "bad-key-location": 422,
    "other-host": 422,
    "outside-key-location": 422,
}
"""HTTP status by reason. `bad-url` and `too-many-urls` are not in it: the other URLs are used."""


class Submission(Struct, frozen=True):
    """A message as received: the URLs it submits if its key is valid, and what was wrong with the rest."""

    host: str = ""
    key: str = ""
    key_location: str = ""
    urls: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def refusal(self) -> int | None:
        """The HTTP status that refuses the whole message; `None` if its URLs can be used."""
        found = [_STATUS[problem.reason] for problem in self.problems if problem.reason in _STATUS]
        if found:
            return found[0]
        return None if self.urls else 400


class KeyFile(Struct, frozen=True):
    """The file that a site publishes at its root to prove a key."""

    name: str
    body: bytes


class _Batch(Struct, rename="camel", omit_defaults=True):
    """The JSON of a POST."""

    host: str
    key: str
    url_list: list[str]
    key_location: str | None = None


def is_key(text: str) -> bool:
    """Whether a text is a valid key."""
    return _KEY.fullmatch(text) is not None


def key_file(key: str) -> KeyFile:
    """The file that proves a key. Raises `ValueError` if the key is not valid."""
    return KeyFile(f"{_checked(key)}.txt", key.encode())


def holds_key(body: bytes, key: str) -> bool:
    """Whether a key file contains this key, on a line of its own; a byte order mark and white space are ignored."""
    lines = body[:MAX_KEY_FILE].decode("utf-8-sig", "replace").split("\n")
    return is_key(key) and key in (line.strip() for line in lines)


def read_query(query: str) -> Submission:
    """Read a GET: the part of the URL after the question mark."""
    if len(query) > _MAX_QUERY:
        return Submission(problems=(Problem("too-large", f"{len(query)} characters"),))
    try:
        fields = dict(reversed(parse_qsl(query.removeprefix("?"), keep_blank_values=True, max_num_fields=32)))
    except ValueError as error:
        return Submission(problems=(Problem("bad-query", str(error)),))
    url = fields.get("url", "").strip()
    host = _split(url)[1]
    return _checked_submission(host, fields.get("key", "").strip(), fields.get("keyLocation", ""), [url] if url else [])


def read_batch(body: bytes) -> Submission:
    """Read the body of a POST."""
    if len(body) > MAX_BYTES:
        return Submission(problems=(Problem("too-large", f"{len(body)} bytes"),))
    try:
        batch = msgspec.json.decode(body.removeprefix(BOM_UTF8), type=_Batch)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Submission(problems=(Problem("not-json", str(error)[:_MAX_DETAIL]),))
    host = batch.host.strip()
    host = _split(host if "://" in host else f"https://{host}/")[1]
    return _checked_submission(host, batch.key.strip(), batch.key_location or "", batch.url_list)


def write_batches(host: str, urls: Iterable[str], key: str, key_location: str = "") -> Iterator[bytes]:
    """The bodies of as many POSTs as the URLs of one host need. Raises `ValueError` if the key is not valid."""
    remaining = iter(urls)
    while some := list(islice(remaining, MAX_URLS)):
        yield msgspec.json.encode(_Batch(host, _checked(key), some, key_location or None))


def _checked(key: str) -> str:
    if not is_key(key):
        raise ValueError("an IndexNow key is 8 to 128 letters, digits and dashes")
    return key


def _checked_submission(host: str, key: str, key_location: str, urls: list[str]) -> Submission:
    """The URLs that a message may submit: none if its host, its key or the place of its key file is not valid."""
    key_location = key_location.strip()
    location = _web_url(key_location) if key_location else f"{_scheme_of(urls)}://{host}/{key}.txt"
    _, location_host, location_path = _split(location)
    checks = (
        (is_key(key), "bad-key", key),
        (bool(host), "bad-host", host),
        (bool(location_host) and location_host == host, "bad-key-location", key_location),
        (bool(urls), "no-urls", ""),
    )
    problems = [Problem(reason, detail[:_MAX_DETAIL]) for is_valid, reason, detail in checks if not is_valid]
    if problems:
        return Submission(host, key, location, (), tuple(problems))
    if len(urls) > MAX_URLS:
        problems.append(Problem("too-many-urls", str(len(urls))))
    accepted: dict[str, None] = {}
    directory = location_path.rpartition("/")[0] + "/"
    for url in urls[:MAX_URLS]:
        checked = _checked_url(url, host, directory)
        if not isinstance(checked, Problem):
            accepted[checked] = None
        elif len(problems) < MAX_PROBLEMS:
            problems.append(checked)
    return Submission(host, key, location, tuple(accepted), tuple(problems))


def _checked_url(url: str, host: str, directory: str) -> str | Problem:
    href = _web_url(url)
    _, url_host, path = _split(href)
    if not url_host:
        return Problem("bad-url", url[:_MAX_DETAIL])
    if url_host != host:
        return Problem("other-host", url[:_MAX_DETAIL])
    if not path.startswith(directory):
        return Problem("outside-key-location", url[:_MAX_DETAIL])
    return href


def _scheme_of(urls: list[str]) -> str:
    """The scheme of the first URL: a site without TLS has its key file at an http URL."""
    return (_split(urls[0])[0] if urls else "") or "https"


def _web_url(text: str) -> str:
    """The URL that a text is, normalised; empty if it is not a URL or too long."""
    return (whatwg(text.strip()) or "") if len(text) <= _MAX_URL else ""


def _split(url: str) -> tuple[str, str, str]:
    """Scheme, host with port, and path; all empty if it is not an http or https URL."""
    href = _web_url(url) if url else ""
    if not href.startswith(("http://", "https://")):
        return "", "", ""
    parts = urlsplit(href)
    return parts.scheme, parts.netloc.rpartition("@")[2], parts.path
