"""The state of a crawl besides its URLs: queues, visits, payloads, batches.

These are the types of the ports of storage; `engine` decides with them. The record of a site is in `store.crawl_state`:
it holds what policies have learnt, and `model` does not know their types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Final, Self, TypeVar, cast

import msgspec
from msgspec import Raw, Struct
from zstandard import ZstdCompressor, ZstdDecompressor

from .errors import CollectionDamaged
from .page import Form
from .types import ChangeLevel, Digests, Discovery, FetchOutcome, Lane, Site, Url

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


V = TypeVar("V", bound=Struct)


class PartValues:
    """What parts of the crawl have learnt and keep in a record: a value of each type, stored by the name of the type.

    A value is decoded when it is first asked for, and is then the same object as long as the record is loaded; what
    is never asked for stays as it was stored. A type that is renamed loses its values.
    """

    __slots__ = ()
    values: dict[str, Raw]
    """Encoded values, and in their places the decoded ones: an encoder takes both."""

    def value(self, kind: type[V]) -> V | None:
        """The value of a type, for reading and changing; `None` if there is none."""
        found = self.values.get(kind.__name__)
        if type(found) is Raw:
            try:
                decoded: V = _decoder(kind)(found)
            except msgspec.MsgspecError as error:
                raise CollectionDamaged(
                    f"a row of the state cannot be read: {error}", hint="run periplus repair on the folder"
                ) from error
            return self.keep(decoded)
        return cast("V | None", found)

    def pack(self, kind: type[object]) -> None:
        """Encode the value of a type now, and hold only that. The object that `value` returned is not kept any more."""
        found: object = self.values.get(kind.__name__)
        if found is not None and type(found) is not Raw:
            self.values[kind.__name__] = Raw(_encode(found))

    def keep(self, value: V) -> V:
        """Keep a value in place of the one of its type."""
        self.values[type(value).__name__] = cast("Raw", value)
        return value


@cache
def _decoder(kind: type[V]) -> Callable[[Raw], V]:
    return msgspec.msgpack.Decoder(kind).decode


class Queued(Struct, frozen=True, gc=False):
    """A URL that waits for its site's next visit. Smaller levels go first, and within a level the earlier URL."""

    url: Url
    site: Site
    lane: Lane
    level: int


class Probe(Struct, frozen=True):
    """A URL to be fetched for comparison only, and which kind of judge compares: it gets the answer."""

    url: Url
    kind: str


BROWSER_PROBE: Final = "cloaking-browser"
"""The kind of probes that are sent with a browser's name."""


class Ticket(Struct, frozen=True, gc=False):
    """A place in a queue: what `Queues.heads` shows and `Queues.remove` takes away."""

    place: bytes
    entry: Queued


class Stage(IntEnum):
    """How far a URL has come, for an ordering that learns."""

    HEARD_OF = 0
    POOLED = 1
    WAITING = 2
    DONE = 3


class UrlScore(Struct, gc=False):
    """The score of a URL in an ordering that learns. Mutable: the frontier works on it, and puts it back.

    `worth` is cash, rank, mass or a number of links; `level` and `place` are those of its ticket while it waits;
    `since` is how many pages had been fetched when it was found; `sources` has a bit for each source.
    """

    worth: float = 0.0
    stage: int = Stage.HEARD_OF
    level: int = 0
    lane: Lane = Lane.DISCOVERY
    place: bytes = b""
    since: int = 0
    sources: int = 0
    is_seed: bool = False


class KnownLinks(Struct, frozen=True):
    """The part of the web that is known, as numbers: what an ordering by rank looks at from time to time.

    Link `i` leads from `sources[i]` to `targets[i]`; the other columns have a row for each URL.
    """

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    worth: NDArray[np.float64]
    stage: NDArray[np.uint8]
    level: NDArray[np.uint8]
    is_seed: NDArray[np.bool_]


class SitemapFileRow(Struct, frozen=True):
    """A stored sitemap file: its site, when it is due, and everything else in `row`."""

    key: str
    site: Site
    due_at: float
    row: bytes


class Delegation(Struct, frozen=True, array_like=True):
    """A robots.txt that is fetched here for another site: the site, the URL, and after how many redirects.

    As a message: the shard of `wanted_by` asks the shard that has the URL, for the `attempt`-th time.
    """

    wanted_by: Site
    url: Url
    redirects: int
    attempt: int = 1


