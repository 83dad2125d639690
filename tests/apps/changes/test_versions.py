"""All versions of a page, and the difference between any two of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.apps.changes.kept_versions import KeptVersions, article

from periplus.apps.changes import RunStatus, diff_of, version_at, versions
from periplus.apps.changes.difference import MAX_TEXT
from periplus.model import Url, UsageError

A = Url("http://a.test/")
T = 1_700_000_000.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with KeptVersions(tmp_path) as kept:
        kept.page(A, article("Prices begin at ten euros.", "Open on Monday."), T)
        kept.page("http://a.test/other", article("Not this page."), T + 1)
        kept.same(A, T + 10)
        kept.page(A, article("Prices begin at twelve euros.", "Open on Monday.", title="New prices"), T + 20)
        kept.failed(A, T + 25)
        kept.status(A, 404, T + 30)
        kept.page(A, article("Prices begin at ten euros.", "Open on Monday."), T + 40)
    return tmp_path


def test_every_visit_that_tells_of_the_page(folder: Path) -> None:
    """In order, with what was there; the same bytes have the same digest and lie in one place."""
    found = versions(folder, A)
    assert [(visit.at - T, visit.outcome, visit.status) for visit in found] == [
        (0.0, "fetched", 200),
        (10.0, "not-modified", 304),
        (20.0, "fetched", 200),
        (30.0, "fetched", 404),
        (40.0, "fetched", 200),
    ]
    digests = [visit.digest for visit in found]
    assert digests[0] == digests[1] == digests[4] != digests[2]
    assert digests[3] == ""
    first, last = found[0].version, found[4].version
    assert first is not None
    assert last is not None
    assert last.body == first.stored
    assert found[3].version is None


def test_the_difference_between_any_two(folder: Path) -> None:
    """By the times at which they were the page."""
    detail = diff_of(folder, A, T + 15, T + 22)
    assert (detail.title_before, detail.title) == ("A page", "New prices")
    assert detail.difference is not None
    (changed,) = [passage for passage in detail.difference.passages if passage.is_changed]
    assert [(run.mark, run.text.strip()) for run in changed.runs if run.mark is not RunStatus.KEPT] == [
        (RunStatus.REMOVED, "ten"),
        (RunStatus.ADDED, "twelve"),
    ]
    back = diff_of(folder, A, T, T + 50)
    assert back.size == 0.0


def test_a_time_before_the_first_version_is_refused(folder: Path) -> None:
    """There is nothing to compare."""
    assert version_at(versions(folder, A), T - 1) is None
    with pytest.raises(UsageError):
        diff_of(folder, A, T - 1, T + 50)


def test_what_cannot_be_read_is_said(folder: Path) -> None:
    """A lost archive is a reason, not a crash."""
    for path in (folder / "warc").glob("*.warc.gz"):
        path.unlink()
    assert diff_of(folder, A, T, T + 20).problem == "damaged"


def test_navigation_is_not_part_of_the_text(tmp_path: Path) -> None:
    """Only lines of the main text are compared, and links wherever they are."""
    old = "<nav><p><a href='/1'>One</a></nav><main><p>The main text is long enough to count.</p></main>"
    new = "<nav><p><a href='/2'>Two</a></nav><main><p>The main text is long enough to count.</p></main>"
    with KeptVersions(tmp_path) as kept:
        kept.page(A, old, T)
        kept.page(A, new, T + 1)
    detail = diff_of(tmp_path, A, T, T + 1)
    assert detail.size == 0.0
    assert (detail.links.new, detail.links.gone) == (("http://a.test/2",), ("http://a.test/1",))


@pytest.mark.proof
def test_the_beginning_of_huge_texts_is_compared(tmp_path: Path) -> None:
    """What differs behind it is not seen, and that is reported."""
    lines = [f"<p>Paragraph {number} of a long text." for number in range(MAX_TEXT // 16)]
    with KeptVersions(tmp_path) as kept:
        for at, first, last in ((T, "once", "one"), (T + 1, "soon", "two")):
            kept.page(A, "\n".join([f"<main><p>As it was {first}.", *lines, f"<p>The end of {last}.</main>"]), at)
    found = diff_of(tmp_path, A, T, T + 1).difference
    assert found is not None
    assert (found.removed, found.added, found.is_cut) == (1, 1, True)
