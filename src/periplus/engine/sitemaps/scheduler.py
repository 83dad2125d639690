"""Schedules sitemap fetches and refetches, and queues the URLs they list.

A file is fetched when robots.txt, a well-known path, a page, a ping or the user names it (`discovery`), and again when
its history says that it has probably changed (`engine.sitemaps`). Once it has arrived it is read a little at a time, in
one `step` after the other; entries wait on disk in slices until the queue of their site runs empty.

Nothing that a site lists holds back another one. Sites take turns at being read, one file of each at a time, so that
one with many large files gets no more than others. Of a site only a few files wait to be fetched or read, and no new
one is asked for while much of what its files list waits.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from periplus.engine.frontier import OUR_OWN, file_name, reason_of
from periplus.engine.part import Desk, Setup
from periplus.engine.pipeline import Processed
from periplus.formats.headers import Headers, validators_of
from periplus.formats.sitemap import Child
from periplus.model import (
    Discovery,
    Excluded,
    Fetched,
    FetchOutcome,
    Lane,
    NotModified,
    Purpose,
    Redirected,
    Site,
    SitemapEntriesRead,
    SitemapRead,
    Stored,
    Url,
)
from periplus.urls import canonical, site_of

from .difference import is_appended, unpack
from .discovery import HELD, SitemapDiscovery
from .file import SitemapFile, source_of, unpack_slice
from .held_seeds import HeldSeeds
from .parser import ARCHIVE
from .revisit import IndexTrust, RevisitSettings
from .scores import Priorities, RankOf, sitemap_score
from .settings import ScoreSettings, SitemapCrawlSettings, SitemapRules, SitemapTables
from .store import (
    SitemapState,
    SitemapStore,
    UnfinishedFile,
    clamped_to,
    visit_event,
)
from .trees import Origin, SitemapNode, follow, twin_key
from .visits import (
    NO_SITEMAP,
    FileReading,
    SitemapAuthority,
    after_failure,
    after_reading,
    after_same,
    dated,
    is_back,
    is_dead,
    sooner,
    trust_after,
    unlisted,
    woken,
)

if TYPE_CHECKING:
    from periplus.store import KnownRanks

_STEP = 256 * 1024
"""Characters after which a step of the crawl reads in no further file: requests wait for the step to end."""
_ENTRY, _TURN = 128, 8 * 1024
"""Characters that an entry, and a turn of a site, count for at least."""
_FILES_AT_ONCE = 2
"""Files of a site that wait to be fetched or read; others are not asked for meanwhile."""
_MOST_LISTED = 100
"""Slices of a site that wait for its queue to run empty, beyond which no new file of it is asked for."""
_DUE_TOGETHER = 100
"""Files that are due and queued in one step."""
_SMALL = 2**20
"""Bytes of a small file: large ones do not hold it back."""
_IN_MEMORY = {True: 32 * 2**20, False: 64 * 2**20}
"""Bytes of small files, and of large ones, that are being read. Others wait in the archive."""
_GUESS_REDIRECTS = 2
"""Redirects followed for a file that was only guessed: to `www.` perhaps, and to HTTPS."""
LoadBody = Callable[[FetchOutcome, Stored | None], FetchOutcome]
"""Puts the body of an answer back, from where the archive has it."""


class SitemapScheduler:
    """The sitemaps of a shard, which the machine calls.

    `load_body` puts back the bodies of files that were not read to their end. `seeds` wait for what their sites list.
    """

    def __init__(
        self,
        desk: Desk,
        rules: SitemapRules,
        rank_of: RankOf = lambda _url: None,
        load_body: LoadBody = lambda outcome, _stored: outcome,
        *,
        holds: bool = True,
        seeds: Iterable[Url] = (),
    ) -> None:
        saved = desk.saved(SitemapState) or SitemapState()
        self._rules = rules
        self._state = state = desk.state
        self._records = desk.records
        self._frontier = desk.frontier
        self._revisits = desk.revisits
        self._deliver = desk.router.deliver
        self._is_ours = desk.router.owns_site
        self._events = desk.events
        self._store = SitemapStore(state)
        self._load_body = load_body
        self._holds = holds
        self._unread: dict[Site, list[UnfinishedFile | SitemapFile]] = {}
        for unfinished in saved.unfinished:
            self._unread.setdefault(unfinished.outcome.task.site, []).append(unfinished)
        self.discovery = SitemapDiscovery(desk, rules, self._store, self._room, saved.postponed)
        self._score, self._rank_of = sitemap_score(rules.scores, rank_of), rank_of
        self._listings = None if rules.sitemaps.only else state.listings
        self._listed = {site for site in state.listings.sites() if state.listings.has(site, last=HELD - 1)}
        self._hungry = {site for site in self._listed if not self._is_fed(site)}
        self._waiting = saved.listed
        self._held_seeds = HeldSeeds(desk, seeds, self._store)

    def flush(self) -> SitemapState:
        """The state to commit besides rows."""
        unread = [file.unfinished() for files in self._unread.values() for file in files]
        return SitemapState(unread, list(self.discovery.postponed), self._waiting)

    def _room(self, site: Site, *, is_new: bool) -> int:
        """How many more files of a site may be asked for: any number where no listed page is visited that frees it."""
        if not self._holds:
            return sys.maxsize
        if is_new and self._state.listings.has(site, last=HELD - 1, least=_MOST_LISTED):
            return 0
        return max(_FILES_AT_ONCE - self._state.queues.length(site, Lane.FILES) - len(self._unread.get(site, ())), 0)

    def received(self, discoveries: Sequence[Discovery], now: float) -> None:
        """Take files that other shards or messages name."""
        self.discovery.received(discoveries, now)

    def submit(self, now: float) -> None:
        """Fetch the files that the settings name."""
        self.discovery.submit(now)

    def passed_on(self, processed: Processed, now: float) -> None:
        """Take what names files, and the files."""
        outcome = processed.answer.outcome
        task = outcome.task
        self.discovery.free([task.site])
        if processed.page is not None:
            self.discovery.linked(processed.page, now)
        elif task.purpose is Purpose.SITEMAP:
            if isinstance(outcome, Fetched) and outcome.status == 200 and processed.answer.is_read:
                self.arrived(outcome, processed.answer.stored, now)
            else:
                self.ended(outcome, now)
        elif task.purpose is Purpose.ROBOTS and (task.ip is not None or isinstance(outcome, Fetched | Redirected)):
            self.discovery.robots_read(task, now)

    def refused(self, outcome: Excluded, now: float) -> None:
        """A file was refused while it waited."""
        if outcome.task.purpose is Purpose.SITEMAP:
            self.discovery.free([outcome.task.site])
            self.ended(outcome, now)

    def has_read(self, site: Site) -> bool:
        """Whether every sitemap of a site was read, and what they list was queued."""
        if self._state.listings.has(site):
            return False
        return all(node.retired or node.visits or node.failures for node in self._store.of_site(site))

    # reading

    def arrived(self, outcome: Fetched, stored: Stored | None, now: float) -> None:
        """Take a file that has arrived; `step` reads it. An unchanged file is not read again."""
        url = outcome.task.url
        node = self._store.get(url)
        if node is not None and node.digest and node.digest == _digest(outcome):
            self._unchanged(node, now)
            return
        node = node or SitemapNode(url, url, Origin.SUBMITTED, now, due_at=now)
        vouching = tuple(self._store.vouching(node))
        unread = UnfinishedFile(outcome, stored, node, vouching, now, 0, len(outcome.body))
        files = self._unread.setdefault(outcome.task.site, [])
        files[:] = [file for file in files if file.outcome.task.url != url]
        bodies = (len(file.outcome.body) for files in self._unread.values() for file in files)
        files.append(unread if sum(bodies) + unread.size <= _IN_MEMORY[False] else unread.unfinished())

    def _begun(self, unread: UnfinishedFile) -> SitemapFile:
        """The reading of a file; one that an earlier process had begun is read up to where that was."""
        url, outcome = unread.node.url, unread.outcome
        if not outcome.body:
            loaded = self._load_body(outcome, unread.stored)
            unread = replace(unread, outcome=loaded if isinstance(loaded, Fetched) else outcome)
        file = SitemapFile(
            unread,
            authority=SitemapAuthority(url, frozenset(unread.vouching), self._rules.authority),
            before=unpack(self._state.forest.memory(twin_key(url))),
            difference=self._rules.difference,
            score=self._score,
            priorities_of=self._priorities,
            media=self.discovery.media,
        )
        file.skip(unread.steps)
        return file

    def _priorities(self, site: Site) -> Priorities:
        """The priorities that the sitemaps of a site have stated so far, to be added to."""
        record = self._records.get(site)
        self._records.changed(record)
        return record.value(Priorities) or record.keep(Priorities())

    @property
    def is_reading(self) -> bool:
        """Whether a file was not read to its end, or what one lists of other shards' sites was not all sent."""
        return bool(self._unread) or any(not self._is_ours(site) for site in self._hungry)

    def give_up_reading(self, now: float) -> None:
        """End every file that is being read as one that cannot be."""
        unread = [file for files in self._unread.values() for file in files]
        self.discovery.free(self._unread)
        self._unread.clear()
        for file in unread:
            node = self._store.get(file.node.url) or file.node
            self._keep(after_failure(node, "not-read", now, self._rules.revisit, self._rules.retirement, 200), now)

    def wants_step(self, now: float) -> bool:
        """Whether `step` has something to do: a file to read, one that is due, or a queue to fill."""
        if self._unread or self._hungry or self._has_time_for_postponed or self.discovery.is_due:
            return True
        due_at = self._state.forest.next_due()
        return (due_at is not None and due_at <= now) or self._may_release_seeds(now)

    def step(self, now: float) -> None:
        """Queue files that are due, read on in one file of each site, and fill queues that ran empty."""
        self._release(now)
        if self._has_time_for_postponed:
            self.discovery.read_postponed(now)
        self._read_some(now)
        self._fill_queues(now)
        self.discovery.release(now)
        if self._may_release_seeds(now):
            self._held_seeds.release(now)

    def _may_release_seeds(self, now: float) -> bool:
        """Whether seeds are held, and all that their sites list was read and fetched."""
        return bool(self._held_seeds) and self._frontier.is_idle and self._is_over(now)

    def _read_some(self, now: float) -> None:
        """Let the next sites have their turns. A large file is not begun before there is room for it in memory."""
        room, taken = _STEP, {True: 0, False: 0}
        for files in self._unread.values():
            taken[files[0].size <= _SMALL] += files[0].size if files[0].steps else 0
        for site, files in list(self._unread.items()):
            file = files[0]
            is_small = file.size <= _SMALL
            if not file.steps:
                if taken[is_small] and taken[is_small] + file.size > _IN_MEMORY[is_small]:
                    taken[is_small] = _IN_MEMORY[is_small]  # those behind it wait, too
                    continue
                taken[is_small] += file.size
            if isinstance(file, UnfinishedFile):
                file = files[0] = self._begun(file)
            room -= self._read_on(file)
            del self._unread[site]
            if file.is_over:
                del files[0]
                self._finish(file, now)
            if files:
                self._unread[site] = files
            if room <= 0:
                break

    @property
    def _has_time_for_postponed(self) -> bool:
        return bool(self.discovery.postponed) and self._frontier.is_idle and not self._frontier.is_satisfied

    def _release(self, now: float) -> None:
        due_at = self._state.forest.next_due()
        if due_at is None or due_at > now:
            return
        for node in self._store.due(now, _DUE_TOGETHER):
            if node.kind == ARCHIVE and node.parent is None:  # its site may have published others since
                self._frontier.expire_robots(site_of(node.url))
            self.discovery.enqueue(node, now)

    def _read_on(self, file: SitemapFile) -> int:
        """Read on in a file; the characters that this counts for."""
        before = file.length
        entries = file.take(self._listings)
        if entries:
            self._events.record([SitemapEntriesRead(file.node.url, file.found_at, entries)])
        self._waiting += sum(file.sites.values())
        listed = [site for site in file.sites if self._state.listings.has(site)]
        self._listed.update(listed)
        self._hungry.update(site for site in listed if not self._is_fed(site))
        file.sites.clear()
        return max(file.length - before, len(entries) * _ENTRY, _TURN)

    # filling queues

    def emptied(self, sites: Iterable[Site]) -> None:
        """Have the queues of listed pages of these sites filled again: they ran empty."""
        self._hungry.update(site for site in sites if site in self._listed)

    def _is_fed(self, site: Site) -> bool:
        """Whether pages of a site wait that a sitemap listed. What is listed of other shards' sites is sent at once."""
        return self._is_ours(site) and self._state.queues.length(site, Lane.SITEMAPS) > 0

    def _fill_queues(self, now: float) -> None:
        """Queue one slice for every site whose queue of listed pages is empty."""
        for site in sorted(self._hungry):
            packed = self._state.listings.take(site, last=HELD - 1)
            if packed is not None:
                listed = unpack_slice(packed).discoveries()
                self._waiting = max(self._waiting - len(listed), 0)
                self._deliver(self._rescored(listed), now)
                self.discovery.free([site])
            if not self._state.listings.has(site, last=HELD - 1):
                self._listed.discard(site)
            if site not in self._listed or self._is_fed(site):
                self._hungry.discard(site)

    def _rescored(self, listed: list[Discovery]) -> list[Discovery]:
        """Listed pages with their scores of now, where ranks may have been computed since they were listed."""
        if self._rules.scores.score == "priority":
            return listed
        ranks = map(self._rank_of, [each.url for each in listed])
        return [each if rank is None else replace(each, score=rank) for each, rank in zip(listed, ranks, strict=True)]

    @property
    def has_unread(self) -> bool:
        """Whether a file is not read to its end, or waits until fewer others do."""
        return bool(self._unread or self.discovery.held or self.discovery.postponed)

    @property
    def listed(self) -> int:
        """URLs that files list and that wait for their queue; at least 1 while there are any."""
        return max(self._waiting, 1) if self._listed else 0

    def is_idle(self, now: float) -> bool:
        """Whether there is nothing to do, and no seed to be released."""
        return self._is_over(now) and not self._may_release_seeds(now)

    def _is_over(self, now: float) -> bool:
        """Whether no file is being read or due, and nothing is listed that waits for its queue."""
        due_at = self._state.forest.next_due()
        return not (self.has_unread or self._listed) and (due_at is None or due_at > now)

    def exhausted(self, sites: Sequence[Site]) -> None:
        """Nothing waits at these sites but what is held."""
        self.discovery.free(sites)

    def restart(self, now: float, *, is_set_back: bool) -> None:
        """Continue in a new process: listed pages go by the ranks computed for it, files by the settings of now.

        If the clock was set back, files visited after now count as visited now.
        """
        self.discovery.free(self.discovery.held)
        if self._rules.scores.score != "priority":
            self._frontier.rescore_listed(self._rank_of, now)
        if is_set_back:
            latest = now + self._rules.revisit.longest
            for node in [after for each in self._store if (after := clamped_to(each, now, latest)) != each]:
                self._store.put(node)
        if (self._state.meta(RevisitSettings) or RevisitSettings()) != self._rules.revisit:
            for node in [each for each in self._store if each.due_at > now and not math.isinf(each.due_at)]:
                self._store.put(self._due_by_settings(node, now))
            self._state.put_meta(self._rules.revisit)

    def _due_by_settings(self, node: SitemapNode, now: float) -> SitemapNode:
        """A file that may be due sooner by settings that were changed since its visit."""
        index = self._store.get(node.parent) if node.parent is not None and node.lastmod is not None else None
        trust, least = None if index is None else index.trust, self._revisits.file_interval(site_of(node.url))
        return sooner(node, now, self._rules.revisit, trust, min(least, self._rules.revisit.longest))

    # results of fetches

    def ended(self, outcome: FetchOutcome, now: float) -> None:
        """Handle a request for a file that failed, or returned it unchanged."""
        task = outcome.task
        node = self._store.get(task.url)
        if node is None or self._is_tried_again(task.url, outcome):
            return
        rules = self._rules
        match outcome:
            case NotModified():
                self._unchanged(node, now)
            case Redirected(target=target):
                self._moved(node, target, now)
            case _:
                status = getattr(outcome, "status", None)
                reason = outcome.reason if isinstance(outcome, Excluded) else reason_of(outcome) or "not-read"
                after = after_failure(node, reason, now, rules.revisit, rules.retirement, status)
                self._keep(after, now)
                self._go_on(node, now)

    def _is_tried_again(self, url: Url, outcome: FetchOutcome) -> bool:
        """Whether the frontier fetches it again, so the result is not final."""
        record = self._state.records.get([file_name(url)])[0]
        reason = reason_of(outcome)
        return reason in OUR_OWN or (record is not None and self._frontier.is_tried_again(record, reason))

    def _moved(self, node: SitemapNode, target: Url, now: float) -> None:
        """Handle a redirect of the file: what it lists there counts as if it were here."""
        most = self._rules.forest.max_redirects
        is_near = node.redirects < (min(most, _GUESS_REDIRECTS) if node.origin is Origin.WELL_KNOWN else most)
        self._keep(replace(node, outcome="redirected" if is_near else "redirect-chain", retired="moved"), now)
        if not is_near:
            return
        if not self._is_ours(site_of(target)):
            self.discovery.pass_on(node, target, now)
        elif self._store.get(target) is None:
            moved = replace(node, url=target, parent=node.url, redirects=node.redirects + 1, first_seen_at=now)
            self.discovery.enqueue(moved, now)
        elif twin_key(target) == twin_key(node.url) and node.url != target:
            self.discovery.rename(replace(node, redirects=node.redirects + 1), target, now)

    def _go_on(self, node: SitemapNode, now: float) -> None:
        """If that was a guess, try the next; but not where one was redirected: there all are."""
        if node.origin is Origin.WELL_KNOWN and node.read_at is None and not node.redirects:
            self.discovery.guess_on(node, now)

    def _finish(self, reading: SitemapFile, now: float) -> None:
        """Handle the end of reading a file."""
        outcome = reading.outcome
        self.discovery.free([reading.task.site])
        node = self._store.get(reading.node.url) or reading.node
        is_whole = not outcome.is_truncated and "truncated" not in reading.problems
        compared = reading.end(is_whole=is_whole)
        self._state.forest.remember(twin_key(node.url), compared.memory.pack())
        if gone := reading.gone():
            known = self._state.records.get([each.url for each in gone])
            self._deliver([each for each, record in zip(gone, known, strict=True) if record is not None], now)
        new_files, refused = self._follow(node, reading.children, now, is_whole=is_whole)
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
            is_changed=compared.is_changed or new_files > 0,
            is_appended=is_appended(reading.before, compared.memory),
        )
        trust = self._trust(node, result.is_changed, now)
        after = after_reading(node, result, now, self._rules.revisit, self._rules.retirement, trust)
        self._keep(after, now)
        if after.origin is Origin.WELL_KNOWN and node.read_at is None and after.kind in NO_SITEMAP:
            self._keep(replace(after, retired="not-a-sitemap"), now)
            self._go_on(node, now)
        if self._store.vouching(node) != reading.voice.vouching:  # another host vouches for it now
            self.discovery.read_again(after, now)
        if node.read_at is not None and reading.entries:
            self._revisits.file_read(
                site_of(node.url), reading.source, reading.entries, compared.moved, is_generated=compared.is_generated
            )
        self._store.put_spending(node.tree, self._store.spending(node.tree).read(reading.entries, len(outcome.body)))
        counts, reported = (reading.entries, len(reading.children)), tuple(reading.reported)
        self._events.record([SitemapRead(node.url, reading.found_at, *counts, reading.lastmod, reported)])

    def _keep(self, node: SitemapNode, now: float) -> None:
        """Keep a node after a visit, and report it. A file is not read more often than that pays."""
        pays_at = now + min(self._revisits.file_interval(site_of(node.url)), self._rules.revisit.longest)
        node = replace(node, due_at=max(node.due_at, pays_at))
        self._store.put(node)
        self._events.record([visit_event(node, now)])

    def _unchanged(self, node: SitemapNode, now: float) -> None:
        """Handle an unchanged file: it reports no page as changed."""
        rules, trust = self._rules, self._trust(node, False, now)
        self._keep(after_same(node, now, rules.revisit, rules.retirement, trust), now)
        if node.entries:
            self._revisits.file_read(site_of(node.url), source_of(node.kind), node.entries, 0)

    def _trust(self, node: SitemapNode, is_changed: bool, now: float) -> IndexTrust | None:
        """The trust in the index of a file; the index is updated with the result."""
        index = None if node.parent is None else self._store.get(node.parent)
        if index is None:
            return None
        after = trust_after(index, node, is_changed, now)
        if after != index:
            self._store.put(after)
        return after.trust

    def _follow(
        self, index: SitemapNode, children: Sequence[Child], now: float, *, is_whole: bool
    ) -> tuple[int, Counter[str]]:
        """Fetch the files that an index newly names; dates of known ones are hints; files no longer named are dropped.

        How many are new, and why others were not followed.
        """
        if not children:
            return 0, Counter()
        above = {twin_key(index.url), *map(twin_key, self._store.above(index))}
        followed = follow(
            index,
            children,
            above=above,
            is_known=self._store.has,
            spent=self._store.spending(index.tree),
            settings=self._rules.forest,
            now=now,
        )
        self._store.put_spending(index.tree, followed.spent)
        self.discovery.enqueue_all([node for node in followed.new if self._is_ours(site_of(node.url))], now)
        for node in followed.new:
            if not self._is_ours(site_of(node.url)):
                self.discovery.pass_on(replace(node, vouching=tuple(self._store.vouching(index))), node.url, now)
        for key, child in followed.known:
            self._date(key, index, child, now)
        if is_whole and index.read_at is not None:
            self._unlist(index, {key for key, _ in followed.known} | {twin_key(node.url) for node in followed.new}, now)
        return len(followed.new), Counter(dict(followed.refused))

    def _date(self, key: str, index: SitemapNode, child: Child, now: float) -> None:
        row = self._store.by_key(key)
        if row is None:
            return
        url = canonical(child.url)
        if url is not None and url != row.url and is_dead(row):
            self.discovery.rename(replace(row, parent=index.url, tree=index.tree, depth=index.depth + 1), url, now)
            return
        if row.parent != index.url:
            return
        if is_back(row, child.lastmod, now):
            row = woken(row, now)
        if math.isinf(row.due_at):  # it waits to be fetched already
            self._store.put(replace(row, lastmod=child.lastmod))
        else:
            self._store.put(dated(row, child.lastmod, now, self._rules.revisit, index.trust))

    def _unlist(self, index: SitemapNode, named: Collection[str], now: float) -> None:
        for child in self._store.children(index):
            if not child.retired and twin_key(child.url) not in named:
                self._keep(unlisted(child), now)


