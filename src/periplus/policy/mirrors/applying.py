"""What a crawl does with hosts that jobs have judged: URLs of mirrors are renamed, parked domains get one page.

Reasons: `mirror`, `parked`.

A URL of a mirror becomes the same path of the host that is kept, wherever it is found. A share of them (`probing`,
chosen by hash) keeps its name and is fetched, so that the job sees if the two hosts part; that share is all that a
mirror costs. URLs that were queued before are refused as `mirror` when their turn comes, and their other names are
found in their place. Seeds are exempt: a person asked for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from ...model import Discovery, Purpose, Reject, Site, Source, Url, Verdict
from ...urls import domain_of, site_of
from ..filters import FilterStates, Guard
from ..filters.verdicts import ACCEPT
from .settings import MirrorSettings

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

    def __init__(self, settings: MirrorSettings | None = None, suffixes: tuple[str, ...] = ()) -> None:
        settings = settings or MirrorSettings()
        self._is_enabled = settings.enabled
        self._limit = int(settings.probing * 2**64)
        self._suffixes = suffixes
        self._rules: dict[Site, list[HostRule]] = {}
        self._parked: frozenset[str] = frozenset()
        self._renamed: list[Discovery] = []

    def load(self, learnt: LearntHosts) -> None:
        """Take the place of what was learnt before."""
        if not self._is_enabled:
            return
        rules: dict[Site, list[HostRule]] = {}
        for rule in learnt.rules[:MAX_RULES]:
            rules.setdefault(rule.site, []).append(rule)
        for some in rules.values():
            some.sort(key=lambda rule: (-len(rule.root), rule.root))
        self._rules = rules
        self._parked = frozenset(learnt.parked[:MAX_RULES])

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

    def renamed_all(self, discoveries: Sequence[Discovery]) -> Sequence[Discovery]:
        """The same with the URLs of mirrors renamed; seeds keep theirs."""
        if not self._rules:
            return discoveries
        return [
            replace(each, url=other)
            if each.source is not Source.SEED
            and each.purpose is Purpose.PAGE
            and (other := self.renamed(each.url)) is not None
            else each
            for each in discoveries
        ]

    def reconsider(self, discovery: Discovery) -> Verdict:
        """Refuse a URL that waited, if it is of a mirror or a parked domain. Its other name is found instead."""
        url = discovery.url
        if (not self._rules and not self._parked) or discovery.source is Source.SEED:
            return ACCEPT
        if self._parked and self._is_parked(url):
            return Reject("parked", f"domain {domain_of(url, self._suffixes)}")
        other = self.renamed(url)
        if other is None:
            return ACCEPT
        self._renamed.append(replace(discovery, url=other))
        return Reject("mirror", f"mirror of {site_of(other)}")

    def drain_renamed(self) -> list[Discovery]:
        """The other names of the URLs that were refused since the last call."""
        found, self._renamed = self._renamed, []
        return found

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


class GuardWithHosts:
    """A guard that also refuses waiting URLs of mirrors and parked domains."""

    def __init__(self, guard: Guard, hosts: MirrorHosts) -> None:
        self._guard = guard
        self._hosts = hosts
        self.judge = guard.judge
        self.admit = guard.admit
        self.observe = guard.observe
        self.page_read = guard.page_read
        self.changed = guard.changed
        self.renamed = guard.renamed
        self.may_remember = guard.may_remember
        self.wanted_pairs = guard.wanted_pairs
        self.looked_for = guard.looked_for

    @property
    def states(self) -> FilterStates:
        """The data of all sites."""
        return self._guard.states

    def reconsider(self, discovery: Discovery) -> Verdict:
        """Whether a URL that was admitted is wanted still."""
        verdict = self._hosts.reconsider(discovery)
        return verdict if isinstance(verdict, Reject) else self._guard.reconsider(discovery)
