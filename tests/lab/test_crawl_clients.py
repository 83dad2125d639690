"""What a crawl leaves behind, read by the tools of others: warcio, a lookup in CDXJ as pywb makes it, DuckDB, pandas.

All numbers about one crawl agree, wherever they are read: archive, index, tables, state.
"""

from __future__ import annotations

import io
import json
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from tests.lab.crawling import TABLES, by_proxy, crawl, rows, standing
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from periplus.cli import main
from periplus.collection.config.settings import Config
from periplus.collection.seeds import seeds_from
from periplus_lab import World
from periplus_lab.hostile import DOMAIN
from periplus_lab.log import Visit

HOSTILE = ("gzip-bomb", "close-before-body", "wrong-charset", "redirect-loop", "length-too-long", "robots-large")
REVISIT = "warc/revisit"


class Kept(NamedTuple):
    """A collection, and what the server saw of the crawl."""

    folder: Path
    visits: list[Visit]
    lines: list[bytes]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """Twelve sites with everything that pages do, some hostile ones, in many small files."""
    world = World(28, 12, pages=80)
    folder = tmp_path_factory.mktemp("clients")
    with standing(world) as lab:
        seeds = [site.url for site in world.sites()] + [f"http://{name}.{DOMAIN}/" for name in HOSTILE]
        options = by_proxy(lab) | {
            "politeness.delay": 0.0,
            "politeness.slow_factor": 0.0,
            "retries.backoff": 0.02,
            "wire.max_page_bytes": 200_000,
            "archive.max_file_size": 200_000,
            "tables.rows_per_group": 50,
            "tables.rows_per_file": 200,
        }
        crawl(folder, seeds, options, workers=2)
        config = Config().with_options({**options, "crawl.seeds": list(seeds_from(seeds)), "crawl.workers": 2})
        (folder / "periplus.toml").write_text(config.dump())
        yield Kept(folder, lab.log.visits(), (folder / "warc" / "index.cdxj").read_bytes().splitlines())


def one(folder: Path, question: str) -> Any:
    """The one number that a question asks for."""
    [row] = rows(folder, question)
    [value] = row.values()
    return value


@pytest.mark.proof
def test_warcio_reads_every_record(kept: Kept) -> None:
    """From end to end, digests checked; an answer, its request and its metadata for each; nothing else."""
    kinds: Counter[str] = Counter()
    files = sorted((kept.folder / "warc").glob("*.warc.gz"))
    assert len(files) > 3
    for path in files:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                kinds[record.rec_type] += 1
                record.content_stream().read()
    answers = kinds["response"] + kinds["revisit"]
    assert kinds["warcinfo"] == len(files)
    assert kinds["request"] == kinds["metadata"] == answers == len(kept.lines)
    assert kinds["revisit"] > 0
    assert answers == one(kept.folder, "select count(*) from fetches where warc_file is not null")


@pytest.mark.proof
def test_the_archive_has_every_answer_that_the_server_gave(kept: Kept) -> None:
    """Every whole answer is a capture of its URL; those that broke off are rows without one."""
    captured = Counter(json.loads(line.split(b" ", 2)[2])["url"] for line in kept.lines)
    kinds = "('fetched', 'redirected', 'not-modified')"
    told = rows(kept.folder, f"select url, count(*) as times from fetches where outcome in {kinds} group by url")
    assert captured == {row["url"]: row["times"] for row in told}
    seen = Counter(visit.url for visit in kept.visits if visit.host.endswith(".lab.test") and DOMAIN not in visit.host)
    assert {url: times for url, times in captured.items() if DOMAIN not in url} == seen


# CDXJ


def key_of(url: str) -> bytes:
    """The sort key of a URL, for the plain ones of the lab: hosts from the right, everything folded."""
    parts = urlsplit(url.lower())
    host = ",".join(reversed(parts.netloc.removeprefix("www.").split(".")))
    query = "&".join(sorted(parts.query.split("&"))) if parts.query else ""
    return f"{host}){parts.path.rstrip('/') or '/'}{'?' + query if query else ''}".encode()


def captures(kept: Kept, url: str) -> list[dict[str, str]]:
    """A binary search by key, then a look at the URL: every capture of it."""
    start = key_of(url) + b" "
    found = []
    for line in kept.lines[bisect_left(kept.lines, start) :]:
        if not line.startswith(start):
            break
        capture = json.loads(line[len(start) :].split(b" ", 1)[1])
        if capture["url"] == url:
            found.append(capture)
    return found


def record_at(kept: Kept, capture: dict[str, str]) -> tuple[ArcWarcRecord, bytes]:
    """The one record in exactly these bytes of a file, and its payload."""
    with (kept.folder / "warc" / capture["filename"]).open("rb") as file:
        file.seek(int(capture["offset"]))
        member = file.read(int(capture["length"]))
    [(record, payload)] = [
        (record, record.content_stream().read())
        for record in ArchiveIterator(io.BytesIO(member), check_digests="raise")
    ]
    return record, payload


