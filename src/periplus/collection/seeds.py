"""Reads seeds from the command line or a file, adds missing schemes, and separates user names and passwords from them.

A file is text, CSV, JSON lines, bookmarks or OPML (`formats.url_lists`), plain or compressed with gzip.
"""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import unquote

from periplus.engine.fetch import NO_CREDENTIALS, Credentials, basic_auth, origin_of
from periplus.formats.url_lists import read_urls
from periplus.model import ConfigError, Url, UsageError
from periplus.urls import canonical

_LOCAL = re.compile(r"localhost|[\w.-]+\.(?:localhost|test|internal|local)|[\d.]+|\[[\da-f:.]+\]", re.IGNORECASE)
"""Hosts of this machine or of a private network, which rarely have a certificate: http is assumed.

Only the scheme depends on this. Which private addresses a crawl may reach is decided in `engine.fetch.addresses`.
"""
_PATH = re.compile(r"\s*(?:/(?!/[^/])|[\\~]|\.{1,2}(?:[/\\]|\s*$)|[a-z]:[/\\](?!/)|file:)", re.IGNORECASE)
"""Beginnings of paths on disks. The URL standard would make the first folder a host: /etc/passwd, https://etc/passwd."""
_PORT = re.compile(r"[^/?#]*:(\d+)")


def seeds_from(texts: Sequence[str]) -> tuple[Url, ...]:
    """The canonical URLs of seeds, in order and without repetitions. Raises `ConfigError` for what is not a URL."""
    seeds: dict[Url, None] = {}
    for text in texts:
        if _PATH.match(text):
            raise ConfigError(
                f"the seed {shown(text)!r} is a path",
                hint="Write a URL, https://example.org/, or --seeds FILE for a list of them",
            )
        seed = canonical(with_scheme(text))
        if seed is None:
            raise ConfigError(f"the seed {shown(text)!r} is not a URL", hint="Write it as https://example.org/")
        seeds[seed] = None
    return tuple(seeds)


def with_scheme(text: str) -> str:
    """A seed with its scheme: https by default, http on this machine, on an address, and on a port other than 443."""
    text = text.strip()
    if "://" in text:
        return text
    text = text.removeprefix("//")
    port = _PORT.match(text)
    host = re.split(r"[/?#]", text, maxsplit=1)[0]
    is_plain = _LOCAL.fullmatch(host) if port is None else port[1] != "443"
    return f"http://{text}" if is_plain else f"https://{text}"


def possible_urls(text: str) -> list[Url]:
    """The URLs that a person may mean: without a scheme, of http and https, the usual one first."""
    forms = [text] if "://" in text else [with_scheme(text), f"http://{text}", f"https://{text}"]
    return list(dict.fromkeys(url for form in forms if (url := canonical(form)) is not None))


def split_userinfo(text: str) -> tuple[str, tuple[str, str] | None]:
    """A seed without `user:password@`, and the two."""
    text = text.strip()
    before = "//" if text.startswith("//") else "://"
    scheme, mark, rest = text.partition(before) if before in text else ("", "", text)
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0]
    userinfo, at, host = authority.rpartition("@")
    if not at:
        return text, None
    user, _, password = userinfo.partition(":")
    return f"{scheme}{mark}{host}{rest[len(authority) :]}", (unquote(user), unquote(password))


def seeds_and_credentials(texts: Sequence[str]) -> tuple[list[str], Credentials]:
    """Seeds without user names and passwords, and these as credentials of the seeds' origins."""
    seeds: list[str] = []
    found = NO_CREDENTIALS
    for text in texts:
        seed, login = split_userinfo(text)
        seeds.append(seed)
        if login is not None:
            found = found.merged(Credentials({origin_of(*seeds_from([seed])): basic_auth(*login)}))
    return seeds, found


def shown(text: str) -> str:
    """A seed as an error may show it: without anything that could be a password."""
    return f"...@{text.rpartition('@')[2]}" if "@" in text else text


MAX_SEEDS: Final = 10_000_000
"""Maximum number of seeds of one collection."""
_GZIP: Final = b"\x1f\x8b"


def read_seeds(file: str | Path) -> list[str]:
    """The seeds of a file; `-` is standard input."""
    name = str(file)
    try:
        if name == "-":
            return list(islice(read_urls(sys.stdin.read().splitlines()), MAX_SEEDS))
        if Path(file).is_fifo():
            raise UsageError(f"{name} is a pipe", hint="give a file, or - for standard input")
        with Path(file).open("rb") as raw, _opened(raw) as data:
            lines = (line.decode("utf-8").rstrip("\r\n") for line in data)
            return list(islice(read_urls(lines), MAX_SEEDS))
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        what = "not in UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or error
        raise UsageError(
            f"{name}: {what}", hint="give a file of URLs, one a line, or CSV, JSON lines, bookmarks, OPML"
        ) from error


def _opened(raw: BinaryIO) -> BinaryIO:
    is_packed = raw.read(2) == _GZIP
    raw.seek(0)
    return gzip.open(raw, "rb") if is_packed else raw  # type: ignore[return-value]
