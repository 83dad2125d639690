"""Deltas between a crawler and servers over TLS on this machine: good ones, and all that may be wrong with them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from msgspec.structs import replace
from tests.lab.crawling import crawl, make_due, rows

from periplus.formats.compression_dictionary import read_available, write_dcz
from periplus.model import Url, UrlRecord
from periplus.parts.deltas.part import offered
from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus.store.warc import read_records
from periplus.store.warc.reading import WarcRecord

pytest.importorskip("cryptography.x509", reason="certificates need the extra `lab`")

HOST = "deltas.lab.test"
STORIES = [f"Ship number {number} left the harbour with {number * 37 % 91} barrels on board." for number in range(40)]
BEFORE = f"<title>News</title><main>{''.join(f'<p>{story}</p>' for story in STORIES)}</main>".encode()
AFTER = BEFORE.replace(
    b"<p>Ship number 7 ", b"<p>A lighthouse was lit again that had been dark for years.</p><p>Ship number 7 "
)

Coded = Callable[[bytes, bytes], tuple[str, bytes]]
"""Makes a content coding and a body from a page and the dictionary that the client has."""


class DeltaSite:
    """One page over TLS, which may serve as a dictionary. What was asked for is kept."""

    def __init__(self, folder: Path) -> None:
        from periplus_lab.certificates import Authority

        authority = Authority(folder)
        self.page = BEFORE
        self.fields: dict[str, str] = {"Use-As-Dictionary": 'match="/*", id="v\\"1"', "ETag": '"1"'}
        self.coded: Coded = lambda page, known: ("dcz", write_dcz(page, known))
        self.asked: list[dict[str, str]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = authority.context(HOST)
        context.set_alpn_protocols(["http/1.1"])
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"https://{HOST}:{self.server.server_port}/page"
        self.options: dict[str, object] = {
            "dns.hosts": {HOST: "127.0.0.1"},
            "wire.ca_file": str(authority.path),
            "politeness.delay": 0.0,
            "retries.backoff": 0.01,
            "deltas.offer": True,
            "churn.instant": 0.0,
        }

    def _handler(site) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler has a self of its own
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path != "/page":
                    return self._send(404, {}, b"")
                asked = {name.lower(): value for name, value in self.headers.items()}
                site.asked.append(asked)
                fields, body = {"Content-Type": "text/html", **site.fields}, site.page
                if asked.get("if-none-match") == fields.get("ETag"):
                    return self._send(304, fields, b"")
                if "dcz" in asked["accept-encoding"]:
                    known = read_available(asked["available-dictionary"])
                    assert known == sha256(BEFORE).digest()
                    fields["Content-Encoding"], body = site.coded(body, BEFORE)
                return self._send(200, fields, body)

            def _send(self, status: int, fields: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Not read by these tests."""

        return Handler

    def crawl(self, folder: Path, options: dict[str, object] | None = None) -> None:
        crawl(folder, [self.url], self.options | (options or {}))

    def again(
        self, folder: Path, page: bytes = AFTER, options: dict[str, object] | None = None
    ) -> list[dict[str, str]]:
        """Change the page and visit it again: what was asked for."""
        self.page, self.fields["ETag"] = page, f'"{len(page)}"'
        make_due(folder, [self.url])
        before = len(self.asked)
        self.crawl(folder, options)
        return self.asked[before:]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[DeltaSite]:
    keys = tmp_path / "keys"
    keys.mkdir()
    running = DeltaSite(keys)
    yield running
    running.server.shutdown()
    running.server.server_close()


def fetches(folder: Path, url: str) -> list[dict[str, Any]]:
    question = "select outcome, status, bytes as size, reason, detail, attempt from fetches where url = '{}'"
    return rows(folder, question.format(url))


def records(folder: Path, kind: str) -> list[WarcRecord]:
    found = [record for path in sorted((folder / "warc").glob("*.warc.gz")) for record in read_records(path)]
    return [record for record in found if isinstance(record, WarcRecord) and record.type == kind]


def record_of(folder: Path, url: str) -> UrlRecord:
    state = DiskState.read_only(Layout(folder).shard(0), shard=0)
    [record] = state.records.get([Url(url)])
    state.close()
    assert record is not None
    return record