def _digest(outcome: Fetched) -> int:
    """The digest of the bytes as sent; never 0, which stands for a file that was not read.

    Truncated files match nothing.
    """
    return 0 if outcome.is_truncated else xxh3_64_intdigest(outcome.body) or 1


def scheduler_for(setup: Setup, load_body: LoadBody, desk: Desk) -> SitemapScheduler:
    """The sitemaps of a crawl. Seeds wait for them if it is for files and does not only visit pages again."""
    rules = setup.settings.some(SitemapRules)
    waits = bool(rules.media.types and rules.media.html) and not setup.revisits_only
    return SitemapScheduler(
        desk,
        rules,
        _rank_of(setup, rules.scores),
        load_body,
        holds=not setup.revisits_only,
        seeds=setup.seeds if waits else (),
    )


def no_sitemaps(desk: Desk) -> SitemapScheduler:
    """The sitemaps of a crawl that reads none."""
    return SitemapScheduler(desk, SitemapRules(SitemapCrawlSettings(follow=False)))


def listed_ranks_by(setup: Setup, score: str) -> KnownRanks:
    """PageRank of what the tables have, the priorities of sitemaps, or both, by the name of the score."""
    from .ranks import listed_priorities, listed_ranks  # loads Arrow, which few crawls need

    settings = replace(setup.settings.some(SitemapTables).scores, score=score)
    rank = listed_priorities if score == "priority" else listed_ranks
    return rank(setup.layout.tables, setup.layout.spooled, settings)


def _rank_of(setup: Setup, settings: ScoreSettings) -> RankOf:
    """What listed pages are worth, as far as that was computed when the crawl was begun."""
    path = setup.layout.listed_ranks
    if settings.score == "priority" or not path.is_file():
        return lambda _url: None
    from periplus.store import KnownRanks  # loads Arrow

    return KnownRanks.load(path).get
