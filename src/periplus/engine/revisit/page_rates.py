"""How often one page changes, estimated from its own evidence and from that of its site, and what a visit adds to both.

Of one page at a time, and without arrays: a store keeps pages one by one, and so they are visited.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from .evidence import BY_DATE, DAY, PageEvidence
from .signals import SiteEvidence

_FIRST_RATE = 0.2
"""Changes a day of a page on a site without any data."""
_MOST_SIGNALLED = 0.95
"""Of readings of a file that lists a page: beyond that it is unknown how often the page really changes."""
_ROUNDS = 4
"""Of the EM of one page after a visit; the estimation of all pages goes on from there."""


def rate_of(page: PageEvidence, site: SiteEvidence) -> float:
    """Unsignalled changes a day of a page: its own rate; for a page seen once, from its date and its site."""
    if page.rate:
        return page.rate
    mean, false = site.rate or _FIRST_RATE, site.false_dates
    if not page.dated:
        return mean
    return (1.0 - false) * (site.shape + BY_DATE) / (site.shape / mean + page.dated) + false * mean


def signal_rate(page: PageEvidence, site: SiteEvidence, now: float) -> tuple[float, float]:
    """The rate of trusted signals of a page, shrunk towards that of its site; and the value of one signal.

    The first signals of a site, before it was estimated with them, come at the rate at which its pages change.
    """
    heard, kappa = site.heard
    watched = max(now - page.watched_from, 0.0) / DAY if page.watched_from else 0.0
    if not heard or not kappa:
        boost = boost_of(page, site)
        if not boost:
            return 0.0, 0.0
        trusted = sum(n for n, each in zip(page.signals, site.kappas, strict=True) if each)
        return (0.5 + trusted) / (0.5 / rate_of(page, site) + watched), boost / trusted
    tie, mean = (site.tie, site.told * rate_of(page, site)) if site.tie else (0.5, site.signals)
    return (tie + page.heard) / (tie / mean + watched) * heard / site.signals, kappa


def boost_of(page: PageEvidence, site: SiteEvidence) -> float:
    """What the signals since the last visit add to the reasons to expect a change."""
    if not page.pending:
        return 0.0
    return sum(n * kappa for n, kappa in zip(page.signals, site.kappas, strict=True) if n)


def still(changes: float, shape: float) -> float:
    """The probability of no change if `changes` are expected; `shape` is how well the page's rate is known."""
    return math.exp(-shape * math.log1p(changes / shape))


def unread_signals(page: PageEvidence, site: SiteEvidence, now: float) -> float:
    """Signals a day of a page that its site announces in a file; several between two readings of it count as one.

    Files are read at times that are random relative to the changes: read every P days, they report a change P/2 days
    late on average.
    """
    pause = 2.0 * site.mean_lag
    heard, _ = signal_rate(page, site, now)
    return -math.log1p(-min(heard * pause, _MOST_SIGNALLED)) / pause if heard and pause else 0.0


def learnt(page: PageEvidence, site: SiteEvidence, is_changed: bool, now: float) -> tuple[PageEvidence, SiteEvidence]:
    """After a visit: both, with what left the page's ring folded where it belongs, and a first idea of its rate."""
    if not page.visited_at:
        return replace(page.first_visited(now), rate=page.rate), site
    if page.dated and not page.ring:
        site = site.dated(page.dated, max(now - page.visited_at, 1.0) / DAY, is_changed)
    after, dropped = page.visited(is_changed, now)
    site = site.checked(after.ring[-1], rate_of(page, site))
    if after.dated and is_disproved(after, site):
        after = after.undated()
    if dropped:
        after = after.with_date_of_weight(1.0 - site.false_dates)
        site, changes, days = site.fold(dropped, rate_of(page, site))
        after = after.folded(changes, days)
    return replace(after, rate=running_rate(after, site)), site


def is_disproved(page: PageEvidence, site: SiteEvidence) -> bool:
    """Whether a page's visits make its date unlikely: it changes too often to have been unchanged for that long.

    Two hypotheses are compared: the date is true; or it is false, and the page is like others of its site.
    """
    mean = site.rate or _FIRST_RATE
    seen = [site.expected(code) for code in page.ring]
    changes = sum(is_changed and not reasons for _, reasons, is_changed in seen)
    days = sum(each[0] for each in seen)
    true = _likelihood(site.shape + BY_DATE, site.shape / mean + page.dated, changes, days)
    false = min(max(site.false_dates, 0.05), 0.95)
    return _likelihood(site.shape, site.shape / mean, changes, days) - true > math.log((1.0 - false) / false)


def _likelihood(shape: float, rate: float, changes: int, days: float) -> float:
    """The logarithm of the probability of this many changes in this many days, where rates are Gamma(shape, rate)."""
    total = shape + changes
    return shape * math.log(rate) - math.lgamma(shape) + math.lgamma(total) - total * math.log(rate + days)


def certainty(page: PageEvidence, site: SiteEvidence) -> float:
    """The precision of a page's rate, as an equivalent number of changes; visits after a long time add little."""
    rate = rate_of(page, site)
    shape = site.shape + rate * page.old_days * (1.0 - site.false_dates if page.dated and not page.ring else 1.0)
    for code in page.ring:
        days, reasons, is_changed = site.expected(code)
        quiet = rate * days
        if is_changed:
            grown = math.expm1(min(max(quiet + reasons, 1e-9), 300.0))
            quiet = max(quiet * (quiet * (grown + 1.0) - grown) / grown**2, 0.0)
        shape += quiet
    return shape


def running_rate(page: PageEvidence, site: SiteEvidence) -> float:
    """Unsignalled changes a day of one page given the estimates of its site: a few rounds of the EM of all pages."""
    mean = site.rate or _FIRST_RATE
    seen = [site.expected(code) for code in page.ring]
    days = page.old_days + sum(each[0] for each in seen)
    rate = page.rate or mean
    told = site.told * max(page.visited_at - page.watched_from, 0.0) / DAY if site.tie and page.watched_from else 0.0
    for _ in range(_ROUNDS):
        weight = site.tie / (site.tie + rate * told) if told else 0.0
        unsignalled = page.old_changes + weight * page.heard
        for length, reasons, is_changed in seen:
            if is_changed:
                quiet = rate * length
                unsignalled += quiet / -math.expm1(-max(quiet + reasons, 1e-12))
        rate = (site.shape + unsignalled) / (site.shape / mean + days + weight * told)
    return rate
