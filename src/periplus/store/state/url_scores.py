"""Scores of URLs on disk, for orderings that learn; and all links, for orderings that need them.

    standings        site number, fingerprint -> worth, stage, place in its queue, ..., URL (keys: see `sites`)
    ranks            number // CHUNK -> the worth that CHUNK URLs were given by the last ranking
    standing-links   number -> links, each as the numbers of two URLs

URLs are numbered in the order in which they came, so that a link is eight bytes, and a ranking is arrays without any
search. A ranking gives every URL another worth: it is written as chunks of an array, and a row holds the worth of its
URL only if it was written since (`ranking` counts them).

The score of a URL in a site's navigation changes with every page that links to it, so rows are written only when many
have changed or the state is committed. Memory holds the rows changed since, and some used lately. Only `known` takes
more: for each URL about 60 bytes while it runs and 12 from then on, for each link 16.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from xxhash import xxh3_64_digest

from periplus.model import CollectionDamaged, InvariantError, KnownLinks, Site, Stage, Url, UrlScore

from .environment import Environment, Table
from .rows import LANES, lengthen
from .sites import ID_LENGTH, KEY_LENGTH, MAX_PROBES, Recent, SiteNames, next_place, places_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REMEMBERED = 16_384
MAX_HELD = 16_384
"""Rows that may wait to be written."""
MAX_HELD_LINKS = 65_536
CHUNK = 510
"""Ranks in a row: with LMDB's own header they fill a page of 4096 bytes."""
AT_ONCE = 4_096
"""Rows that `known` reads together."""

COUNTS, GONE = b"standings", b"standings-gone"
_COUNTS = struct.Struct(">QQQQ")
_HEAD = struct.Struct("<dIIIBBBB")
_HEADS = [
    ("worth", "<f8"),
    ("since", "<u4"),
    ("number", "<u4"),
    ("ranking", "<u4"),
    ("flags", "u1"),
    ("level", "u1"),
    ("sources", "u1"),
    ("place", "u1"),
]
"""The fields of `_HEAD` as numpy has them; numpy is imported by what handles all rows together."""
_STAGE, _IS_SEED, _LANE = 0b11, 0b10000, 0b101100
"""Bits of the flags. The third bit of a lane came later than the seed's, so it lies behind it."""
_LANE_BITS = {lane: (code & 0b11) << 2 | (code >> 2) << 5 for code, lane in enumerate(LANES)}
_LANE_OF = {bits: lane for lane, bits in _LANE_BITS.items()}
_LATEST = 2**32 - 1
_IS_GONE = 255
"""In place of the length of a place, in memory alone: a number whose URL has moved to another state."""


class _Kept(UrlScore, gc=False):
    """A score with its number, its key, its URL as stored, and whether it was counted as pooled."""

    number: int = 0
    key: bytes = b""
    short: bytes = b""
    is_pooled: bool = False


