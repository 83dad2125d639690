"""What is shown while a crawl runs: everything that matters, at every width, and nothing that breaks a terminal."""

from __future__ import annotations

import io
from itertools import pairwise

from rich.console import Console
from tests.each_case import each_case

from periplus.cli.crawl.live import PLAIN_EVERY, PLAIN_MOST, Display, screen
from periplus.collection.progress import Progress
from periplus.collection.progress_text import progress_line
from periplus.engine.stats import CrawlStats
from periplus.model import Site

TALLY = CrawlStats(
    fetches=13_000,
    pages=12_431,
    new=11_902,
    copies=529,
    downloaded=340_000_000,
    errors={"http-404": 31, "timeout": 7},
    sources={"link": 29_544, "sitemap": 31_007},
)
PROGRESS = Progress(
    TALLY,
    known=48_210,
    queued=35_741,
    sites=41,
    ready=0,
    visited=6,
    resting=35,
    backing_off=2,
    next_site=Site("api.example.org"),
    next_in=0.4,
    rate=512.0,
    left=4_340.0,
    elapsed=25.0,
)


def drawn(width: int, progress: Progress = PROGRESS) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True, force_terminal=True)
    console.print(screen(progress, "periplus crawl https://docs.example.org -o docs", "2 shards", width))
    return console.export_text().splitlines()


@each_case("width", [80, 100, 120, 200])
def test_every_fact_is_shown_at_every_width(width: int) -> None:
    """Pages, rate, errors with reasons, sources, queue, hosts, the next site, bytes, the time left, how to stop."""
    lines = drawn(width)
    text = "\n".join(lines)
    assert max(map(len, lines)) <= width
    for fact in (
        "12,431",
        "512/s",
        "new 11,902",
        "dup 529",
        "errors 38 (404 31 · timeout 7)",
        "48,210",
        "queue 35,741",
    ):
        assert fact in text
    for fact in ("ready 6 · resting 33 · backing off 2", "next: api.example.org in 0.4 s", "340 MB", "1 h 12 m"):
        assert fact in text
    assert "sitemaps 31,007 · links 29,544 · several 12,341" in text
    assert "Ctrl-C stops and keeps everything" in text


def test_an_empty_crawl_can_be_shown() -> None:
    """The first moment has no numbers, no next site and no estimate."""
    text = "\n".join(drawn(80, Progress(CrawlStats())))
    assert "pages" in text
    assert "no errors" in text


def test_a_hostile_name_stays_text() -> None:
    """What looks like markup or is very long is shown as it is, within the width."""
    hostile = Progress(CrawlStats(), next_site=Site("[bold]x[/]" + "y" * 300), next_in=1.0)
    lines = drawn(80, hostile)
    assert any("[bold]x" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_elsewhere_than_on_a_terminal_a_plain_line_now_and_then() -> None:
    """One line at the beginning and one every ten seconds at first, without control characters."""
    file = io.StringIO()
    with Display(Console(file=file, width=40), "periplus crawl a.test", "1 shard") as display:
        for second in range(35):
            display.show(Progress(TALLY, elapsed=float(second), rate=1.0))
        display.stopping()
    lines = file.getvalue().splitlines()
    assert len(lines) == 1 + 35 // int(PLAIN_EVERY) + 1
    assert lines[1].startswith("10 s: 12,431 pages, 1.0/s, 38 errors")
    assert "\x1b" not in file.getvalue()


def test_plain_lines_become_fewer() -> None:
    """A day is some hundred lines, not 8,640, and no two are more than five minutes apart."""
    file, day = io.StringIO(), 86_400
    with Display(Console(file=file, width=40), "periplus crawl a.test", "1 shard") as display:
        shown = [0]
        for second in range(day):
            before = file.tell()
            display.show(Progress(TALLY, elapsed=float(second)))
            shown += [second] if file.tell() > before else []
    steps = [later - earlier for earlier, later in pairwise(shown)]
    assert steps[0] == PLAIN_EVERY
    assert max(steps) == PLAIN_MOST
    assert len(shown) < 350


def test_on_a_terminal_lines_stay_in_place() -> None:
    """The cursor goes up, and comes back at the end; that it is stopping is shown at once."""
    file = io.StringIO()
    console = Console(file=file, width=100, force_terminal=True, legacy_windows=False)
    with Display(console, "periplus crawl a.test", "1 shard") as display:
        display.show(PROGRESS)
        display.stopping()
    said = file.getvalue()
    assert "stopping" in said
    assert "\x1b[1A" in said
    assert said.count("\x1b[?25l") == said.count("\x1b[?25h") == 1


def test_a_plain_line_says_what_matters() -> None:
    """Pages, rate, errors, queue, hosts, bytes and the time left."""
    assert progress_line(PROGRESS) == (
        "25 s: 12,431 pages, 512/s, 38 errors, known 48,210, queue 35,741, "
        "hosts 41 (ready 6 · resting 33 · backing off 2), 340 MB, about 1 h 12 m left"
    )
