"""Failures in words, as soon as they happen: a seed that cannot be reached, and what a crawl is waiting for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from periplus.crawl.frontier import Setback
from periplus.insight.reasons import explained
from periplus.model import Url
from periplus.urls import site_of

MAX_WATCHED = 50
"""Seeds whose sites are watched for failures: with more of them, single failures are noise."""
MAX_SAID = 10
"""Failures that are reported one by one in a run; all of them are in the summary at its end."""

_NEXT_STEPS = {
    "dns-not-found": "check the spelling of the host name",
    "dns-unavailable": "check the network and its name server",
    "dns-timeout": "check the network and its name server",
    "connect-refused": "check the port, and http:// or https://",
    "connect-timeout": "check the address and the network",
    "connect-failed": "check the network",
    "tls": "check the host name; --ca-file FILE trusts a certificate authority of your own",
    "proxy": "check --proxy",
}


def words_of(setback: Setback, now: float) -> str:
    """A failure, when it is tried again and what to do, in one line. `now` is POSIX time."""
    is_answer = setback.reason.startswith("http-")
    if is_answer and setback.retry_at is not None:
        return f"retrying {setback.url} {_when(setback, now)}: {_answer(setback)}"
    if is_answer:
        return f"{setback.url}: {_answer(setback)}"
    detail = f" ({setback.detail})" if setback.reason == "tls" and setback.detail else ""
    said = f"cannot reach {_root(setback.url)}: {explained(setback.reason) or setback.reason}{detail}"
    steps = [_NEXT_STEPS[setback.reason]] if setback.reason in _NEXT_STEPS else []
    steps.append(f"retrying {_when(setback, now)}, Ctrl-C stops" if setback.retry_at is not None else "given up")
    return "; ".join([said, *steps])


def waiting_for(setbacks: Sequence[Setback], now: float) -> str:
    """What a crawl waits for that can make no request now; empty if nothing failed."""
    first = min(
        (each for each in setbacks if each.retry_at is not None), key=lambda each: each.retry_at or 0, default=None
    )
    if first is None:
        return ""
    why = _answer(first) if first.reason.startswith("http-") else explained(first.reason) or first.reason
    return f"retrying {first.url} {_when(first, now)}: {why}"


class SeedFailures:
    """Finds failures at the sites of seeds that were not reported yet, each reason once a site."""

    def __init__(self, seeds: Sequence[Url]) -> None:
        self._sites = frozenset(map(site_of, seeds)) if len(seeds) <= MAX_WATCHED else frozenset()
        self._said: set[tuple[str, str]] = set()

    def new(self, setbacks: Iterable[Setback]) -> Iterator[Setback]:
        """Those that are new."""
        news = (each for each in setbacks if each.site in self._sites and (each.site, each.reason) not in self._said)
        for setback in islice(news, MAX_SAID - len(self._said)):
            self._said.add((setback.site, setback.reason))
            yield setback


def _answer(setback: Setback) -> str:
    status = setback.reason.removeprefix("http-")
    return f"server error {status}" if status.startswith("5") else explained(setback.reason)


def _when(setback: Setback, now: float) -> str:
    seconds = max((setback.retry_at or now) - now, 0.0)
    return f"in {seconds:.0f} s" if seconds >= 0.5 else "now"


def _root(url: Url) -> str:
    return url[: url.index("/", 8) + 1]
