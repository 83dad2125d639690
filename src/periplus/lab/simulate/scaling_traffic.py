"""Traffic between shards: which links are sent to another shard, in how many batches, and at what cost.

A shard tells of a link once, and again when it has forgotten that it did: it remembers the links lately met in two
generations (`crawl.reading`; Olston & Najork 2010, section 2.3.4, on a cache of popular URLs). Batches leave with each
commit, one for every shard that has anything to receive, so that the more shards there are the emptier they are.

Everything here is at full speed: every shard fetches as many pages a second as it can. It is what the design has to
carry, not what polite crawls of small webs come to.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from periplus.crawl.router import MAX_DISCOVERIES_PER_BATCH, WINDOWS

from .scaling_web import ScalingWeb


class ExchangeSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How discoveries are sent, and the measured sizes and costs; docs/cluster.md has the values."""

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

    `foreign` is the share of the links between sites that lead to another shard, `spared` the share of those that were
    not told because that had been done. Rates are those of one shard, in the mean: `discoveries`, `batches`, `messages`
    and `bytes` a second that leave it; as many arrive. `fill` is how many discoveries a batch has; `a_commit` how many
    batches each commit of a shard lets go; `share` which part of a core it takes to send and to receive them.
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
    """The traffic between shards, where site i is with `owner[i]`."""
    pages = float(web.sizes.sum())
    here, there = owner[web.source], owner[web.site_of_page[web.target]]
    leaves = here != there
    told = _told(web, owner, here, leaves, shards, settings)
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


def _told(
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
    """Each of them once; sorting is several times as fast as the table of `np.unique` where most are different."""
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
