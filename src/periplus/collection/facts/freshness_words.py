"""Freshness in words: how often a page changes, why it is visited again and when, how far a signal can be trusted.

The numbers come from `engine.revisit` and `engine.frontier`; docs/freshness.md explains them.
"""

from __future__ import annotations

from collections.abc import Mapping

from periplus.model import Freshness, NextVisit, PageFreshness, SignalFacts, SiteFreshness
from periplus.view.values import Lines
from periplus.view.wording import count, counted, lasting

DAY = 86_400.0
_CENTURY = 36_525.0

TELLERS = {
    "sitemap": "its sitemap's lastmod",
    "index": "its sitemap index's lastmod",
    "feed": "its feed",
    "ping": "its pings",
    "header": "its Last-Modified",
    "hub": "new links on its pages",
}
"""Where a signal of change comes from, by its kind."""

_SIGNAL_TEXTS = {
    "sitemap": "the sitemap's lastmod moved",
    "feed": "the feed lists it again",
    "ping": "a ping reported it",
    "hub": "a page links to it again",
}


def share(part: float) -> str:
    """84 %; what is not quite all or nothing does not look like it."""
    percent = 100.0 * part
    if 0.0 < percent < 0.1:
        return "under 0.1 %"
    if 99.9 < percent < 100.0:
        return "over 99.9 %"
    return f"{percent:.1f} %" if 0.0 < percent < 1.0 or 99.0 < percent < 100.0 else f"{percent:.0f} %"


def every(rate: float) -> str:
    """Return how often something happens, given its rate per day."""
    if rate <= 1.0 / _CENTURY:
        return "hardly ever"
    return f"about every {lasting(DAY / rate)}" if rate <= DAY else "all the time"


def is_now(visit: NextVisit, now: float) -> bool:
    """Whether only its site's turn is waited for."""
    return visit.is_waiting or visit.due_at < now + 1.0


def when(visit: NextVisit, now: float) -> str:
    """`now`, or in how long."""
    return "now" if is_now(visit, now) else f"in {lasting(visit.due_at - now)}"


def why(visit: NextVisit, now: float) -> str:
    """The reason of a visit, with how often the page changes where that is the reason; short, for a list."""
    if visit.rate is None or visit.reason not in _BY_RATE:
        return reason(visit, now)
    then = "then worth its price" if not is_now(visit, now) else "worth its price"
    return f"changes {every(visit.rate)}: {_BY_RATE[visit.reason] or then}"


_BY_RATE = {"worth": "", "soonest": "as often as settings allow", "latest": "visited in any case"}


def reason(visit: NextVisit, now: float) -> str:
    """The reason of a visit alone."""
    words = {
        "told": signals_text(visit.signals),
        "worth": f"a visit {'is' if is_now(visit, now) else 'will then be'} worth its price",
        "leads": "it links to new pages from time to time",
        "soonest": "as often as settings allow",
        "latest": "visited once in a while in any case",
        "chance": "sampled at random, to stay unbiased",
        "failed": "the last visit failed, and is tried again",
        "moved": "it redirected elsewhere, and is checked again",
        "worthless": "it weighs nothing",
    }
    return words[visit.reason]


def signals_text(signals: Mapping[str, int]) -> str:
    """Which signals came since the last visit."""
    parts = [f"{_SIGNAL_TEXTS[kind]}{_times(number)}" for kind, number in signals.items() if number]
    return ", ".join(parts)


def _times(number: int) -> str:
    """A page's record counts to seven."""
    if number <= 1:
        return ""
    return f" {count(number)} times" if number < 7 else " 7 times or more"


# a collection


def fresh_words(known: Freshness | None) -> str:
    """How fresh all copies are now; nothing if there is none."""
    if known is None:
        return ""
    seen = f"last visited {lasting(known.age)} ago on average"
    if not known.checked:
        return f"not checked yet: none of {count(known.pages)} pages was visited twice; {seen}"
    between = f"95 %: {share(known.low)} to {share(known.high)}"
    if not known.is_narrow:
        return f"{too_wide(known)} ({between}); {seen}"
    return f"{share(known.fresh)} of {count(known.pages)} pages, most likely ({between}); {seen}"


def too_wide(known: Freshness) -> str:
    """Why the share of fresh copies is not stated as one number."""
    return f"not known to 20 points yet: {count(known.checked)} of {counted(known.pages, 'page')} visited twice"


# a site


def site_lines(facts: SiteFreshness | None) -> Lines:
    """How often its pages change, and how far its signals can be trusted."""
    if facts is None:
        return []
    changes = "" if facts.rate is None else f"a page changes {every(facts.rate)}, as {_pages(facts.pages)}"
    return [
        ("changes", changes),
        *([("churn", _churn(facts.churning))] if facts.churning else []),
        *((("signals" if not n else ""), trust(each)) for n, each in enumerate(facts.signals)),
    ]


