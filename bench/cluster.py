"""Discoveries between two actors on one machine: how many a second, and how much memory when the receiver is slow.

Everything that a discovery goes through between two shards is here and real: it is packed into a batch, kept in the
sender's state and committed, offered, sent by its outbound thread, refused when the inbox is full, taken from there,
checked by its number, unpacked, committed by the receiver, and acknowledged. What the receiver's frontier does with it
is not: that is `bench.state`. `python -m bench.cluster` says it for other lengths.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path
from threading import Thread
from typing import Any

from msgspec.structs import replace

from bench.harness import Group, Target
from periplus.engine.router import MAX_DISCOVERIES_PER_BATCH, WINDOW
from periplus.engine.shard import ShardOutput
from periplus.engine.sharding.messages import Delivery
from periplus.model import Discovery, Source, Url
from periplus.store import DiskState
from periplus_ray.connection import connected, load
from periplus_ray.links import Inbox, Transfer
from periplus_ray.outbound import Outbound, Watchdog

WANTED = 500_000
_COMMIT = 0.1
"""Seconds between two commits of either side, at least."""
_KEPT = 4 * WINDOW
"""Batches that wait in the sender's state, at most; who made more would not measure the exchange."""


class Talker:
    """One side: a state on disk, an inbox and an outbound thread; no sites."""

    def __init__(self, number: int, folder: str) -> None:
        self._number = number
        self._folder = folder
        self._inbox = Inbox()
        self._ray = load()
        self._done = 0
        self._idle_memory = _memory()
        self._outbound = Outbound(
            self._ray,
            number,
            2,
            epoch=1,
            coordinator=_no_coordinator,
            actor_of=lambda other: self._ray.get_actor(f"talker-{other}"),
            inbox=self._inbox,
            watchdog=Watchdog(),
        )
        self._inbox.epoch = 1
        Thread(target=self._outbound.run, args=(lambda: True,), daemon=True).start()

    def deliver(self, transfer: Transfer) -> int:
        """From the other."""
        epoch = self._inbox.deliver(transfer)
        if epoch:
            self._outbound.received.put(replace(transfer, batches=()))
        return epoch

    def send(self, batches: int) -> None:
        """Send this number, as fast as they are taken."""
        Thread(target=self._send, args=(batches,), daemon=True).start()

    def take(self, pause: float) -> None:
        """Take what comes, with a pause after each batch."""
        Thread(target=self._take, args=(pause,), daemon=True).start()

    def standing(self) -> tuple[int, int]:
        """Discoveries acknowledged or taken by now, and by how many bytes the process has grown since it began."""
        return self._done, max(_memory() - self._idle_memory, 0)

    def _send(self, batches: int) -> None:
        state = DiskState(Path(self._folder), shard=self._number)
        made = acknowledged = offered = 0
        links = discoveries(self._number)
        while acknowledged < batches:
            while made < batches and len(state.exchange) < _KEPT:
                state.exchange.send(1, links)
                made += 1
            state.commit()
            for batch in state.exchange.unsent(1, WINDOW - (offered - acknowledged)):
                offered = batch.number
                self._outbound.posts.put(ShardOutput((batch,)))
            time.sleep(0.001)
            while isinstance(message := self._inbox.take(), Delivery):
                acknowledged = max(acknowledged, message.receipts.get(1, 0))
                state.exchange.acknowledged(1, acknowledged)
                self._done = acknowledged * MAX_DISCOVERIES_PER_BATCH
        state.close()

    def _take(self, pause: float) -> None:
        state = DiskState(Path(self._folder), shard=self._number)
        commit_at, told = 0.0, 0
        while True:
            if isinstance(message := self._inbox.take(), Delivery):
                for batch in message.batches:
                    if state.exchange.is_new(batch):
                        self._done += len(batch.messages)
                        time.sleep(pause)
            else:
                time.sleep(0.0005)
            taken = state.exchange.taken(0)
            if taken > told and time.monotonic() >= commit_at:
                state.commit()
                self._outbound.posts.put(ShardOutput(receipts={0: taken}))
                commit_at, told = time.monotonic() + _COMMIT, taken


def _no_coordinator() -> Any:
    raise ValueError("this bench has no coordinator")


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def discoveries(number: int) -> tuple[Discovery, ...]:
    """A batch as a crawl makes them: links of some pages to pages of some sites."""
    return tuple(
        Discovery(
            Url(f"https://www.example-{each % 50}.org/some/path/page-{number}-{each}.html"),
            Source.LINK,
            1.7e9 + each,
            3,
            Url(f"https://other.example.org/dir/page-{number}-{each // 20}.html"),
        )
        for each in range(MAX_DISCOVERIES_PER_BATCH)
    )


def talk(ray: Any, folder: Path, batches: int, pause: float, seconds: float) -> tuple[float, list[int]]:
    """Discoveries a second, until all are acknowledged or time is over; and the growth of both processes."""
    make = ray.remote(num_cpus=1)(Talker)
    pair = [
        make.options(name=f"talker-{number}").remote(number, str(folder / f"{pause}-{number}")) for number in (0, 1)
    ]
    ray.get([each.standing.remote() for each in pair])
    began_at = time.monotonic()
    ray.get([pair[1].take.remote(pause), pair[0].send.remote(batches)])
    while True:
        time.sleep(0.05)
        standings = ray.get([each.standing.remote() for each in pair])
        passed = time.monotonic() - began_at
        if standings[0][0] >= batches * MAX_DISCOVERIES_PER_BATCH or passed > seconds:
            break
    for each in pair:
        ray.kill(each)
    return standings[0][0] / passed, [grown for _, grown in standings]


def measure(*, quick: bool) -> list[Group]:
    """Both, as a table."""
    batches, seconds = (1_000, 5.0) if quick else (5_000, 20.0)
    with tempfile.TemporaryDirectory() as folder, connected("local", 2) as ray:
        fast, grown = talk(ray, Path(folder), batches, 0.0, 120.0)
        slow, slow_grown = talk(ray, Path(folder), 10 * batches, 0.1, seconds)
    rates = {"two actors": fast, "wanted": float(WANTED), "a receiver that takes 10 batches a second": slow}
    facts = {
        "memory that sender and receiver took": " and ".join(f"{each >> 20} MiB" for each in grown),
        "the same with the slow receiver": " and ".join(f"{each >> 20} MiB" for each in slow_grown),
    }
    title = "Discoveries between two actors, durable at both ends"
    return [Group(title, "discoveries/s", rates, (Target("two actors", "wanted", 1.0),), (), facts)]


def main() -> int:
    """Run and print."""
    ask = argparse.ArgumentParser(prog="python -m bench.cluster")
    ask.add_argument("--quick", action="store_true")
    asked = ask.parse_args()
    for group in measure(quick=asked.quick):
        for name, rate in group.rates.items():
            print(f"{name}: {rate:,.0f} {group.unit}")
        for name, fact in group.facts.items():
            print(f"{name}: {fact}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
