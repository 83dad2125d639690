"""Crawls of an application: every page and link of it, whatever happens to the browser; and what is stored of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
from tests.lab.browser_pool import PATIENT, needs_browser
from tests.lab.crawling import by_address, crawl, rows, standing

import periplus.parts.render.pool as pools
from periplus.collection.collection import existing
from periplus.collection.config.settings import Config
from periplus.collection.crawl_parts import check_parts
from periplus.collection.facts.lines import collection_lines
from periplus.collection.facts.lookup import collection_facts
from periplus.engine.inputs import Answered, FetchAnswer
from periplus.engine.log import InputLog
from periplus.engine.part import Setup
from periplus.insight.views import QUESTIONS, Views
from periplus.model import ConfigError, Fetched
from periplus.parts.render.browser import kill, processes_of
from periplus.store.export.documents import last_document
from periplus.store.layout import Layout
from periplus.store.warc import archived_answers
from periplus.store.warc.reading import WarcRecord, read_records
from periplus_lab.applications import APPLICATION, ApplicationPage, ApplicationWorld

SIZE = 7
OPTIONS: dict[str, object] = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0}


def options(mode: str, **more: object) -> dict[str, object]:
    given = {"mode": mode, "sandbox": False, "quiet": PATIENT.quiet, "still": PATIENT.still, "max_busy": 20.0, **more}
    return OPTIONS | {f"render.{name}": value for name, value in given.items()}


class Crawled(NamedTuple):
    """A crawl that has ended: its folder, the truth, and the requests that the lab had."""

    folder: Path
    pages: dict[str, ApplicationPage]
    requests: int


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """A crawl whose browser is killed once, in the middle."""
    world = ApplicationWorld(7, 1, size=SIZE)
    folder = tmp_path_factory.mktemp("rendered") / "collection"
    with standing(world) as lab, pytest.MonkeyPatch.context() as patch:
        killed = threading.Event()
        make = pools.BrowserPool

        class Watched(make):  # type: ignore[valid-type, misc]
            """A pool whose browser is killed when it has shown three pages."""

            def submit(self, job: Any) -> None:
                super().submit(job)
                if job.number == 3 and not killed.is_set():
                    killed.set()
                    kill(processes_of(self.mark))

        patch.setattr("periplus.parts.render.wire.BrowserPool", Watched)
        seeds = [lab.url(APPLICATION)]
        crawl(folder, seeds, by_address(lab) | options("when-needed", archive=True))
        assert killed.is_set()
        yield Crawled(folder, {page.url: page for page in world.pages(lab.port)}, lab.log.total)


@pytest.mark.proof
@needs_browser
def test_every_page_and_link_is_found(crawled: Crawled) -> None:
    """By history routes and by routes behind `#!`, with few requests a page, although the browser was killed."""
    titles = {row["url"]: row["title"] for row in rows(crawled.folder, "select url, title from pages")}
    assert titles == {url: page.title for url, page in crawled.pages.items()}
    found = rows(crawled.folder, "select page, list(distinct target) as targets from links group by page")
    assert {row["page"]: {*row["targets"]} - {row["page"]} for row in found} == {
        url: {*page.links} - {url} for url, page in crawled.pages.items()
    }
    # at most the page, its data, and some of it once more after the browser was killed
    assert crawled.requests <= 3.5 * SIZE


@pytest.mark.proof
@needs_browser
def test_templates_are_decided(crawled: Crawled) -> None:
    """Two templates have enough pages for a verdict; a summary says how many need scripts."""
    with duckdb.connect() as database:
        table = f"'{crawled.folder}/tables/verdicts/*.parquet'"
        found = database.execute(f"select subject, verdict from {table}").fetchall()
    assert {(subject.partition("/")[2], verdict) for subject, verdict in found} == {
        ("item/#", "needs-scripts"),
        ("?_escaped_fragment_", "needs-scripts"),
    }


@pytest.mark.proof
@needs_browser
def test_documents_are_archived_beside_answers(crawled: Crawled) -> None:
    """The answer as sent, the document with a reference to it, and what the page has loaded."""
    records = [
        record
        for path in sorted((crawled.folder / "warc").glob("*.warc.gz"))
        for record in read_records(path)
        if isinstance(record, WarcRecord)
    ]
    answers = {record.id: record for record in records if record.type in ("response", "revisit")}
    documents = [record for record in records if record.type == "resource"]
    assert {record.url.removeprefix("urn:dom:") for record in documents} == {*crawled.pages}
    for record in documents:
        answer = answers[record.fields["warc-refers-to"].strip("<>").removeprefix("urn:uuid:")]
        assert answer.url == record.url.removeprefix("urn:dom:")
        assert crawled.pages[answer.url].title.encode() in record.block
    assert any(answer.url.endswith("/static/app.js") for answer in answers.values())
    assert any("/api/pages/" in answer.url for answer in answers.values())
    archived = [each.outcome for each in archived_answers(crawled.folder / "warc", 0)]
    rendered = {each.task.url: each for each in archived if getattr(each, "is_rendered", False)}
    assert {*rendered} == {*crawled.pages}


@pytest.mark.proof
@needs_browser
def test_readers_of_a_collection_see_documents(crawled: Crawled) -> None:
    """What is read of a page is what a person would see."""
    layout = Layout(crawled.folder)
    for url, page in crawled.pages.items():
        found = last_document(layout.tables, layout.spooled, layout.warc, url)
        assert found is not None
        assert page.title == found.page.title


@pytest.mark.proof
@needs_browser
def test_a_crash_loses_no_document(crawled: Crawled, tmp_path: Path) -> None:
    """Answers that were logged and not committed are read again from the archive, as documents."""
    folder = crawled.folder
    answers = [each for each in archived_answers(folder / "warc", 0) if getattr(each.outcome, "is_rendered", False)]
    log = InputLog(tmp_path / "log", folder / "warc")
    log.begin(1)
    log.append([Answered(tuple(FetchAnswer(each.outcome, each.stored) for each in answers), 1.0)])
    log.close()
    (again,) = InputLog(tmp_path / "log", folder / "warc").read(1)
    assert isinstance(again, Answered)
    assert [each.outcome for each in again.answers] == [each.outcome for each in answers]
    assert len(answers) == SIZE
    assert sum(path.stat().st_size for path in (tmp_path / "log").iterdir()) < sum(
        len(each.outcome.body) for each in answers if isinstance(each.outcome, Fetched)
    )


def test_templates_that_need_scripts_are_counted_without_a_browser(tmp_path: Path) -> None:
    """In a crawl that renders nothing: `info` and the report name them."""
    world = ApplicationWorld(7, 1, size=SIZE)
    folder = tmp_path / "plain"
    with standing(world) as lab:
        seeds = [lab.url(APPLICATION), lab.url(APPLICATION, "/item/3"), lab.url(APPLICATION, "/item/4")]
        crawl(folder, seeds, by_address(lab) | OPTIONS)
    Layout(folder).settings.write_text(f"[crawl]\nseeds = {seeds}\n")
    facts = collection_facts(existing(folder))
    assert facts.script_templates == 2
    assert ("scripts", "2 templates") in [(name, words[:11]) for name, words in collection_lines(facts, is_whole=False)]
    with Views(folder) as views:
        told = views.rows(QUESTIONS["scripts"].sql)
    assert [row["subject"].partition("/")[2] for row in told] == ["", "item/#"]


def test_without_a_browser_the_error_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before anything is written: what is missing, and what to do about it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for wrong in ({"render.sandbox": False}, {"render.browser": "no-such-browser"}):
        config = Config().with_options({"render.mode": "always", **wrong})
        with pytest.raises(ConfigError, match=r"needs a browser|is not a program|playwright") as found:
            check_parts(Setup(config, Layout(tmp_path)))
        assert found.value.hint
    check_parts(Setup(Config(), Layout(tmp_path)))
