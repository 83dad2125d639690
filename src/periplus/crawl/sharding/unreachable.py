"""Whether no seed of a crawl can be reached, so that it ends at once instead of waiting for retries.

It is decided from what the shards report, for all of them together. The state of no shard changes: the seeds stay in
their queues, and the same command tries them again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from periplus.model import Site

from ..frontier.politeness import NO_SERVER
from ..shard import Status
from ..stats import CrawlStats, FrontierStats


def are_unreachable(sites: Collection[Site], statuses: Sequence[Status]) -> bool:
    """Whether the sites of all seeds failed because there is no such server, and nothing else is left to do.

    `statuses` are those of all shards. A collection in which any server ever answered is not concerned.
    """
    failed = {each.site for status in statuses for each in status.frontier.setbacks if each.reason in NO_SERVER}
    if not sites or not failed.issuperset(sites):
        return False
    return not any(_has_answers(status.crawl) for status in statuses) and all(
        _only_fails(status.frontier) for status in statuses
    )


def _has_answers(stats: CrawlStats) -> bool:
    """Whether a server has answered since the collection began, with whatever status."""
    return any(not name.startswith("failed ") for name in stats.outcomes)


def _only_fails(frontier: FrontierStats) -> bool:
    """Whether every site of a shard rests after a failure."""
    return (
        not frontier.ready
        and not frontier.visited
        and not frontier.leases
        and (frontier.resting == frontier.backing_off == len(frontier.setbacks))
    )
