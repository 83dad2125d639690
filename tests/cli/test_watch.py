"""What is shown while a collection is watched: everything that matters, at every width, and the same for programs."""

from __future__ import annotations

import io
import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from tests.each_case import each_case

from periplus.cli.crawl.live import PLAIN_EVERY, screen
from periplus.cli.watch import ProgressReporter, UpcomingVisit, WatchLine, line_of, plain_line, since, view_of
from periplus.collection.progress import Meter, Progress
from periplus.engine.overview import FrontierStats
from periplus.engine.shard import ShardStatus
from periplus.engine.stats import CrawlStats
from periplus.model import Freshness, NextVisit, Url

COMMANDS = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text()
NOW = 1e9
BEFORE = CrawlStats(fetches=100, pages=90, new=90, changed=4, same=6, errors={"http-404": 3, "timeout": 1})
AFTER = CrawlStats(fetches=160, pages=140, new=92, changed=24, same=26, errors={"http-404": 5, "timeout": 1})
VISITS = (
    NextVisit(Url("http://a.test/w"), NOW, "told", is_waiting=True, rate=1.0, signals={"sitemap": 1}),
    NextVisit(Url("http://a.test/b"), NOW + 600, "worth", rate=1.0),
)
PROGRESS = Progress(
    AFTER,
    known=120,
    queued=7,
    sites=3,
    elapsed=75.0,
    left=99.0,
    at=NOW,
    freshness=Freshness(1_000, 0.812, 0.795, 0.829, 90_000.0, 0.0142, 300),
    next_visits=VISITS,
)
CENSUS = FrontierStats(0, 0, 0, 0, 0, 0, 0, 0)
EMPTY = Progress(CrawlStats(), at=NOW)


def drawn(width: int, progress: Progress = PROGRESS) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True, force_terminal=True)
    console.print(screen(progress, "periplus watch docs", "1 shard", width, view=view_of(BEFORE, 10_000.0)))
    return console.export_text().splitlines()


@each_case("width", [80, 100, 124, 200])
def test_every_fact_of_a_watch_is_shown_at_every_width(width: int) -> None:
    """Freshness with its interval, age, visits, needless ones, budget, price, the next visits and why each."""
    lines = drawn(width)
    text = "\n".join(lines)
    assert max(map(len, lines)) <= width
    for fact in (
        "81.2 %",
        "of 1,000 pages (95 %: 79.5 to 82.9 %)",
        "visited 1 d 1 h ago",
        "changed 20 · same 20: needless 50 %",
        "10,000 a day allowed",
        "errors 2 (404 2)",
        "price of a visit 0.0142",
        "http://a.test/w",
        "the sitemap's lastmod moved",
        "in 10 m",
        "changes about every 1 d: then worth its price",
        "1 m 15 s so far",
        "Ctrl-C stops and keeps everything",
    ):
        assert fact in text, fact


def test_the_first_moment_can_be_shown() -> None:
    """There is no freshness yet, and nothing to compare."""
    text = "\n".join(drawn(80, EMPTY))
    assert "not known yet" in text
    assert "none to compare yet" in text
    assert plain_line(EMPTY, since(CrawlStats(), CrawlStats())) == "0 s: freshness not known yet, 0 visits, 0 new"


def test_a_plain_line_says_it_all() -> None:
    """Where there is no terminal."""
    assert plain_line(PROGRESS, since(BEFORE, AFTER)) == (
        "1 m 15 s: fresh 81.2 % (95 %: 79.5 to 82.9 %) of 1,000 pages, visited 1 d 1 h ago on average, "
        "40 visits, 50 % needless, 2 new, 2 errors, next now: http://a.test/w (the sitemap's lastmod moved)"
    )


def test_programs_are_told_the_same() -> None:
    """Of this run, with times that need no clock."""
    line = line_of("docs", PROGRESS, BEFORE, 10_000.0, "time")
    assert (line.fresh, line.fresh_low, line.fresh_high) == (0.812, 0.795, 0.829)
    assert (line.visits, line.changed, line.same, line.needless) == (40, 20, 20, 0.5)
    assert (line.new, line.errors, line.fetches, line.waiting) == (2, 2, 60, 7)
    assert [(visit.due_in, visit.reason) for visit in line.next_visits] == [(0.0, "told"), (600.0, "worth")]
    first = line_of("docs", EMPTY, CrawlStats(), 1440.0)
    assert (first.pages, first.fresh, first.needless, first.ended) == (0, None, None, "")


