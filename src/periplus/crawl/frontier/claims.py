"""The addresses a shard sends requests to, and its share of each: the shard's side of `crawl.sharding.claims`.

Sites at one IP address may belong to several shards. Each of these shards waits `ip_delay` times the number of shards
at the address, and sends nothing there before the coordinator has sent it that number. The shard sends a
`ClaimsReport` and receives `AddressShares`. Both contain the latest value of everything that the other side has not
confirmed, so that messages may be lost or repeated. Every change gets a position; the coordinator confirms positions.

Addresses travel as 64-bit hashes. Two addresses with the same hash count as one, which then gets fewer requests.

A coordinator may die and be replaced by one that knows nothing and has another id. It is sent everything again, and
messages of its predecessor are ignored from then on.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from xxhash import xxh3_64_intdigest

MAX_ADDRESSES_PER_MESSAGE = 2_000
"""Maximum number of addresses in one message, in either direction; the rest follows in the next message. It keeps a
report of a shard that starts at thousands of addresses at some 20 KB."""


class ClaimsReport(Struct, frozen=True):
    """What has changed between two positions, as it is now.

    `requested`: addresses where the shard waits for a share; `held`: where it has a share from another coordinator;
    `released`: where it sends no more requests. `received`: the number of the last `AddressShares` of this coordinator.
    `is_complete`: whether the report reaches the shard's latest position.
    """

    coordinator: int = 0
    received: int = 0
    after: int = 0
    until: int = 0
    requested: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    released: tuple[int, ...] = ()
    is_complete: bool = True


class AddressShares(Struct, frozen=True):
    """For each address whose share has changed, the number of shards there.

    `received` is the position up to which the coordinator has the shard's reports.
    """

    coordinator: int
    number: int
    received: int
    shares: tuple[tuple[int, int], ...] = ()


class _Claim(Struct):
    """An address claimed at `position`; a share of 0: not granted yet."""

    position: int
    share: int = 0


def key_of(ip: str) -> int:
    """The hash of an address that travels in messages."""
    return xxh3_64_intdigest(ip.encode())


class AddressClaims:
    """The address claims of one shard. An address that is left and entered again waits for a new share.

    `shards` is the number of shards of the crawl, `words` the number of reports made.
    """

    def __init__(self, shards: int, per_message: int = MAX_ADDRESSES_PER_MESSAGE) -> None:
        self.shards = shards
        self.words = 0
        self._per_message = per_message
        self._claims: dict[int, _Claim] = {}
        self._released: dict[int, int] = {}
        self._position = 0
        self._confirmed = 0
        self._coordinator = 0
        self._received = 0
        self._news: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self._claims) + len(self._released)

    def share(self, key: int) -> int:
        """The number of shards that send requests to an address; 0: not known yet, so this shard must not."""
        claim = self._claims.get(key)
        return 0 if claim is None else claim.share

    def enter(self, key: int) -> None:
        """The shard has sites at this address now."""
        self._released.pop(key, None)
        self._position += 1
        self._claims[key] = _Claim(self._position)

    def leave(self, key: int) -> None:
        """The shard has no sites at this address any more."""
        del self._claims[key]
        self._news.pop(key, None)
        self._position += 1
        self._released[key] = self._position

    def report(self) -> ClaimsReport:
        """What the coordinator has not confirmed, oldest first, as much as one message holds."""
        self.words += 1
        unconfirmed = sorted(self._unconfirmed())
        sent = unconfirmed[: self._per_message]
        is_complete = len(sent) == len(unconfirmed)
        claims = [(key, self._claims[key]) for _, key in sent if key in self._claims]
        return ClaimsReport(
            self._coordinator,
            self._received,
            self._confirmed,
            self._position if is_complete else sent[-1][0],
            tuple(key for key, claim in claims if not claim.share),
            tuple(key for key, claim in claims if claim.share),
            tuple(key for _, key in sent if key in self._released),
            is_complete,
        )

    def _unconfirmed(self) -> Iterator[tuple[int, int]]:
        """Newest first, so that the scan ends at the first change that is confirmed."""
        for key, claim in reversed(self._claims.items()):
            if claim.position <= self._confirmed:
                break
            yield claim.position, key
        for key, position in reversed(self._released.items()):
            if position <= self._confirmed:
                break
            yield position, key

    def update(self, shares: AddressShares) -> None:
        """Apply the coordinator's message. A share for an earlier claim of the same address does not count."""
        if shares.coordinator == self._coordinator and shares.number < self._received:
            return
        self._coordinator, self._received, self._confirmed = shares.coordinator, shares.number, shares.received
        for key in [key for key, position in self._released.items() if position <= self._confirmed]:
            del self._released[key]
        for key, share in shares.shares:
            claim = self._claims.get(key)
            if claim is not None and claim.position <= shares.received:
                claim.share = share
                self._news[key] = None

    def news(self) -> list[int]:
        """The addresses whose shares have changed since the last call."""
        news = list(self._news)
        self._news.clear()
        return news