class SiteVisits(Struct, frozen=True, array_like=True):
    """The state of a site in the frontier while URLs of it wait: its stage, and since when.

    `level` is the level of its best URL when last looked at; `not_before` until when requests that have ended want it
    left alone while others are under way; `taken` the pages of the present visit; `lookups` the failed DNS lookups in
    a row; `delegated` robots files that are to be fetched here for other sites; `awaits_robots`: another site is being
    asked for its robots.txt. `is_guest`: it was admitted beyond the capacity. `took_file`: its last request was for a
    sitemap. `turn` counts up over all sites: of two that are wanted alike, the one that rested first comes first.
    `is_deferred`: it rests only because discounted domains have had their share. `answer_by`: until when another shard
    may answer, if it was asked for the robots.txt; 0: it was not.
    """

    site: Site
    stage: int
    ready_at: float
    level: int
    not_before: float = 0.0
    taken: int = 0
    lookups: int = 0
    delegated: tuple[Delegation, ...] = ()
    awaits_robots: bool = False
    is_guest: bool = False
    took_file: bool = False
    turn: int = 0
    is_deferred: bool = False
    answer_by: float = 0.0


class AddressVisits(Struct, frozen=True, array_like=True):
    """When an IP address (as a hash) may next be asked, and among how many shards it is shared (0: not known yet).

    `is_idle`: it had no site when last checked. `window`: how many requests may be under way there; `best`: the seconds
    that its fastest answers take lately, 0 before the first.
    """

    key: int
    next_at: float
    share: int = 1
    is_idle: bool = False
    window: float = 1.0
    best: float = 0.0


class DomainVisits(Struct, frozen=True, array_like=True):
    """How many pages of a registrable domain were granted, and how many of its hosts admitted.

    `is_seed`: a person named one of its URLs. `hops`: links between domains from a seed's domain to the first host.
    """

    domain: str
    fetched: int = 0
    hosts: int = 0
    is_seed: bool = False
    hops: int = 0


class TreeUse(Struct, frozen=True, array_like=True, gc=False):
    """How many files, entries and bytes a tree of sitemaps has used of its budget. `tree` is the key of its root."""

    tree: str
    files: int = 0
    entries: int = 0
    size: int = 0


class SiteOutage(Struct, frozen=True, array_like=True):
    """A site that is down: since when and why, when it was last asked and is asked next, and the last wait in seconds.

    `is_known`: pages of it were fetched before. `has_pages_only`: it answers, but not with its pages.
    """

    site: Site
    since: float
    reason: str
    tried_at: float
    next_at: float
    pause: float


class FormRow(Struct, array_like=True):
    """A form of a site. Mutable: the crawl works on it, and the store keeps copies. Add fields at the end.

    `page` is the page that showed it first, `depth` the distance of that from a seed, `charset` its encoding. `status`
    is `refused` (it is never submitted), `found` (it may be), `checking` (its page is loaded a second time), `open` (it
    is being submitted) or `ended`; `reason` says why it was refused or has ended. `state` is what is known of an open
    or ended form (`parts.forms.ProberState`). `today` counts its requests of a `day`; `refusals` how often the server
    refused; of the records found through it, `known` had been discovered elsewhere before, and `listed` in a sitemap.
    `due_at` is the time of its next action.
    """

    key: int
    site: Site
    page: Url
    form: Form
    kind: str
    status: str
    reason: str
    found_at: float
    charset: str = "utf-8"
    depth: int = 0
    state: bytes = b""
    day: int = 0
    today: int = 0
    refusals: int = 0
    known: int = 0
    listed: int = 0
    due_at: float = 0.0


class LinkChunk(Struct, frozen=True, array_like=True):
    """Recently seen links: URLs, one a line, compressed. The newest chunks have the highest numbers."""

    number: int
    packed: bytes


class RobotsFile(Struct, frozen=True):
    """The answer of a site to the request for its robots.txt, and the access it gives by RFC 9309 section 2.3.1.

    `access` is `rules` (obey the body), `all` (the file does not exist) or `none` (the site cannot be asked now).
    """

    site: Site
    access: str
    body: bytes
    fetched_at: float
    expires_at: float
    status: int | None = None
    reason: str = ""


class Payload(Struct, frozen=True):
    """Where the bytes of a response are stored: a later one with the same digest refers to it instead."""

    digest: bytes
    url: Url
    fetched_at: float
    record_id: str


