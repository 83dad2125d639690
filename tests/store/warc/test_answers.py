"""What was archived comes back as the outcome it was, in the order of writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from periplus.model import (
    Fetched,
    FetchTask,
    Lane,
    NotModified,
    Payload,
    Purpose,
    Redirected,
    Rendering,
    Site,
    Source,
    Stored,
    SubResponse,
    Url,
    Validators,
)
from periplus.store import MemoryPayloads
from periplus.store.warc import Archive, WarcEnd, WarcSettings, archived_answers, merge_indexes
from periplus.store.warc.answers import rendering_in
from periplus.store.warc.index import scan
from periplus.store.warc.reading import read_record
from periplus.store.warc.records import Answer, files_of, index_of

AT = 1_800_000_000.123456
REQUEST = b"GET /a HTTP/1.1\r\nHost: example.org\r\n\r\n"
CONDITIONAL = b'GET /a HTTP/1.1\r\nIf-None-Match: "v1"\r\nIf-Modified-Since: Tue, 15 Nov 2022 12:45:26 GMT\r\n\r\n'
HTML = (("Content-Type", "text/html; charset=utf-8"), ("Server", "nginx"))
WRITTEN = list[tuple[Answer, Stored, Payload | None]]


def task(path: str = "/a", **facts: Any) -> FetchTask:
    usual: dict[str, Any] = {"purpose": Purpose.PAGE, "lane": Lane.DISCOVERY, "ip": "192.0.2.7"}
    return FetchTask(Url(f"https://example.org{path}"), Site("example.org"), lease_ends_at=0.0, **usual | facts)


def page(body: bytes = b"<p>hello</p>", path: str = "/a", **facts: Any) -> Fetched:
    usual: dict[str, Any] = {"status": 200, "headers": HTML, "started_at": AT, "duration": 0.1234567, "ip": "192.0.2.7"}
    return Fetched(task=facts.pop("task", task(path)), body=body, **usual | facts)


def written(folder: Path, *answers: Answer, shard: int = 0, **settings: Any) -> WRITTEN:
    archive = Archive(
        folder, WarcSettings(**settings), shard=shard, software="test", fields={}, end=None, payloads=MemoryPayloads()
    )
    found = [(each, *archive.write(each, CONDITIONAL if each.task.validators else REQUEST)) for each in answers]
    archive.close()
    merge_indexes(folder)
    return found


def test_a_rendered_page_is_archived_twice(tmp_path: Path) -> None:
    """The answer as it was sent, and the document, which is what comes back; what the page loaded is no answer."""
    loaded = SubResponse(Url("https://example.org/app.js"), 200, HTML, b"let a = 1", AT)
    rendering = Rendering(
        is_rendered=True, reason="render-budget", requests=9, same_site=4, document=b"<p>shell</p>", responses=(loaded,)
    )
    headers = (*HTML, ("X-Robots-Tag", "noarchive"))
    outcome = page("<p>h\u00e9llo</p>".encode(), rendering=rendering, headers=headers)
    (_, stored, payload), (_, second, _) = written(tmp_path, outcome, replace(outcome, task=task("/b")))
    (first, again) = archived_answers(tmp_path, 0)
    assert (first.stored, first.payload, again.stored) == (stored, payload, second)
    assert first.outcome == replace(outcome, rendering=replace(rendering, document=b"", responses=()))
    assert not stored.is_revisit
    record = read_record(tmp_path, stored)
    assert (record.type, record.url) == ("resource", "urn:dom:https://example.org/a")
    assert record.message().body == outcome.body
    assert record.message().headers.get("x-robots-tag") == "noarchive"
    lines = [(line.url, line.mime, line.status) for path in sorted(tmp_path.glob("*.warc.gz")) for line in scan(path)]
    assert ("https://example.org/app.js", "text/html", "200") in lines
    assert ("urn:dom:https://example.org/a", "text/html", "") in lines
    ((_, path),) = files_of(tmp_path, 0)
    assert sorted(line.encode() for line in scan(path)) == index_of(path).read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    "claimed",
    [
        '"requests": -1',
        f'"received": {1 << 40}',
        f'"plain_links": {"9" * 400}',
        '"seconds": -0.5',
        '"seconds": 1e7',
        '"seconds": 1e999',
        '"target": 5',
        f'"other": {"[" * 100_000}',
        '"requests": ',
    ],
)
def test_a_rendering_that_cannot_be_is_left_out(claimed: str) -> None:
    """Its numbers are used in sums and written to tables; an archive of others may claim any."""
    assert rendering_in({"rendering": f'{{"is_rendered": true, {claimed}}}'}) is None


def test_a_rendering_of_an_archive_has_only_a_url_as_its_target() -> None:
    """And neither a document nor responses, which are records of their own."""
    loaded = SubResponse(Url("https://example.org/app.js"), 200, HTML, b"let a = 1", AT)
    claimed = Rendering(True, requests=3, target=Url("HTTP://Example.org"), document=b"x", responses=(loaded,))
    believed = Rendering(True, requests=3, target=Url("http://example.org/"))
    assert rendering_in({"rendering": msgspec.json.encode(claimed).decode()}) == believed
    other = msgspec.json.encode(replace(claimed, target=Url("javascript:alert(1)"))).decode()
    assert rendering_in({"rendering": other}) == replace(believed, target=None)


EVERY_KIND: list[Answer] = [
    page(),
    page(b"\x1f\x8b not really gzip", "/packed", headers=(("Content-Encoding", "gzip"), ("content-length", "18"))),
    page(b"chunks", "/chunked", headers=(("Transfer-Encoding", "chunked"), *HTML)),
    page(b"cut", "/cut", headers=(("Content-Length", "1000"), *HTML), is_truncated=True),
    page(b"gone", "/gone", status=404),
    page(b"", "/nothing", status=204, headers=()),
    page(b"User-agent: *", "/robots.txt", task=task("/robots.txt", purpose=Purpose.ROBOTS)),
    page(
        b"User-agent: *\nAllow: /",
        "/robots.txt",
        task=replace(task("/robots.txt", purpose=Purpose.ROBOTS, redirects=1), site=Site("moved.test")),
    ),
    page(b"<urlset/>", "/map.xml", task=task("/map.xml", purpose=Purpose.SITEMAP, lane=Lane.REFRESH)),
    page(b"deep", "/deep", task=task("/deep", depth=7, redirects=2, attempt=3, source=Source.SITEMAP)),
    page(b"no address", "/proxied", ip=None, task=task("/proxied", ip=None)),
    Redirected(task("/old"), 301, Url("https://example.org/new"), (("Location", "/new"),), AT + 1, 0.5, "192.0.2.7"),
    Redirected(
        task("/far"), 307, Url("https://other.example/%C3%A9"), (("location", "//other.example/\xc3\xa9"),),
        AT + 2, 0.25, "192.0.2.7", b"<a>moved</a>",
    ),
    NotModified(
        task(validators=Validators('"v1"', "Tue, 15 Nov 2022 12:45:26 GMT"), visited_at=AT, lane=Lane.REFRESH),
        (("ETag", '"v1"'),), AT + 86_400.5, 0.001, "192.0.2.7",
    ),
]  # fmt: skip


@pytest.mark.parametrize("answer", EVERY_KIND, ids=lambda each: f"{type(each).__name__}-{each.task.url[19:]}")
def test_an_answer_comes_back_as_it_was(tmp_path: Path, answer: Answer) -> None:
    """Status, headers as sent, body as stored, times, address, and what the task knew."""
    expected = written(tmp_path, answer)
    assert list(archived_answers(tmp_path, 0)) == expected


def test_all_come_in_the_order_of_writing(tmp_path: Path) -> None:
    """Over several files, and only those of the shard."""
    expected = written(tmp_path, *EVERY_KIND, max_file_captures=3)
    written(tmp_path, page(b"of another shard"), shard=1)
    assert len(list(files_of(tmp_path, 0))) > 3
    assert list(archived_answers(tmp_path, 0)) == expected


def test_a_payload_that_was_known_is_found_again(tmp_path: Path) -> None:
    """A revisit refers to the first record with its body."""
    first, again = page(b"the same words"), page(b"the same words", "/copy", started_at=AT + 5)
    expected = written(tmp_path, first, again)
    assert expected[1][1].is_revisit
    assert list(archived_answers(tmp_path, 0)) == expected


def test_a_payload_that_is_lost_is_called_cut_off(tmp_path: Path) -> None:
    """The answer is known, its body is not."""
    expected = written(tmp_path, page(b"the same words"), page(b"the same words", "/copy", started_at=AT + 5))
    (tmp_path / "index.cdxj").unlink()
    found = list(archived_answers(tmp_path, 0))
    assert found[1] == (replace(expected[1][0], body=b"", is_truncated=True), expected[1][1], None)


def test_it_ends_where_it_was_committed(tmp_path: Path) -> None:
    """Records behind the end belong to work that will be done again."""
    expected = written(tmp_path, *EVERY_KIND, max_file_captures=5)
    files = [path for _, path in files_of(tmp_path, 0)]
    third = expected[2][1]
    end = WarcEnd(third.file, expected[3][1].offset)
    assert list(archived_answers(tmp_path, 0, until=end)) == expected[:3]
    whole = WarcEnd(files[1].name, files[1].stat().st_size)
    assert list(archived_answers(tmp_path, 0, until=whole)) == expected[:10]


def test_a_torn_exchange_is_left_out(tmp_path: Path) -> None:
    """The last record of an exchange is its metadata; without it nothing was kept."""
    expected = written(tmp_path, page(), page(b"second", "/b"), page(b"third", "/c"))
    path = tmp_path / expected[0][1].file
    path.write_bytes(path.read_bytes()[:-20])
    assert list(archived_answers(tmp_path, 0)) == expected[:2]


def test_what_is_damaged_costs_itself_alone(tmp_path: Path) -> None:
    """The answers before and after it are there."""
    expected = written(tmp_path, page(), page(b"second" * 100, "/b"), page(b"third", "/c"))
    path = tmp_path / expected[0][1].file
    data = bytearray(path.read_bytes())
    middle = expected[1][1].offset + expected[1][1].length // 2
    data[middle] ^= 0xFF
    path.write_bytes(data)
    found = list(archived_answers(tmp_path, 0))
    assert expected[0] in found
    assert expected[2] in found
    assert expected[1] not in found