def test_a_changed_page_comes_as_a_difference(site: DeltaSite, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    site.crawl(folder)
    [asked] = site.asked
    assert "dcz" not in asked["accept-encoding"]
    assert "available-dictionary" not in asked
    [asked] = site.again(folder)
    assert asked["accept-encoding"] == "gzip, deflate, br, zstd, dcz"
    assert b64decode(asked["available-dictionary"].strip(":")) == sha256(BEFORE).digest()
    assert asked["dictionary-id"] == '"v\\"1"'
    first, second = fetches(folder, site.url)
    assert (first["size"], second["outcome"], second["reason"]) == (len(BEFORE), "fetched", None)
    assert second["size"] < 200 < len(AFTER)
    [answer] = [record.message() for record in records(folder, "response") if record.url == site.url][1:]
    assert answer.body == AFTER
    assert answer.headers.get("content-encoding") is None
    assert answer.headers.get("content-length") == str(len(AFTER))
    assert answer.headers.get("x-crawler-content-encoding") == "dcz"
    assert answer.headers.get("x-crawler-content-length") == str(second["size"])
    sent = [record.message().headers for record in records(folder, "request") if record.url == site.url]
    assert sent[1].get("available-dictionary") == asked["available-dictionary"]
    [change] = rows(folder, "select level from changes")
    assert change["level"] in ("minor", "major")


def test_the_next_difference_is_from_the_decoded_version(site: DeltaSite, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    site.crawl(folder)
    site.again(folder)
    kept = record_of(folder, site.url)
    found = offered(kept, 0.0)
    assert found is not None
    assert found.sha256 == sha256(AFTER).digest()


def zeros(_: bytes, known: bytes) -> tuple[str, bytes]:
    return "dcz", write_dcz(bytes(64 << 20), known)


HOSTILE: dict[str, tuple[Coded, str]] = {
    "another dictionary": (lambda page, known: ("dcz", write_dcz(page, known + b".")), "wrong-dictionary"),
    "garbage": (lambda *_: ("dcz", b"garbage" * 100), "bad-coding"),
    "garbage in the frame": (lambda page, known: ("dcz", write_dcz(page, known)[:40] + b"\xff" * 60), "bad-coding"),
    "nothing": (lambda *_: ("dcz", b""), "truncated"),
    "half": (lambda page, known: ("dcz", write_dcz(page, known)[:-9]), "truncated"),
    "a bomb": (zeros, "too-large"),
    "two codings": (lambda page, known: ("dcz, gzip", write_dcz(page, known)), "bad-coding"),
}


@pytest.mark.proof
@pytest.mark.parametrize("case", HOSTILE)
def test_what_cannot_be_decoded_is_fetched_again_without_a_dictionary(
    site: DeltaSite, tmp_path: Path, case: str
) -> None:
    folder = tmp_path / "pages"
    site.crawl(folder)
    site.coded, reason = HOSTILE[case]
    offering, plain = site.again(folder)
    assert "available-dictionary" in offering
    assert "available-dictionary" not in plain
    _, failed, second = fetches(folder, site.url)
    assert (failed["outcome"], failed["status"], failed["reason"]) == ("failed", 200, "bad-delta")
    assert failed["detail"].startswith(reason)
    assert (second["outcome"], second["size"], second["attempt"]) == ("fetched", len(AFTER), 2)
    assert [record.message().body for record in records(folder, "response") if record.url == site.url] == [
        BEFORE,
        AFTER,
    ]


def test_a_lost_archive_costs_a_second_request(site: DeltaSite, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    site.crawl(folder)
    record = record_of(folder, site.url)
    state = DiskState(Layout(folder).shard(0), shard=0)
    lost = record.dictionary.replace(b".warc.gz", b".warc.xz")
    assert lost != record.dictionary
    state.records.put([replace(record, dictionary=lost)])
    state.commit()
    state.close()
    assert len(site.again(folder)) == 2
    assert fetches(folder, site.url)[1]["detail"].startswith("no-dictionary")
    assert fetches(folder, site.url)[2]["size"] == len(AFTER)


@pytest.mark.proof
@pytest.mark.parametrize(
    "fields",
    [
        {"Use-As-Dictionary": 'match="/other/*"'},
        {"Use-As-Dictionary": 'match="https://other.lab.test/*"'},
        {"Use-As-Dictionary": 'match="/*", type=brotli'},
        {"Use-As-Dictionary": 'match="/*", match-dest=("script" "style")'},
        {"Use-As-Dictionary": 'match="/*" nonsense'},
        {"Use-As-Dictionary": ""},
        {"Cache-Control": "no-store"},
        {"Cache-Control": "max-age=0"},
        {"Cache-Control": "max-age=100, must-revalidate", "Age": "200"},
    ],
    ids=str,
)
def test_what_is_not_offered(site: DeltaSite, tmp_path: Path, fields: dict[str, str]) -> None:
    site.fields |= fields
    folder = tmp_path / "pages"
    site.crawl(folder)
    [asked] = site.again(folder)
    assert "available-dictionary" not in asked
    assert "dcz" not in asked["accept-encoding"]
    assert fetches(folder, site.url)[1]["size"] == len(AFTER)


def test_nothing_is_offered_unless_it_is_asked_for(site: DeltaSite, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    site.crawl(folder)
    assert record_of(folder, site.url).dictionary
    [asked] = site.again(folder, options={"deltas.offer": False})
    assert "available-dictionary" not in asked


def test_an_unchanged_page_stays_a_dictionary(site: DeltaSite, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    site.fields["Cache-Control"] = "max-age=1000, stale-while-revalidate=5000"
    site.crawl(folder)
    kept = record_of(folder, site.url)
    first = offered(kept, 0.0)
    assert kept.fetched_at is not None
    assert offered(kept, kept.fetched_at + 5_900) == first is not None
    assert offered(kept, kept.fetched_at + 6_100) is None
    site.fields["ETag"] = f'"{len(BEFORE)}"'
    [asked] = site.again(folder, BEFORE)  # the same bytes: the archive only refers to them
    assert "available-dictionary" in asked
    assert offered(record_of(folder, site.url), 0.0) == first
    [asked] = site.again(folder, BEFORE)
    assert fetches(folder, site.url)[-1]["outcome"] == "not-modified"
    assert offered(record_of(folder, site.url), 0.0) == first
    [asked] = site.again(folder)
    assert fetches(folder, site.url)[-1]["size"] < 200
