"""Registrable domains: how many pages and hosts of each a crawl has had, and in which pass its next page is.

Sites are what politeness counts, and cost nothing to make; domains are what budgets count (`policy.domain_budgets`).
Every site of a domain shares its counts. A domain is in memory while one of its sites is active; the others are in
rows, so memory grows neither with domains nor with hosts.

The crawl as a whole is in a pass: sites of a domain whose next page belongs to a later one wait in their queues. The
first passes give each domain a small part of its budget (`policy.domain_budgets.octave_of`), and each pass twice as
much as the one before. A pass ends when half of the domains that had pages in it have used them: however fast or slow a
crawl is, pages are shared in proportion to budgets, and sites that rest between requests are not overtaken.
Domains of seeds have no budget, unless the settings give them one; without `budgets` no domain has one.

Until the first verdict on domains all but those of seeds are discounted, and after it those that were not known then:
requests that a link farm has had cannot be taken back. If the seeds' domains have no pages left and `AWAITED_FROM`
pages were granted, a crawl of more than a few sites waits for the verdict for `patience` seconds; without one it goes
on, as after `UNJUDGED_PAGES` pages.

Discounted domains, such as those judged to be spam, do not wait for passes. While other sites are active or wait for a
pass, they get a share of the requests (`policy.domain_budgets.DiscountCredit`), and only some of their sites are
active.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable

from msgspec import Struct

from periplus.model import Discovery, DomainVisits, Reject, Rows, Site, Source, Url
from periplus.policy.domain_budgets import (
    FIRST_OCTAVE,
    DiscountCredit,
    base_at,
    host_is_admitted,
    max_active_hosts,
    octave_of,
)
from periplus.policy.filters import BudgetSettings
from periplus.store import SiteState
from periplus.urls import domain_of, site_of

from .discounts import Discounts

DEEP = 6
"""Clicks from a seed beyond which pages are wanted less: people seldom go further (Baeza-Yates & Castillo 2007)."""
LEVELS_PER_CLICK = 2
"""Levels of a queue by which each further click lowers a page: an octave of importance."""
DISCOUNTED_FROM = 1000
"""Added to the turn of discounted domains: after the last pass of all others."""
MAX_DISCOUNTED_SITES = 1000
"""Sites of such domains that are active at a time, at most: they get few requests, and must not fill the memory."""
DISCOUNTED_REST = 5.0
"""Seconds after which a discounted site that may not be asked is looked at again: with those above 200 per second."""
EARLY_HOSTS = 2
"""Hosts of a domain with a budget that are active at a time in passes before the first whole budget: a domain of many
hosts could be read faster than others, which have one and rest between requests."""
AWAITED_FROM = 200
"""Pages of a shard from which the first verdict is waited for."""
AWAITED_SITES = 64
"""Active sites without a verdict from which one is waited for: few sites are read while it is made."""
UNJUDGED_PAGES = 5000
"""Pages of a shard after which domains without a verdict are not held back any longer: no job runs."""
_NEVER = 1 << 30
"""A pass that never comes: nothing waits for a later one."""
_LOOKED_FOR_EVERY = 5.0
"""Seconds between two searches for sites that wait because their domain was full."""
_LOOKED_AT_PER_SECOND = 10_000
"""Waiting sites that are looked at for each second between two searches: a few percent of a processor's time."""


class PassState(Struct, frozen=True, array_like=True):
    """The pass of a crawl. `later`: the first pass for which a site waits.

    `idle_since`: since when requests could be made, but only to domains without a verdict; `is_full`: sites wait
    because others of their domain are active; `has_ended`: a site has ended since they were last looked for; `look_at`:
    when they may be looked for again; `credit`: saved requests to discounted domains; `unjudged`: pages that were
    granted while no verdict was known; `peak`: the most domains with a budget that were active in this pass.
    """

    number: int = FIRST_OCTAVE
    later: int = _NEVER
    idle_since: float = 0.0
    is_full: bool = False
    has_ended: bool = False
    look_at: float = 0.0
    credit: float = 0.0
    unjudged: int = 0
    peak: int = 0