class DiskUrlScores:
    """`UrlScores` in three tables, which are made when the first of them is needed: most orderings learn nothing."""

    def __init__(
        self,
        environment: Environment,
        names: SiteNames,
        *,
        remembered: int = REMEMBERED,
        digest: Callable[[bytes], bytes] = xxh3_64_digest,
    ) -> None:
        self._environment = environment
        self._names = names
        self._digest = digest
        self._remembered = remembered
        self._recent: Recent[Url, _Kept] = Recent(remembered)
        self._changed: dict[Url, _Kept] = {}
        self._new: set[bytes] = set()
        self._absent: dict[Url, bytes] = {}
        self._pairs = array("I")
        self._keys = b""
        self._counters = environment.table("counters")
        counts = self._counters.get(COUNTS)
        self._kept_counts: tuple[int, ...] = (0, 0, 0, 0) if counts is None else _COUNTS.unpack(counts)
        self._count, self._pooled, self._ranking, self._chunks = self._kept_counts
        self._gone = int.from_bytes(self._counters.get(GONE) or b"", "big")

    @cached_property
    def _table(self) -> Table:
        return self._environment.table("standings")

    @cached_property
    def _ranks(self) -> Table:
        return self._environment.table("ranks")

    @cached_property
    def _links(self) -> Table:
        return self._environment.table("standing-links")

    # one by one

    def get(self, urls: Sequence[Url]) -> list[UrlScore | None]:
        """The score of each, aligned with `urls`."""
        return list(self._get(urls))

    def _get(self, urls: Sequence[Url]) -> list[_Kept | None]:
        changed = self._changed
        answers = [changed.get(url) or known for url, known in zip(urls, self._recent.get_all(urls), strict=True)]
        if self._count and None in answers:
            self._look_up(urls, answers)
        return answers

    def _look_up(self, urls: Sequence[Url], answers: list[_Kept | None]) -> None:
        if len(self._absent) > MAX_HELD:
            self._absent.clear()
        asked = [place for place, answer in enumerate(answers) if answer is None and urls[place] not in self._absent]
        places = places_of([urls[position] for position in asked], self._names.find, self._digest)
        rows = self._table.get_many([key for key, _ in places])
        for position, (key, short) in zip(asked, places, strict=True):
            if key in rows:  # and not read already: a URL that is asked for twice is one score
                url = urls[position]
                found = self._recent.get(url) or self._find(key, short.encode(), rows[key])
                if found is not None:
                    answers[position] = self._recent[url] = found
            else:
                self._absent[urls[position]] = key

    def _find(self, key: bytes, short: bytes, row: bytes | None) -> _Kept | None:
        for _ in range(MAX_PROBES):
            if row is None:
                return None
            if row.endswith(short) and _short_of(row) == short:
                return self._unpacked(key, row)
            key = next_place(key)
            row = self._table.get(key)
        return None

    @property
    def held(self) -> Mapping[Url, UrlScore]:
        """Those that were changed and are not written yet."""
        return self._changed

    def put(self, scores: Sequence[tuple[Url, UrlScore]]) -> None:
        """Keep these."""
        foreign = [(url, each) for url, each in scores if not isinstance(each, _Kept)]
        if foreign:
            self._adopt(foreign)
        for url, each in scores:
            if isinstance(each, _Kept):
                self._change(url, each)
        if len(self._changed) > MAX_HELD:
            self.flush()

    def _change(self, url: Url, kept: _Kept) -> None:
        is_pooled = kept.stage == Stage.POOLED
        if is_pooled is not kept.is_pooled:
            self._pooled += 1 if is_pooled else -1
            kept.is_pooled = is_pooled
        self._changed[url] = kept

    def _adopt(self, scores: Sequence[tuple[Url, UrlScore]]) -> None:
        """Add scores from elsewhere: a new URL gets a number, a known one keeps its own."""
        urls = [url for url, _ in scores]
        known = self._get(urls)
        places = places_of(urls, self._names.number, self._digest)
        for (url, score), kept, (key, short) in zip(scores, known, places, strict=True):
            before = self._changed.get(url) or kept
            place = before.key if before else self._free(key, is_free=self._absent.get(url) == key)
            if place:
                self._change(url, self._own(score, before, place, short.encode()))

    def _free(self, key: bytes, *, is_free: bool) -> bytes:
        """The first free key; `None` if too many keys are taken."""
        for _ in range(MAX_PROBES):
            if key not in self._new and (is_free or self._table.get(key) is None):
                self._new.add(key)
                return key
            key, is_free = next_place(key), False
        return b""

    def _own(self, score: UrlScore, known: _Kept | None, key: bytes, short: bytes) -> _Kept:
        """A copy with a key."""
        if known is None:
            number, is_pooled = self._count, False
            self._count += 1
        else:
            number, is_pooled = known.number, known.is_pooled
        return _Kept(
            score.worth,
            score.stage,
            score.level,
            score.lane,
            score.place,
            score.since,
            score.sources,
            score.is_seed,
            number,
            key,
            short,
            is_pooled,
        )

    # links

    def link(self, links: Sequence[tuple[Url, Url]]) -> None:
        """Store links; those with an end without a score are left out."""
        sources = self._get([source for source, _ in links])
        targets = self._get([target for _, target in links])
        for source, target in zip(sources, targets, strict=True):
            if source is not None and target is not None:
                self._pairs.append(source.number)
                self._pairs.append(target.number)
        if len(self._pairs) > 2 * MAX_HELD_LINKS:
            self._flush_links()

    # all together

    def known(self) -> KnownLinks:
        """All links and scores, as arrays of numbers."""
        import numpy as np

        self.flush()
        heads, self._keys = self._heads()
        links = b"".join(row for _, row in self._links.walk()) if self._chunks else b""
        pairs = np.frombuffer(links, "<i4").reshape(-1, 2)
        if self._gone:
            pairs = pairs[heads["place"][pairs].max(axis=1, initial=0) != _IS_GONE]
        flags = heads["flags"]
        return KnownLinks(
            np.ascontiguousarray(pairs[:, 0], np.int32),
            np.ascontiguousarray(pairs[:, 1], np.int32),
            self._worth(heads),
            (flags & _STAGE).astype(np.uint8),
            heads["level"].copy(),
            (flags & _IS_SEED).astype(np.bool_),
        )

    def _heads(self) -> tuple[NDArray[np.void], bytes]:
        """The numbers of every row, and its key, by the number of the URL.

        A URL that is gone counts as done, with a worth of 0.
        """
        import numpy as np

        heads = np.full(self._count, np.array((0.0, 0, 0, self._ranking, Stage.DONE, 0, 0, _IS_GONE), _HEADS))
        keys = np.zeros(self._count, f"V{KEY_LENGTH}")
        start, seen = b"\0", 0
        while self._count and (rows := self._table.page(start, AT_ONCE)):
            joined = b"".join([row[: _HEAD.size] for _, row in rows])
            if len(joined) != len(rows) * _HEAD.size:
                raise _damaged()
            part = np.frombuffer(joined, _HEADS)
            if part["number"].max() >= self._count:
                raise _damaged()
            heads[part["number"]] = part
            keys[part["number"]] = np.frombuffer(b"".join([key for key, _ in rows]), keys.dtype)
            start = rows[-1][0] + b"\0"
            seen += len(rows)
        if seen + self._gone != self._count:
            raise _damaged()
        return heads, keys.tobytes()

    def _worth(self, heads: NDArray[np.void]) -> NDArray[np.float64]:
        """The score by the last ranking, or by a later write."""
        import numpy as np

        worth: NDArray[np.float64] = heads["worth"].copy()
        if self._ranking:
            ranks = np.frombuffer(b"".join(row for _, row in self._ranks.walk()), "<f8")
            is_old = np.flatnonzero(heads["ranking"] < self._ranking)
            worth[is_old] = ranks[is_old]
        return worth

    def numbered(self, numbers: Sequence[int]) -> list[tuple[Url, UrlScore]]:
        """The URLs to which the last call of `known` gave these numbers."""
        keys = [self._keys[number * KEY_LENGTH : (number + 1) * KEY_LENGTH] for number in numbers]
        found: list[tuple[Url, UrlScore]] = []
        for start in range(0, len(keys), AT_ONCE):
            rows = self._table.get_many(sorted(keys[start : start + AT_ONCE]))
            found += [self._named(key, rows) for key in keys[start : start + AT_ONCE]]
        return found

    def _named(self, key: bytes, rows: dict[bytes, bytes]) -> tuple[Url, UrlScore]:
        if key not in rows:
            raise InvariantError("a score was asked for by a number that `known` did not give")
        url = lengthen(_short_of(rows[key]).decode(), self._names.name(key[:ID_LENGTH]))
        known = self._changed.get(url) or self._recent.get(url)
        return url, known or self._unpacked(key, rows[key])

    def revalue(self, worth: NDArray[np.float64]) -> None:
        """Set the new score of each URL that `known` numbered."""
        import numpy as np

        self.flush()
        self._recent = Recent(self._remembered)
        self._ranking += 1
        data = np.ascontiguousarray(worth, "<f8").tobytes()
        size = 8 * CHUNK
        for number, start in enumerate(range(0, len(data), size)):
            self._ranks.put(number.to_bytes(8, "big"), data[start : start + size])

    @property
    def pooled(self) -> int:
        """How many URLs wait for the next batch."""
        return self._pooled

    # whole sites

    def of_site(self, site: Site) -> Iterator[tuple[int, Url, UrlScore]]:
        """Every URL of a site with its number here and a copy of its score. What is held must be written before."""
        number = self._names.find(site) if self._count else None
        for key, row in () if number is None else self._table.walk(number):
            kept = self._unpacked(key, row)
            copy = UrlScore(*[getattr(kept, name) for name in UrlScore.__struct_fields__])
            yield kept.number, lengthen(kept.short.decode(), site), copy

    def numbers_of(self, urls: Sequence[Url]) -> list[int]:
        """The number of each, or -1."""
        return [-1 if each is None else each.number for each in self._get(urls)]

    def pairs(self) -> Iterator[tuple[int, NDArray[np.uint32]]]:
        """All links that were written, as two columns of numbers, a chunk at a time."""
        import numpy as np

        for key, row in self._links.walk() if self._chunks else ():
            yield int.from_bytes(key, "big"), np.frombuffer(row, "<u4").reshape(-1, 2)

    def link_numbers(self, pairs: NDArray[np.uint32]) -> None:
        """Keep links between URLs by their numbers here."""
        import numpy as np

        self._pairs.frombytes(np.ascontiguousarray(pairs, np.uint32).tobytes())
        self._flush_links()

    def forget(self, site: Site) -> int:
        """Keep nothing of a site any more; how many URLs had a score. Their numbers are not used again."""
        self.flush()
        number = self._names.find(site) if self._count else None
        gone = 0
        for key, row in () if number is None else self._table.walk(number):
            self._table.delete(key)
            self._pooled -= self._unpacked(key, row).is_pooled
            gone += 1
        if gone:
            self._recent = Recent(self._remembered)
            self._gone += gone
            self._counters.put(GONE, self._gone.to_bytes(8, "big"))
        return gone

    # rows

    def flush(self) -> None:
        """Write what is held: before a commit, and when it is much."""
        if self._changed:
            self._table.put_many(sorted([(kept.key, self._packed(kept)) for kept in self._changed.values()]))
            for url, kept in self._changed.items():
                self._recent[url] = kept
            self._changed.clear()
            self._new.clear()
            self._absent.clear()
        self._flush_links()
        counts = (self._count, self._pooled, self._ranking, self._chunks)
        if counts != self._kept_counts:
            self._counters.put(COUNTS, _COUNTS.pack(*counts))
            self._kept_counts = counts

    def _flush_links(self) -> None:
        if self._pairs:
            import numpy as np

            self._links.put(self._chunks.to_bytes(8, "big"), np.array(self._pairs, "<u4").tobytes())
            self._chunks += 1
            self._pairs = array("I")

    def _packed(self, kept: _Kept) -> bytes:
        flags = kept.stage | _LANE_BITS[kept.lane] | (_IS_SEED if kept.is_seed else 0)
        since, place = min(kept.since, _LATEST), kept.place
        head = _HEAD.pack(kept.worth, since, kept.number, self._ranking, flags, kept.level, kept.sources, len(place))
        return head + place + kept.short

    def _unpacked(self, key: bytes, row: bytes) -> _Kept:
        worth, since, number, ranking, flags, level, sources, length = _HEAD.unpack_from(row)
        if ranking < self._ranking:
            worth = self._ranked(number, worth)
        stage, end = flags & _STAGE, _HEAD.size + length
        return _Kept(
            worth,
            stage,
            level,
            _LANE_OF[flags & _LANE],
            row[_HEAD.size : end],
            since,
            sources,
            bool(flags & _IS_SEED),
            number,
            key,
            row[end:],
            stage == Stage.POOLED,
        )

    def _ranked(self, number: int, worth: float) -> float:
        """The score of a URL by the last ranking; of a newer one, by its row."""
        chunk, place = divmod(number, CHUNK)
        ranks = self._ranks.get(chunk.to_bytes(8, "big")) or b""
        if len(ranks) < 8 * (place + 1):
            return worth
        return float(struct.unpack_from("<d", ranks, 8 * place)[0])


def _short_of(row: bytes) -> bytes:
    """The URL in a row, as stored."""
    if len(row) <= _HEAD.size:
        raise _damaged()
    return row[_HEAD.size + row[_HEAD.size - 1] :]


def _damaged() -> CollectionDamaged:
    return CollectionDamaged("a score in the state cannot be read", hint="restore it from a copy, or begin again")