@pytest.mark.proof
def test_every_url_is_found_in_the_index(kept: Kept) -> None:
    """Sorted by bytes; from a key to file, offset and length, where the record of that URL lies, as the table says."""
    assert kept.lines == sorted(kept.lines)
    told = rows(
        kept.folder,
        "select url, warc_file, warc_offset, warc_length, status, digest from fetches where warc_file is not null",
    )
    assert len(told) > 150
    for row in told:
        matching = [
            capture
            for capture in captures(kept, row["url"])
            if (capture["filename"], int(capture["offset"])) == (row["warc_file"], row["warc_offset"])
        ]
        [capture] = matching
        record, _ = record_at(kept, capture)
        assert int(capture["length"]) == row["warc_length"]
        assert record.rec_headers["WARC-Target-URI"] == row["url"]
        assert record.http_headers.get_statuscode() == capture["status"] == str(row["status"])
        assert record.rec_headers["WARC-Payload-Digest"].removeprefix("sha1:") == capture["digest"]
        assert row["digest"].removeprefix("sha1:") == capture["digest"]


@pytest.mark.proof
def test_a_revisit_resolves(kept: Kept) -> None:
    """An answer with a body that another URL had first is kept once: the record names it, and it is found."""
    revisits = [line for line in kept.lines if REVISIT.encode() in line]
    assert revisits
    for line in revisits:
        capture = json.loads(line.split(b" ", 2)[2])
        record, payload = record_at(kept, capture)
        assert record.rec_headers["WARC-Profile"].endswith("/identical-payload-digest")
        assert not payload
        first = record.rec_headers["WARC-Refers-To-Target-URI"]
        originals = [each for each in captures(kept, first) if each["digest"] == capture["digest"]]
        kinds = [record_at(kept, each) for each in originals if each["mime"] != REVISIT]
        assert [found.rec_headers["WARC-Date"] for found, _ in kinds] == [record.rec_headers["WARC-Refers-To-Date"]]
        assert kinds[0][1]


# tables


@pytest.mark.proof
@pytest.mark.parametrize("table", TABLES)
def test_duckdb_and_pandas_read_every_table(kept: Kept, table: str) -> None:
    """Those, too, in which nothing happened yet; both see the same rows and columns."""
    import pandas

    frame = pandas.read_parquet(kept.folder / "tables" / table)
    assert len(frame) == one(kept.folder, f"select count(*) from {table}")
    assert list(frame.columns) == [row["column_name"] for row in rows(kept.folder, f"describe {table}")]


@pytest.mark.proof
def test_pages_links_and_fetches_agree(kept: Kept) -> None:
    """A page for each good answer; a link for each that its page counts; bytes as the server sent them."""
    folder = kept.folder
    good = "purpose = 'page' and outcome = 'fetched' and status between 200 and 299"
    assert one(folder, "select count(*) from pages") == one(folder, f"select count(*) from fetches where {good}")
    assert one(folder, "select count(*) from pages p anti join fetches f on p.url = f.url") == 0
    assert one(folder, "select count(*) from links") == one(folder, "select sum(links) from pages") > 0
    assert one(folder, "select count(*) from links l anti join pages p on l.page = p.url") == 0
    assert one(folder, "select count(*) from (select page from links group by page) where page is null") == 0


@pytest.mark.proof
def test_what_is_known_was_discovered(kept: Kept) -> None:
    """Every page that was asked for, or refused by its site, had been accepted before; each URL is new once."""
    folder = kept.folder
    accepted = "select distinct url from discoveries where refused is null"
    known = one(folder, f"select count(*) from ({accepted})")
    assert known == one(folder, "select count(*) from discoveries where is_new")
    assert known == one(folder, "select count(distinct url) from fetches where purpose = 'page'")
    assert one(folder, f"select count(*) from fetches f anti join ({accepted}) d on f.url = d.url"
                       " where f.purpose = 'page'") == 0  # fmt: skip


@pytest.mark.proof
def test_info_says_the_same(kept: Kept, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """The state's own numbers are those of the tables."""
    monkeypatch.setattr(sys, "argv", ["periplus", "info", str(kept.folder), "--json"])
    with pytest.raises(SystemExit):
        main()
    facts = json.loads(capfd.readouterr().out)
    tally, folder = facts["tally"], kept.folder
    assert facts["known"] == one(folder, "select count(*) from discoveries where is_new")
    assert facts["queued"] == 0
    asked = "outcome <> 'excluded'"
    assert tally["fetches"] == one(folder, f"select count(*) from fetches where {asked}")
    assert tally["pages"] == one(folder, "select count(*) from pages")
    assert tally["downloaded"] == one(folder, "select sum(bytes) from fetches")
    reasons = rows(folder, "select reason, count(*) as n from fetches where outcome = 'excluded' group by reason")
    assert tally["excluded"] == {row["reason"]: row["n"] for row in reasons}
    refused = rows(folder, "select refused, count(*) as n from discoveries where refused is not null group by refused")
    assert tally["refused"] == {row["refused"]: row["n"] for row in refused}