class Domain:
    """The counts of a domain: pages granted, hosts admitted, and how many of its sites are active."""

    __slots__ = (
        "active", "budget", "fetched", "hops", "hosts", "is_discounted", "is_seed", "max_active", "name", "octave",
        "until",
    )  # fmt: skip

    def __init__(self, row: DomainVisits) -> None:
        self.name = row.domain
        self.fetched, self.hosts, self.is_seed, self.hops = row.fetched, row.hosts, row.is_seed, row.hops
        self.active = 0
        self.budget = math.inf
        self.max_active = 0
        self.octave = self.until = 0
        self.is_discounted = False

    @property
    def turn(self) -> int:
        """The order of its next page among all domains."""
        return self.octave + DISCOUNTED_FROM if self.is_discounted else self.octave

    def __eq__(self, other: object) -> bool:
        """Whether all counts are equal: two machines that applied the same inputs have equal domains."""
        names = Domain.__slots__
        return isinstance(other, Domain) and all(getattr(self, name) == getattr(other, name) for name in names)

    __hash__ = None  # type: ignore[assignment] # counts change

    def row(self) -> DomainVisits:
        """The domain as it is written."""
        return DomainVisits(self.name, self.fetched, self.hosts, self.is_seed, self.hops)


class Domains:
    """The domains of the sites of a shard. Without `budgets` all are unlimited.

    `suffixes` are further public suffixes; `seeds` the URLs whose domains are unlimited.
    """

    def __init__(
        self,
        rows: Rows[DomainVisits],
        budgets: BudgetSettings | None = None,
        *,
        suffixes: tuple[str, ...] = (),
        seeds: Iterable[Url] = (),
        saved: PassState | None = None,
    ) -> None:
        saved = saved or PassState()
        self._rows = rows
        self.is_on = budgets is not None
        self._budgets = budgets or BudgetSettings()
        self._suffixes = suffixes
        self._seeds = frozenset(self._name(site_of(seed)) for seed in seeds)
        self._budget_of: Callable[[str], int | None] = lambda _domain: None
        self.discounts = Discounts()
        self._loaded: dict[str, Domain] = {}
        self._changed: dict[str, None] = {}
        self._credit = DiscountCredit(self._budgets.spam_share, saved.credit)
        self._active = self._discounted_active = self._limited = 0
        self.pass_number, self.later, self.idle_since = saved.number, saved.later, saved.idle_since
        self.is_full, self.has_ended, self.look_at = saved.is_full, saved.has_ended, saved.look_at
        self._unjudged, self._peak = saved.unjudged, saved.peak
        self._is_judged = False

    @property
    def state(self) -> PassState:
        """The state to commit besides rows."""
        credit = self._credit.credit
        return PassState(
            self.pass_number,
            self.later,
            self.idle_since,
            self.is_full,
            self.has_ended,
            self.look_at,
            credit,
            self._unjudged,
            self._peak,
        )

    def flush(self) -> None:
        """Write what changed; the caller commits."""
        self._rows.put([self._loaded[name].row() for name in self._changed])
        self._changed.clear()
        self._loaded = {name: domain for name, domain in self._loaded.items() if domain.active}

    def __len__(self) -> int:
        """How many domains are in memory."""
        return len(self._loaded)

    # looking

    def of(self, site: Site) -> Domain:
        """The domain of a site; a site without one, such as an address, is a domain of its own."""
        return self.get(self._name(site))

    def get(self, name: str) -> Domain:
        """A domain by its name."""
        domain = self._loaded.get(name)
        if domain is None:
            domain = self._loaded[name] = Domain(self._rows.get(name) or DomainVisits(name))
            self._appraise(domain)
        return domain

    def _name(self, site: Site) -> str:
        return domain_of(site, self._suffixes) or site

    def _appraise(self, domain: Domain) -> None:
        """Look up the budget of a domain."""
        settings = self._budgets
        active, domain.active = domain.active, 0
        self._count(domain, -active)
        domain.is_discounted = False
        if not self.is_on:
            domain.budget = math.inf
        elif domain.is_seed or domain.name in self._seeds:
            domain.budget = settings.seed_budget or math.inf
        else:
            known = self._budget_of(domain.name)
            remaining = self.discounts.budget(domain.name)
            domain.budget = max(round((known or base_at(domain.hops, settings.base)) * remaining), 1)
            is_unknown = known is None if self._is_judged else self._is_before_verdicts
            domain.is_discounted = remaining < 1 or is_unknown
        domain.active = active
        self._count(domain, active)
        domain.max_active = max_active_hosts(domain.budget, settings.largest)
        self._set_octave(domain)

    @property
    def _is_before_verdicts(self) -> bool:
        """Whether domains of seeds, of which there are some, come first because no other was judged yet."""
        return not self._is_judged and self._unjudged < UNJUDGED_PAGES and bool(self._seeds) and self.is_on

    def _set_octave(self, domain: Domain) -> None:
        """Set the order of its next page, and the first page for which another one holds."""
        if domain.budget == math.inf:
            domain.octave, domain.until = octave_of(1, math.inf), _NEVER
            return
        k, growth = domain.fetched + 1, self._budgets.growth
        domain.octave = octave_of(k, domain.budget, growth)
        # the first page of the next octave, or in later passes each page: those are rare
        domain.until = int(domain.budget) // 2**-domain.octave + 1 if domain.octave < 0 else k + 1

    def is_later(self, domain: Domain) -> bool:
        """Whether the next page of a domain belongs to a pass that has not begun."""
        return domain.octave > self.pass_number and not domain.is_discounted

    # pages and hosts

    def granted(self, domain: Domain) -> None:
        """Count a page of a domain that is fetched for the first time."""
        if self.is_on:
            if not self._is_judged:
                self._unjudged += 1
                if self._unjudged == UNJUDGED_PAGES:
                    self.appraise_again()
            domain.fetched += 1
            self._changed[domain.name] = None
            if domain.fetched + 1 >= domain.until:
                self._set_octave(domain)

    def refusal(self, discovery: Discovery, record: SiteState) -> Reject | None:
        """Why the first URL of a host is refused: its domain has very many hosts. Seeds are always admitted."""
        if record.is_admitted or not self.is_on or _is_seed(discovery):
            return None
        domain = self.of(record.site)
        free = self._budgets.seed_hosts if domain.budget == math.inf else self._budgets.hosts
        if host_is_admitted(record.site, domain.hosts, free):
            return None
        return Reject("domain-hosts", f"{domain.name}: beyond {free} hosts")

    def admitted(self, discovery: Discovery, record: SiteState) -> bool:
        """A new URL of a site was admitted. Whether that changed its record: the site was new."""
        if not self.is_on:
            return False
        if _is_seed(discovery):
            self._add_seed(self.of(record.site))
        if record.is_admitted:
            return False
        record.is_admitted = True
        domain = self.of(record.site)
        if not domain.hosts:
            domain.hops = self._hops(domain, discovery.referrer)
            self._appraise(domain)
        domain.hosts += 1
        self._changed[domain.name] = None
        return True

    def _hops(self, domain: Domain, referrer: Url | None) -> int:
        """How many domains away from a seed's a domain is that this page links to."""
        if domain.budget == math.inf or referrer is None:
            return 0
        linking = self.of(site_of(referrer))
        if linking.budget == math.inf:
            return 1
        return linking.hops + 1 if linking.hosts else 2  # that of another shard is not a seed's either

    def add_seeds(self, urls: Iterable[Url]) -> None:
        """Make the domains of these unlimited from now on: seeds have moved there."""
        if self.is_on:
            for url in urls:
                self._add_seed(self.of(site_of(url)))

    def _add_seed(self, domain: Domain) -> None:
        if not domain.is_seed:
            domain.is_seed = True
            self._changed[domain.name] = None
            self._appraise(domain)

    def level(self, level: int, depth: int, last: int) -> int:
        """The level of a page at this many clicks from a seed: deep pages are wanted less."""
        return level if depth <= DEEP or not self.is_on else min(level + LEVELS_PER_CLICK * (depth - DEEP), last)

    # active sites

    def has_place(self, domain: Domain, chosen: int = 0) -> bool:
        """Whether another site of a domain may be active now; if not, remember that one waits.

        `chosen` of its sites will be active besides those that are.
        """
        if self.is_later(domain):
            self.later = min(self.later, domain.octave)
            return False
        is_early = self.pass_number < 0 and not domain.is_discounted and domain.budget < math.inf
        is_full = domain.active + chosen >= (EARLY_HOSTS if is_early else domain.max_active)
        if self.is_on and (
            is_full or (domain.is_discounted and self._discounted_active + chosen >= MAX_DISCOUNTED_SITES)
        ):
            self.is_full = True
            return False
        return True

    def joined(self, domain: Domain) -> None:
        """Count a site of a domain as active."""
        domain.active += 1
        self._active += 1
        self._count(domain, 1)

    def ended(self, domain: Domain) -> None:
        """Count a site of a domain as no longer active."""
        domain.active -= 1
        self._active -= 1
        self._count(domain, -1)
        self.has_ended |= self.is_full

    def _count(self, domain: Domain, sites: int) -> None:
        """Count sites of a domain that became active, or none any more, with those of its kind."""
        if domain.is_discounted:
            self._discounted_active += sites
        elif domain.budget < math.inf and sites:
            self._limited += (domain.active > 0) - (domain.active - sites > 0)
            self._peak = max(self._peak, self._limited)

    # discounted domains

    def asked(self, domain: Domain) -> None:
        """Count a request to a site of a domain."""
        if self.is_on:
            self._credit.count(is_discounted=domain.is_discounted)

    @property
    def is_only_discounted(self) -> bool:
        """Whether no site is active but discounted ones."""
        return self._active == self._discounted_active

    def must_wait(self, domain: Domain) -> bool:
        """Whether sites of a discounted domain are not asked now: their share is used up, and others have pages."""
        if not domain.is_discounted or self._credit.is_enough:
            return False
        return self.holds_back

    @property
    def holds_back(self) -> bool:
        """Whether discounted domains get no more than their share: others have pages, or a verdict is waited for."""
        return self.is_waited_for or not self.is_only_discounted or self._awaits_verdict

    @property
    def _awaits_verdict(self) -> bool:
        is_wide = self._discounted_active >= AWAITED_SITES
        return is_wide and self._unjudged >= AWAITED_FROM and self._is_before_verdicts

    @property
    def has_too_many_discounted(self) -> bool:
        """Whether more discounted sites are active than may be: they were admitted before they were discounted."""
        return self._discounted_active > MAX_DISCOUNTED_SITES

    def next_look_at(self, is_quiet: bool) -> float | None:
        """When sites that wait because their domain was full may be looked for."""
        if not self.is_full or not (self.has_ended or is_quiet):
            return None
        return 0.0 if is_quiet else self.look_at

    def choose(self, waiting: Iterable[tuple[Site, int]], room: int, now: float) -> tuple[dict[Site, int], bool]:
        """Which of the sites that wait, each with a level, may be active now, at most `room`; whether some had no room.

        All of them are looked at: what is remembered of them is found again.
        """
        self.later, self.is_full, self.has_ended = _NEVER, False, False
        looked_at, is_crowded = 0, False
        chosen: dict[Site, int] = {}
        of_domain: Counter[str] = Counter()
        for site, level in waiting:
            looked_at += 1
            if site in chosen:
                chosen[site] = min(level, chosen[site])
                continue
            domain = self.of(site)
            if self.has_place(domain, of_domain[domain.name]):
                if len(chosen) >= room:
                    is_crowded = True
                    break
                of_domain[domain.name] += 1
                chosen[site] = level
        self.look_at = now + max(_LOOKED_FOR_EVERY, looked_at / _LOOKED_AT_PER_SECOND)
        return chosen, is_crowded

    # passes

    @property
    def is_waited_for(self) -> bool:
        """Whether a site waits for a later pass."""
        return self.later < _NEVER

    @property
    def next_pass_at(self) -> float | None:
        """When the next pass may begin: at once if half of the domains in this one have used it up.

        Or when no verdict is waited for any longer.
        """
        if self.is_waited_for and 2 * self._limited <= self._peak:
            return 0.0
        return self.idle_since + self._budgets.patience if self.idle_since and self._awaits_verdict else None

    def begin_pass(self, now: float) -> bool:
        """Begin the next pass for which a site waits, or go on without a verdict, if it is time. Whether it was."""
        at = self.next_pass_at
        if at is None or at > now:
            return False
        if at:
            self._unjudged, self.idle_since = UNJUDGED_PAGES, 0.0
            self.appraise_again()
        if self.is_waited_for:
            self.pass_number = max(self.later, self.pass_number)
        self._peak = self._limited
        return True

    def took(self, has_spare: bool, now: float) -> None:
        """Requests were granted; `has_spare`: there were not as many as could have been made."""
        if not has_spare or not self._awaits_verdict or not self.is_only_discounted:
            self.idle_since = 0.0
        elif not self.idle_since or self.idle_since > now:  # the clock was set back
            self.idle_since = now

    def restart(self) -> None:
        """Continue in a new process: idle times of the last one do not count."""
        self.idle_since = self.look_at = 0.0

    # other budgets

    def set_budgets(self, budget_of: Callable[[str], int | None]) -> None:
        """Give each domain for which this returns a budget that one. A pass that has begun goes on."""
        self._budget_of, self._is_judged, self.idle_since = budget_of, True, 0.0
        self.appraise_again()

    def appraise_again(self) -> None:
        """Look up the budgets of all domains in memory: what is known of them has changed."""
        for domain in self._loaded.values():
            self._appraise(domain)


def _is_seed(discovery: Discovery) -> bool:
    """Whether a URL is a seed, or the place that a seed redirects to."""
    return discovery.source is Source.SEED or (discovery.source is Source.REDIRECT and discovery.depth == 0)
