"""Logs of a small published site: what is needless, who obeys, what is shown of addresses."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from tests.published.log_lines import BROWSER, GOOGLEBOT, line
from tests.published.small_site import DAY, Site

from periplus.model import UsageError
from periplus_sites.logs import AgentTable, Answer, LogReport, read_logs
from periplus_sites.logs.visits import MANY_PAGES, STEADY_PAGES, Tally

BING = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"
START = 1_750_000_000.0


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(lines))
    return path


def names(report: LogReport) -> set[str]:
    return {found.name for found in report.findings}


def test_crawlers_and_people_are_told_apart(tmp_path: Path) -> None:
    log = written(
        tmp_path / "access.log",
        line("/robots.txt", START),
        line("/a", START + 1, size=300),
        line("/a", START + 2, size=300),
        line("/a", START + 3, size=400),
        line("/a", START + 4, status=304, size=0),
        line("/a.png", START + 5, BROWSER, ip="192.0.2.9", size=700),
        line("/gone", START + 6, BING, status=404),
    )
    report = read_logs([log])
    assert (report.requests, report.crawler_requests, report.lines) == (7, 6, 7)
    google, bing = report.crawlers
    assert (google.name, google.requests, google.urls, google.robots_reads) == ("Googlebot", 5, 2, 1)
    assert (google.needless.repeated, google.needless.same, google.needless.bytes) == (3, 2, 300)
    assert google.needless.min_needless == 2
    assert google.statuses == {200: 4, 304: 1}
    assert (bing.errors, bing.error_examples) == (1, ("/gone",))
    assert google.forbidden is None
    assert google.needless.exact is None


def test_with_a_ledger_needless_is_exact(tmp_path: Path) -> None:
    """The same size twice, once of an unchanged page and once of a changed one."""
    site = Site(tmp_path, 30)
    site.scan()
    site.now += DAY
    site.edit(1)
    changed_at = site.now
    site.now += 600
    site.scan()
    visits = (START + 100, START + 2 * DAY)
    lines = [line(f"/page{number}.html", at) for at in visits for number in (1, 2)]
    log = written(tmp_path / "access.log", *lines, line("/old.html", visits[1]))
    report = read_logs([log], ledger=site.out / ".periplus-publish")
    google = report.crawlers[0]
    assert (google.needless.judged, google.needless.exact, google.needless.bytes) == (2, 1, 1_000)
    assert google.needless.same == 2
    assert google.lag_median == visits[1] - changed_at
    assert google.never_visited == 28
    assert (report.orphans, report.orphan_examples) == (1, ("/old.html",))
    assert "orphans-visited" in names(report)


def test_visits_before_the_ledger_are_not_judged(tmp_path: Path) -> None:
    site = Site(tmp_path, 5)
    site.scan()
    log = written(tmp_path / "access.log", *(line("/page1.html", START - DAY * number) for number in (2, 1)))
    assert read_logs([log], ledger=site.out / ".periplus-publish").crawlers[0].needless.judged == 0


def test_a_folder_without_a_ledger_is_refused(tmp_path: Path) -> None:
    log = written(tmp_path / "access.log", line("/", START))
    with pytest.raises(UsageError, match="has no ledger"):
        read_logs([log], ledger=tmp_path)
    assert not (tmp_path / "ledger.sqlite").exists()


def test_requests_are_checked_with_robots_txt(tmp_path: Path) -> None:
    """Each crawler by its own rules, and the file itself is always allowed."""
    robots = tmp_path / "rules.txt"
    robots.write_text("User-agent: bingbot\nDisallow: /\n\nUser-agent: *\nDisallow: /private\nCrawl-delay: 10\n")
    log = written(
        tmp_path / "access.log",
        line("/robots.txt", START, BING),
        line("/a", START, BING),
        line("/a", START),
        line("/private/x", START + 60),
        line("/b", START + 63),
    )
    report = read_logs([log], robots_file=robots)
    found = {each.name: each for each in report.crawlers}
    assert (found["bingbot"].forbidden, found["bingbot"].forbidden_examples) == (1, ("/a",))
    assert (found["Googlebot"].forbidden, found["Googlebot"].forbidden_examples) == (1, ("/private/x",))
    assert (found["Googlebot"].crawl_delay, found["Googlebot"].faster_than_delay) == (10.0, 1)
    assert "crawler-ignores-robots" in names(report)


def test_robots_txt_beside_a_ledger_holds_from_the_day_after_it_was_written(tmp_path: Path) -> None:
    site = Site(tmp_path, 5)
    site.scan()
    robots = site.out / "robots.txt"
    robots.write_text("User-agent: *\nDisallow: /private\n")
    os.utime(robots, (START, START))
    log = written(tmp_path / "access.log", *(line("/private", START + after) for after in (-5, DAY - 5, DAY + 5)))
    assert read_logs([log], ledger=site.out / ".periplus-publish").crawlers[0].forbidden == 1


class Answers:
    """Every address is said to have this name, which does not have the address."""

    def answers(self, addresses: Sequence[str]) -> Mapping[str, Answer]:
        return {address: Answer(("crawl.googlebot.com",)) for address in addresses}


def test_false_claims_are_found_and_addresses_are_hidden(tmp_path: Path) -> None:
    log = written(
        tmp_path / "access.log",
        line("/", START, ip="192.0.2.77"),
        line("/robots.txt", START, BROWSER, ip="192.0.2.78"),
    )
    report = read_logs([log], resolver=Answers())
    assert "fake-googlebot" in names(report)
    assert report.crawlers[0].identity.false_claims == 1
    assert report.unnamed.addresses == 1
    assert b"192.0.2" not in msgspec.json.encode(report)
    again = read_logs([log], resolver=Answers())
    assert again.crawlers[0].identity.false_examples != report.crawlers[0].identity.false_examples
    shown = read_logs([log], resolver=Answers(), shows_addresses=True)
    assert shown.crawlers[0].identity.false_examples == ("192.0.2.77",)
    assert shown.unnamed.examples == ("192.0.2.78",)
    offline = read_logs([log])
    assert offline.crawlers[0].identity.unknown == 1
    assert offline.findings == ()


def test_rotated_and_gzipped_files_are_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    """The newest file comes first by name; read that way, the second visit would come before the first."""
    newest = written(tmp_path / "access.log", line("/a", START + DAY, status=304, size=0))
    older = tmp_path / "access.log.1.gz"
    older.write_bytes(gzip.compress(line("/a", START).encode()))
    report = read_logs([newest, older])
    assert report.files == ("access.log.1.gz", "access.log")
    assert report.needless.same == 1
    assert (report.first_at, report.last_at) == (START, START + DAY)


def test_damage_is_counted(tmp_path: Path) -> None:
    whole = gzip.compress("".join(line(f"/{number}", START + number) for number in range(5_000)).encode())
    cut = tmp_path / "cut.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    odd = tmp_path / "odd.log"
    odd.write_bytes(b"nonsense\n" + b"x" * 3_000_000 + b"\n" + line("/a", START).encode())
    report = read_logs([cut, odd])
    assert report.problems == {"not-a-log-line": report.problems["not-a-log-line"], "damaged-gzip": 1, "too-long": 1}
    assert 0 < report.requests < 5_001


def test_older_requests_are_left_out(tmp_path: Path) -> None:
    log = written(tmp_path / "access.log", line("/a", START), line("/b", START + DAY))
    report = read_logs([log], since=START + 1)
    assert (report.requests, report.before_since, report.first_at) == (1, 1, START + DAY)


def test_many_pages_without_images_are_a_crawler(tmp_path: Path) -> None:
    pages = [line(f"/{number}", START + number, BROWSER, ip="192.0.2.5") for number in range(MANY_PAGES + 1)]
    person = [line(f"/{number}", START + number, BROWSER, ip="192.0.2.6") for number in range(MANY_PAGES + 1)]
    log = written(tmp_path / "access.log", *pages, *person, line("/a.css", START, BROWSER, ip="192.0.2.6"))
    assert read_logs([log]).unnamed.addresses == 1


@pytest.mark.parametrize(("gaps", "is_program"), [((60,), True), ((60, 62, 58), True), ((5, 60, 200), False)])
def test_pages_at_a_steady_pace_are_asked_for_by_a_program(
    tmp_path: Path, gaps: tuple[int, ...], is_program: bool
) -> None:
    at, lines = START, []
    for number in range(STEADY_PAGES + 1):
        lines.append(line(f"/{number}", at, BROWSER, ip="192.0.2.5"))
        at += gaps[number % len(gaps)]
    assert read_logs([written(tmp_path / "access.log", *lines)]).unnamed.addresses == is_program


def test_needless_downloads_and_errors_are_findings(tmp_path: Path) -> None:
    same = [line("/a", START + number) for number in range(30)]
    broken = [line(f"/broken/{number}", START, BING, status=500) for number in range(25)]
    assert names(read_logs([written(tmp_path / "log", *same, *broken)])) == {
        "no-conditional-requests",
        "errors-to-crawlers",
    }
    polite = [*same, line("/a", START + 31, status=304, size=0)]
    assert names(read_logs([written(tmp_path / "log", *polite)])) == set()


def test_addresses_are_bounded_and_readers_of_robots_txt_stay() -> None:
    """The lines of a flood of addresses; the one that read robots.txt early is still known at the end."""
    from periplus.formats import access_log

    flood = [line("/robots.txt", START, BROWSER, ip="198.51.100.1")]
    flood += [line("/", START, BROWSER, ip=f"10.{number // 250}.{number % 250}.1") for number in range(5_000)]
    tally = Tally(AgentTable(), most_addresses=100)
    tally.add_all(access_log.read(each.encode() for each in flood))
    assert len(tally.addresses) <= 100
    assert tally.dropped_addresses + len(tally.addresses) == 5_001
    assert tally.addresses["198.51.100.1"].robots == 1
    assert tally.requests == 5_001


def test_agents_without_a_known_name_are_not_crawlers(tmp_path: Path) -> None:
    log = written(tmp_path / "access.log", line("/", START, "-"), line("/", START, GOOGLEBOT))
    assert read_logs([log]).crawler_requests == 1
