"""Whether no seed of a crawl can be reached, so that it ends at once instead of waiting for retries.

It is decided from what the shards report, for all of them together. The state of no shard changes: the seeds stay in
their queues, and the same command tries them again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from periplus.model import Site

from ..frontier.politeness import NO_SERVER
from ..frontier.setbacks import MAX_SETBACKS
from ..shard import Status
from ..stats import FrontierStats


def are_unreachable(sites: Collection[Site], statuses: Sequence[Status]) -> bool:
    """Whether the sites of all seeds failed because there is no such server, and nothing else is left to do.

    `statuses` are those of all shards. A collection in which any server ever answered is not concerned, unless all that
    was answered are redirects and robots.txt: then the sites that seeds moved to have failed.
    """
    waited_for = [each for status in statuses for each in status.frontier.setbacks if each.retry_at is not None]
    failed = {each.site for each in waited_for if each.reason in NO_SERVER}
    if not sites or len(failed) < len(waited_for) or not all(_only_fails(status.frontier) for status in statuses):
        return False
    answers = {name for status in statuses for name in status.crawl.outcomes if not name.startswith("failed ")}
    if any(name.startswith("redirected ") for name in answers):
        return bool(failed) and all(name.startswith("redirected ") or name == "fetched robots" for name in answers)
    return not answers and failed.issuperset(sites)


def _only_fails(frontier: FrontierStats) -> bool:
    """Whether every site of a shard rests after a failure that is known."""
    return (
        not frontier.ready
        and not frontier.visited
        and not frontier.leases
        and frontier.resting == frontier.backing_off
        and len(frontier.setbacks) < MAX_SETBACKS
    )
