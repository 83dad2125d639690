"""A public log of 10,000 requests: the share of crawlers, readers of robots.txt, and repeated requests."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from tests.published.log_lines import BROWSER, line

from periplus_sites.logs import AgentTable, LogReport, read_logs


@pytest.fixture(scope="module")
def agents(corpus: Path) -> AgentTable:
    return AgentTable(_patterns(corpus))


@pytest.fixture(scope="module")
def report(corpus: Path, agents: AgentTable) -> LogReport:
    return read_logs([corpus / "logs" / "elastic_apache_logs.log.gz"], agents=agents)


def _patterns(corpus: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(
        gzip.decompress((corpus / "agents" / "crawler_user_agents.json.gz").read_bytes())
    )
    return found


@pytest.mark.corpus
def test_the_share_of_crawlers(report: LogReport) -> None:
    assert report.requests == 10_000
    assert report.problems == {}
    assert report.crawler_requests / report.requests == pytest.approx(0.196, abs=0.0006)
    assert report.crawler_bytes / report.bytes == pytest.approx(0.215, abs=0.0006)


@pytest.mark.corpus
def test_readers_of_robots_txt(report: LogReport) -> None:
    """The paper found 13 % with a 304."""
    readers = report.robots_readers
    assert (readers.addresses, readers.unknown_agent) == (121, 54)
    assert readers.share_with_304 == pytest.approx(0.099, abs=0.0005)


@pytest.mark.corpus
def test_repeated_requests(report: LogReport) -> None:
    """Nearly all brought nothing new: 69 of 590 MB."""
    needless = report.needless
    assert (needless.repeated, needless.same, needless.min_needless) == (768, 759, 767)
    assert round(needless.bytes / 1e6) == 69
    assert round(report.crawler_bytes / 1e6) == 590


@pytest.mark.corpus
def test_every_agent_of_the_list_is_matched(corpus: Path, agents: AgentTable) -> None:
    """Of every pattern, every example that the pattern itself matches."""
    missed = [
        instance
        for entry in _patterns(corpus)
        for instance in map(str, entry.get("instances") or ())  # type: ignore[call-overload]
        if re.search(str(entry["pattern"]), instance) and agents.crawler_of(instance) is None
    ]
    assert missed == []


def test_a_small_log(tmp_path: Path) -> None:
    """Two crawlers and a person: shares, readers of robots.txt, and a page that was read twice."""
    log = tmp_path / "access.log"
    log.write_text(
        line("/robots.txt", 1_750_000_000.0)
        + line("/robots.txt", 1_750_000_100.0, status=304, size=0)
        + line("/robots.txt", 1_750_000_200.0, "unknown/1.0", ip="192.0.2.2")
        + line("/a", 1_750_000_300.0)
        + line("/a", 1_750_000_400.0)
        + line("/a", 1_750_000_500.0, BROWSER, ip="192.0.2.3", size=2_000)
    )
    report = read_logs([log])
    assert (report.requests, report.crawler_requests) == (6, 4)
    assert (report.bytes, report.crawler_bytes) == (6_000, 3_000)
    readers = report.robots_readers
    assert (readers.addresses, readers.with_304, readers.unknown_agent) == (2, 1, 1)
    assert readers.share_with_304 == 0.5
    assert (report.needless.repeated, report.needless.same) == (2, 2)
