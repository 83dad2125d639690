"""`apps.changes.changes_since`: what appeared, changed and vanished, from the tables."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.apps.changes.kept_versions import KeptVersions, article
from tests.each_case import each_case

from periplus.apps.changes import ChangeKind, changes_since, detail_of, run_beginnings, usual_beginning
from periplus.apps.changes.refreshing import RefreshPlan, RefreshSelection, unfinished
from periplus.apps.changes.window import Piece, runs_of
from periplus.engine.stats import CrawlStats
from periplus.model import Url
from periplus.store.layout import Layout
from periplus.store.tables import SCHEMAS

A, B, C, D = (Url(f"http://{name}.test/") for name in "abcd")
T = 1_700_000_000.0


def told(folder: Path, since: float, until: float | None = None, **filters: object) -> list[tuple[str, str, float]]:
    found = changes_since(folder, T + since, None if until is None else T + until, **filters)  # type: ignore[arg-type]
    return sorted((change.url, change.kind.value, change.seen_at - T) for change in found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four pages: one changes, one vanishes and comes back, one stays, one was never there."""
    with KeptVersions(tmp_path) as kept:
        kept.robots("a.test", T)
        kept.page(A, article("The first text of this page.", "It has two paragraphs."), T + 10)
        kept.page(B, article("Another page entirely."), T + 11)
        kept.page(C, article("A page that stays."), T + 12)
        kept.status(D, 404, T + 13)
        kept.same(C, T + 20)
        kept.page(A, article("The second text of this page.", "It has two paragraphs."), T + 21)
        kept.status(B, 410, T + 22)
        kept.failed(C, T + 23)
        kept.status(C, 503, T + 24)
        kept.status(B, 404, T + 30)
        kept.page(C, article("A page that stays."), T + 31)
        kept.page(B, article("Another page entirely."), T + 40)
        kept.redirect(B, C, T + 50)
        kept.forbidden(A, T + 51)
        kept.forbidden(C, T + 52, "robots-unreachable")
    return tmp_path


def test_everything_that_happened_and_nothing_else(folder: Path) -> None:
    """Failures and bad servers say nothing; what is gone vanishes once; what was never there cannot."""
    assert told(folder, 0) == [
        (A, "appeared", 10.0),
        (A, "changed", 21.0),
        (A, "vanished", 51.0),
        (B, "appeared", 11.0),
        (B, "appeared", 40.0),
        (B, "vanished", 22.0),
        (B, "vanished", 50.0),
        (C, "appeared", 12.0),
    ]


def test_a_span_knows_what_was_before_it(folder: Path) -> None:
    """What was there before does not appear; the end does not belong to a span."""
    assert told(folder, 15, 30) == [(A, "changed", 21.0), (B, "vanished", 22.0)]
    assert told(folder, 30, 50) == [(B, "appeared", 40.0)]
    assert told(folder, 31, 40) == []
    assert told(folder, 60) == []


def test_what_is_said_of_each(folder: Path) -> None:
    """Why a page vanished, where it leads, whether it is back, and which versions it had."""
    found = {(change.url, change.seen_at - T): change for change in changes_since(folder, T)}
    assert found[A, 51.0].reason == "robots"
    assert found[B, 22.0].reason == "http-410"
    assert (found[B, 50.0].reason, found[B, 50.0].target) == ("redirected", C)
    assert [found[B, at].is_back for at in (11.0, 40.0)] == [False, True]
    changed = found[A, 21.0]
    assert changed.level == "major"
    assert changed.before is not None
    assert changed.after is not None
    assert (changed.before.at - T, changed.after.at - T) == (10.0, 21.0)
    assert found[B, 11.0].before is None
    assert found[B, 50.0].before is not None
    assert found[B, 50.0].after is None


def test_filters(folder: Path, tmp_path: Path) -> None:
    """By site, subdomains with it; by path; by kind."""
    with KeptVersions(tmp_path / "other") as kept:
        for url in ("http://a.test/docs/x", "http://sub.a.test/docs/y", "http://ba.test/docs/z", "http://a.test/blog"):
            kept.page(url, article("Text."), T)
    other = tmp_path / "other"
    assert [url for url, *_ in told(other, 0, sites=["a.test"])] == [
        "http://a.test/blog", "http://a.test/docs/x", "http://sub.a.test/docs/y",
    ]  # fmt: skip
    assert [url for url, *_ in told(other, 0, sites=["A.test"], paths=["/docs/*"])] == [
        "http://a.test/docs/x", "http://sub.a.test/docs/y",
    ]  # fmt: skip
    assert {kind for _, kind, _ in told(folder, 0, kinds=[ChangeKind.VANISHED])} == {"vanished"}
    assert told(folder, 0, sites=["nobody.test"]) == []


