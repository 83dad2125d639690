"""When a site is down, when it is back, and what a lost page means."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random

import pytest
from msgspec.structs import replace
from tests.reference.event_sink import MemoryEventSink

from periplus.content import read_page, version_of
from periplus.engine.frontier import FrontierDesk, FrontierRules, Revisiting, SiteRecords
from periplus.engine.frontier.outages import (
    BELIEVED_AFTER,
    DAY,
    NOT_DOWN,
    ONE_PAGE,
    OTHER_TEXT,
    REDIRECTED,
    Outages,
    answer_of,
)
from periplus.model import (
    BodyReading,
    Fetched,
    FetchOutcome,
    FetchTask,
    FirstSeen,
    Lane,
    NotModified,
    OutageSeen,
    Purpose,
    Redirected,
    Site,
    Source,
    Url,
    UrlRecord,
)
from periplus.policy.filters import Chain
from periplus.policy.ordering import ordering
from periplus.store import MemoryState

NOW = 1e9
SITE = Site("a.test")
LONG = " ".join(f"word{number}" for number in range(400))


class Watched(Revisiting):
    """A watch, of which only the calendar matters here."""

    @property
    def is_watching(self) -> bool:
        """Yes."""
        return True


def url_of(number: int) -> Url:
    return Url(f"https://a.test/p/{number}")


def text_of(number: int, *, links: str = "/a /b /c") -> bytes:
    words = " ".join(f"w{number}x{place}" for place in range(300))
    return f"<title>{number}</title><p>{words}</p>{''.join(f'<a href={link}>x</a>' for link in links.split())}".encode()


def reading_of(url: Url, html: bytes) -> BodyReading:
    page = read_page(html, url, "text/html")
    return BodyReading(page.digests, version=version_of(page), words=page.statistics.words)


def known(number: int) -> UrlRecord:
    reading = reading_of(url_of(number), text_of(number))
    seen = (FirstSeen(Source.LINK, NOW - DAY),)
    return UrlRecord(
        url_of(number), seen, digests=reading.digests, version=reading.version, visits=1, status=200,
        fetched_at=NOW - DAY, kept_at=NOW - DAY, due_at=NOW,
    )  # fmt: skip


def task_of(url: Url) -> FetchTask:
    return FetchTask(url, SITE, Purpose.PAGE, Lane.REFRESH, NOW + 60.0, visited_at=NOW - DAY)


def shows(number: int, html: bytes, at: float = NOW) -> tuple[FetchOutcome, BodyReading]:
    url = url_of(number)
    return Fetched(task_of(url), 200, (), html, at, 0.1), reading_of(url, html)


class Sited:
    """A site of some pages, and what `Outages` makes of its answers."""

    def __init__(self, pages: int, *, watches: bool = True) -> None:
        self.state, self.events = MemoryState(), MemoryEventSink()
        self.state.records.put([known(number) for number in range(pages)])
        self.state.calendar.move([(url_of(number), None, NOW) for number in range(pages)])
        self.records = SiteRecords(self.state.sites)
        desk = FrontierDesk(
            self.state, self.records, FrontierRules(), guard=Chain([]), ordering=ordering("breadth_first"),
            events=self.events, random=Random(1), revisits=Watched() if watches else Revisiting(),
        )  # fmt: skip
        self.outages = Outages(desk)

    def answers(self, number: int, reason: str = "", at: float = NOW) -> bool:
        """A page answers, with a status of an error or unchanged; whether that is put down to its site."""
        record = self.record(number)
        outcome: FetchOutcome = NotModified(task_of(record.url), (), at, 0.1)
        if reason:
            outcome = Fetched(task_of(record.url), 404, (), b"", at, 0.1)
        return self.outages.saw(self.records.get(SITE), record, outcome, None, reason, at)

    def record(self, number: int) -> UrlRecord:
        [record] = self.state.records.get([url_of(number)])
        assert record is not None
        return record

    @property
    def rows(self) -> list[OutageSeen]:
        """The outages that were reported."""
        return [event for event in self.events.events if isinstance(event, OutageSeen)]

    def hides(self, at: float) -> bool:
        """Whether readers do not see a visit to it at this time."""
        ends: dict[float, float] = {}
        for row in self.rows:
            ends[row.since] = math.inf if row.until is None else row.until
        return any(since <= at < until for since, until in ends.items())

    def is_down(self) -> bool:
        """Whether it counts as down."""
        return self.outages.of(SITE) is not None

    def goes_down(self, *reasons: str) -> None:
        """A page is lost, and so are the two that are asked then."""
        number = 1
        for place, reason in enumerate(reasons or ("http-404",) * 3):
            assert self.answers(number, reason, NOW + place)
            number = self.next_asked() if self.outages.asked else number

    def next_asked(self) -> int:
        """The number of the page that was asked last."""
        return int(self.outages.asked.pop().url.rpartition("/")[2])


def test_a_page_that_is_gone_is_put_down_to_its_site_until_another_is_there() -> None:
    """Another page is asked at once; it is there, so the first is asked again, and then its answer counts."""
    site = Sited(10)
    assert site.answers(1, "http-404")
    other = site.next_asked()
    assert other != 1
    assert not site.answers(other, at=NOW + 1)
    assert site.next_asked() == 1
    assert not site.answers(1, "http-404", NOW + 2)
    assert not site.is_down()
    assert [row.reason for row in site.rows] == [NOT_DOWN]
    assert site.hides(NOW)
    assert not site.hides(NOW + 1)
    assert not site.hides(NOW + 2)


def test_three_pages_that_are_gone_are_an_outage() -> None:
    """From the first of them on; the site gets no further visit but probes."""
    site = Sited(10)
    site.goes_down("http-404", "http-503", "connect-refused")
    assert site.is_down()
    assert site.records.get(SITE).retired
    last = site.rows[-1]
    assert (last.since, last.until) == (NOW, None)


def test_a_site_is_back_when_two_pages_are_there() -> None:
    """One is not enough where the site answered all the time: its home page may be the only one left."""
    site = Sited(10)
    site.goes_down()
    assert site.outages.due(NOW + 400, 9) == [SITE]
    assert site.answers(4, at=NOW + 401), "readers do not see it, so it may not count as visited"
    assert site.hides(NOW + 401)
    assert site.is_down()
    site.outages.asked.clear()
    assert not site.answers(5, at=NOW + 402)
    assert not site.hides(NOW + 402)
    assert site.next_asked() == 4
    assert not site.is_down()
    assert [row.site for row in site.outages.ended] == [SITE]


def test_few_pages_are_lost_before_the_site_is_doubted_again() -> None:
    """A page was deleted, and in the same hour the site goes down: its last pages before that count as lost as well."""
    site = Sited(20)
    assert site.answers(1, "http-404")
    assert not site.answers(site.next_asked(), at=NOW + 1)
    site.outages.asked.clear()
    others = iter(range(10, 20))
    for second in range(2, 10):
        if not site.is_down():
            site.answers(site.next_asked() if site.outages.asked else next(others), "http-404", NOW + second)
    assert site.is_down()
    assert all(site.hides(NOW + second) for second in range(2, 10))


def test_where_a_lost_page_redirects_to_says_nothing() -> None:
    """Until another page is there; a login or a placeholder would be fetched, and stored as a page."""
    site = Sited(10)
    task = replace(task_of(url_of(1)), visited_at=NOW - DAY)
    assert not site.outages.is_doubted(task)
    outcome = Redirected(task, 302, Url("https://a.test/login?next=1"), (), NOW, 0.1)
    assert site.outages.saw(site.records.get(SITE), site.record(1), outcome, None, "", NOW)
    assert site.outages.is_doubted(task)
    assert not site.answers(site.next_asked(), at=NOW + 1)
    assert not site.outages.is_doubted(task)


def test_what_appears_while_pages_are_lost_is_no_sign_of_the_site() -> None:
    """A login page that redirects lead to is there, for as long as the site is not."""
    site = Sited(10)
    assert site.answers(1, "http-404")
    for number in (10, 11):
        site.state.records.put([replace(known(number), kept_at=NOW + 1)])
        site.state.calendar.move([(url_of(number), None, NOW)])
        assert not site.answers(number, at=NOW + 2)
    assert len(site.rows) == 1, "it is still suspected"
    site.goes_down()
    for number in (10, 11):
        assert not site.answers(number, at=NOW + 400)
    assert site.is_down()


def test_a_page_that_was_gone_before_is_not_asked_whether_its_site_is_down() -> None:
    """Its answer would be no news, and the site would be suspected for good."""
    site = Sited(3)
    gone, other = site.record(2), site.record(0)
    site.state.records.put([replace(gone, failures=3, status=404, reason="http-404")])
    assert site.answers(1, "http-404")
    assert site.next_asked() == 0
    site.state.records.put([replace(other, failures=1, status=404, reason="http-404")])
    assert site.answers(0, "http-404", NOW + 1), "it was drawn, and is news whatever happened to it meanwhile"
    assert site.next_asked() == 2


def test_probes_are_a_day_apart_at_most() -> None:
    """The first after five minutes, then fourfold pauses."""
    site = Sited(10)
    site.goes_down()
    times: list[float] = []
    now = NOW
    while len(times) < 12:
        now = site.outages.next_at or 0.0
        assert site.outages.due(now, 9) == [SITE]
        site.answers(4, "http-404", now)
        times.append(now)
    pauses = [after - before for before, after in pairwise(times)]
    assert NOW + 300.0 <= times[0] < NOW + 310.0
    assert 1200.0 <= pauses[0] <= 1500.0
    assert all(2.0 < after / before < 6.0 for before, after in pairwise(pauses[:4]))
    assert all(DAY <= pause <= 1.25 * DAY for pause in pauses[5:])


def test_an_outage_of_more_than_a_month_is_believed() -> None:
    """What was seen since counts, and pages that are gone do not make another outage."""
    site = Sited(10)
    site.goes_down()
    late = NOW + BELIEVED_AFTER + DAY
    assert not site.answers(5, "http-404", late)
    assert not site.is_down()
    assert site.rows[-1].until == site.rows[-1].since
    for number in range(6, 10):
        assert not site.answers(number, "http-404", late + number)
    assert not site.is_down()


def test_the_only_page_of_a_site_that_is_gone_is_gone() -> None:
    """There is no other to ask."""
    site = Sited(1)
    assert not site.answers(0, "http-404")
    assert not site.is_down()


@pytest.mark.parametrize("watches", [True, False])
def test_a_site_that_failed_too_often_is_down(watches: bool) -> None:
    """Its first answer ends that."""
    site = Sited(5, watches=watches)
    site.outages.given_up(site.records.get(SITE), "connect-refused", NOW)
    assert site.is_down()
    assert site.answers(1, "connect-timeout", NOW + 10)
    assert not site.answers(2, at=NOW + 20)
    assert not site.is_down()


def test_one_page_for_every_url_is_lost() -> None:
    """A short text with other links; whatever of it differs from page to page."""
    record = known(1)
    for html in (b"", b"<h1>Back soon</h1><p>We are working on /p/1 since 12:03.</p>"):
        outcome, reading = shows(1, html)
        assert answer_of(record, outcome, reading, "", ()).lost == ONE_PAGE
    first = answer_of(known(1), *shows(1, b"<p>Down at 12:03: /p/1</p>"), "", ())
    second = answer_of(known(2), *shows(2, b"<p>Down at 12:09: /p/2</p>"), "", ())
    assert first.is_like(second)


def test_a_page_that_changes_is_not_lost() -> None:
    """With its links it is the same page; a long text may be anything."""
    assert answer_of(known(1), *shows(1, text_of(7)), "", ()).lost == ""
    long = f"<p>{LONG}</p><a href=/other>x</a>".encode()
    assert answer_of(known(1), *shows(1, long), "", ()).lost == OTHER_TEXT


def test_redirects_to_one_place_are_alike() -> None:
    """A login has the page in its query; a site that moved has another target for every page."""

    def redirected(number: int, target: str) -> FetchOutcome:
        return Redirected(task_of(url_of(number)), 302, Url(target), (), NOW, 0.1)

    one, two = (answer_of(known(n), redirected(n, f"https://a.test/login?next={n}"), None, "", ()) for n in (1, 2))
    assert one.lost == REDIRECTED
    assert one.is_like(two)
    moved = answer_of(known(3), redirected(3, "https://b.test/p/3"), None, "", ())
    assert not moved.is_like(one)
    assert not replace(moved, page=4).is_like(answer_of(known(5), redirected(5, "https://b.test/p/5"), None, "", ()))
