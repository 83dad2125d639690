"""Estimates how far a site's change signals can be trusted: precision, recall and delay of each kind.

`lastmod` of sitemaps is "not yet consistently trustworthy" (Schonfeld & Shivakumar 2009), feeds are better and seldom
complete, and both differ from site to site. So each kind of signal has its record on each site (`KindEvidence`).
`estimation` estimates its precision from visits, over all pages at once; polls between visits add to the record. Both
decide the verdict:

* `honest`: probably at least 80 % of its signals are right; `useful`: often wrong, but worth using
* `useless`: visits after a signal find hardly more changes than others
* `always-now`: polls report nearly every page as changed, again and again
* `build-time`: most pages have the time at which the file was generated, again and again
* `silent`: no signal yet; `unknown`: too few visits to decide

A kind begins with the trust that it has earned on other sites (`SignalTrust`), and a ping, whose sender was verified,
with more. No kind is refused: generated dates begin with little trust (`prior`), and a kind with a precision below
`LEAST_PRECISION` is ignored until it is right more often, so that a site that improves is trusted again. `ArchiveProof`
decides whether a site's metadata archives are exact.
"""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from .evidence import DAY, KINDS, SignalKind, days_of, is_changed_of, signals_of
from .settings import RefreshSettings

HONEST, USEFUL, USELESS = "honest", "useful", "useless"
ALWAYS_NOW, BUILD_TIME, SILENT, UNKNOWN = "always-now", "build-time", "silent", "unknown"

_KEEP = 0.5 ** (1.0 / 500.0)
"""Decay of a site's folded visits: after 500 visits they count half. Sites change their ways."""
_POLL_WEIGHT = 0.3
"""Weight of the last poll in the share of pages that polls report as changed."""
_LYING_POLLS = 2
"""Polls in a row whose times are those of the file's generation, before they count as build times."""
_EVERYTHING, _FEW_PAGES = 0.9, 20
"""A poll that reports this share of at least this number of pages as changed carries no information."""
_JUDGED_ENOUGH = 10.0
_DATES = 2.0
"""Changes by which dates must have been proved or disproved until that outweighs the first doubt."""
LEAST_PRECISION = 0.1
"""Signals with a lower precision are ignored."""
_FIRST_TRUST = {SignalKind.SITEMAP: 0.5, SignalKind.FEED: 0.5, SignalKind.PING: 0.8, SignalKind.HUB: 0.5}
"""Expected precision of the first signals, before any site has shown it: a ping comes from a sender with the key of an
IndexNow host, the secret of a WebSub subscription or the token of the owner."""
_PRIOR_SIGNALS = 2.0
"""Signals that the first trust in a site counts for: a few of its own outweigh it."""
_PRIOR_ELSEWHERE, _MOST_OF_SITE = 20.0, 10.0
"""Signals that `_FIRST_TRUST` counts for among those of all sites, and those of one site that count there at most."""


