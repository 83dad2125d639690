"""When a crawl ends because none of its seeds can be reached, and when it goes on."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from periplus.engine.frontier import Setback
from periplus.engine.frontier.politeness import MAX_SETBACKS
from periplus.engine.overview import FrontierStats
from periplus.engine.shard import ShardStatus
from periplus.engine.sharding.crawl import are_unreachable, has_begun
from periplus.engine.stats import CrawlStats
from periplus.model import Site, Url

A, B = Site("a.test"), Site("b.test")


def setback(site: Site, reason: str = "dns-not-found") -> Setback:
    return Setback(site, Url(f"http://{site}/robots.txt"), reason, retry_at=10.0)


def status(*setbacks: Setback, answers: tuple[str, ...] = (), **frontier: Any) -> ShardStatus:
    """A shard all of whose sites rest after a failure."""
    failed = len(setbacks)
    made = FrontierStats(failed, failed, failed, 0, failed, 0, failed, 0, setbacks=setbacks)
    outcomes = {"failed robots": failed} if failed else {}
    stats = CrawlStats(outcomes=outcomes | dict.fromkeys(answers, 1))
    return ShardStatus(0, replace(made, **frontier), stats, is_idle=not failed, is_quiet=True)


def test_all_seeds_of_all_shards_have_failed() -> None:
    """A shard without seeds has nothing to say."""
    assert are_unreachable([A], [status(setback(A)), status()])
    assert are_unreachable([A, B], [status(setback(A, "connect-refused")), status(setback(B, "tls"))])


def test_a_seed_that_has_not_failed_is_waited_for() -> None:
    assert not are_unreachable([A, B], [status(setback(A)), status()])
    assert not are_unreachable([A], [status()])
    assert not are_unreachable([], [status()])


def test_failures_that_pass_are_retried() -> None:
    """A server that is slow, or that answers with an error, is there."""
    for reason in ("connect-timeout", "dns-timeout", "http-503", "reset"):
        assert not are_unreachable([A], [status(setback(A, reason))])


def test_a_collection_in_which_a_server_answered_is_not_concerned() -> None:
    """Not even if only robots.txt was read, by another shard."""
    assert not are_unreachable([A], [status(setback(A)), status(answers=("fetched robots",))])


def test_a_seed_that_moved_to_where_no_server_is() -> None:
    """http://a.test/ redirects to https://www.a.test/, whose certificate is bad; a page anywhere is another matter."""
    moved = ("redirected page", "fetched robots")
    assert are_unreachable([A], [status(setback(B, "tls"), answers=moved)])
    assert are_unreachable([A], [status(setback(B, "tls")), status(answers=moved)])
    assert not are_unreachable([A], [status(answers=moved)])
    assert not are_unreachable([A], [status(setback(B, "reset"), answers=moved)])
    assert not are_unreachable([A], [status(setback(B, "tls"), setback(A, "http-503"), answers=moved)])
    for answer in ("fetched page", "not-modified page", "fetched sitemap"):
        assert not are_unreachable([A], [status(setback(B, "tls"), answers=(*moved, answer))])


def test_more_failures_than_are_known_are_not_judged() -> None:
    """Only the last failures are remembered: others may be of servers that are there."""
    many = [setback(Site(f"{number}.test")) for number in range(MAX_SETBACKS)]
    assert not are_unreachable([A], [status(*many, answers=("redirected page",))])
    assert are_unreachable([A], [status(*many[1:], answers=("redirected page",))])


def test_other_sites_are_finished_first() -> None:
    """A pushed URL is being fetched, may be fetched now, or waits for something else than a failure."""
    for name, number in (("visited", 1), ("ready", 1), ("leases", 1), ("resting", 2)):
        left: dict[str, Any] = {name: number}
        assert not are_unreachable([A], [status(setback(A), **left)])


def test_the_time_of_a_crawl_begins_with_its_first_request() -> None:
    """Not while a worker starts, and not while seeds wait for one; without anything to request, when all have."""
    idle, waiting = status(), status(ready=1)
    assert not has_begun([], 2)
    assert not has_begun([idle], 2)
    assert not has_begun([idle, waiting], 2)
    assert has_begun([status(visited=1)], 2)
    assert has_begun([idle, status(leases=1)], 2)
    assert has_begun([waiting, status(setback(A))], 2)
    assert has_begun([idle, idle], 2)
