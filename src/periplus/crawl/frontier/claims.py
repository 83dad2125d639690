"""At which addresses a shard has sites, and what share each of them allows it: the shard's side of `neighbours`.

Sites of one address may lie in several shards. Each waits `ip_delay` times the number of those who are there, and
nobody asks there before it has been told that number. What a shard says is its `Presence`, what it hears are `Shares`.
Both are whatever is newest of everything that the other has not confirmed: it does not matter what of it is lost, or
said twice. Places in this list are counted (`position`). Addresses travel as hashes of 64 bits; two that have the same
one count as one address, which is asked less.

Whoever coordinates may die and come back knowing nothing, and then has another `life`: it is told everything anew, and
what its predecessor has said is heard no more from then on.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from xxhash import xxh3_64_intdigest

SAID_AT_ONCE = 2_000
"""So many addresses travel in one message, either way; the others in the next."""


class Presence(Struct, frozen=True):
    """What has changed between two positions, as it is now. `is_all`: there is nothing more to say.

    `came`: addresses where the shard waits for its share; `kept`: where it has one that another coordinator gave it;
    `left`: where it is no more. `heard`: the number of the last `Shares`, in this `life` of the coordinator.
    """

    life: int = 0
    heard: int = 0
    after: int = 0
    until: int = 0
    came: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    left: tuple[int, ...] = ()
    is_all: bool = True


class Shares(Struct, frozen=True):
    """By how many shards addresses are asked, as far as that is news; what was `heard` of the shard, by position."""

    life: int
    number: int
    heard: int
    shares: tuple[tuple[int, int], ...] = ()


class Stay(Struct):
    """At an address since then (`position`), with this share; 0: it waits for one."""

    position: int
    share: int = 0


def key_of(ip: str) -> int:
    """The name of an address, as it travels."""
    return xxh3_64_intdigest(ip.encode())


class Register:
    """The addresses of one shard of so many. Who leaves an address and comes back waits for its share anew.

    `words` counts how often something was said.
    """

    def __init__(self, shards: int, at_once: int = SAID_AT_ONCE) -> None:
        self.shards = shards
        self.words = 0
        self._at_once = at_once
        self._here: dict[int, Stay] = {}
        self._left: dict[int, int] = {}
        self._position = 0
        self._confirmed = 0
        self._life = 0
        self._heard = 0
        self._news: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._here) + len(self._left)

    def share(self, key: int) -> int:
        """How many ask there; 0: nobody has said so yet, and we must not."""
        stay = self._here.get(key)
        return 0 if stay is None else stay.share

    def enter(self, key: int) -> None:
        """There are sites at this address now."""
        self._left.pop(key, None)
        self._position += 1
        self._here[key] = Stay(self._position)

    def leave(self, key: int) -> None:
        """There are none any more."""
        del self._here[key]
        self._news.pop(key, None)
        self._position += 1
        self._left[key] = self._position

    def presence(self) -> Presence:
        """What is to be said now."""
        self.words += 1
        unsaid = sorted(self._unsaid())
        said = unsaid[: self._at_once]
        is_all = len(said) == len(unsaid)
        here = [(key, self._here[key]) for _, key in said if key in self._here]
        return Presence(
            self._life,
            self._heard,
            self._confirmed,
            self._position if is_all else said[-1][0],
            tuple(key for key, stay in here if not stay.share),
            tuple(key for key, stay in here if stay.share),
            tuple(key for _, key in said if key in self._left),
            is_all,
        )

    def _unsaid(self) -> Iterator[tuple[int, int]]:
        """Newest first: those that were confirmed are not looked at."""
        for key, stay in reversed(self._here.items()):
            if stay.position <= self._confirmed:
                break
            yield stay.position, key
        for key, position in reversed(self._left.items()):
            if position <= self._confirmed:
                break
            yield position, key

    def learn(self, shares: Shares) -> None:
        """What the coordinator says. Shares of an earlier stay are none of this one."""
        if shares.life == self._life and shares.number < self._heard:
            return
        self._life, self._heard, self._confirmed = shares.life, shares.number, shares.heard
        for key in [key for key, position in self._left.items() if position <= self._confirmed]:
            del self._left[key]
        for key, share in shares.shares:
            stay = self._here.get(key)
            if stay is not None and stay.position <= shares.heard:
                stay.share = share
                self._news[key] = None

    def news(self) -> list[int]:
        """The addresses whose shares have changed since this was last asked."""
        news = list(self._news)
        self._news.clear()
        return news
