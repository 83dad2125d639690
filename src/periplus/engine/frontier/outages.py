"""Outages: what happens to most of a site in the same hours is an outage of the site, not the end of its pages.

A known page that is lost (any error, a refusal by robots.txt, a redirect, another and short text) is first of all a
question about its site. Nothing follows until another known page has answered, which is drawn at random and asked at
once; if that one is there, the first is asked again, and its answer counts. If three of the last four are lost in the
same way, two of them drawn, the site is *down*: it failed, or sends everything to one place, or shows one page for all
URLs. So is a site that failed too often in a row, whatever was asked. (A crawl that visits no page again asks none.)

Nothing that a site does while it is down counts for its pages: they keep their good versions and get a next visit. What
waits is refused as at any site that is given up, and waits for the end of the outage. The site is asked by single
probes at growing intervals, at most a day apart. It is back when two of the last three known pages are there again, or,
where none is known or it did not answer at all, with the first answer.

An outage of more than `BELIEVED_AFTER` is not one: its visits count then, and pages that are gone are gone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice, takewhile
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from periplus import content
from periplus.model import (
    BodyReading,
    Fetched,
    FetchOutcome,
    FetchTask,
    Lane,
    NotModified,
    OutageSeen,
    Purpose,
    Queued,
    Redirected,
    Site,
    SiteOutage,
    Url,
    UrlRecord,
)
from periplus.store import SiteState
from periplus.urls import fingerprint, is_home, site_of

from .desk import FrontierDesk
from .heap import IndexedHeap
from .politeness import OUTAGE, is_temporary, retry_for
from .steering import FIRST_LEVEL

DAY: Final = 86_400.0
BELIEVED_AFTER: Final = 30 * DAY
"""Seconds after which what a site answers is taken for what it means: it does not come back."""
REDIRECTED: Final = "redirected"
ONE_PAGE: Final = "one-page"
"""A page shows another text altogether, and a short one."""
OTHER_TEXT: Final = "other-text"
"""The same, and not a short one: pages change."""
_MAYBE: Final = frozenset({REDIRECTED, ONE_PAGE, OTHER_TEXT})
"""How pages are lost only if others are in the same way."""
_OF_THE_REQUEST: Final = frozenset({"bad-delta", "http2", "lost"})
"""Failures that another attempt may not have, whatever the site does."""
_FEW_WORDS: Final = 150
"""Words of a page below which it may be that of an outage, a challenge or a login."""
_LOST: Final = 3
"""Lost pages among the last `_LOOKED_AT` from which a site is down."""
_LOOKED_AT: Final = 4
_KEPT: Final = 8
_BACK: Final = 2
"""Pages that are there again among the last `_LOST`, after which a site is back."""
_OTHER_TEXT: Final = 0.2
"""Resemblance below which a page has another text altogether."""
_SKETCH: Final = 9
"""Bytes of a stored version before its sketch (`content.digests.version_of`)."""
_HOUR: Final = 3600.0
_FIRST_PAUSE: Final = 300.0
"""Seconds from noticing that pages are lost to the first probe, where the site answers."""
_GROWTH: Final = 4.0
"""Each pause between two probes of a site is this many times the last: of an outage of two days it sees six."""
NOT_DOWN: Final = "not-down"
"""The reason of a visit that says nothing of a page, whether its site is down or not."""
_INSTANT: Final = 1e-3
"""Seconds before and after such a visit: no other visit to its site ends in between."""
_CHOSEN_FROM: Final = 500
"""Pages of a site among which the next to be asked is chosen."""
_MAX_PROBED: Final = 10_000
"""Sites that are down whose next probe is in memory; the others follow when these have been asked."""


class KnownPageAnswer(Struct, frozen=True, array_like=True, gc=False):
    """What a known page answered: `lost` is empty if the page was there, else why not; `is_drawn`: it was at random.

    Redirects and other texts are lost in the same way if one of two digests is the same.
    """

    page: int
    at: float
    lost: str = ""
    main: int = 0
    links: int = 0
    is_drawn: bool = False

    def is_like(self, other: KnownPageAnswer) -> bool:
        """Whether two pages were lost in the same way."""
        if not self.lost or not other.lost or self.page == other.page:
            return False
        if self.lost in _MAYBE or other.lost in _MAYBE:
            is_redirect = self.lost == REDIRECTED, other.lost == REDIRECTED
            return is_redirect[0] == is_redirect[1] and (self.main == other.main or self.links == other.links)
        return True


class SiteAnswers(Struct, array_like=True):
    """The last answers of known pages of a site, at most one of each, the latest last.

    `failing_since`: when requests began to fail, one after the other. `believed_until`: pages that are lost are gone.
    `suspected_since`: the site may be down; `suspects` are the pages whose visits since then do not count.
    `drawn` are pages, by their fingerprints, that were asked at random and have not answered.
    """

    last: list[KnownPageAnswer] = field(default_factory=list)
    failing_since: float = 0.0
    believed_until: float = 0.0
    suspected_since: float = 0.0
    suspects: list[Url] = field(default_factory=list)
    drawn: list[int] = field(default_factory=list)

    def add(self, answer: KnownPageAnswer) -> None:
        """Add an answer."""
        self.last = [each for each in self.last if each.page != answer.page][1 - _KEPT :]
        self.last.append(answer)

    def is_lost(self, answer: KnownPageAnswer) -> bool:
        """Whether a page was lost for sure: redirects and other texts are if another page has the same."""
        return bool(answer.lost) and (answer.lost not in _MAYBE or any(map(answer.is_like, self.last)))

    def was_good(self, now: float) -> bool:
        """Whether the last page that was drawn was there, a short time and few lost pages ago: then the site is."""
        drawn = [each for each in self.last if each.is_drawn]
        is_recent = bool(drawn) and drawn[-1].at > now - _HOUR
        return is_recent and not drawn[-1].lost and drawn[-1] in self.last[-_LOOKED_AT:]


def answer_of(
    record: UrlRecord,
    outcome: FetchOutcome,
    reading: BodyReading | None,
    reason: str,
    before: Sequence[KnownPageAnswer],
) -> KnownPageAnswer:
    """What a visit says of a page that had a good version; `before`: the latest answers of its site."""
    page, at = int(fingerprint(record.url)), float(getattr(outcome, "started_at", 0.0))
    if reason:
        return KnownPageAnswer(page, at, reason)
    if isinstance(outcome, Redirected):
        target = xxh3_64_intdigest(outcome.target.partition("?")[0].encode())
        return KnownPageAnswer(page, at, REDIRECTED, target, target)
    if not isinstance(outcome, Fetched) or reading is None or record.digests is None:
        return KnownPageAnswer(page, at)
    kind = ONE_PAGE if reading.words < _FEW_WORDS else OTHER_TEXT
    seen = KnownPageAnswer(page, at, kind, reading.digests.main, reading.digests.links)
    if any(each.page == page and each.lost in _MAYBE and each.main == seen.main for each in before):
        return seen  # it is stored as the page by now
    if reading.digests.main == record.digests.main or reading.digests.links == record.digests.links != 0:
        return KnownPageAnswer(page, at)
    is_other = content.resemblance(record.version[_SKETCH:], reading.version[_SKETCH:]) < _OTHER_TEXT
    return seen if is_other or any(map(seen.is_like, before)) else KnownPageAnswer(page, at)


class Outages:
    """Which sites are down, and when each is asked again."""

    def __init__(self, desk: FrontierDesk) -> None:
        self._rows = desk.state.outages
        self._records = desk.state.records
        self._calendar, self._queues = desk.state.calendar, desk.state.queues
        self._sites = desk.records
        self._revisits, self._events, self._random = desk.revisits, desk.events, desk.random
        self._retries, self._is_refresh = desk.rules.retries, desk.rules.revisits_only
        self._due: IndexedHeap[float, Site] = IndexedHeap()
        self._has_more = False
        self._fill()
        self.asked: list[Queued] = []
        """Known pages that were queued since this was last cleared."""
        self.ended: list[SiteOutage] = []
        """Outages that have ended since this was last cleared."""

    def _fill(self) -> None:
        rows = sorted((row.next_at, row.site) for row in self._rows)
        self._has_more = len(rows) > _MAX_PROBED
        for at, site in rows[:_MAX_PROBED]:
            self._due.put(site, at, site)

    @property
    def has_news(self) -> bool:
        """Whether pages were queued, or outages have ended."""
        return bool(self.asked or self.ended)

    def of(self, site: Site) -> SiteOutage | None:
        """The outage of a site, if it is down."""
        return self._rows.get(site)

    def is_doubted(self, task: FetchTask) -> bool:
        """Whether the last visit to a known page says nothing of it: its site is down, or may be."""
        if task.purpose is not Purpose.PAGE or task.visited_at is None:
            return False
        answers = self._sites.get(task.site).value(SiteAnswers)
        return answers is not None and (task.url in answers.suspects or self._rows.get(task.site) is not None)

    def asks_others(self, site: SiteState, record: UrlRecord, reason: str) -> bool:
        """Whether a failed request is not repeated, because other pages of its site show more than a second attempt."""
        if site.value(SiteAnswers) is not None and self._rows.get(site.site) is not None:
            return True
        return self._revisits.is_watching and record.kept_at is not None and reason not in _OF_THE_REQUEST

    # what visits say

    def saw(
        self,
        site: SiteState,
        record: UrlRecord,
        outcome: FetchOutcome,
        reading: BodyReading | None,
        reason: str,
        now: float,
    ) -> bool:
        """Learn from the final answer for a page; whether its site is down, so that it says nothing of the page."""
        answers = site.value(SiteAnswers)
        if record.kept_at is None or (answers is not None and not self._is_older(record, site.site, answers)):
            if answers is not None:
                self._saw_unknown(site, outcome, reading, reason, now)
            return False
        answer = answer_of(record, outcome, reading, reason, () if answers is None else answers.last)
        if answers is None and (not answer.lost or record.failures):
            return False
        return self._learn(
            site, answers or site.keep(SiteAnswers()), record.url, answer, now, is_news=not record.failures
        )

    def refused(self, site: SiteState, record: UrlRecord, reason: str, now: float) -> bool:
        """Learn that robots.txt refuses a known page; whether the site is down."""
        answers = site.value(SiteAnswers) or site.keep(SiteAnswers())
        answer = KnownPageAnswer(int(fingerprint(record.url)), now, reason)
        return self._learn(site, answers, record.url, answer, now, is_news=not record.failures)

    def failing(self, site: SiteState, now: float) -> None:
        """Record that a site begins to fail."""
        answers = site.value(SiteAnswers) or site.keep(SiteAnswers())
        answers.failing_since = now

    def given_up(self, site: SiteState, reason: str, now: float) -> None:
        """A site that failed too often is down."""
        answers = site.value(SiteAnswers)
        since = now if answers is None or not answers.failing_since else answers.failing_since
        self._begin(site, since, reason, now, self._retries.max_backoff)

    def _saw_unknown(
        self, site: SiteState, outcome: FetchOutcome, reading: BodyReading | None, reason: str, now: float
    ) -> None:
        """A first visit only shows whether a site answers that did not."""
        row = self._rows.get(site.site)
        if row is None or not retry_for(row.reason).again or retry_for(reason).again:
            return
        is_good = not reason and (reading is not None or isinstance(outcome, NotModified))
        if is_good or not self._others(site.site, (), row.since):
            self._end(site, row, now, now)

    def _learn(
        self, site: SiteState, answers: SiteAnswers, url: Url, answer: KnownPageAnswer, now: float, *, is_news: bool
    ) -> bool:
        row = self._rows.get(site.site)
        if row is None and not (self._revisits.is_watching or self._is_refresh):
            return False
        is_news = is_news or answer.page in answers.drawn
        if row is None and answer.lost and not (is_news and now >= answers.believed_until):
            return False
        was_good = answers.was_good(now)
        is_drawn = self._is_refresh or answer.page in answers.drawn  # a refresh asks pages in the order of hashes
        answers.drawn = [page for page in answers.drawn if page != answer.page]
        answers.last = [each for each in answers.last if row is not None or each.at > now - DAY]
        answers.add(replace(answer, is_drawn=is_drawn))
        self._sites.changed(site)
        if row is not None:
            return self._learn_while_down(site, answers, url, answer, row, now)
        if not answer.lost:
            if is_drawn or not answers.suspects:  # the home page may be the only one that is left
                self._not_down(site, answers, now)
            return False
        since = answers.suspected_since or answer.at
        others = self._others(site.site, [each.page for each in answers.last], since)
        if self._is_outage(answers, answer, has_others=bool(others)):
            lost = takewhile(answer.is_like, reversed(answers.last[:-1]))
            pause = max(self._retries.backoff, _FIRST_PAUSE)
            self._begin(site, min((each.at for each in lost), default=answer.at), answer.lost, now, pause)
            return True
        if answer.lost == OTHER_TEXT or was_good or not others:
            return False
        self._suspect(site.site, answers, url, answer, now)
        if not answers.drawn:
            answers.drawn += self._ask(others, 1)
        return True

    def _is_outage(self, answers: SiteAnswers, answer: KnownPageAnswer, *, has_others: bool) -> bool:
        """Whether a site is down: pages that were drawn are lost as one was that was not, or all pages are."""
        latest = answers.last[-_LOOKED_AT:]
        lost = [each for each in latest if each.page == answer.page or each.is_like(answer)]
        drawn = sum(each.is_drawn for each in lost)
        return (len(lost) >= _LOST and drawn >= _LOST - 1) or (not has_others and len(lost) == len(answers.last) > 1)

    def _suspect(self, site: Site, answers: SiteAnswers, url: Url, answer: KnownPageAnswer, now: float) -> None:
        """Nothing follows for a page that is lost, also if its site is not down: it is asked again then."""
        if not answers.suspects:
            answers.suspected_since = answer.at
        answers.suspects.append(url)
        self._events.record([OutageSeen(site, now - _INSTANT, now + _INSTANT, NOT_DOWN, now)])

    def _not_down(self, site: SiteState, answers: SiteAnswers, now: float) -> None:
        """Another page is there: those that were lost are asked again, and what they answer counts."""
        if answers.suspects:
            answers.suspected_since = 0.0
            self._ask_again(answers)
            answers.drawn.clear()
        elif not any(each.lost for each in answers.last) and now >= answers.believed_until:
            site.values.pop(SiteAnswers.__name__, None)

    def _ask_again(self, answers: SiteAnswers) -> None:
        """Queue the pages whose visits did not count."""
        urls, answers.suspects = list(dict.fromkeys(answers.suspects)), []
        found = [record for record in self._records.get(urls) if record is not None and record.due_at is not None]
        self._ask(found, len(found))

    def _learn_while_down(
        self, site: SiteState, answers: SiteAnswers, url: Url, answer: KnownPageAnswer, row: SiteOutage, now: float
    ) -> bool:
        if answers.is_lost(answer):
            if now - row.since > BELIEVED_AFTER:
                self._end(site, row, row.since, now)
                site.keep(SiteAnswers(believed_until=now + BELIEVED_AFTER))
                return False
            self._begin(site, row.since, answer.lost, now, row.pause)
            return True
        probed = [each for each in answers.last if each.at >= row.tried_at] or [answer]
        good = [each for each in probed[-_LOST:] if not answers.is_lost(each)]
        others = self._others(site.site, [each.page for each in probed], row.since)
        if retry_for(row.reason).again or len(good) >= _BACK or not others:
            self._ask_again(answers)
            self._end(site, row, answer.at, now)
            return False
        answers.suspects.append(url)
        if not is_home(url):  # the home page may be there when nothing else is
            self._ask(others, 1)
        return True

    def _begin(self, site: SiteState, since: float, reason: str, now: float, pause: float) -> None:
        """A site is down, or still is."""
        row = self._rows.get(site.site)
        if row is None:
            answers = site.value(SiteAnswers) or site.keep(SiteAnswers())
            if answers.suspects:
                since, answers.suspects = min(since, answers.suspected_since), []
            row = SiteOutage(site.site, since, reason, now, now + pause, pause)
            self._events.record([OutageSeen(site.site, since, None, reason, now)])
            self._sites.changed(site)
        else:
            row = replace(row, reason=reason, next_at=max(row.next_at, now + row.pause))
        self._put(row)
        site.retired = reason if is_temporary(reason) else OUTAGE

    def _end(self, site: SiteState, row: SiteOutage, until: float, now: float) -> None:
        self._rows.remove([row.site])
        self._due.drop(row.site)
        site.retired = "" if is_temporary(site.retired) else site.retired
        site.values.pop(SiteAnswers.__name__, None)
        self._sites.changed(site)
        self._events.record([OutageSeen(row.site, row.since, max(until, row.since), row.reason, now)])
        self.ended.append(row)

    def _put(self, row: SiteOutage) -> None:
        self._rows.put([row])
        if row.site in self._due or len(self._due) < _MAX_PROBED:
            self._due.put(row.site, row.next_at, row.site)
        else:
            self._has_more = True

    # probes

    @property
    def next_at(self) -> float | None:
        """When the next site is to be asked whether it is back."""
        return self._due.first

    def due(self, now: float, limit: int) -> list[Site]:
        """At most `limit` sites that are to be asked now; each is asked again after a longer pause, a day at most."""
        found: list[Site] = []
        while len(found) < limit and (site := self._due.pop_until(now)) is not None:
            if (row := self._rows.get(site)) is None:
                continue
            pause = min(_GROWTH * row.pause, DAY)
            self._put(replace(row, tried_at=now, pause=pause, next_at=now + pause * (1.0 + self._random.random() / 4)))
            found.append(site)
        if self._has_more and len(self._due) < _MAX_PROBED // 2:
            self._fill()
        return found

    def restart(self, now: float) -> bool:
        """Continue in a new process, which asks all sites at once whether they are back; whether there are any."""
        rows = [replace(row, next_at=now) for row in self._rows if row.site in self._due]
        self._rows.put(rows)
        for row in rows:
            self._due.put(row.site, now, row.site)
        return bool(rows)

    def ask_known(self, site: SiteState) -> bool:
        """Queue a known page of a site that is down; whether it has any."""
        row, answers = self._rows.get(site.site), site.value(SiteAnswers)
        pages = (
            [] if row is None or answers is None else [each.page for each in answers.last if each.at >= row.tried_at]
        )
        since = math.inf if row is None else row.since
        found = self._others(site.site, pages, since) or self._others(site.site, (), since)
        self._ask(found, 1)
        return bool(found)

    def _is_older(self, record: UrlRecord, site: Site, answers: SiteAnswers) -> bool:
        """Whether a page was there before its site may have gone down: a login page that shows up then says nothing."""
        row = self._rows.get(site)
        since = answers.suspected_since if row is None else row.since
        return not since or (record.kept_at or 0.0) < since

    def _others(self, site: Site, pages: Sequence[int], since: float) -> list[UrlRecord]:
        """Pages of a site that were there before, besides those with these fingerprints, that do not wait already.

        Pages that were not there at their last visit are among them only if there are no others. The home page is one
        only if it is the last: it may be there when nothing else is.
        """
        some = islice(self._records.of_site(site), _CHOSEN_FROM)
        found = [
            record
            for record in some
            if record.kept_at is not None and record.kept_at < since and record.due_at is not None
            and fingerprint(record.url) not in pages
        ]  # fmt: skip
        found = [record for record in found if not record.failures] or found
        return [record for record in found if not is_home(record.url)] or found

    def _ask(self, records: Sequence[UrlRecord], count: int) -> list[int]:
        """Queue some of these pages, drawn at random: their fingerprints."""
        drawn = []
        for record in self._random.sample(records, min(count, len(records))):
            entry = Queued(record.url, site_of(record.url), Lane.REFRESH, FIRST_LEVEL)
            self._calendar.move([(record.url, record.due_at, None)])
            self._records.put([replace(record, due_at=None)])
            self._queues.push([entry])
            self.asked.append(entry)
            drawn.append(int(fingerprint(record.url)))
        return drawn
