"""What a site has to offer: the next URL of its queues that may be fetched, past those that need not or may not be.

A URL may have waited long. Meanwhile its page was fetched by another lane, a trap was found out, or robots.txt has
changed; so each is looked at again when its turn comes (`examined`), and who is refused then leaves its queue.

Refusals are in no journal: after a crash they are found out again (`decide_again`), since they had consequences: the
next place to look for a sitemap, the next pages of a list whose queue had run dry.
"""

from __future__ import annotations

from periplus.model import Discovery, FetchTask, Guard, Lane, Purpose, Queued, Reject, Site, Ticket, Url, UrlRecord

from .esteem import Esteem
from .politeness import PolitenessSettings
from .refresher import Refresher
from .retries import RetrySettings
from .robots import RobotsGate
from .rounds import Rounds, purpose_of
from .sources import Sources, is_settled
from .workbench import ActiveSite

_LOOKED_AT = 8
"""So many heads of a queue are looked at again before one is taken as it stands."""
_DECIDED_AT_ONCE = 2000
"""So many URLs of a lane are refused again at a time."""


class Offers:
    """Looks at the heads of a site's queues."""

    def __init__(
        self,
        rounds: Rounds,
        sources: Sources,
        refresher: Refresher,
        *,
        guard: Guard,
        gate: RobotsGate,
        politeness: PolitenessSettings,
        retries: RetrySettings,
        esteem: Esteem | None,
    ) -> None:
        self._rounds = rounds
        self._sources = sources
        self._refresher = refresher
        self._guard = guard
        self._gate = gate
        self._lease = politeness.lease
        self._retries = retries
        self._esteem = esteem

    def heads(self, active: ActiveSite, out: frozenset[Url]) -> list[Ticket]:
        """The two best of a site but those that are out, looked at again where their worth sinks while they wait."""
        heads = self._rounds.heads(active, 2, out)
        if self._esteem is not None:
            for _ in range(_LOOKED_AT):
                if not heads or not self._esteem.has_sunk(heads[0]):
                    break
                heads = self._rounds.heads(active, 2, out)
        return heads

    def examined(self, active: ActiveSite, head: Ticket, now: float) -> tuple[FetchTask, UrlRecord] | None:
        """What is to be fetched, and what is known of it; or nothing, and it has left its queue."""
        record = self._rounds.known(head.entry)
        if is_settled(head.entry, record, self._retries):
            self._sources.pass_by(active, head)
            return None
        task = self._task(head.entry, record, active, now)
        refusal = self._refusal(task, now)
        if refusal is not None:
            self._rounds.exclude(active, head, *refusal, now)
            return None
        return task, record

    def _task(self, entry: Queued, record: UrlRecord, active: ActiveSite, now: float) -> FetchTask:
        return FetchTask(
            entry.url,
            entry.site,
            purpose_of(entry.lane),
            entry.lane,
            now + self._lease,
            self._refresher.condition(active, record) if entry.lane is Lane.REFRESH else record.validators,
            record.failures + 1,
            active.state.ip,
            record.first_seen[0].source,
            record.depth,
            record.redirects,
            record.kept_at,
        )

    def _refusal(self, task: FetchTask, now: float) -> tuple[str, str] | None:
        """Why a URL is not fetched although it waited: a trap was found out since, or robots.txt forbids it."""
        if task.purpose is Purpose.PAGE:
            discovery = Discovery(task.url, task.source, now, task.depth, redirects=task.redirects)
            verdict = self._guard.reconsider(discovery)
            if isinstance(verdict, Reject):
                return verdict.reason, verdict.rule
        return self._gate.refusal(task.site, task.url)

    def took(self, active: ActiveSite, entry: Queued, record: UrlRecord, now: float) -> None:
        """One is lent: it counts for the budget that pays for it."""
        active.had_file = entry.lane is Lane.FILES
        if not active.had_file:
            self._rounds.shares.took(is_again=entry.lane is Lane.REFRESH)
        if entry.lane is Lane.REFRESH:
            self._refresher.lent(record, now)
        else:
            self._sources.took(active, entry, record)

    def decide_again(self, site: Site, now: float) -> None:
        """Refuse what another process has refused before it lent something of this site: it stands at the front."""
        active = self._rounds.summon(site)
        if active.state.robots_expire_at > now:
            for lane in list(active.lanes):
                self._pass(active, lane, now)
        self._rounds.place(active, active.ready_at)

    def _pass(self, active: ActiveSite, lane: Lane, now: float) -> None:
        for _ in range(_DECIDED_AT_ONCE):
            heads = self._rounds.heads_of(active.site, lane, 1)
            if not heads or self.examined(active, heads[0], now) is not None:
                return