class Sketched(Struct, frozen=True, gc=False):
    """A page to be put into a cluster of near-duplicates: its sketch, and what decides which URL is canonical there.

    `is_listed`: its site lists it in a sitemap; `worth` is what links make of it; `canonical` is the URL that it names
    as its canonical one; `links` the digest of its links in any order (0: not known).
    """

    url: Url
    sketch: bytes
    is_listed: bool = False
    worth: float = 0.0
    canonical: Url | None = None
    links: int = 0


class Placement(Struct, frozen=True, gc=False):
    """The cluster a page was put into: `size` near-duplicates with the canonical URL `canonical`.

    `likeness` is how much the page resembles the text of the cluster's first page, from 0 to 1; `is_copy`: another page
    had that text before, and still has as far as is known. `names` is the canonical URL that the page itself names; in
    a large cluster that is kept only for the few pages that may represent it. `site`: of the cluster's first page.
    """

    cluster: int
    canonical: Url
    size: int
    likeness: float
    is_copy: bool
    names: Url | None = None
    site: Site | None = None


class BodyReading(Struct, frozen=True):
    """The result of reading a body: digests, whether another URL had the same text before, whether it may be indexed.

    `level` is how much it differs from the version before (`None`: there was none), `version` what to keep of it, and
    `blocks` of its parts. `placement` is where it was put among pages with the same text, if it has enough text.
    `is_repeated`: another URL of its own site had the text before, not only one of another site. `words`: how many it
    has, roughly.
    """

    digests: Digests
    is_copy: bool = False
    is_indexable: bool = True
    level: ChangeLevel | None = None
    version: bytes = b""
    blocks: bytes = b""
    placement: Placement | None = None
    is_repeated: bool = False
    words: int = 0

    @property
    def cluster(self) -> int:
        """The number of its near-duplicates, from 1; 0 for a page with hardly a text."""
        return 0 if self.placement is None else self.placement.cluster + 1


class Stored(Struct, frozen=True, gc=False):
    """Where the answer to a fetch is stored: one gzip member in a WARC file, and the digest of its payload."""

    file: str
    offset: int
    length: int
    digest: str
    is_revisit: bool = False


class RobotsAnswer(Struct, frozen=True):
    """The answer to a `Delegation` of another shard: the outcome for its URL and site, and where it is stored.

    `is_final`: the site of the URL was given up, so that asking again is useless.
    """

    outcome: FetchOutcome
    stored: Stored | None = None
    is_final: bool = False


Message = Discovery | Delegation | RobotsAnswer
"""What one shard sends to another."""
Messages = Sequence[Discovery] | Sequence[Delegation] | Sequence[RobotsAnswer]
"""The messages of one batch: all are of one kind."""


class Batch(Struct, frozen=True):
    """Messages of one kind on their way from one shard to another. Numbers count up from 1 for each pair of shards.

    They are packed by the sender and unpacked by the receiver: everything in between handles bytes.
    """

    sender: int
    receiver: int
    number: int
    packed: bytes

    @classmethod
    def of(cls, sender: int, receiver: int, number: int, messages: Messages) -> Self:
        """A batch of these."""
        return cls(sender, receiver, number, pack(messages))

    @property
    def kind(self) -> int:
        """The kind of its messages: a place in `KINDS`, or a higher number if a later version has sent it."""
        return 0 if self.packed[:4] == _ZSTANDARD else self.packed[0]

    @property
    def messages(self) -> Messages:
        """The messages of the batch; unpacked each time. None if their kind is not known."""
        kind = self.kind
        if kind >= len(KINDS):
            return ()
        packed = self.packed[1:] if kind else self.packed
        found: Messages = _DECODERS[kind].decode(ZstdDecompressor().decompress(packed))
        return found


KINDS: Final = (Discovery, Delegation, RobotsAnswer)
"""The kinds of messages, by number. New ones are appended; a number is never used again."""
_ZSTANDARD: Final = b"\x28\xb5\x2f\xfd"
"""How a Zstandard frame begins (RFC 8878): a batch of discoveries is nothing else, any other has its kind in front."""
_DECODERS: Final = [msgspec.msgpack.Decoder(tuple[kind, ...]) for kind in KINDS]  # type: ignore[valid-type]
_encode = msgspec.msgpack.Encoder().encode


def pack(messages: Messages) -> bytes:
    """The packed form of messages: URLs with common prefixes take about a tenth of their size."""
    kind = KINDS.index(type(messages[0])) if messages else 0
    packed = ZstdCompressor(level=1).compress(_encode(tuple(messages)))
    return bytes([kind]) + packed if kind else packed
