"""Queues on disk: one table in the order of visiting, one in the order of time.

    queues      site number, lane, level, sequence -> URL       its key is the ticket's place
    postponed   due time, sequence -> site number, lane, level, URL
    lengths     site number, lane -> how many wait there

The sequence counts up over all queues and is never used again, so that an old ticket names nothing. Lengths, and the
sequence itself, change with every push and are written when they are many or the state is committed: what is held in
memory is what changed since. The fronts of queues that are asked for again and again are held as well, until the next
commit: each is the first rows of its queue, exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from periplus.model import InvariantError, Lane, Queued, Site, Ticket, Url

from .environment import Environment
from .rows import LANE_CODES, LANES, lengthen, shorten
from .sites import ID_LENGTH, SiteNames, sortable, time_of

LANE_AT, LEVEL_AT, SEQUENCE_AT = ID_LENGTH, ID_LENGTH + 1, ID_LENGTH + 2
SEQUENCE = b"sequence"
MAX_HELD = 16_384
"""Lengths that may wait to be written."""

MAX_FRONTS = 256
"""Queues whose first rows are cached: more than are visited between two commits, if they are visited repeatedly."""
LONGEST_FRONT = 64
"""Rows of a front, at most: a few times what a visit takes. About 20 KB."""
READ_AHEAD = 16
"""Rows that are read in addition when a cached front has become too short."""

LEVELS = [bytes([level]) for level in range(256)]


class DiskQueues:
    """`Queues` in three tables."""

    def __init__(self, environment: Environment, names: SiteNames) -> None:
        self._names = names
        self._queues = environment.table("queues")
        self._postponed = environment.table("postponed")
        self._lengths = environment.table("lengths")
        self._counters = environment.table("counters")
        self._held: dict[bytes, int] = {}
        self._fronts: dict[bytes, list[Ticket]] = {}
        self._sequence = int.from_bytes(self._counters.get(SEQUENCE) or b"", "big")
        self._kept_sequence = self._sequence

    def push(self, entries: Sequence[Queued]) -> list[Ticket]:
        """Add all at the end of their levels; the place of each."""
        rows = []
        grown: dict[bytes, int] = {}
        for head, short in self._rows(entries):
            rows.append((head + self._next(), short))
            line = head[:LEVEL_AT]
            grown[line] = grown.get(line, 0) + 1
            front = self._fronts.get(line)
            if front and head[LEVEL_AT] < front[-1].place[LEVEL_AT]:  # it would be one of its rows
                del self._fronts[line]
        for line, count in grown.items():
            self._change(line, count)
        tickets = [Ticket(key, entry) for (key, _), entry in zip(rows, entries, strict=True)]
        if rows:
            self._queues.put_many(sorted(rows))
        if len(self._held) > MAX_HELD:
            self.flush()
        return tickets

    def heads(self, site: Site, lane: Lane, limit: int) -> list[Ticket]:
        """The first `limit` of a site's lane."""
        number = self._names.find(site)
        if number is None or limit <= 0:
            return []
        line = number + LANE_CODES[lane]
        front = self._fronts.get(line)
        if front is None:
            front = self._read_front(line, site, lane, limit)
        elif len(front) < min(limit, self._length(line)):
            front = self._read_front(line, site, lane, limit + READ_AHEAD)
        return front[:limit]

    def levels(self, site: Site, lane: Lane) -> list[int]:
        """The levels of a site's lane where something waits, ascending: one look-up for each."""
        number = self._names.find(site)
        if number is None:
            return []
        line = number + LANE_CODES[lane]
        found: list[int] = []
        level = 0
        while level < len(LEVELS):
            row = self._queues.at_or_after(line + LEVELS[level])
            if row is None or not row[0].startswith(line):
                break
            found.append(row[0][LEVEL_AT])
            level = found[-1] + 1
        return found

    def heads_of_level(self, site: Site, lane: Lane, level: int, limit: int) -> list[Ticket]:
        """The first `limit` of one level of a site's lane."""
        number = self._names.find(site)
        if number is None or limit <= 0:
            return []
        start = number + LANE_CODES[lane] + LEVELS[level]
        return [
            Ticket(key, Queued(_url(value, site), site, lane, level))
            for key, value in self._queues.page(start, limit)
            if key.startswith(start)
        ]

    def _read_front(self, line: bytes, site: Site, lane: Lane, limit: int) -> list[Ticket]:
        """The first `limit` rows of a queue, which are held from now on unless they are many."""
        front = [
            Ticket(key, Queued(_url(value, site), site, lane, key[LEVEL_AT]))
            for key, value in self._queues.page(line, limit)
            if key.startswith(line)
        ]
        if len(self._fronts) >= MAX_FRONTS:
            self._fronts.clear()
        if len(front) <= LONGEST_FRONT:
            self._fronts[line] = front
        return front

    def _shorten_front(self, place: bytes) -> None:
        """A row leaves its queue: mostly one of the first."""
        for index, ticket in enumerate(self._fronts.get(place[:LEVEL_AT], ())):
            if ticket.place == place:
                del self._fronts[place[:LEVEL_AT]][index]
                return

    def remove(self, tickets: Sequence[Ticket]) -> None:
        """Take these out; those that are not there any more do not matter."""
        for ticket in tickets:
            if self._queues.delete(ticket.place):
                self._change(ticket.place[:LEVEL_AT], -1)
                self._shorten_front(ticket.place)
        if len(self._held) > MAX_HELD:
            self.flush()

    def length(self, site: Site, lane: Lane) -> int:
        """How many URLs wait in the queue of a site and lane."""
        number = self._names.find(site)
        return 0 if number is None else self._length(number + LANE_CODES[lane])

    def waiting(self) -> Iterator[tuple[Site, Lane, int]]:
        """Every site and lane where something waits, with the lowest level there: one look-up for each."""
        start = b"\0"
        while row := self._queues.at_or_after(start):
            key = row[0]
            yield self._names.name(key[:LANE_AT]), LANES[key[LANE_AT]], key[LEVEL_AT]
            start = key[:LEVEL_AT] + b"\xff" * 10

    def postpone(self, entries: Sequence[tuple[float, Queued]]) -> None:
        """Keep these out of the queues until their time."""
        times = [sortable(due_at) for due_at, _ in entries]
        rows = self._rows([entry for _, entry in entries])
        items = [(time + self._next(), head + short) for time, (head, short) in zip(times, rows, strict=True)]
        if items:
            self._postponed.put_many(sorted(items))

    def release(self, now: float, limit: int) -> list[Ticket]:
        """Push at most `limit` postponed entries that are due, earliest first; return the place of each."""
        end = sortable(now)
        due = [row for row in self._postponed.page(b"\0", max(0, limit)) if row[0][:8] <= end]
        for key, _ in due:
            self._postponed.delete(key)
        return self.push([self._entry(value) for _, value in due])

    def postponed(self) -> Iterator[Queued]:
        """Every postponed entry."""
        for _, value in self._postponed.walk():
            yield self._entry(value)

    def next_release(self) -> float | None:
        """When the first postponed entry is due."""
        row = self._postponed.at_or_after(b"\0")
        return None if row is None else time_of(row[0])

    def take_in(self, site: Site, rows: Sequence[tuple[bytes, bytes]], *, is_postponed: bool) -> None:
        """Store rows of a site that come from another state, in their order. Existing rows stay as they are.

        Places keep their sequence, which orders only the entries of one site.
        """
        number = self._names.number(site)
        for key, value in rows:
            if is_postponed:
                self._take_in_postponed(key, number + value[ID_LENGTH:])
            elif self._queues.get(place := number + key[ID_LENGTH:]) is None:
                self._queues.put(place, value)
                self._change(place[:LEVEL_AT], 1)
                self._fronts.pop(place[:LEVEL_AT], None)
            self._sequence = max(self._sequence, int.from_bytes(key[-8:], "big"))
        if len(self._held) > MAX_HELD:
            self.flush()

    def _take_in_postponed(self, key: bytes, value: bytes) -> None:
        """Two states may have given out one sequence for one time: the next that is free."""
        while (kept := self._postponed.get(key)) not in (None, value):
            sequence = int.from_bytes(key[8:], "big") + 1
            key = key[:8] + sequence.to_bytes(8, "big")
            self._sequence = max(self._sequence, sequence)
        if kept is None:
            self._postponed.put(key, value)

    def __len__(self) -> int:
        return len(self._queues) + len(self._postponed)

    def flush(self) -> None:
        """Write cached changes and drop cached fronts: before a commit, and when there are many.

        After a commit a reader sees other rows, and moving sites changes them directly.
        """
        self._fronts.clear()
        for line, length in sorted(self._held.items()):
            if length:
                self._lengths.put(line, length.to_bytes(8, "big"))
            else:
                self._lengths.delete(line)
        self._held.clear()
        if self._sequence != self._kept_sequence:
            self._counters.put(SEQUENCE, self._sequence.to_bytes(8, "big"))
            self._kept_sequence = self._sequence

    def check_invariants(self) -> None:
        """Every length is that of its queue; every entry has a site, a lane and a place given out before."""
        counted: dict[bytes, int] = {}
        for key, value in self._queues.walk():
            self._entry(key[:SEQUENCE_AT] + value)
            counted[key[:LEVEL_AT]] = counted.get(key[:LEVEL_AT], 0) + 1
            if int.from_bytes(key[SEQUENCE_AT:], "big") > self._sequence:
                raise InvariantError(f"the place {key.hex()} was never given out")
        kept = {line: int.from_bytes(length, "big") for line, length in self._lengths.walk()}
        kept = {line: length for line, length in (kept | self._held).items() if length}
        if kept != counted:
            raise InvariantError(f"lengths of queues: {len(kept)} kept, {len(counted)} counted, not the same")
        for line, front in self._fronts.items():
            places = [key for key, _ in self._queues.page(line, len(front)) if key.startswith(line)]
            if places != [ticket.place for ticket in front]:
                raise InvariantError(f"the front of the queue {line.hex()} is not that of its rows")

    def _rows(self, entries: Sequence[Queued]) -> list[tuple[bytes, bytes]]:
        """Site, lane and level of each, and its URL; nothing is written if one of them is out of bounds."""
        for entry in entries:
            if not 0 <= entry.level <= 255:
                raise InvariantError(f"level {entry.level} of {entry.url} is not within 0..255")
        rows = []
        site, number = None, b""
        for entry in entries:
            if entry.site != site:  # mostly, all are of one site
                site, number = entry.site, self._names.number(entry.site)
            head = number + LANE_CODES[entry.lane] + LEVELS[entry.level]
            rows.append((head, shorten(entry.url, site).encode()))
        return rows

    def _entry(self, value: bytes) -> Queued:
        """An entry from site number, lane, level and URL."""
        site = self._names.name(value[:LANE_AT])
        return Queued(_url(value[SEQUENCE_AT:], site), site, LANES[value[LANE_AT]], value[LEVEL_AT])

    def _next(self) -> bytes:
        self._sequence += 1
        return self._sequence.to_bytes(8, "big")

    def _change(self, line: bytes, by: int) -> None:
        length = self._held.get(line)
        self._held[line] = by + (self._length(line) if length is None else length)

    def _length(self, line: bytes) -> int:
        length = self._held.get(line)
        return int.from_bytes(self._lengths.get(line) or b"", "big") if length is None else length


def _url(short: bytes, site: Site) -> Url:
    return lengthen(short.decode(), site)