def _churn(parts: int) -> str:
    if parts == 1:
        return "one part of its pages is different at every visit; changes in it are not counted"
    return f"{count(parts)} parts of its pages are different at every visit; changes in them are not counted"


def _pages(number: int) -> str:
    return f"{count(number)} pages show" if number != 1 else "one page shows"


def trust(facts: SignalFacts) -> str:
    """How far one kind of signal can be believed, and from how much evidence."""
    who = TELLERS[facts.kind]
    match facts.verdict:
        case "always-now":
            text = f"{who} lies: it says of nearly every page that it changed ({share(facts.moved)} lately)"
            return f"{text}, whenever it is asked ({_polls(facts)}); {_lie(facts)}"
        case "build-time":
            text = f"{who} lies: most pages bear one time, that of the file's own making"
            return f"{text} ({_polls(facts)}); {_lie(facts)}"
        case "silent" if not facts.lag:
            return f"{who} never said that a page changed ({_polls(facts)})"
        case "silent" | "unknown":
            return f"{who} cannot be judged yet: {_judged(facts)}, and ten are needed"
        case verdict:
            words = {
                "honest": "is honest",
                "useful": "is worth listening to, and often wrong",
                "useless": "says little",
            }
            return f"{who} {words[verdict]}: {_evidence(facts)}{_reliability(facts)}"


def _evidence(facts: SignalFacts) -> str:
    right = f"{share(facts.precision)} of {_signals(facts)} were followed by a change"
    if facts.kind in _WHOSE:
        right = f"{share(facts.precision)} of the {_times_moved(facts)} {_WHOSE[facts.kind]} had changed"
    return f"{right} (95 %: {100 * facts.low:.0f} to {100 * facts.high:.0f} %)"


_WHOSE = {"header": "the page", "index": "the file"}
"""What the kinds of signals are about that only a visit shows, or that are not about pages."""


def _times_moved(facts: SignalFacts) -> str:
    number = max(round(facts.judged), 1)
    return f"{count(number)} times that it moved" if number > 1 else "one time that it moved"


def _reliability(facts: SignalFacts) -> str:
    if not facts.is_heard:
        return "; it is not listened to until it is right more often"
    late = f", {lasting(facts.lag)} after the time that it names" if facts.lag >= 1.0 else ""
    return f"; it tells {share(facts.recall)} of the changes{late}"


def _lie(facts: SignalFacts) -> str:
    if facts.judged < 1.0:
        return "it is believed little until visits prove it right"
    return _evidence(facts) + ("" if facts.is_heard else ", so that it is not listened to")


def _signals(facts: SignalFacts) -> str:
    number = max(round(facts.judged), 1)
    return f"{count(number)} signals" if number > 1 else "1 signal"


def _judged(facts: SignalFacts) -> str:
    if facts.judged < 0.5:
        return f"none of its signals was followed by a visit yet ({_polls(facts)})"
    return f"visits followed {_signals(facts)} so far"


def _polls(facts: SignalFacts) -> str:
    return f"read again {count(facts.polls)} times" if facts.polls != 1 else "read again once"


# a page


def page_lines(facts: PageFreshness | None, now: float, folder: str) -> Lines:
    """Return how likely the copy is fresh, and when it is visited next."""
    if facts is None:
        return []
    return [("changes", _changes(facts)), ("fresh", _fresh(facts)), ("next visit", _next(facts, now, folder))]


def _changes(facts: PageFreshness) -> str:
    if facts.rate is None:
        return ""
    if not facts.visits:
        return f"{every(facts.rate)}, if it is like others of its site: it was seen once"
    found = f"{count(facts.changes)} changes" if facts.changes != 1 else "one change"
    return f"{every(facts.rate)}, as it seems from {found} in {counted(facts.visits, 'visit')} after the first"


def _fresh(facts: PageFreshness) -> str:
    if facts.fresh is None:
        return "not known: the last visit failed"
    signals = signals_text(facts.signals)
    since = f"; since then {signals}" if signals else ""
    return f"{share(facts.fresh)} likely: last seen {lasting(facts.age)} ago{since}"


def _next(facts: PageFreshness, now: float, folder: str) -> str:
    if facts.next is None:
        return "none: it was given up" if facts.is_watched else f"none is planned: periplus watch {folder} comes back"
    if facts.next.reason == "worthless":
        return "none: it weighs nothing (refresh.weights)"
    turn = ", waits for its site's turn" if facts.next.is_waiting else ""
    return f"due {when(facts.next, now)}{turn}: {reason(facts.next, now)}"