class KindEvidence(Struct, frozen=True, array_like=True, gc=False):
    """One kind of signal on one site.

    `right` of `judged` signals are what estimation last made of it all, without the prior; `old_right` of `old_judged`
    are of visits that are no longer kept one by one. `moved` is the share of the pages listed that a poll says changed,
    lately; `lag` is the mean of the days between the time that a signal names and its arrival. `is_doubted`: it is
    not meant as a signal, and is ignored until it has been right. `trust` is the expected precision of its first ones.
    """

    right: float = 0.0
    judged: float = 0.0
    old_right: float = 0.0
    old_judged: float = 0.0
    moved: float = 0.0
    lag: float = 0.0
    polls: int = 0
    lying_polls: int = 0
    is_doubted: bool = False
    trust: float = 0.5

    @property
    def is_lying(self) -> bool:
        """Whether its dates are known to be generated."""
        return self.lying_polls >= _LYING_POLLS or self.reports_everything

    @property
    def reports_everything(self) -> bool:
        """Whether polls report nearly every page as changed."""
        return self.polls >= _LYING_POLLS and self.moved >= _EVERYTHING

    @property
    def prior(self) -> tuple[float, float]:
        """Prior of right and judged signals: two with the first trust, or Beta(1, 19) where dates are generated."""
        if self.is_lying or self.is_doubted:
            return 1.0, 20.0
        return _PRIOR_SIGNALS * self.trust, _PRIOR_SIGNALS

    @property
    def precision(self) -> float:
        """The share of its signals that are right: the mean."""
        right, judged = self.prior
        return min((right + self.right) / (judged + self.judged), 0.995)

    @property
    def kappa(self) -> float:
        """What one signal adds to the reasons to expect a change: -ln(1 - p); nothing where it is mostly wrong."""
        precision = self.precision
        return -math.log1p(-precision) if precision >= LEAST_PRECISION else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the precision: the normal approximation of the Beta posterior."""
        total = self.prior[1] + self.judged
        half = 1.96 * math.sqrt(self.precision * (1 - self.precision) / (total + 1))
        return max(self.precision - half, 0.0), min(self.precision + half, 1.0)

    @property
    def verdict(self) -> str:
        """The verdict (see the module)."""
        if not self.judged and not self.polls:
            return SILENT
        if self.reports_everything:
            return ALWAYS_NOW
        if self.lying_polls >= _LYING_POLLS:
            return BUILD_TIME
        if not self.judged and not self.moved:
            return SILENT
        if self.judged < _JUDGED_ENOUGH:
            return UNKNOWN
        if self.precision >= 0.8:
            return HONEST
        return USEFUL if self.precision >= 0.2 else USELESS

    def polled(self, listed: int, moved: int, *, is_generated: bool = False) -> KindEvidence:
        """A file was read again: of its `listed` pages, `moved` are reported as changed.

        `is_generated`: most bear one time, that of its making. A few pages may well all have changed.
        """
        share = moved / listed if listed >= _FEW_PAGES else 0.0
        weight = max(_POLL_WEIGHT, 1.0 / (self.polls + 1))
        lying = min(self.lying_polls + 1, 255) if is_generated and listed >= _FEW_PAGES else 0
        if not is_generated and not moved:
            lying = self.lying_polls
        return replace(
            self,
            polls=min(self.polls + 1, 1 << 31),
            moved=(1 - weight) * self.moved + weight * min(share, 1.0),
            lying_polls=lying,
        )

    def heard(self, named_at: float, now: float) -> KindEvidence:
        """A signal named a time; how long ago was that?"""
        days = min(max(now - named_at, 0.0), 3650 * DAY) / DAY
        return replace(self, lag=0.9 * self.lag + 0.1 * days if self.lag else days)


NO_SIGNALS = tuple(KindEvidence(trust=_FIRST_TRUST[kind]) for kind in SignalKind)


class SignalTrust(Struct, frozen=True, array_like=True, gc=False):
    """How often signals of each kind were right on all sites together, a few of each site: `right` of `judged`."""

    right: tuple[float, ...] = (0.0,) * KINDS
    judged: tuple[float, ...] = (0.0,) * KINDS

    def of(self, kind: SignalKind) -> float:
        """The expected precision of the first signals of a site."""
        first = _FIRST_TRUST[kind] * _PRIOR_ELSEWHERE
        return (first + self.right[kind]) / (_PRIOR_ELSEWHERE + self.judged[kind])

    def learnt(self, before: SiteEvidence, after: SiteEvidence) -> SignalTrust:
        """After a site showed more of its signals."""
        if before.kinds == after.kinds:
            return self
        was, now = map(_counting, before.kinds), map(_counting, after.kinds)
        moved = [(each[0] - old[0], each[1] - old[1]) for old, each in zip(was, now, strict=True)]
        return SignalTrust(
            tuple(max(right + by, 0.0) for right, (by, _) in zip(self.right, moved, strict=True)),
            tuple(max(judged + by, 0.0) for judged, (_, by) in zip(self.judged, moved, strict=True)),
        )


def _counting(kind: KindEvidence) -> tuple[float, float]:
    """What counts of one kind on one site for all sites."""
    share = min(1.0, _MOST_OF_SITE / kind.judged) if kind.judged else 0.0
    return kind.right * share, kind.judged * share


class SiteEvidence(Struct, frozen=True, array_like=True, gc=False):
    """All kinds on one site, and the means of its pages: unsignalled changes (`rate`) and signals (`signals`) a day.

    `shape` is how much they are alike: as if this number of changes of each had been seen.
    `pages` is how many these are the means of, of which `again` were visited again; 0: nothing is known. Pages bear
    dates when they are first seen; of those visited again `date_found` had changed; of true dates `date_expected` would
    have, of false ones `date_otherwise`. Before that `date_doubt` of them are taken for false. `useful` signals a day
    come in all for pages that change less than daily: for others it is not worth reacting to each. Where `tie` is above
    0, `told` signals come for each unsignalled change of a page: as if that had been seen `tie` times of each page.
    """

    kinds: Annotated[tuple[KindEvidence, ...], Meta(min_length=KINDS, max_length=KINDS)] = NO_SIGNALS
    rate: float = 0.0
    signals: float = 0.0
    pages: int = 0
    date_found: float = 0.0
    date_expected: float = 0.0
    date_otherwise: float = 0.0
    shape: float = 0.5
    date_doubt: float = 0.1
    useful: float = 0.0
    again: int = 0
    tie: float = 0.0
    told: float = 0.0

    def of(self, kind: SignalKind) -> KindEvidence:
        """The evidence of one kind."""
        return self.kinds[kind]

    def with_kind(self, kind: SignalKind, evidence: KindEvidence) -> SiteEvidence:
        """The record with new data of one kind."""
        return replace(self, kinds=(*self.kinds[:kind], evidence, *self.kinds[kind + 1 :]))

    def begun_with(self, trust: SignalTrust) -> SiteEvidence:
        """The record with the trust of all sites, where this one has not shown its own yet."""
        stated = [kind.trust if kind.judged else trust.of(SignalKind(n)) for n, kind in enumerate(self.kinds)]
        if all(kind.trust == each for kind, each in zip(self.kinds, stated, strict=True)):
            return self
        kinds = zip(self.kinds, stated, strict=True)
        return replace(self, kinds=tuple(replace(kind, trust=each) for kind, each in kinds))

    @property
    def kappas(self) -> tuple[float, ...]:
        """What one signal of each kind adds to the reasons to expect a change."""
        return tuple(kind.kappa for kind in self.kinds)

    def recall(self, kind: SignalKind) -> float:
        """The share of the changes of its pages that this kind reports, for an average page."""
        signalled = self.precision_rate(kind)
        every = self.rate + sum(self.precision_rate(SignalKind(each)) for each in range(KINDS))
        return signalled / every if every > 0.0 else 0.0

    def precision_rate(self, kind: SignalKind) -> float:
        """Right signals a day of a page; 0 for kinds that are ignored."""
        mine = self.kinds[kind]
        if not mine.judged:
            return 0.0
        total = sum(each.judged for each in self.kinds)
        return self.signals * mine.judged / total * mine.precision if total and mine.kappa else 0.0

    @property
    def heard(self) -> tuple[float, float]:
        """Trusted signals a day of a page, and the mean value of one of them."""
        judged = [(kind.judged, kind.kappa) for kind in self.kinds if kind.kappa and kind.judged]
        total = sum(kind.judged for kind in self.kinds)
        heard = sum(count for count, _ in judged)
        if not total:
            return self.signals, max((kind.kappa for kind in self.kinds if kind.polls), default=0.0)
        return self.signals * heard / total, sum(n * kappa for n, kappa in judged) / heard if heard else 0.0

    @property
    def false_dates(self) -> float:
        """The share of pages whose first date is false."""
        surplus, apart = self.date_found - self.date_expected, self.date_otherwise - self.date_expected
        if apart < 0.0:  # dates of a build, which are younger than the changes
            surplus, apart = -surplus, -apart
        return min(max((surplus + self.date_doubt * _DATES) / (apart + _DATES), 0.0), 1.0)

    def dated(self, days: float, visited_after: float, is_changed: bool) -> SiteEvidence:
        """A page whose date was `days` days old was revisited for the first time."""
        usual = self.rate * visited_after
        return replace(
            self,
            date_found=_KEEP * self.date_found + is_changed,
            date_expected=_KEEP * self.date_expected + visited_after / (days + visited_after),
            date_otherwise=_KEEP * self.date_otherwise + usual / (1.0 + usual),
        )

    @property
    def mean_lag(self) -> float:
        """Days from a signalled change until we read the signal, over all trusted kinds."""
        judged = [(kind.judged, kind.lag) for kind in self.kinds if kind.kappa and kind.judged and kind.lag]
        total = sum(count for count, _ in judged)
        return sum(count * lag for count, lag in judged) / total if total else 0.0

    def expected(self, code: int) -> tuple[float, float, bool]:
        """A kept visit: its days, what its signals add to the reasons to expect a change, and whether there was one."""
        counts = signals_of(code)
        reasons = sum(n * kind.kappa for n, kind in zip(counts, self.kinds, strict=True) if n) if any(counts) else 0.0
        return days_of(code), reasons, is_changed_of(code)

    def checked(self, code: int, rate: float) -> SiteEvidence:
        """A visit has checked signals: what it shows of them counts at once, and until the next estimate."""
        counts = signals_of(code)
        if not any(counts):
            return self
        days, reasons, is_changed = self.expected(code)
        chance = -math.expm1(-max(rate * days + reasons, 1e-9)) if is_changed else 0.0
        kinds = (
            replace(kind, right=kind.right + _right(kind, n, chance), judged=kind.judged + n) if n else kind
            for kind, n in zip(self.kinds, counts, strict=True)
        )
        return replace(self, kinds=tuple(kinds))

    def fold(self, code: int, rate: float) -> tuple[SiteEvidence, float, float]:
        """An observation leaves a page's ring: what it taught of signals stays here.

        Also the changes in days that would say as much of the page's rate as it did, near what is believed of it.
        """
        days, reasons, is_changed = self.expected(code)
        if not is_changed:
            return self._judged(code, 0.0), 0.0, days
        quiet = rate * days
        grown = math.expm1(min(max(quiet + reasons, 1e-9), 300.0))
        information = max(quiet * (quiet * (grown + 1.0) - grown) / grown**2, 0.0)
        return self._judged(code, grown / (grown + 1.0)), information + quiet / grown, information / rate

    def _judged(self, code: int, chance: float) -> SiteEvidence:
        counts = signals_of(code)
        if not any(counts):
            return self
        return replace(self, kinds=tuple(_folded(kind, n, chance) for kind, n in zip(self.kinds, counts, strict=True)))


def _right(kind: KindEvidence, count: int, chance: float) -> float:
    """How many of the signals before a visit were right; `chance`: of a change, if the visit found one, or 0."""
    return min(float(count), count * kind.precision / chance) if chance else 0.0


def _folded(kind: KindEvidence, count: int, chance: float) -> KindEvidence:
    right = _right(kind, count, chance)
    return replace(kind, old_right=_KEEP * kind.old_right + right, old_judged=_KEEP * kind.old_judged + count)


NO_EVIDENCE = SiteEvidence()
"""The prior of the signals of a site."""


_KEEP_CHECKS = 0.5 ** (1.0 / 1000.0)
"""Factor by which checks fade with each further one: after 1,000 a check counts half."""


class ArchiveProof(Struct, frozen=True, array_like=True, gc=False):
    """Checks of the archives of a site, faded: reported and changed, reported only, changed only, and neither.

    Every visit to a page that an archive lists is a check of what was reported since the visit before. A change
    reported after the visit that found it was not missed (`reported_late`). Checks fade, so that a site that becomes
    careless loses its proof.
    """

    right: float = 0.0
    wrong: float = 0.0
    missed: float = 0.0
    quiet: float = 0.0

    @property
    def checks(self) -> float:
        """The number of all checks."""
        return self.right + self.wrong + self.missed + self.quiet

    @property
    def precision(self) -> float:
        """The share of reported changes that visits confirmed; 0 if there were none."""
        return self.right / (self.right + self.wrong) if self.right else 0.0

    @property
    def recall(self) -> float:
        """The share of changes found by visits that archives had reported; 0 if there were none."""
        return self.right / (self.right + self.missed) if self.right else 0.0

    @property
    def stale_share(self) -> float:
        """The share of pages that had changed without a report, among those visited without one."""
        return self.missed / (self.missed + self.quiet) if self.missed else 0.0

    def is_exact(self, settings: RefreshSettings) -> bool:
        """Whether archives alone decide which pages of the site are visited again.

        Precision and recall must be above `exact_share` over at least `exact_checks` checks, and at most the rest of
        the pages without a report may have changed. Then a page without a report is not due, whatever its change rate;
        `explore_share` of the visits still goes to random pages, which finds missed changes.
        """
        share = settings.exact_share
        is_proved = self.checks >= settings.exact_checks > 0 and min(self.precision, self.recall) > share
        return is_proved and self.stale_share <= 1.0 - share

    def checked(self, *, is_reported: bool, is_changed: bool) -> ArchiveProof:
        """After a visit to a page that an archive lists."""
        return ArchiveProof(
            _KEEP_CHECKS * self.right + (is_reported and is_changed),
            _KEEP_CHECKS * self.wrong + (is_reported and not is_changed),
            _KEEP_CHECKS * self.missed + (is_changed and not is_reported),
            _KEEP_CHECKS * self.quiet + (not is_reported and not is_changed),
        )

    def reported_late(self, *, is_changed: bool) -> ArchiveProof:
        """An archive reported a change before the last visit, which had found one or not."""
        if is_changed:
            moved = min(self.missed, 1.0)
            return replace(self, missed=self.missed - moved, right=self.right + moved)
        moved = min(self.quiet, 1.0)
        return replace(self, quiet=self.quiet - moved, wrong=self.wrong + moved)


NO_PROOF = ArchiveProof()
"""The proof of a site without archives, or without checks."""