def test_levels_are_those_that_the_crawl_gave(tmp_path: Path) -> None:
    """A clock that moved is not a change; a word in a long text is a small one."""
    words = " ".join(f"word{number}" for number in range(2000))
    with KeptVersions(tmp_path) as kept:
        kept.page(A, article(words, "at 12:30"), T)
        kept.page(A, article(words, "at 12:31"), T + 1)
        kept.page(A, article(words + " more", "at 12:31"), T + 2)
        kept.page(A, article("Something else altogether"), T + 3)
    found = [
        (change.seen_at - T, change.level) for change in changes_since(tmp_path, T) if change.kind is ChangeKind.CHANGED
    ]
    assert found == [(2.0, "minor"), (3.0, "major")]


def test_a_revisit_leads_to_the_bytes_it_refers_to(tmp_path: Path) -> None:
    """A version that was the same as an earlier one, of this page or another, is read from there."""
    first, second = article("The text of old."), article("The new text.")
    with KeptVersions(tmp_path) as kept:
        kept.page(B, second, T)
        kept.page(A, first, T + 10)
        kept.page(A, first, T + 20)
        kept.same(A, T + 25)
        kept.page(A, second, T + 30)
    (change,) = changes_since(tmp_path, T + 28)
    assert change.before is not None
    assert change.after is not None
    assert change.before.stored is not None
    assert change.after.stored is not None
    assert change.before.stored.is_revisit
    assert change.after.stored.is_revisit
    detail = detail_of(tmp_path, change)
    assert detail.problem == ""
    assert detail.difference is not None
    assert (detail.difference.before, detail.difference.after) == (4, 3)


def test_shards_and_earlier_visits_are_put_together(tmp_path: Path) -> None:
    """Of many earlier visits only the last are held, and the answer is the same."""
    for shard in range(3):
        with KeptVersions(tmp_path, shard) as kept:
            for number in range(20):
                kept.page(f"http://s{shard}.test/{number % 4}", article(f"Round {number // 4}."), T + number)
            kept.status(f"http://s{shard}.test/0", 404, T + 100)
            kept.page(f"http://s{shard}.test/1", article("Last round."), T + 101)
    found = told(tmp_path, 50)
    assert found == sorted(
        change
        for shard in range(3)
        for change in (
            (f"http://s{shard}.test/0", "vanished", 100.0),
            (f"http://s{shard}.test/1", "changed", 101.0),
        )
    )


def test_a_collection_without_an_archive_is_told_too(tmp_path: Path) -> None:
    """A simulation keeps no bytes: what happened is known, what it is about is not."""
    with KeptVersions(tmp_path, is_archived=False) as kept:
        kept.page(A, article("One."), T)
        kept.page(A, article("Two."), T + 1)
    changes = list(changes_since(tmp_path, T))
    assert [change.kind.value for change in changes] == ["appeared", "changed"]
    assert [detail_of(tmp_path, change).problem for change in changes] == ["not-kept", "not-kept"]


def test_a_crawl_that_runs_is_told_too(tmp_path: Path) -> None:
    """Its last rows are in no Parquet file yet, and its last answers in an archive that is still open."""
    with KeptVersions(tmp_path) as kept:
        kept.page(A, article("One text."), T)
        kept.page(A, article("Another text."), T + 1)
        kept.page(B, article("One text."), T + 2)
        spooled = kept.checkpoint()
        kept.page(C, article("Not durable yet."), T + 3)
        changes = list(changes_since(tmp_path, T, spooled=[spooled]))
        assert [(change.url, change.kind.value) for change in changes] == [
            (A, "appeared"), (A, "changed"), (B, "appeared"),
        ]  # fmt: skip
        details = [detail_of(tmp_path, change) for change in changes]
        assert [detail.problem for detail in details] == ["", "", ""]
        assert details[1].size


def test_an_empty_collection_has_no_changes(tmp_path: Path) -> None:
    """Nothing happened: tables without rows, or no tables at all."""
    assert list(changes_since(tmp_path, T)) == []
    with KeptVersions(tmp_path):
        pass
    assert list(changes_since(tmp_path, T)) == []
    assert set(SCHEMAS) >= {"fetches", "changes"}


def test_an_edit_outside_of_the_main_text_is_one_elsewhere(tmp_path: Path) -> None:
    """It is listed with what differs, as a kind of its own; a counter is not."""
    text = article(*(f"Paragraph {number} of the text, which people read here." for number in range(20)))
    note = "<p>A note that was put below the text of the page."
    with KeptVersions(tmp_path) as kept:
        for at, page in enumerate((text, f"{text}<p>1 visitor", f"{text}<p>2 visitors{note}")):
            kept.page(A, page, T + 10 * at)
    assert told(tmp_path, 0) == [(A, "appeared", 0.0), (A, "elsewhere", 20.0)]
    assert told(tmp_path, 0, kinds=(ChangeKind.CHANGED,)) == []
    [change] = changes_since(tmp_path, T + 1)
    detail = detail_of(tmp_path, change)
    assert change.level == "elsewhere"
    assert detail.difference is not None
    assert any("put below" in run.text for passage in detail.difference.passages for run in passage.runs)


