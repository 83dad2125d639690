"""A site that is down costs a watched collection nothing: no page is lost, and readers get what they got before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.outages.failing_web import KINDS, NO_OUTAGE
from tests.outages.watch import DAYS, Laboratory, Measured, faults_of

import periplus
from periplus.model import Url
from periplus.store.warc.records import sha1_base32

REPRESENTATIVE = ("404", "503", "robots-disallow", "maintenance", "redirect-login")
DATED = ("404", "maintenance", "redirect-login")
KILLED = ("404", "refused", "redirect-login")


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Laboratory:
    """One for all tests: the days before an outage are watched once."""
    return Laboratory(tmp_path_factory.mktemp("outages"))


def check(measured: Measured) -> None:
    """The goals of any outage."""
    assert not faults_of(measured)


@pytest.mark.proof
@pytest.mark.parametrize("days", [DAYS["1h"], DAYS["2d"]], ids=["1h", "2d"])
@pytest.mark.parametrize("kind", REPRESENTATIVE)
def test_nothing_is_lost_in_an_outage(laboratory: Laboratory, kind: str, days: float) -> None:
    """Some with dates in the sitemap, some without. To see one: `python -m bench.outages --kind KIND`."""
    check(laboratory.outage(kind, days, is_dated=kind in DATED).measure())


@pytest.mark.proof
def test_without_an_outage_nothing_differs(laboratory: Laboratory) -> None:
    """The goals hold for a site that is as usual, so that what they find is of the outage."""
    check(laboratory.outage(NO_OUTAGE, DAYS["1h"], is_dated=True).measure())


@pytest.mark.slow
@pytest.mark.parametrize("is_dated", [True, False], ids=["dated", "undated"])
@pytest.mark.parametrize("length", DAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_in_any_outage(laboratory: Laboratory, kind: str, length: str, is_dated: bool) -> None:
    """All kinds and lengths."""
    check(laboratory.outage(kind, DAYS[length], is_dated=is_dated).measure())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KILLED)
def test_a_kill_in_the_middle_of_an_outage_changes_nothing(laboratory: Laboratory, kind: str) -> None:
    """The next process goes on from the log, and knows that the site is down."""
    check(laboratory.outage(kind, DAYS["2d"], is_dated=True).measure(is_killed=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["maintenance", "redirect-login"])
def test_index_and_export_during_an_outage_have_the_pages_of_before(
    laboratory: Laboratory, tmp_path: Path, kind: str
) -> None:
    """As the commands make them, of a copy of the collection at the end of two days."""
    run = laboratory.outage(kind, DAYS["2d"], is_dated=True)
    run.watch.save()
    run.at_end_of_outage = lambda process: copied(process.folder, tmp_path / "copy")
    run.measure()
    pages, web = set(run.web.pages[run.web.failing]), run.web
    collection = periplus.open(tmp_path / "copy")
    exported = {page.url: f"sha1:{sha1_base32(page.body)}" for page in collection.pages()}
    assert {url for url in exported if url.startswith(f"https://{web.failing}/")} == pages
    assert all(digest in web.genuine[Url(url)] for url, digest in exported.items())
    assert collection.index().total == len(exported)
    collection.export("jsonl", tmp_path / "pages.jsonl")
    assert len((tmp_path / "pages.jsonl").read_text().splitlines()) == len(exported)


def copied(folder: Path, to: Path) -> None:
    """Copy a collection as a kill would leave it."""
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("lock.mdb"))
