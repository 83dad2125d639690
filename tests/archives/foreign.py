"""Archives as others write them: WARC with chunks left in bodies, and plain ARC."""

from __future__ import annotations

import gzip
from base64 import b32encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

HOME = "http://old.test/"
HTML = (("Content-Type", "text/html; charset=utf-8"),)


class Capture(NamedTuple):
    """An answer at a time; `repeats` is the date of the capture whose body it has."""

    url: str
    body: bytes
    date: str
    status: str = "200 OK"
    headers: Sequence[tuple[str, str]] = HTML
    repeats: str = ""
    method: str = "GET"


def html(title: str, *links: str, head: str = "") -> bytes:
    """A page with a title, a text and links."""
    text = " ".join(f"{title} says something about number {number}." for number in range(12))
    anchors = "".join(f'<a href="{link}">to {link}</a> ' for link in links)
    return f"<!doctype html><html lang=de><head><title>{title}</title>{head}</head><p>{text}</p>{anchors}".encode()


def chunked(body: bytes) -> bytes:
    """A body in chunks of seven bytes."""
    parts = [body[start : start + 7] for start in range(0, len(body), 7)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def write_warc(path: Path, captures: Iterable[Capture], *, is_packed: bool = True) -> Path:
    """A WARC file with a request behind each answer, as Webrecorder's tools write them."""
    with path.open("wb") as file:
        for number, capture in enumerate(captures):
            for record in _exchange(number, capture):
                file.write(gzip.compress(record, mtime=0) if is_packed else record)
    return path


def _exchange(number: int, capture: Capture) -> Iterator[bytes]:
    about = f"WARC-Target-URI: {capture.url}\r\nWARC-Date: {capture.date}\r\n"
    fields = "".join(f"{name}: {value}\r\n" for name, value in capture.headers)
    head = f"HTTP/1.1 {capture.status}\r\n{fields}\r\n".encode()
    digest = b32encode(sha1(capture.body, usedforsecurity=False).digest()).decode()
    repeats = (
        f"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n"
        f"WARC-Refers-To-Target-URI: {capture.url}\r\nWARC-Refers-To-Date: {capture.repeats}\r\n"
    )
    yield _record(
        "revisit" if capture.repeats else "response",
        f"a{number}",
        f"{about}WARC-Payload-Digest: sha1:{digest}\r\n{repeats if capture.repeats else ''}",
        "response",
        head if capture.repeats else head + capture.body,
    )
    beside = f"{about}WARC-Concurrent-To: <urn:uuid:a{number}>\r\n"
    yield _record(
        "request", f"b{number}", beside, "request", f"{capture.method} / HTTP/1.1\r\nHost: old.test\r\n\r\n".encode()
    )


def _record(kind: str, name: str, fields: str, message: str, block: bytes) -> bytes:
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{name}>\r\n{fields}"
        f"Content-Type: application/http; msgtype={message}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def write_arc(path: Path, url: str, body: bytes) -> Path:
    """An ARC file of version 1 with one answer."""
    answer = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
    described = b"1 0 test\nURL IP-address Archive-date Content-type Archive-length\n"
    first = b"filedesc://x.arc 0.0.0.0 20050101000000 text/plain %d\n%s\n" % (len(described), described)
    path.write_bytes(first + b"%s 192.0.2.1 20050102030405 text/html %d\n%s\n" % (url.encode(), len(answer), answer))
    return path


def a_site() -> list[Capture]:
    """Two visits of a home page that changed, a redirect, a page that is gone, an image, robots.txt and a sitemap."""
    listed = f"<?xml version='1.0'?><urlset><url><loc>{HOME}one</loc></url></urlset>".encode()
    plain = (("Content-Type", "text/plain"),)
    return [
        Capture(f"{HOME}robots.txt", f"Sitemap: {HOME}sitemap.xml\n".encode(), "2020-01-01T00:00:00Z", headers=plain),
        Capture(f"{HOME}sitemap.xml", listed, "2020-01-01T00:00:01Z", headers=(("Content-Type", "text/xml"),)),
        Capture(HOME, html("home", "/one", "/two", "/gone", "/hidden"), "2020-01-01T00:00:02Z"),
        Capture(
            f"{HOME}one",
            chunked(html("one", "/")),
            "2020-01-01T00:00:03Z",
            headers=(*HTML, ("Transfer-Encoding", "chunked")),
        ),
        Capture(f"{HOME}two", b"", "2020-01-01T00:00:04Z", "301 Moved", (("Location", "/one"),)),
        Capture(f"{HOME}gone", b"gone", "2020-01-01T00:00:05Z", "404 Not Found"),
        Capture(
            f"{HOME}a.png",
            b"\x89PNG\r\n\x1a\n" + bytes(40),
            "2020-01-01T00:00:06Z",
            headers=(("Content-Type", "image/png"),),
        ),
        Capture(
            f"{HOME}hidden", html("hidden", head='<meta name="robots" content="noarchive">'), "2020-01-01T00:00:07Z"
        ),
        Capture(f"{HOME}form", b"sent", "2020-01-01T00:00:08Z", method="POST"),
        Capture(HOME, html("home, changed", "/one", "/three"), "2021-01-01T00:00:00Z"),
        Capture(HOME, html("home, changed", "/one", "/three"), "2022-01-01T00:00:00Z", repeats="2021-01-01T00:00:00Z"),
    ]
