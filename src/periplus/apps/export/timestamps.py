"""Timestamps of signatures, requested from an authority over HTTP (RFC 3161 section 3.4).

A person named the authority: like a seed, it may be private by its address, but not by what its name resolves to. The
request has the settings of the collection: its proxy, limits and allowed addresses.
"""

from __future__ import annotations

from collections.abc import Callable

from periplus.collection.collection import CollectionSetup
from periplus.engine.clock import SystemClock
from periplus.engine.fetch import SingleRequests, opened_by
from periplus.model import Fetched, UsageError
from periplus.store.wacz_auth import TIMESTAMP_QUERY
from periplus.urls import canonical


def stamping(found: CollectionSetup, place: str) -> Callable[[bytes], bytes]:
    """What sends a request to the authority at this URL, and returns its response. Redirects are not followed."""
    url = canonical(place)
    if url is None:
        raise UsageError(f"--timestamp: {place} is not a URL", hint="write https://...")
    found.check_trusted()
    config = found.config
    config = config.with_options({"wire.allow_private": opened_by([url], config.dns.hosts, config.wire.allow_private)})
    requests = SingleRequests(
        config.wire,
        identity=config.crawler_identity,
        clock=SystemClock(),
        dns=config.dns,
        guard=config.address_guard(),
    )

    def stamp(request: bytes) -> bytes:
        outcome = requests.post(url, request, TIMESTAMP_QUERY, max_redirects=0)
        if isinstance(outcome, Fetched) and outcome.status == 200 and not outcome.is_truncated:
            return outcome.body
        reason = getattr(outcome, "reason", "") or f"status {getattr(outcome, 'status', None)}"
        raise UsageError(f"--timestamp: {place} gave no timestamp: {reason}", hint="use another authority")

    return stamp
