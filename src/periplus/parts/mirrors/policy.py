"""Mirrors: hosts, or parts of hosts, that show the same pages as another host.

`candidate_pairs` finds hosts whose paths resemble each other; `verify` compares their pages, path by path;
`better_host` decides which host of a pair is kept; `MirrorHosts` renames the URLs of the others. The pages come from
the tables (`parts.mirrors.job`), the rules go to the shards as a file. After Bharat & Broder, "Mirror, mirror on the
web" (1999) and Bharat, Broder, Dean & Henzinger (2000).

A host's paths are sketched by 128 MinHash values over its 1,000 shortest paths (Broder 1997): the shortest are those
that a crawl finds first on each host. Hosts that share one of 16 bands of 8 values are compared: at a resemblance of
.9 they do with probability .9999, at .7 with .61. Hosts that the caller has other reasons to compare (the same home
page, the same texts) are compared whatever their bands say.

A hundred common paths are chosen by hash. The hosts are mirrors if at least 90 % of those that both answer are
near-duplicates and few are missing on one side. The pages must differ among themselves: two hosts that show one and the
same page everywhere are parked, or send error pages.

The copy may have another root: `/docs/` of one host is `/` of the other. Texts that both hosts have vote for the roots
(`mappings_of`): what remains of two paths without their common last segments.

A URL of a mirror becomes the same path of the host that is kept, wherever it is found. A share of them (`probing`,
chosen by hash) keeps its name and is fetched, so that the job sees if the two hosts part; that share is all that a
mirror costs. URLs that were queued before are refused as `mirror` when their turn comes, and their other names are
found in their place; a parked domain gets one page, and its other URLs are refused as `parked`. Seeds are exempt: a
person asked for them. Where the kept host has no page by the new name, the URL is fetched by its old ones, as if the
kept host redirected there. A later file without a rule lifts it: what it refused is queued again, and what it renamed
is found by its old name.

A host is kept by trust, by the number of hosts that link to it, the shorter name, the alphabet.
`www.` never wins over the same name without it if a sitemap lists that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from periplus.model import Discovery, Purpose, Reject, Site, Source, Url, Verdict
from periplus.policy.duplicates import likenesses
from periplus.policy.filters.reasons import ACCEPT
from periplus.urls import domain_of, site_of

from .settings import MirrorSettings

MAX_PATHS: Final = 1000
"""Paths of a host that are sketched: the shortest."""
VALUES: Final = 128
_BANDS: Final = 16
_ROWS: Final = VALUES // _BANDS
_MAX_GROUP: Final = 32
"""Hosts of one band that are compared with each other; of larger groups (one program's standard pages) the first."""
_SEED: Final = 0x6D6972726F72
_RANDOM: Final = np.random.Generator(np.random.PCG64(_SEED))
_FACTORS: Final = _RANDOM.integers(0, 1 << 63, VALUES, np.uint64) * np.uint64(2) + np.uint64(1)
_SHIFTS: Final = _RANDOM.integers(0, 1 << 63, VALUES, np.uint64)
_HALF: Final = np.uint64(32)

PathSketch = NDArray[np.uint64]


class HostPaths(Struct, frozen=True):
    """A host and the sketch of its paths. `count` is the number of paths that were sketched."""

    site: Site
    count: int
    sketch: PathSketch


def path_sketch(site: Site, paths: Iterable[str]) -> HostPaths:
    """The sketch of the paths (with queries) of a host."""
    chosen = sorted(set(paths), key=lambda path: (len(path), path))[:MAX_PATHS]
    if not chosen:
        return HostPaths(site, 0, np.zeros(VALUES, np.uint64))
    hashes = np.array([xxh3_64_intdigest(path.encode()) for path in chosen], np.uint64)
    mixed = hashes[:, None] * _FACTORS + _SHIFTS
    mixed ^= mixed >> _HALF
    return HostPaths(site, len(chosen), (mixed * _FACTORS[::-1]).min(axis=0))


def resemblance(one: HostPaths, other: HostPaths) -> float:
    """The estimated share of common paths of two hosts; 0 if one has none."""
    if not one.count or not other.count:
        return 0.0
    return float(np.count_nonzero(one.sketch == other.sketch)) / VALUES


def candidate_pairs(
    hosts: Sequence[HostPaths],
    related: Iterable[tuple[Site, Site]] = (),
    *,
    least: float = 0.5,
    fewest: int = 5,
) -> list[tuple[Site, Site]]:
    """Pairs to verify, in order: hosts with `fewest` paths each and resemblance `least`, and the `related` ones.

    A related pair has a reason of its own (many of the same texts) and needs no resemblance of all its paths: one host
    may have a copy of a part of the other.
    """
    known = {host.site: host for host in hosts if host.count >= fewest}
    by_band: dict[tuple[int, bytes], list[Site]] = defaultdict(list)
    for host in known.values():
        for band in range(_BANDS):
            by_band[band, host.sketch[band * _ROWS : (band + 1) * _ROWS].tobytes()].append(host.site)
    pairs = {
        (min(pair), max(pair))
        for group in by_band.values()
        for pair in combinations(group[:_MAX_GROUP], 2)
        if resemblance(known[pair[0]], known[pair[1]]) >= least
    }
    pairs |= {(min(pair), max(pair)) for pair in related if pair[0] != pair[1] and {*pair} <= known.keys()}
    return sorted(pairs)


MAX_MAPPINGS: Final = 8
"""Pairs of roots that are verified for each pair of hosts."""


class SitePage(Struct, frozen=True, gc=False):
    """The answer of a host at a path: brief and digest of the main text. `is_absent`: it answered 404 or 410."""

    brief: bytes = b""
    main: int = 0
    is_absent: bool = False


class MirrorFound(Struct, frozen=True):
    """Two hosts show the same below these roots, with the counts that prove it."""

    one: Site
    other: Site
    one_root: str
    other_root: str
    compared: int
    alike: int
    absent: int

    @property
    def is_whole(self) -> bool:
        """Whether all of both hosts is the same, not only a part."""
        return self.one_root == self.other_root == "/"

    @property
    def score(self) -> float:
        """The share of near-duplicates."""
        return self.alike / self.compared

    @property
    def evidence(self) -> tuple[str, ...]:
        """The reasons in words."""
        places = "" if self.is_whole else f" below {self.one_root} of {self.one} and {self.other_root} of {self.other}"
        return (
            f"{self.alike} of {self.compared} pages with the same path are near-duplicates{places}",
            f"{self.absent} of {self.compared + self.absent} paths are missing on one host",
        )


def mappings_of(shared: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Pairs of roots to verify, from pairs of paths with the same text: the most frequent first.

    Where the paths are the same, the roots are `/` and, if that fails, their first directories.
    """
    votes: Counter[tuple[str, str]] = Counter()
    for one, other in shared:
        roots = _roots(one, other)
        votes[roots] += 1
        if roots == ("/", "/") and "/" in one[1:]:
            directory = one[: one.index("/", 1) + 1]
            votes[directory, directory] += 1
    ranked = sorted(votes.items(), key=lambda each: (-each[1], len(each[0][0]), each[0]))
    return [roots for roots, _ in ranked[:MAX_MAPPINGS]]


def verify(
    one: tuple[Site, Mapping[str, SitePage]],
    other: tuple[Site, Mapping[str, SitePage]],
    roots: tuple[str, str],
    settings: MirrorSettings,
) -> MirrorFound | None:
    """Compare the pages of two hosts below two roots; `None` if they are not mirrors, or too few were read."""
    theirs = other[1]
    common = [
        (page, found)
        for path, page in _sampled(one[1], roots[0], settings.sample, lambda rest: roots[1] + rest in theirs)
        if (found := theirs.get(roots[1] + path)) is not None
    ]
    present = [(page, found) for page, found in common if not page.is_absent and not found.is_absent]
    absent = sum(page.is_absent != found.is_absent for page, found in common)
    alike = [page for page, found in present if _are_alike(page, found, settings)]
    if len(present) < settings.fewest_compared or len({page.main for page in alike}) < settings.fewest_texts:
        return None
    if len(alike) < settings.least_alike * len(present) or absent > settings.max_absent * (len(present) + absent):
        return None
    return MirrorFound(one[0], other[0], roots[0], roots[1], len(present), len(alike), absent)


def _sampled(
    pages: Mapping[str, SitePage], root: str, count: int, is_common: Callable[[str], bool]
) -> list[tuple[str, SitePage]]:
    """Common paths without their root, chosen by hash, and their pages."""
    below = [(path[len(root) :], page) for path, page in pages.items() if path.startswith(root)]
    common = [(rest, page) for rest, page in below if is_common(rest)]
    return sorted(common, key=lambda each: xxh3_64_intdigest(each[0].encode()))[:count]


def _are_alike(one: SitePage, other: SitePage, settings: MirrorSettings) -> bool:
    if one.main == other.main:
        return True
    return likenesses(one.brief, [other.brief])[0] >= settings.least_likeness


def _roots(one: str, other: str) -> tuple[str, str]:
    """The parts of two paths before their common last segments; each ends with a slash."""
    ones, others = one.split("/"), other.split("/")
    same = 0
    while same < min(len(ones), len(others)) - 1 and ones[-1 - same] == others[-1 - same]:
        same += 1
    return "/".join(ones[: len(ones) - same]) + "/", "/".join(others[: len(others) - same]) + "/"


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
    """Decode a file of learnt hosts."""
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
        self._sources: dict[Site, list[HostRule]] = {}
        self.refused: dict[Site, None] = {}
        """Hosts at which URLs that waited were refused, at most `MAX_RULES`."""

    def load(self, learnt: LearntHosts) -> list[HostRule]:
        """Take the place of what was learnt before; the rules that have fallen."""
        if not self._is_enabled:
            return []
        before = {rule for some in self._rules.values() for rule in some}
        rules: dict[Site, list[HostRule]] = {}
        for rule in learnt.rules[:MAX_RULES]:
            rules.setdefault(rule.site, []).append(rule)
        for some in rules.values():
            some.sort(key=lambda rule: (-len(rule.root), rule.root))
        self._rules = rules
        self._parked = frozenset(learnt.parked[:MAX_RULES])
        self._sources = {}
        for rule in learnt.rules[:MAX_RULES]:
            self._sources.setdefault(rule.target, []).append(rule)
        return sorted(before - {*learnt.rules}, key=lambda rule: (rule.site, rule.root))

    def old_names(self, url: Url) -> list[Url]:
        """The URLs that rules rename to this one, if it is of a host that is kept."""
        rules = self._sources.get(site_of(url)) if self._sources else None
        return [] if not rules else [name for rule in rules if (name := old_name(rule, url)) is not None]

    def renamed(self, url: Url) -> Url | None:
        """The name of a URL on the host that is kept; `None` if it keeps its own."""
        if not self._rules or self._is_let_through(url):
            return None
        name = url
        for _ in range(_MAX_HOPS):
            again = self._once(name)
            if again is None:
                break
            name = again
        return name if name != url and site_of(name) != site_of(url) else None

    def renamed_all(self, discoveries: Sequence[Discovery]) -> Sequence[Discovery]:
        """The discoveries with the URLs of mirrors renamed; seeds keep theirs."""
        if not self._rules:
            return discoveries
        return [
            replace(each, url=other)
            if each.source is not Source.SEED
            and each.purpose is Purpose.PAGE
            and (other := self.renamed(each.url)) is not None
            and not _comes_back(each, other)
            else each
            for each in discoveries
        ]

    def reconsider(self, discovery: Discovery) -> Verdict:
        """Refuse a URL that waited, if it is of a mirror or a parked domain. Its other name is found instead."""
        url = discovery.url
        if (not self._rules and not self._parked) or discovery.source is Source.SEED:
            return ACCEPT
        if self._parked and self._is_parked(url):
            self._note_refused(site_of(url))
            return Reject("parked", f"domain {domain_of(url, self._suffixes)}")
        other = self.renamed(url)
        if other is None or _comes_back(discovery, other):
            return ACCEPT
        self._note_refused(site_of(url))
        self._renamed.append(replace(discovery, url=other))
        return Reject("mirror", f"mirror of {site_of(other)}")

    def drain_renamed(self) -> list[Discovery]:
        """The other names of the URLs that were refused since the last call."""
        found, self._renamed = self._renamed, []
        return found

    def _note_refused(self, site: Site) -> None:
        if len(self.refused) < MAX_RULES:
            self.refused[site] = None

    def _is_parked(self, url: Url) -> bool:
        """Whether a URL is of a parked domain, neither its home page nor one of the share that is let through."""
        is_home = len(url) == url.index("/", 8) + 1
        return not is_home and domain_of(url, self._suffixes) in self._parked and not self._is_let_through(url)

    def _is_let_through(self, url: Url) -> bool:
        return xxh3_64_intdigest(url.encode()) < self._limit

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


def old_name(rule: HostRule, url: Url) -> Url | None:
    """The URL that a rule renames to this one."""
    start = url.index("/", 8)
    if site_of(url) != rule.target or not url.startswith(rule.target_root, start):
        return None
    return Url(f"{url[: url.index(':')]}://{rule.site}{rule.root}{url[start + len(rule.target_root) :]}")


def _comes_back(discovery: Discovery, other: Url) -> bool:
    """Whether a URL was found because the kept host has no page by its name, or redirects to it."""
    return discovery.source is Source.REDIRECT and discovery.referrer in (other, None)


class HostFacts(Struct, frozen=True):
    """The facts by which the preferred host of a group of mirrors is chosen. `is_listed`: sitemaps name its URLs."""

    trust: float = 0.0
    referrers: int = 0
    is_listed: bool = False


_NOTHING = HostFacts()


def better_host(one: Site, other: Site, facts: Mapping[Site, HostFacts]) -> Site:
    """The one of two hosts that is kept."""
    for host, apex in ((one, other), (other, one)):
        if host == f"www.{apex}" and facts.get(apex, _NOTHING).is_listed:
            return apex
    return min((one, other), key=lambda site: _claim(site, facts.get(site, _NOTHING)))


def rules_of(found: Iterable[MirrorFound], facts: Mapping[Site, HostFacts]) -> list[HostRule]:
    """For each host or part that is a mirror, the rule that renames its URLs: to the best host it is a mirror of."""
    chosen: dict[tuple[Site, str], HostRule] = {}
    for each in found:
        kept = better_host(each.one, each.other, facts)
        rule = (
            HostRule(each.other, each.other_root, each.one, each.one_root)
            if kept == each.one
            else HostRule(each.one, each.one_root, each.other, each.other_root)
        )
        known = chosen.get((rule.site, rule.root))
        if known is None or better_host(known.target, rule.target, facts) == rule.target:
            chosen[rule.site, rule.root] = rule
    whole = {rule.site for rule in chosen.values() if rule.root == "/"}
    return sorted(
        (rule for rule in chosen.values() if rule.root == "/" or rule.site not in whole),
        key=lambda rule: (rule.site, rule.root),
    )


def _claim(site: Site, facts: HostFacts) -> tuple[float, int, int, Site]:
    """The smaller, the better."""
    return -facts.trust, -facts.referrers, len(site), site