@pytest.mark.parametrize("kind", [WatchLine, UpcomingVisit])
def test_every_key_of_a_line_is_documented(kind: type[msgspec.Struct]) -> None:
    """Programs are written against them."""
    section = re.search(r"^## `periplus watch\b.*?(?=^## )", COMMANDS, re.MULTILINE | re.DOTALL)
    assert section
    assert [name for name in kind.__struct_fields__ if f"`{name}`" not in section[0]] == []


def test_a_freshness_that_no_visit_has_checked_is_not_stated() -> None:
    """Without a revisit there is no number, on a terminal, on a line and for programs."""
    guess = msgspec.structs.replace(PROGRESS, freshness=Freshness(731, 1.0, 0.999, 1.0, 60.0, 1.0, 0))
    assert "not checked yet: none of 731 pages was visited twice" in "\n".join(drawn(124, guess))
    assert plain_line(guess, since(BEFORE, BEFORE)).startswith("1 m 15 s: freshness of 731 pages not checked yet, ")
    line = line_of("docs", guess, BEFORE, 1.0)
    assert (line.fresh, line.fresh_low, line.fresh_high, line.checked) == (None, None, None, 0)
    assert line.pages == 731


def test_a_freshness_that_few_visits_have_checked_is_an_interval() -> None:
    """One page was visited 29 times, and 2,445 once: people are not shown a guess, and programs have its interval."""
    guess = msgspec.structs.replace(PROGRESS, freshness=Freshness(2_446, 0.551, 0.0, 1.0, 60.0, 1.0, 1))
    said = "not known to 20 points yet: 1 of 2,446 pages visited twice (95 %: 0.0 to 100.0 %)"
    assert said in "\n".join(drawn(160, guess))
    assert f"freshness {said}, " in plain_line(guess, since(BEFORE, BEFORE))
    line = line_of("docs", guess, BEFORE, 1.0)
    assert (line.fresh, line.fresh_low, line.fresh_high, line.checked) == (0.551, 0.0, 1.0, 1)


def test_shards_are_one_collection() -> None:
    """Freshness is the mean over pages; who waits comes first, then who is due first, as many as one shard tells."""
    later = NextVisit(Url("http://b.test/"), NOW + 5, "worth")
    parts = [
        ShardStatus(0, CENSUS, CrawlStats(), False, False, Freshness(100, 0.9, 0.88, 0.91, 10.0, 1.0, 5), VISITS),
        ShardStatus(1, CENSUS, CrawlStats(), False, False, Freshness(300, 0.5, 0.3, 0.6, 30.0, 2.0, 0), (later,)),
    ]
    progress = Meter(NOW).read(parts, NOW)
    assert progress.freshness is not None
    assert progress.freshness.fresh == pytest.approx(0.6)
    assert 0.3 < progress.freshness.low < 0.5 < 0.65 < progress.freshness.high < 0.7
    assert progress.freshness.checked == 5
    assert [visit.url for visit in progress.next_visits] == ["http://a.test/w", "http://b.test/"]
    none = Meter(NOW).read([ShardStatus(0, CENSUS, CrawlStats(), False, False)], NOW)
    assert (none.freshness, none.next_visits) == (None, ())


def test_programs_hear_now_and_then() -> None:
    """As soon as freshness is known, then once an interval; the last is kept for the end."""
    heard: list[float] = []
    teller = ProgressReporter(lambda progress: heard.append(progress.elapsed))
    teller.update(EMPTY)
    moments = [1.0, 1.5, PLAIN_EVERY, 1.0 + PLAIN_EVERY, 1.5 + PLAIN_EVERY]
    for elapsed in moments:
        teller.update(msgspec.structs.replace(PROGRESS, elapsed=elapsed))
    assert heard == [1.0, 1.0 + PLAIN_EVERY]
    assert teller.last is not None
    assert teller.last.elapsed == moments[-1]
