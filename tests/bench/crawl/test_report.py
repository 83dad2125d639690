"""What the crawl bench counts and how it tells it."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from bench.crawl.nginx import count
from bench.crawl.report import BEGIN, END, Report, Row, as_json, markdown, put_into
from bench.crawl.web import SITES, host_of, robots, seed_page, sitemap

from bench.crawl import process

HOST = "127.0.1.2:18080"


def line(at: float, path: str, status: int = 200, kind: str = "text/html") -> str:
    return json.dumps({"at": at, "host": HOST, "status": status, "type": kind, "path": path}) + "\n"


def test_only_pages_that_were_answered_count_and_each_once() -> None:
    """Errors, redirects and other types are requests but no pages; a repeat is a fetch but no new page."""
    log = [
        line(10.5, "/a.html"),
        line(9.5, "/a.html", kind="text/html; charset=utf-8"),
        line(11.0, "/b.html", status=404),
        line(11.5, "/c", status=301),
        line(12.0, "/d.txt", kind="text/plain"),
        line(12.5, "/e.html"),
    ]
    seen = count(log)
    assert seen.pages == {(HOST, "/a.html"), (HOST, "/e.html")}
    assert (seen.fetches, seen.requests, seen.first_at) == (3, 6, 9.5)


def test_what_came_after_the_bound_does_not_count() -> None:
    """A contestant that was stopped may have answers under way."""
    assert count([line(1, "/a.html"), line(3, "/b.html")], until=2).pages == {(HOST, "/a.html")}


def test_a_line_cut_short_is_not_an_answer() -> None:
    """A log may end in the middle of a line."""
    assert count([line(1, "/a.html"), line(1, "/b.html")[:30]]).requests == 1


def test_an_empty_log_is_a_crawl_of_nothing() -> None:
    """A contestant that never asked gets no share, and no error."""
    seen = count([])
    assert (seen.share_of({(HOST, "/a.html")}), seen.first_at) == (0.0, None)


def test_the_share_is_of_the_reachable_pages_only() -> None:
    """Pages found in other ways do not make up for pages missed."""
    seen = count([line(1, "/a.html"), line(1, "/framed.html")])
    truth = {(HOST, "/a.html"), (HOST, "/b.html")}
    assert (seen.share_of(truth), seen.beyond(truth)) == (0.5, 1)


def row(name: str, *, status: int | None, units: int = 100, faults: int = 0) -> Row:
    return Row(name, "CRAWL", "1.0", units, 2.0, 4.0, 5_000_000, 0.5, 0, 120, faults, status)


def report(*rows: Row) -> Report:
    at = datetime(2024, 5, 1, tzinfo=UTC)
    return Report(at, True, 8, (0, 1), 0.5, "1.22.1", {"hosts": "50"}, rows, {"absentee": "no node here"})


def test_the_table_has_the_fastest_first_and_names_the_absent() -> None:
    """A reader sees rates, efficiency, memory, share and end of each, and who is missing and why."""
    text = markdown(report(row("slow", status=0), row("fast", status=None, units=400)))
    assert "| fast | 1.0 | 200 | 100 | 4 | 200% | 5 MB | 50.0% | stopped at the bound |" in text
    assert text.index("| fast |") < text.index("| slow |")
    assert "- absentee did not take part: no node here" in text


def test_a_contestant_that_fails_is_told_as_failed() -> None:
    """A crash must not look like a slow crawl."""
    assert "**failed**, exit code 3" in markdown(report(row("broken", status=3)))


def test_a_contestant_that_ends_early_is_told_as_such() -> None:
    """A crawler that gave up must not look like one that has seen everything."""
    assert "**ended early** in 2 s" in markdown(report(row("half", status=0)))


def test_faults_of_the_server_are_never_silent() -> None:
    """A server out of files or memory answers 5xx, and a crawler must not be blamed for that."""
    assert count([line(1, "/a.html", status=500), line(2, "/a.html")]).faults == 1
    assert "**void**: the server failed 2 times" in markdown(report(row("any", status=0, faults=2)))


def test_json_holds_the_rates() -> None:
    """Programs that compare runs need no arithmetic of their own."""
    whole = json.loads(as_json(report(row("one", status=0))))
    assert (whole["rows"][0]["rate"], whole["rows"][0]["cpu_rate"]) == (50.0, 25.0)
    assert whole["at"] == "2024-05-01T00:00:00+00:00"


def test_figures_go_between_the_marks_and_nowhere_else(tmp_path: Path) -> None:
    """The prose around them is a person's; a second run replaces the first."""
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{BEGIN}\nold\n{END}\nafter\n")
    put_into(page, report(row("one", status=0)))
    put_into(page, report(row("two", status=0)))
    text = page.read_text()
    assert text.startswith(f"before\n\n{BEGIN}\n")
    assert text.endswith(f"{END}\nafter\n")
    assert ("old" in text, "| one |" in text, text.count("| two |")) == (False, False, 1)


