"""What a crawl does with hosts that jobs have judged: URLs of mirrors are renamed, parked domains get one page.

Reasons: `mirror`, `parked`.

A URL of a mirror becomes the same path of the host that is kept, wherever it is found. A share of them (`probing`,
chosen by hash) keeps its name and is fetched, so that the job sees if the two hosts part; that share is all that a
mirror costs. URLs that were queued before are refused as `mirror` when their turn comes, and their other names are
found in their place. Seeds are exempt: a person asked for them.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct
from xxhash import xxh3_64_intdigest

from ...model import Discovery, Reject, Site, Source, Url, Verdict
from ...urls import domain_of, site_of
from ..filters.verdicts import ACCEPT

MAX_RULES: Final = 100_000
"""Rules, and parked domains, that a shard takes from a file: about 20 MB."""
_MAX_HOPS: Final = 4
"""Rules that are applied to a URL in turn: mirrors of mirrors."""


class HostRule(Struct, frozen=True, array_like=True, gc=False):
    """URLs of `site` below `root` are those of `target` below `target_root`."""

    site: Site
    root: str
    target: Site
    target_root: str


class LearntHosts(Struct, frozen=True, array_like=True):
    """The file that jobs write: rules for mirrors, and parked domains."""

    rules: tuple[HostRule, ...] = ()
    parked: tuple[str, ...] = ()


def encode_hosts(learnt: LearntHosts) -> bytes:
    """The contents of the file."""
    return msgspec.msgpack.encode(learnt)


def decode_hosts(content: bytes) -> LearntHosts:
    """What a file says."""
    return msgspec.msgpack.decode(content, type=LearntHosts)


class MirrorHosts:
    """Renames and refuses URLs of judged hosts. Without a file it does nothing."""

    def __init__(self, probing: float = 0.02, suffixes: tuple[str, ...] = ()) -> None:
        self._limit = int(probing * 2**64)
        self._suffixes = suffixes
        self._rules: dict[Site, list[HostRule]] = {}
        self._parked: frozenset[str] = frozenset()

    def load(self, learnt: LearntHosts) -> None:
        """Take the place of what was learnt before."""
        rules: dict[Site, list[HostRule]] = {}
        for rule in learnt.rules[:MAX_RULES]:
            rules.setdefault(rule.site, []).append(rule)
        for some in rules.values():
            some.sort(key=lambda rule: (-len(rule.root), rule.root))
        self._rules = rules
        self._parked = frozenset(learnt.parked[:MAX_RULES])

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to apply."""
        return not self._rules and not self._parked

    def renamed(self, url: Url) -> Url | None:
        """The name of a URL on the host that is kept; `None` if it keeps its own."""
        if not self._rules or xxh3_64_intdigest(url.encode()) < self._limit:
            return None
        name = url
        for _ in range(_MAX_HOPS):
            again = self._once(name)
            if again is None:
                break
            name = again
        return name if name != url and site_of(name) != site_of(url) else None

    def judge(self, discovery: Discovery) -> Verdict:
        """Refuse a URL that has another name, or is not the home page of a parked domain; seeds are wanted."""
        url = discovery.url
        if self.is_empty or discovery.source is Source.SEED:
            return ACCEPT
        if self._parked and self._is_parked(url):
            return Reject("parked", f"domain {domain_of(url, self._suffixes)}")
        other = self.renamed(url)
        return ACCEPT if other is None else Reject("mirror", f"mirror of {site_of(other)}")

    def _is_parked(self, url: Url) -> bool:
        """Whether a URL is of a parked domain, and not a home page."""
        return len(url) > url.index("/", 8) + 1 and domain_of(url, self._suffixes) in self._parked

    def _once(self, url: Url) -> Url | None:
        site = site_of(url)
        rules = self._rules.get(site)
        if rules is None:
            return None
        start = url.index("/", 8)
        scheme = url[: url.index(":")]
        path = url[start:]
        for rule in rules:
            if path.startswith(rule.root):
                return Url(f"{scheme}://{rule.target}{rule.target_root}{path[len(rule.root) :]}")
        return None
