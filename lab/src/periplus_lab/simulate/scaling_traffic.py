"""Simulates a web divided among shards: how fast they crawl it (`pace`), and the traffic between them (`traffic`).

Everything is at full speed: every shard fetches as many pages a second as it can. This is what the design has to carry,
not the traffic of polite crawls of small webs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.engine.router import MAX_DISCOVERIES_PER_BATCH, WINDOWS
from periplus.model import ConfigError

from .generated import site_sizes
from .web import MOST_SITES

_RANK_POWER = 1 - 1 / 1.1
"""One less the exponent by which attraction falls with rank, where in-degrees have a tail of 1.1."""
_PRIME = 2_147_483_647
"""Multiplied with ranks it spreads popular pages over all sites. It divides no number of pages below itself."""
_MOST_LINKS = 200_000_000


class ScalingWebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is divided among the shards."""

    pages: int = 1_000_000
    """how many pages"""
    sites: int = 20_000
    """how many sites share them"""
    seed: int = 0
    """the same seed gives the same web"""
    zipf: float = 1.25
    """the site of rank k has pages in proportion to k ** -zipf (Adamic & Huberman 2002)"""
    largest_site: int = 25_000
    """pages of a site at most (Castillo et al. 2004 stopped there)"""
    links: float = 10.0
    """links of a page in the mean, repeated ones not counted"""
    leaving: float = 0.2
    """share of links that leave their site"""
    sites_an_address: float = 4.0
    """sites that share an address in the mean; an assumption"""
    largest_address: int = 1_000
    """sites of an address at most; an assumption"""

    def check(self) -> None:
        """Raise a `ConfigError` where no web can be made of this."""
        if not (1 <= self.sites <= min(self.pages, MOST_SITES) and self.pages <= self.sites * self.largest_site):
            raise ConfigError(
                f"{self.pages} pages do not fit on {self.sites} sites of 1 to {self.largest_site} pages",
                hint="change pages, sites or largest_site",
            )
        if not (0.0 <= self.leaving <= 1.0 and 0.0 <= self.zipf <= 4.0 and self.links >= 0.0):
            raise ConfigError("leaving (0 to 1), zipf (0 to 4) or links is out of range", hint="leaving = 0.2")
        if not 1.0 <= self.sites_an_address <= self.largest_address:
            raise ConfigError("no address has less than one site, nor more than largest_address", hint="4, 1000")
        if self.pages >= _PRIME or self.pages * self.links * self.leaving > _MOST_LINKS:
            raise ConfigError(
                f"more than {_MOST_LINKS:,} links between sites do not fit in memory", hint="take fewer pages or links"
            )


class ScalingWeb(Struct, frozen=True):
    """Sites with their `sizes` in pages and their `address`; link i leads from the site `source[i]` to `target[i]`.

    Pages are numbered in a row, site by site.
    """

    sizes: NDArray[np.int64]
    address: NDArray[np.int32]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    site_of_page: NDArray[np.int32]


def generate_scaling_web(settings: ScalingWebSettings) -> ScalingWeb:
    """The web that the settings and their seed describe: sites with pages and addresses, and links between sites.

    Ten million pages and their links fit in memory because links within a site are left out: they never leave a shard.
    Sizes of sites are those of `generated`; the targets of links follow the same power law of in-degrees (Broder et al.
    2000: a density of degree ** -2.1). The number of sites at an address follows Zipf's law too; its exponent and the
    largest address are assumptions, since no distribution is published.

    Links come in random order, as if the pages of all sites were fetched in turns: the i-th of n links is found when a
    share of i / n of the crawl is done.
    """
    settings.check()
    random = np.random.default_rng(settings.seed)
    sizes = random.permutation(site_sizes(settings.pages, settings.sites, settings.zipf, settings.largest_site))
    site_of_page = np.repeat(np.arange(settings.sites, dtype=np.int32), sizes)
    count = round(settings.pages * settings.links * settings.leaving)
    source = site_of_page[random.integers(settings.pages, size=count, dtype=np.int32)]
    target = _targets(settings.pages, count, random)
    leaves = source != site_of_page[target]
    return ScalingWeb(sizes, _addresses(settings, random), source[leaves], target[leaves], site_of_page)