def test_a_page_without_marks_gains_them(tmp_path: Path) -> None:
    """The first run on a new page needs no preparation."""
    page = tmp_path / "page.md"
    page.write_text("before\n")
    put_into(page, report(row("one", status=0)))
    assert page.read_text().count(BEGIN) == page.read_text().count(END) == 1


def test_the_seed_page_links_to_every_entry() -> None:
    """Every manual is reachable, and no two share an address."""
    page = seed_page(SITES)
    entries = [(host_of(number), entry) for number, site in enumerate(SITES) for entry in site.entries]
    assert page.count("<a ") == len(entries) == len(set(entries))
    assert all(f"//{host}:" in page for host, _ in entries)


def test_sitemaps_are_escaped() -> None:
    """A path with an ampersand must not break the file."""
    assert b"<loc>http://h/a&amp;b</loc><lastmod>2024-01-01</lastmod>" in sitemap([("http://h/a&b", "2024-01-01")])
    assert robots("h", "s.xml").endswith(b"Sitemap: http://h/s.xml\n")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the bench measures with what Linux tells")
def test_children_are_measured_and_none_is_left(tmp_path: Path) -> None:
    """A grandchild that outlives its parent and leaves the group counts, and ends when the leader ends."""
    burn = "import os, pathlib, time\nif os.fork(): os._exit(0)\nos.setsid()\nend = time.process_time() + 0.2\n"
    burn += "while time.process_time() < end: pass\n"
    burn += "pathlib.Path('pid').write_text(str(os.getpid()))\nos.rename('pid', 'burnt')\ntime.sleep(600)\n"
    script = f"import pathlib, subprocess, sys, time\nsubprocess.run([sys.executable, '-c', {burn!r}])\n"
    script += "while not pathlib.Path('burnt').exists(): time.sleep(0.01)\n"
    ended = process.run([sys.executable, "-c", script], seconds=600.0, folder=tmp_path, core=None)
    assert ended.status == 0
    assert ended.cpu_seconds >= 0.2
    assert ended.peak_bytes > ended.peak_anonymous > 2_000_000
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "burnt").read_text()), 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the bench measures with what Linux tells")
def test_the_bound_ends_a_run(tmp_path: Path) -> None:
    """A program that would go on is stopped, and has no status."""
    ended = process.run([sys.executable, "-c", "import time; time.sleep(600)"], seconds=0.3, folder=tmp_path, core=None)
    assert ended.status is None
    assert ended.ended_at - ended.started_at >= 0.3


def test_an_end_before_the_bound_is_told_with_its_code(tmp_path: Path) -> None:
    """Done, and failed, differ from stopped."""
    ended = process.run(
        [sys.executable, "-c", "print('x'); raise SystemExit(3)"], seconds=30, folder=tmp_path, core=None
    )
    assert ended.status == 3
    assert (tmp_path / "stdout").read_text() == "x\n"
