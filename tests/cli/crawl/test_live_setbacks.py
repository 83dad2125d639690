"""Failures in words: what failed, when it is tried again, what to do."""

from __future__ import annotations

from msgspec.structs import replace

from periplus.cli.crawl.live import MAX_WATCHED, SeedFailures
from periplus.collection.progress import Meter, Progress
from periplus.collection.progress_text import progress_line, setback_line, waiting_for
from periplus.collection.summary import failure_of, failures_of
from periplus.engine.fetch import reasons
from periplus.engine.frontier import CutOff, Setback
from periplus.engine.overview import FrontierStats
from periplus.engine.shard import ShardStatus
from periplus.engine.stats import CrawlStats
from periplus.model import Site, Url

NOW = 1_800_000_000.0
A = Site("a.test")


def setback(reason: str, detail: str = "", wait: float | None = 12.0, path: str = "robots.txt") -> Setback:
    return Setback(A, Url(f"https://a.test/{path}"), reason, detail, None if wait is None else NOW + wait)


def test_each_kind_of_failure_says_what_to_do() -> None:
    """An unknown host, an invalid certificate and a server error are told apart."""
    unknown = setback_line(setback("dns-not-found"), NOW)
    assert unknown.startswith("cannot reach https://a.test/: the name does not exist")
    assert "check the spelling" in unknown
    assert "retrying in 12 s" in unknown
    assert "given up" in setback_line(setback("dns-not-found", wait=None), NOW)
    certificate = setback_line(setback("tls", "certificate has expired"), NOW)
    assert "the certificate is not valid (certificate has expired)" in certificate
    assert "--ca-file" in certificate
    assert setback_line(setback("http-500", path="x"), NOW) == "retrying https://a.test/x in 12 s: server error 500"


def test_a_file_that_is_no_page_does_not_make_its_site_unreachable() -> None:
    """The line names the URL; a failure that only one URL had is said to be of that one, too."""
    linked = setback("unwanted-type", "text/x-python", wait=None, path="code.py")
    assert setback_line(linked, NOW) == "https://a.test/code.py: not a page by its type; not downloaded"
    late = setback("timeout", path="x", wait=12.0)
    assert setback_line(late, NOW) == "retrying https://a.test/x in 12 s: no complete answer in time"


def test_what_is_wrong_with_tls_is_said_with_the_next_step() -> None:
    """Every problem that the wire names has its own step, and no step is for a problem that it never names."""
    problems = [reasons.tls_problem(part) for part, _ in reasons._TLS_PROBLEMS]
    steps = {problem: failure_of(setback("tls", problem)) for problem in problems}
    assert all(failure.problem == problem and failure.next_step for problem, failure in steps.items())
    assert "www." in steps[reasons.OTHER_HOST].next_step
    assert "http://" in steps[reasons.NOT_TLS].next_step
    stalled = failure_of(setback("connect-timeout", reasons.HANDSHAKE_STALLED))
    assert stalled.problem == "no connection in time (the TLS handshake did not end in time)"


def test_a_proxy_is_named() -> None:
    """It is the proxy that fails, not the site."""
    refused = setback_line(setback("proxy", "127.0.0.1:3128 answered 403 to CONNECT"), NOW)
    assert "the proxy 127.0.0.1:3128 answered 403 to CONNECT; check --proxy" in refused
    silent = failure_of(setback("connect-timeout", "the proxy 127.0.0.1:3128 opened no connection in time"))
    assert "127.0.0.1:3128" in silent.problem
    reset = failure_of(setback("reset", "Recv failure (through the proxy 127.0.0.1:3128)"))
    assert reset.problem == "the connection was reset (through the proxy 127.0.0.1:3128)"


def test_a_summary_has_the_failures_of_seeds() -> None:
    """All failures where no page was fetched; else the seeds without a server."""
    other = Setback(Site("b.test"), Url("https://b.test/"), "tls", reasons.EXPIRED)
    seeds, mine = [Url("https://a.test/")], setback("connect-refused")
    everything = failures_of([mine, other, setback("reset")], seeds, has_pages=False)
    assert [failure.reason for failure in everything] == ["connect-refused", "tls", "reset"]
    assert failures_of([mine, other, setback("reset")], seeds, has_pages=True) == everything[:1]


def test_what_a_crawl_waits_for_is_the_next_attempt() -> None:
    """Failures that are final are not waited for."""
    later, sooner, final = setback("tls", wait=30.0), setback("http-503", wait=4.0), setback("http-404", wait=None)
    progress = Progress(CrawlStats(), at=NOW, setbacks=(later, sooner, final))
    assert waiting_for(progress) == "retrying https://a.test/robots.txt in 4 s: server error 503"
    assert not waiting_for(replace(progress, setbacks=(final,)))
    assert not waiting_for(replace(progress, ready=1))


def test_a_crawl_that_is_cut_off_says_so_before_anything_else() -> None:
    """In the place of what single sites wait for, also while some are ready; one shard that is suffices."""
    cut_off = CutOff(NOW - 3725.0, 5, "dns-unavailable", NOW + 40.0)
    frontier = FrontierStats(1, 1, 6, 1, 5, 0, 5, 0, setbacks=(setback("tls"),))
    statuses = [
        ShardStatus(number, each, CrawlStats(), False, True)
        for number, each in enumerate((frontier, replace(frontier, cut_off=cut_off)))
    ]
    progress = Meter(NOW).read(statuses, NOW)
    assert progress.cut_off == cut_off
    assert progress_line(progress).endswith(
        "; cut off for 1 h 2 m: none of 5 sites can be reached (dns-unavailable); trying again in 40 s"
    )


def test_a_failure_of_a_seed_is_reported_once() -> None:
    """Again for another reason; not of sites that are not seeds, and not of single ones among many seeds."""
    failures = SeedFailures([Url("https://a.test/")])
    other = Setback(Site("b.test"), Url("https://b.test/"), "tls")
    assert list(failures.new([setback("tls"), other])) == [setback("tls")]
    assert list(failures.new([setback("tls"), other], has_pages=False)) == [other]  # a seed may have moved there
    assert not list(failures.new([setback("tls", wait=50.0)]))
    assert list(failures.new([setback("reset")])) == [setback("reset")]
    many = SeedFailures([Url(f"https://{number}.test/") for number in range(MAX_WATCHED)] + [Url("https://a.test/")])
    assert not list(many.new([setback("tls")]))


def test_no_time_is_estimated_from_failures() -> None:
    """Nothing was fetched and a retry is waited for: any number would be invented."""
    frontier = FrontierStats(1, 1, 1, 0, 1, 0, 1, 0, longest=1.0, setbacks=(setback("dns-not-found"),))
    status = ShardStatus(0, frontier, CrawlStats(), False, True)
    meter = Meter(NOW)
    assert [meter.read([status], NOW + second).left for second in range(8)] == [None] * 8