def _targets(pages: int, count: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Pages drawn by their popularity: rank r is named in proportion to r ** (_RANK_POWER - 1)."""
    drawn = 1.0 + random.random(count) * ((pages + 1.0) ** _RANK_POWER - 1.0)
    rank = np.minimum(drawn ** (1.0 / _RANK_POWER), float(pages)).astype(np.int64) - 1
    spread: NDArray[np.int64] = rank * _PRIME % pages
    return spread.astype(np.int32)


def _addresses(settings: ScalingWebSettings, random: np.random.Generator) -> NDArray[np.int32]:
    """The address of each site."""
    count = max(1, round(settings.sites / settings.sites_an_address), -(-settings.sites // settings.largest_address))
    shared = site_sizes(settings.sites, count, 1.0, settings.largest_address)
    addresses: NDArray[np.int32] = random.permutation(np.repeat(np.arange(count, dtype=np.int32), shared))
    return addresses


SHARES = ("all", "present")
_STEP = 0.02
_MOST_STEPS = 100_000


class PaceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How fast shards are, and how gently sites are treated."""

    rate: float = 400.0
    """pages a second that a shard can fetch, read and store"""
    delay: float = 1.0
    """seconds between two visits of a site"""
    ip_delay: float = -1.0
    """seconds between two requests to an address; negative: a quarter of `delay`"""
    shares: str = "present"
    """Which shards share the rate of an address: `all`, or those with a site `present` there"""

    def check(self) -> None:
        """Raise a `ConfigError` where no crawl can be like this."""
        if self.rate <= 0 or self.delay <= 0:
            raise ConfigError("rate and delay must be above 0", hint="for example rate = 400, delay = 1.0")
        if self.shares not in SHARES:
            raise ConfigError(
                f"shares must be one of {', '.join(SHARES)}, got {self.shares[:40]!r}", hint='write "present"'
            )

    @property
    def between_requests_to_an_address(self) -> float:
        """`ip_delay`, or what it is by default."""
        return self.ip_delay if self.ip_delay >= 0 else self.delay / 4


class Pace(Struct, frozen=True):
    """After `at[i]` seconds `done[i]` pages were done; the first point is the beginning, the last the end."""

    at: NDArray[np.float64]
    done: NDArray[np.float64]

    def until(self, share: float) -> float:
        """Seconds until this share of the pages was there."""
        return float(np.interp(share * self.done[-1], self.done, self.at))


class _Flow:
    """Sites that still have pages, and how fast they give them."""

    def __init__(
        self,
        sizes: NDArray[np.int64],
        shard: NDArray[np.int32],
        address: NDArray[np.int32],
        shards: int,
        settings: PaceSettings,
    ) -> None:
        self.left = sizes.astype(np.float64)
        self._shard = shard
        self._shards = shards
        self._settings = settings
        meeting, self._group = np.unique(address.astype(np.int64) * shards + shard, return_inverse=True)
        self._group_address = meeting // shards
        self._addresses = int(address.max()) + 1

    def speeds(self) -> NDArray[np.float64]:
        """Pages a second of each site now."""
        settings = self._settings
        cap = np.full(len(self.left), 1.0 / settings.delay)
        if pause := settings.between_requests_to_an_address:
            together = np.bincount(self._group, minlength=len(self._group_address))
            shares = self._shares(together > 0)
            cap = np.minimum(cap, (1.0 / (pause * shares * np.maximum(together, 1)))[self._group])
        wanted = np.bincount(self._shard, weights=cap, minlength=self._shards)
        eased = np.minimum(1.0, settings.rate / np.maximum(wanted, 1e-300))
        speeds: NDArray[np.float64] = cap * eased[self._shard]
        return speeds

    def _shares(self, is_there: NDArray[np.bool_]) -> NDArray[np.float64]:
        if self._settings.shares == "all":
            return np.full(len(is_there), float(self._shards))
        present = np.bincount(self._group_address[is_there], minlength=self._addresses).astype(np.float64)
        shares: NDArray[np.float64] = np.maximum(present[self._group_address], 1.0)
        return shares

    def drop(self, ended: NDArray[np.bool_]) -> None:
        """These have no more pages."""
        stays = ~ended
        self.left, self._shard, self._group = self.left[stays], self._shard[stays], self._group[stays]


def pace(
    sizes: NDArray[np.int64],
    shard: NDArray[np.int32],
    address: NDArray[np.int32],
    shards: int,
    settings: PaceSettings,
) -> Pace:
    """The course of a crawl in which site i has `sizes[i]` pages and is in `shard[i]`, at `address[i]`.

    Pages flow: a site gives a page every `delay` seconds at most; all sites of an address in a shard together one every
    `ip_delay` times as many seconds as there are shares in the address; a shard takes `rate` pages a second, and
    divides them evenly among the sites that could give one. With the shares `present`, an address has as many as shards
    have a site there, as in crawls, whose coordinator sends that number; with `all`, as many as there are shards, as if
    shards did not communicate.

    Time advances in steps of a fiftieth of what has passed; within a step nothing changes but sites that end. Sites
    that are found late, latencies and retries are left out: the result is a bound that a real crawl can approach and
    not pass.
    """
    settings.check()
    flow = _Flow(sizes, shard, address, shards, settings)
    now, done, total = 0.0, 0.0, float(sizes.sum())
    at, had = [0.0], [0.0]
    for _ in range(_MOST_STEPS):
        speeds = flow.speeds()
        needed = flow.left / speeds
        step = max(float(needed.min()), _STEP * now)
        ended = needed <= step
        is_last = bool(ended.all())
        now += float(needed.max()) if is_last else step
        flow.left -= np.minimum(flow.left, speeds * step)
        flow.drop(ended)
        done = total - float(flow.left.sum())
        at.append(now)
        had.append(done)
        if is_last:
            break
    return Pace(np.array(at), np.array(had))


def bounds(
    sizes: NDArray[np.int64], shard: NDArray[np.int32], shards: int, settings: PaceSettings
) -> Sequence[tuple[float, str]]:
    """Seconds before which no crawl can end, whatever is visited first, and why; the longest first."""
    busiest = float(np.bincount(shard, weights=sizes).max()) / settings.rate
    largest = float(sizes.max())
    waits = settings.between_requests_to_an_address * (shards if settings.shares == "all" else 1)
    found = [(busiest, "busiest shard"), (largest * settings.delay, "largest site"), (largest * waits, "address share")]
    return sorted(found, reverse=True)


class ExchangeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How discoveries are sent, and the measured sizes and costs; docs/cluster.md shows what follows from them."""

    remembered_links: int = 200_000
    """recent links that a shard does not send again"""
    news: float = 3.0
    """Mean number of links of a page that its shard has not seen recently"""
    commit_interval: float = 1.0
    """seconds between two commits of a shard"""
    batch: int = MAX_DISCOVERIES_PER_BATCH
    """discoveries in a batch at most"""
    windows: int = WINDOWS
    """batches that a shard lets be on their way at once, to all others together"""
    discovery_bytes: float = 282.0
    """bytes of a discovery"""
    batch_bytes: float = 200.0
    """Bytes of a batch and of its receipt, besides its contents"""
    batch_seconds: float = 110e-6
    """CPU seconds to store, pack and unpack a batch, besides its contents, at sender and receiver together"""
    discovery_seconds: float = 2.3e-6
    """CPU seconds of each discovery in it, at both together; that it is then looked up costs the same anywhere"""
    message_seconds: float = 1e-3
    """CPU seconds of a message from one actor to another, at both together"""


class Traffic(Struct, frozen=True):
    """The traffic of all shards. `told[i, j]`: discoveries from shard i to shard j in the whole crawl.

    `foreign` is the share of the links between sites whose target is on another shard, `spared` the share of those that
    were not sent because they had been sent before. Rates are those of one shard, in the mean: `discoveries`,
    `batches`, `messages` and `bytes` a second that leave it; as many arrive. `fill` is how many discoveries a batch
    has; `a_commit` how many batches each commit of a shard releases; `share` the part of a core that it takes to send
    and to receive them.
    """

    told: NDArray[np.int64]
    foreign: float
    spared: float
    a_page: float
    discoveries: float
    batches: float
    messages: float
    fill: float
    a_commit: float
    bytes: float
    share: float


def traffic(web: ScalingWeb, owner: NDArray[np.int32], shards: int, rate: float, settings: ExchangeSettings) -> Traffic:
    """The traffic between shards, where site i is with `owner[i]`: the links sent, the batches, and their cost.

    A shard sends a link once, and again when it has forgotten that it did: it remembers recent links in two generations
    (`engine.links`; Olston & Najork 2010, section 2.3.4, on a cache of popular URLs). Batches leave with each commit,
    one for every shard that has anything to receive, so that batches are emptier the more shards there are.
    """
    pages = float(web.sizes.sum())
    here, there = owner[web.source], owner[web.site_of_page[web.target]]
    leaves = here != there
    told = _messages(web, owner, here, leaves, shards, settings)
    crossing, sent = int(leaves.sum()), float(told.sum())
    seconds = np.maximum(np.bincount(owner, weights=web.sizes, minlength=shards), 1.0) / rate
    pairs = told / seconds[:, np.newaxis]
    batches = float(batches_a_second(pairs, settings).sum())
    discoveries = float(pairs.sum())
    weight = discoveries * settings.discovery_bytes + batches * settings.batch_bytes
    messages = float(messages_a_second(pairs, settings).sum())
    cost = (
        batches * settings.batch_seconds
        + discoveries * settings.discovery_seconds
        + messages * settings.message_seconds
    )
    return Traffic(
        told=told,
        foreign=crossing / max(len(leaves), 1),
        spared=1.0 - sent / crossing if crossing else 0.0,
        a_page=sent / pages,
        discoveries=discoveries / shards,
        batches=batches / shards,
        messages=messages / shards,
        fill=discoveries / batches if batches else 0.0,
        a_commit=batches / shards * settings.commit_interval,
        bytes=weight / shards,
        share=cost / shards,
    )


def _messages(
    web: ScalingWeb,
    owner: NDArray[np.int32],
    here: NDArray[np.int32],
    leaves: NDArray[np.bool_],
    shards: int,
    settings: ExchangeSettings,
) -> NDArray[np.int64]:
    """Discoveries by sender and receiver.

    What is sent in one generation is remembered in the next: so a link is sent once in two of them.
    """
    pages = int(web.sizes.sum())
    lasting = settings.remembered_links / max(settings.news, 1e-9) * shards / pages
    """the share of the crawl in which a shard fills two generations"""
    spell = (np.arange(len(leaves)) / max(len(leaves), 1) / lasting).astype(np.int64)[leaves]
    what = here[leaves].astype(np.int64) * pages + web.target[leaves]
    spells = int(spell.max(initial=0)) + 1
    what = _distinct(what * spells + spell) // spells
    pair = what // pages * shards + owner[web.site_of_page[what % pages]]
    return np.bincount(pair, minlength=shards * shards).reshape(shards, shards)


def _distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct numbers; sorting is several times as fast as the table of `np.unique` where most are different."""
    numbers.sort()
    is_first = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return numbers[is_first]


def batches_a_second(pairs: NDArray[np.float64], settings: ExchangeSettings) -> NDArray[np.float64]:
    """Batches of each pair of shards with a rate of discoveries between them, which arrive at random (Poisson).

    A commit sends one if there is anything to send, and one more for each that was full before.
    """
    waiting = pairs * settings.commit_interval
    batches: NDArray[np.float64] = (-np.expm1(-waiting) + waiting / settings.batch) / settings.commit_interval
    return batches


def messages_a_second(pairs: NDArray[np.float64], settings: ExchangeSettings) -> NDArray[np.float64]:
    """Messages between shards: after a commit one is sent where there is a batch or a receipt."""
    reason = (pairs + pairs.T) * settings.commit_interval
    messages: NDArray[np.float64] = -np.expm1(-reason) / settings.commit_interval
    return messages