def test_the_usual_beginning_is_that_of_the_last_run_that_found_something(tmp_path: Path) -> None:
    """A run ends with a pause; one that found nothing is passed over; a day is the most."""
    hour = 3_600.0
    begun = T - T % 60
    with KeptVersions(tmp_path / "runs") as kept:
        kept.page(A, article("One."), begun)
        kept.page(B, article("Two."), begun + 5 * hour)
        kept.page(A, article("Three."), begun + 5.1 * hour)
        kept.same(A, begun + 9 * hour)
    usual = usual_beginning(tmp_path / "runs", T + 10 * hour)
    assert (usual.at, usual.why) == (begun + 5 * hour, "run")
    with KeptVersions(tmp_path / "watch") as kept:
        kept.page(A, article("One."), begun)
        for number in range(1, 400):
            kept.same(A, begun + number * hour / 6)
        kept.page(A, article("Two."), begun + 66.5 * hour)
    usual = usual_beginning(tmp_path / "watch", T + 100 * hour)
    assert (usual.at, usual.why) == (begun + 66.5 * hour - 24 * hour, "day-of-run")
    assert usual_beginning(tmp_path, T).why == "day"


def test_runs_that_follow_each_other_closely_are_told_apart(tmp_path: Path) -> None:
    """A run that ended closed its file: the next is another, however soon; one that found nothing is passed over."""
    with KeptVersions(tmp_path) as kept:
        kept.page(A, article("One."), T)
        kept.end_run()
        kept.robots("a.test", T + 10)
        kept.page(B, article("Two."), T + 11)
        kept.page(C, article("Three."), T + 12)
        kept.end_run()
        kept.same(A, T + 20)
    usual = usual_beginning(tmp_path, T + 100)
    assert (usual.at, usual.why) == (T + 10, "run")
    assert [change.url for change in changes_since(tmp_path, usual.at)] == [B, C]


def test_the_phases_of_a_refresh_are_one_run(tmp_path: Path) -> None:
    """It asks known pages first, then fetches new ones: each phase closes its files. The run after it is another."""
    with KeptVersions(tmp_path) as kept:
        for at, page in enumerate((A, A, B, C)):
            kept.page(page, article(f"Text {at}."), T + 10 * at)
            kept.end_run()
    layout = Layout(tmp_path)
    layout.refresh_plan.parent.mkdir(exist_ok=True)
    plan = RefreshPlan(RefreshSelection(), T + 5, 1, True, CrawlStats(), ended_at=T + 25, is_complete=True)
    layout.refresh_plan.write_bytes(msgspec.json.encode(plan))
    assert unfinished(layout) is None
    assert run_beginnings(tmp_path) == [T, T + 10, T + 30]


def test_everything_of_one_run_is_the_first(tmp_path: Path) -> None:
    """Nothing was there before that it could be compared with."""
    with KeptVersions(tmp_path) as kept:
        kept.page(A, article("One."), T)
        kept.page(B, article("Two."), T + 30)
        kept.end_run()
        assert usual_beginning(tmp_path, T + 100).asked_at is None
        kept.same(A, T + 60)
    usual = usual_beginning(tmp_path, T + 100)
    assert (usual.at, usual.why, usual.asked_at) == (T, "first-run", T + 60)


def test_a_second_run_in_the_same_second_is_not_the_first(tmp_path: Path) -> None:
    """Runs are told apart by their files, not by the second in which they began."""
    with KeptVersions(tmp_path) as kept:
        kept.page(A, article("One."), T)
        kept.end_run()
        kept.page(A, article("Two."), T + 0.3)
    assert usual_beginning(tmp_path, T + 100).why == "run"


def test_a_run_that_still_goes_on_is_one_too(tmp_path: Path) -> None:
    """What it wrote is in no file yet."""
    with KeptVersions(tmp_path) as kept:
        kept.page(A, article("One."), T)
        kept.end_run()
        kept.page(B, article("Two."), T + 15)
        usual = usual_beginning(tmp_path, T + 100, spooled=[kept.checkpoint()])
    assert (usual.at, usual.why) == (T + 15, "run")


@each_case(
    ("pieces", "begun"),
    [
        ([], []),
        ([(0, 9, 0), (1, 5, 1)], [0]),
        ([(0, 1, 0), (5, 9, 1)], [0]),
        ([(0, 9, 0), (1, 5, 1), (20, 30, 1), (21, 40, 0), (50, 60, 0)], [0, 20, 50]),
        ([(0, 9, 0), (20, 30, 1), (21, 40, 0)], [0, 20]),
    ],
)
def test_shards_of_a_run_begin_it_together(pieces: list[tuple[int, int, int]], begun: list[int]) -> None:
    """Each shard writes one piece in a run; one that had nothing to do in a run may begin the next."""
    second = 1_000_000
    found = runs_of(Piece(first * second, last * second, shard) for first, last, shard in pieces)
    assert found == [at * second for at in begun]
