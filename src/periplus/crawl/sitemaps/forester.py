"""Whoever is told of files has them fetched, read, and read again; and feeds queues with what they list."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from periplus.formats.headers import Headers, validators_of
from periplus.formats.sitemap import Child
from periplus.model import (
    Discovery,
    EventSink,
    Excluded,
    Fetched,
    FetchOutcome,
    FetchTask,
    Lane,
    NotModified,
    Redirected,
    Site,
    SitemapEntriesRead,
    SitemapRead,
    State,
    Url,
)
from periplus.policy.sitemaps import (
    NO_SITEMAP,
    AuthoritySettings,
    DifferenceSettings,
    FileReading,
    ForestSettings,
    IndexTrust,
    Origin,
    Priorities,
    RankOf,
    RetirementSettings,
    RevisitSettings,
    ScoreSettings,
    SitemapNode,
    Voice,
    after_failure,
    after_reading,
    after_same,
    dated,
    follow,
    is_appended,
    is_dead,
    sitemap_score,
    trust_after,
    twin_key,
    unlisted,
    unpack,
    woken,
)
from periplus.urls import canonical, site_of

from ..frontier import OUR_OWN, file_name, reason_of
from ..intake import INTAKE_LIMITS, Intake
from ..scheduler import CrawlScheduler
from .naming import Naming, SitemapSettings
from .nodes import Nodes, told_of
from .reading import FileInProgress, source_of
from .slices import unpack_slice

_AT_ONCE = 2000
"""Values of all files together that are handled in one step of the crawl."""
_DUE_AT_ONCE = 100
_MOST_UNREAD = 64 * 2**20
"""Bytes that have arrived and wait to be read, beyond which nothing is asked for."""
_GUESS_REDIRECTS = 2
"""How often a file may be elsewhere that was only guessed: at `www.` perhaps, and by HTTPS."""


class ForesterSettings(Struct, frozen=True):
    """The settings of everything that has to do with files, together."""

    sitemaps: SitemapSettings = SitemapSettings()
    forest: ForestSettings = ForestSettings()
    authority: AuthoritySettings = AuthoritySettings()
    revisit: RevisitSettings = RevisitSettings()
    retirement: RetirementSettings = RetirementSettings()
    difference: DifferenceSettings = DifferenceSettings()
    scores: ScoreSettings = ScoreSettings()


class Forester:
    """Keeps the forest of a shard."""

    def __init__(
        self,
        settings: ForesterSettings,
        *,
        state: State,
        scheduler: CrawlScheduler,
        deliver: Callable[[Sequence[Discovery], float], None],
        is_ours: Callable[[Site], bool],
        events: EventSink,
        rank_of: RankOf = lambda _url: None,
    ) -> None:
        self._settings = settings
        self._state = state
        self._scheduler = scheduler
        self._deliver = deliver
        self._is_ours = is_ours
        self._events = events
        self._nodes = Nodes(state)
        self.naming = Naming(
            settings.sitemaps, settings.forest, state, self._nodes, deliver, scheduler.files.queue, is_ours
        )
        self._score = sitemap_score(settings.scores, rank_of)
        self._reading: dict[Url, FileInProgress] = {}
        self._known: set[Url] = set()
        self._same: list[Fetched] = []
        self._listings = None if settings.sitemaps.only else state.listings
        self._listed = set(state.listings.sites())
        self._hungry = set(self._listed)
        self.is_busy = False
        self._priorities: dict[Site, Priorities] = {}

    # what is due

    def release(self, now: float) -> None:
        """Let files wait whose time has come."""
        due_at = self._state.forest.next_due()
        if due_at is None or due_at > now:
            return
        for node in self._nodes.due(now, _DUE_AT_ONCE):
            self.naming.plant(node, now)

    # while it arrives

    def arrived(self, task: FetchTask, chunk: bytes, now: float) -> None:
        """Some bytes of a file. One that was read before may be the same again, which shows when all is there."""
        reading = self._reading.get(task.url)
        if reading is None and task.url not in self._known:
            node = self._nodes.get(task.url)
            if node is not None and node.digest:
                self._known.add(task.url)
            else:
                reading = self._begin(task, node, now)
        if reading is not None:
            reading.intake.feed(chunk)

    def _begin(self, task: FetchTask, node: SitemapNode | None, now: float) -> FileInProgress:
        node = node or SitemapNode(task.url, task.url, Origin.SUBMITTED, now, due_at=now)
        voice = Voice(node.url, self._nodes.vouching(node), self._settings.authority)
        reading = self._reading[task.url] = FileInProgress(
            task,
            node,
            Intake(task.url, INTAKE_LIMITS),
            voice=voice,
            before=unpack(self._state.forest.memory(twin_key(node.url))),
            difference=self._settings.difference,
            score=self._score,
            said=self._said,
            found_at=now,
        )
        return reading

    def _said(self, site: Site) -> Priorities:
        """What a site has said of priorities, in files that are being read and before."""
        said = self._priorities.get(site)
        if said is None:
            state = self._state.sites.get([site])[0]
            said = self._priorities[site] = Priorities.unpack(b"" if state is None else state.priorities)
        return said

    def step(self, now: float) -> list[Fetched]:
        """Read on in files that have something, and feed the queues that have run dry; the files read to the end.

        One file of a site at a time, and who was read waits behind the others. `is_busy` says whether there was
        something to do, and so there may be more.
        """
        self.release(now)
        self.is_busy = False
        finished, self._same = self._same, []
        room, served = _AT_ONCE, set[Site]()
        for url, reading in list(self._reading.items()):
            if reading.intake.is_ready:
                self.is_busy = True
                if room <= 0 or reading.task.site in served:
                    continue
                served.add(reading.task.site)
                room -= self._read_on(reading)
                self._reading[url] = self._reading.pop(url)
            if reading.intake.is_over and reading.outcome is not None:
                self._finish(reading, reading.outcome, now)
                finished.append(reading.outcome)
        self._feed(now)
        return finished

    def _read_on(self, reading: FileInProgress) -> int:
        entries = reading.take(_AT_ONCE, self._listings)
        if entries:
            self._events.record([SitemapEntriesRead(reading.node.url, reading.found_at, entries)])
            self._listed.update(reading.sites)
            self._hungry.update(reading.sites)
            reading.sites.clear()
        return max(len(entries), 1)

    def _feed(self, now: float) -> None:
        """One slice for every queue that has run dry; to other shards all of them flow."""
        self._hungry |= self._listed & self._scheduler.files.emptied()
        for site in list(self._hungry):
            is_fed = self._is_ours(site) and self._state.queues.length(site, Lane.SITEMAPS) > 0
            packed = None if is_fed else self._state.listings.take(site)
            if packed is None:
                self._hungry.discard(site)
                if not is_fed:
                    self._listed.discard(site)
                continue
            self.is_busy = True
            self._deliver(unpack_slice(packed).discoveries(), now)

    @property
    def is_reading(self) -> bool:
        """Whether a file that has arrived is not read to its end."""
        return bool(self._same) or any(reading.outcome is not None for reading in self._reading.values())

    @property
    def is_full(self) -> bool:
        """Whether so much has arrived and was not read that nothing else should be asked for."""
        return sum(_held(reading) for reading in self._reading.values()) > _MOST_UNREAD

    def sweep(self, now: float) -> None:
        """Nothing is under way: let every queue be looked at of which something is listed."""
        self._hungry |= self._listed
        self.naming.gather(now)

    def is_idle(self, now: float) -> bool:
        """Whether no file is being read or due, and nothing is listed that waits for its queue."""
        due_at = self._state.forest.next_due()
        is_done = not (self._reading or self._same or self._listed or self.naming.gathered)
        return is_done and (due_at is None or due_at > now)

    def close(self) -> None:
        """Let go of what is being read: it is fetched again another time."""
        for url in list(self._reading):
            self._drop(url)

    # what became of it

    def read(self, outcome: Fetched, now: float) -> None:
        """All of a file has arrived; `step` says when it was read. What says the same as before is not read again."""
        url = outcome.task.url
        self._known.discard(url)
        reading = self._reading.get(url)
        if reading is None:
            node = self._nodes.get(url)
            if node is not None and node.digest and node.digest == _digest(outcome):
                self._unchanged(node, now)
                self._same.append(outcome)
                return
            reading = self._begin(outcome.task, node, now)
            reading.intake.feed(outcome.body)
        reading.outcome = outcome
        reading.intake.settle(outcome.body)
        reading.intake.close()

    def ended(self, outcome: FetchOutcome, now: float) -> None:
        """A file did not come, or not anew."""
        task = outcome.task
        node = self._nodes.get(task.url)
        self._drop(task.url)
        if node is None or self._is_tried_again(task.url, outcome):
            return
        settings = self._settings
        match outcome:
            case NotModified():
                self._unchanged(node, now)
            case Redirected(target=target):
                self._moved(node, target, now)
            case _:
                status = getattr(outcome, "status", None)
                reason = outcome.reason if isinstance(outcome, Excluded) else reason_of(outcome) or "not-read"
                after = after_failure(node, reason, now, settings.revisit, settings.retirement, status)
                self._keep(after, now)
                self._go_on(node, now)

    def _is_tried_again(self, url: Url, outcome: FetchOutcome) -> bool:
        """Whether the scheduler is not done with it: then nothing has come of it yet."""
        record = self._state.records.get([file_name(url)])[0]
        reason = reason_of(outcome)
        return reason in OUR_OWN or (record is not None and self._scheduler.tries_again(record, reason))

    def _moved(self, node: SitemapNode, target: Url, now: float) -> None:
        """The file is elsewhere: what it says there counts as if it were here."""
        most = self._settings.forest.max_redirects
        is_near = node.redirects < (min(most, _GUESS_REDIRECTS) if node.origin is Origin.WELL_KNOWN else most)
        self._keep(replace(node, outcome="redirected" if is_near else "redirect-chain", retired="moved"), now)
        if not is_near:
            return
        if not self._is_ours(site_of(target)):
            self.naming.pass_on(node, target, now)
        elif self._nodes.get(target) is None:
            moved = replace(node, url=target, parent=node.url, redirects=node.redirects + 1, first_seen_at=now)
            self.naming.plant(moved, now)
        elif twin_key(target) == twin_key(node.url) and node.url != target:
            self.naming.rename(replace(node, redirects=node.redirects + 1), target, now)

    def _go_on(self, node: SitemapNode, now: float) -> None:
        """If that was a guess, the next may be right; but not where one leads elsewhere: there all do."""
        if node.origin is Origin.WELL_KNOWN and node.read_at is None and not node.redirects:
            self.naming.guess_on(node, now)

    def _drop(self, url: Url) -> None:
        self._known.discard(url)
        reading = self._reading.pop(url, None)
        if reading is not None:
            reading.intake.abort()

    def _finish(self, reading: FileInProgress, outcome: Fetched, now: float) -> None:
        """A file was read to its end."""
        del self._reading[reading.task.url]
        node = self._nodes.get(reading.node.url) or reading.node
        is_whole = not outcome.is_truncated and "truncated" not in reading.problems
        compared = reading.end(is_whole=is_whole)
        self._state.forest.remember(twin_key(node.url), compared.memory.pack())
        planted, refused = self._follow(node, reading.children, now, is_whole=is_whole)
        problems = reading.problems + refused
        result = FileReading(
            kind=reading.kind,
            entries=reading.entries,
            children=len(reading.children),
            wanted=reading.wanted + len(reading.children),
            size=len(outcome.body),
            status=outcome.status,
            problems=tuple(sorted((reason, count) for reason, count in problems.items() if count)),
            digest=_digest(outcome),
            validators=validators_of(Headers(outcome.headers)),
            is_changed=compared.is_changed or planted > 0,
            is_appended=is_appended(reading.before, compared.memory),
        )
        settings = self._settings
        trust = self._trust(node, result.is_changed, now)
        after = after_reading(node, result, now, settings.revisit, settings.retirement, trust)
        self._keep(after, now)
        if after.origin is Origin.WELL_KNOWN and node.read_at is None and after.kind in NO_SITEMAP:
            self._keep(replace(after, retired="not-a-sitemap"), now)
            self._go_on(node, now)
        if self._nodes.vouching(node) != reading.voice.vouching:  # a host has spoken up for it meanwhile
            self.naming.read_anew(after, now)
        if node.read_at is not None and reading.entries:
            polled, is_generated = self._scheduler.refresher.polled, compared.is_generated
            polled(site_of(node.url), reading.source, reading.entries, compared.moved, is_generated=is_generated)
        spending = self._nodes.spending(node.tree).read(reading.entries, len(outcome.body))
        self._nodes.spent(node.tree, spending)
        self._keep_priorities()
        lastmod, told = reading.intake.lastmod, tuple(reading.told)
        read = SitemapRead(node.url, reading.found_at, reading.entries, len(reading.children), lastmod, told)
        self._events.record([read])

    def _keep(self, node: SitemapNode, now: float) -> None:
        """Keep a node after a visit, and tell. A file is not read more often than that pays."""
        earliest = now + self._scheduler.refresher.pause_of_files(site_of(node.url))
        node = replace(node, due_at=max(node.due_at, earliest))
        self._nodes.put(node)
        self._events.record([told_of(node, now)])

    def _unchanged(self, node: SitemapNode, now: float) -> None:
        """A file says what it said: of none of its pages that it changed."""
        self._keep(after_same(node, now, self._settings.revisit, self._trust(node, False, now)), now)
        if node.entries:
            self._scheduler.refresher.polled(site_of(node.url), source_of(node.kind), node.entries, 0)

    def _trust(self, node: SitemapNode, is_changed: bool, now: float) -> IndexTrust | None:
        """How far the index of a file is believed; and the index learns from what came of the file."""
        index = None if node.parent is None else self._nodes.get(node.parent)
        if index is None:
            return None
        after = trust_after(index, node, is_changed, now)
        if after != index:
            self._nodes.put(after)
        return after.trust

    def _follow(
        self, index: SitemapNode, children: Sequence[Child], now: float, *, is_whole: bool
    ) -> tuple[int, Counter[str]]:
        """Plant what an index names anew; what it says of those known is a hint; who is named no more retires.

        How many are new, and why others were not followed.
        """
        if not children:
            return 0, Counter()
        above = {twin_key(index.url), *map(twin_key, self._nodes.above(index))}
        followed = follow(
            index,
            children,
            above=above,
            is_known=self._nodes.has,
            spent=self._nodes.spending(index.tree),
            settings=self._settings.forest,
            now=now,
        )
        self._nodes.spent(index.tree, followed.spent)
        self.naming.plant_all([node for node in followed.new if self._is_ours(site_of(node.url))], now)
        for node in followed.new:
            if not self._is_ours(site_of(node.url)):
                self.naming.pass_on(replace(node, vouching=tuple(self._nodes.vouching(index))), node.url, now)
        for key, child in followed.known:
            self._date(key, index, child, now)
        if is_whole and index.read_at is not None:
            self._unlist(index, {key for key, _ in followed.known} | {twin_key(node.url) for node in followed.new}, now)
        return len(followed.new), Counter(dict(followed.refused))

    def _date(self, key: str, index: SitemapNode, child: Child, now: float) -> None:
        row = self._nodes.by_key(key)
        if row is None:
            return
        url = canonical(child.url)
        if url is not None and url != row.url and is_dead(row):
            self.naming.rename(replace(row, parent=index.url, tree=index.tree, depth=index.depth + 1), url, now)
            return
        if row.parent != index.url:
            return
        if row.retired == "unlisted":
            row = woken(row, now)
        if math.isinf(row.due_at):  # it waits to be fetched already
            self._nodes.put(replace(row, lastmod=child.lastmod))
        else:
            self._nodes.put(dated(row, child.lastmod, now, self._settings.revisit, index.trust))

    def _unlist(self, index: SitemapNode, named: Collection[str], now: float) -> None:
        for child in self._nodes.children(index):
            if not child.retired and twin_key(child.url) not in named:
                self._keep(unlisted(child), now)

    def _keep_priorities(self) -> None:
        for site, said in self._priorities.items():
            self._scheduler.note_priorities(site, said.pack())
        self._priorities.clear()


def _held(reading: FileInProgress) -> int:
    return reading.intake.waiting if reading.outcome is None else len(reading.outcome.body)


def _digest(outcome: Fetched) -> int:
    """Of the bytes as sent; never 0, which stands for a file that was not read. What was cut off resembles nothing."""
    return 0 if outcome.is_truncated else xxh3_64_intdigest(outcome.body) or 1
