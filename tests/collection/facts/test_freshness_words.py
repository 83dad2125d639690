"""Freshness in words: every verdict and every reason has its sentence, with its numbers, and is explained on a page."""

from __future__ import annotations

import inspect
import re
from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace
from tests.each_case import each_case
from tests.kept_values import with_values

from periplus.collection.facts.freshness_words import (
    TELLERS,
    every,
    fresh_words,
    page_lines,
    share,
    signals_text,
    site_lines,
    trust,
    when,
    why,
)
from periplus.content import Churn
from periplus.content.churn import Block, pack
from periplus.engine.revisit import visit_value
from periplus.engine.revisit.evidence import PageEvidence, SignalKind
from periplus.engine.revisit.gains import SiteGains
from periplus.engine.revisit.records import RevisitState
from periplus.engine.revisit.settings import RefreshSettings
from periplus.engine.revisit.show import of_page, of_site
from periplus.engine.revisit.signals import KindEvidence, SiteEvidence
from periplus.engine.sitemaps.revisit import IndexTrust
from periplus.engine.sitemaps.show import index_signals
from periplus.engine.sitemaps.store import SitemapStore
from periplus.engine.sitemaps.trees import Origin, SitemapNode
from periplus.model import (
    FirstSeen,
    Freshness,
    Lane,
    NextVisit,
    PageFreshness,
    Queued,
    SignalFacts,
    Site,
    SiteFreshness,
    Source,
    Url,
    UrlRecord,
)
from periplus.store import MemoryState, SiteState

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "freshness.md").read_text()
NOW = 1e9
DAY = 86_400.0
REASONS = [
    visit_value.TOLD,
    visit_value.WORTH,
    visit_value.LEADS,
    visit_value.SOONEST,
    visit_value.LATEST,
    "chance",
    "failed",
    "moved",
    "worthless",
]
HONEST = SignalFacts("sitemap", "honest", 0.84, 0.76, 0.91, 97.0, 0.62, 10_800.0, 12, 0.1, True)


@each_case(
    ("part", "said"),
    [
        (0.0, "0 %"),
        (0.844, "84 %"),
        (1.0, "100 %"),
        (0.99995, "over 99.9 %"),
        (0.0004, "under 0.1 %"),
        (0.995, "99.5 %"),
    ],
)
def test_shares_do_not_look_rounder_than_they_are(part: float, said: str) -> None:
    """Only all is 100 %, only nothing is 0 %."""
    assert share(part) == said


@each_case(
    ("rate", "said"),
    [(1.0, "about every 1 d"), (24.0, "about every 1 h"), (0.0, "hardly ever"), (1e6, "all the time")],
)
def test_rates_are_said_as_times(rate: float, said: str) -> None:
    """People do not think in changes a day."""
    assert every(rate) == said


def test_an_honest_site_is_told_with_its_evidence() -> None:
    """Share, number of signals, interval, the share of changes that it tells, how late."""
    assert trust(HONEST) == (
        "its sitemap's lastmod is honest: 84 % of 97 signals were followed by a change (95 %: 76 to 91 %); "
        "it tells 62 % of the changes, 3 h after the time that it names"
    )


@each_case(
    ("verdict", "words"),
    [
        ("useful", "is worth listening to, and often wrong: 84 % of 97 signals"),
        ("useless", "says little: 84 % of 97 signals"),
        (
            "always-now",
            "lies: it says of nearly every page that it changed (10 % lately), whenever it is asked (read again 12",
        ),
        (
            "build-time",
            "lies: most pages bear one time, that of the file's own making (read again 12 times); 84 % of 97",
        ),
        ("silent", "never said that a page changed (read again 12 times)"),
        ("unknown", "cannot be judged yet: visits followed 97 signals so far, and ten are needed"),
    ],
)
def test_every_verdict_has_its_sentence(verdict: str, words: str) -> None:
    """Lies are called lies, and what is not known is not claimed."""
    assert words in trust(replace(HONEST, verdict=verdict, lag=0.0))


def test_who_spoke_of_a_few_pages_is_not_called_silent() -> None:
    """Files of a few pages count for nothing in the share that polls move, but what they said was heard."""
    said = trust(replace(HONEST, verdict="silent", judged=0.0))
    assert said.endswith("none of its signals was followed by a visit yet (read again 12 times), and ten are needed")


def test_who_is_not_listened_to_is_said_to_be() -> None:
    """The site's owner may want to know why it is not visited."""
    deaf = replace(HONEST, precision=0.04, is_heard=False)
    assert trust(replace(deaf, verdict="useless")).endswith("; it is not listened to until it is right more often")
    assert trust(replace(deaf, verdict="always-now")).endswith(", so that it is not listened to")
    unseen = replace(deaf, verdict="build-time", judged=0.0)
    assert trust(unseen).endswith("; it is believed little until visits prove it right")


def test_every_kind_has_a_name() -> None:
    """Every kind of signal has a name; two more are judged that tell of no page."""
    kinds = {kind.name.lower() for kind in SignalKind}
    assert set(TELLERS) == kinds | {"header", "index"}
    for kind in TELLERS:
        assert trust(replace(HONEST, kind=kind)).startswith(TELLERS[kind])
    assert all(signals_text({kind: 1}) for kind in kinds)


def test_signals_since_the_last_visit_are_counted() -> None:
    """As far as they are kept: to seven."""
    assert signals_text({"sitemap": 1, "feed": 3}) == "the sitemap's lastmod moved, the feed lists it again 3 times"
    assert signals_text({"ping": 7}) == "a ping reported it 7 times or more"
    assert signals_text({}) == ""


@each_case("reason", REASONS)
def test_every_reason_has_words(reason: str) -> None:
    """For a visit now and for one to come, with rates and without."""
    visit = NextVisit(Url("http://a.test/"), NOW + 3 * 3600, reason, signals={"sitemap": 1})
    assert when(visit, NOW) == "in 3 h"
    assert why(visit, NOW)
    assert why(replace(visit, rate=1.0, is_waiting=True), NOW)
    assert when(replace(visit, is_waiting=True), NOW) == "now"


def test_every_reason_and_verdict_is_explained() -> None:
    """docs/freshness.md has a row for each: programs are written against the words."""
    words = re.findall(r"^\* `([\w-]+)`:", inspect.getdoc(NextVisit) or "", re.MULTILINE)
    assert sorted(words) == sorted(REASONS)
    verdicts = ("honest", "useful", "useless", "always-now", "build-time", "silent", "unknown")
    assert [word for word in (*words, *verdicts) if f"| `{word}` |" not in PAGE] == []


def test_headers_and_indexes_are_told_in_their_own_words() -> None:
    """`Last-Modified` goes with a visit, and an index speaks of files: neither is followed by a change of a page."""
    header = replace(HONEST, kind="header", lag=0.0)
    assert trust(header).startswith(
        "its Last-Modified is honest: 84 % of the 97 times that it moved the page had changed"
    )
    index = trust(replace(HONEST, kind="index", judged=1.0))
    assert index.startswith(
        "its sitemap index's lastmod is honest: 84 % of the one time that it moved the file had changed"
    )


def test_a_collection_is_fresh_in_a_line() -> None:
    """With its interval, which stays between nothing and all."""
    said = fresh_words(Freshness(12_431, 0.992, 0.975, 1.0, 198_000.0, 0.01, 40))
    assert said == "99.2 % of 12,431 pages, most likely (95 %: 98 % to 100 %); last visited 2 d 7 h ago on average"
    assert fresh_words(None) == ""
    few = fresh_words(Freshness(2_446, 0.551, 0.0, 1.0, 1_800.0, 0.01, 1))
    assert few.startswith(
        "not known to 20 points yet: 1 of 2,446 pages visited twice (95 %: 0 % to 100 %); last visited 30 m"
    )
    unchecked = fresh_words(Freshness(12_431, 0.999, 0.99, 1.0, 198_000.0, 0.01, 0))
    assert unchecked.startswith("not checked yet: none of 12,431 pages was visited twice")
    assert "99" not in unchecked


# from what is kept


def kept_site() -> SiteState:
    evidence = SiteEvidence(rate=0.02, signals=0.1, pages=400, again=230)
    evidence = evidence.with_kind(SignalKind.SITEMAP, KindEvidence(right=81.0, judged=97.0, polls=12, lag=0.125))
    evidence = evidence.with_kind(SignalKind.FEED, KindEvidence(moved=1.0, polls=3))
    return with_values(SiteState(Site("a.test")), evidence)


def test_a_site_is_told_from_what_is_kept() -> None:
    """How often its pages change, and a line for each kind that was ever heard of."""
    facts = of_site(kept_site())
    assert facts is not None
    lines = site_lines(facts)
    assert [name for name, _ in lines] == ["changes", "signals", ""]
    assert lines[0][1].startswith("a page changes about every")
    assert lines[0][1].endswith("as 230 pages show")
    assert lines[1][1].startswith("its sitemap's lastmod is honest: 83 % of 97 signals")
    assert lines[2][1].startswith("its feed lies")
    assert of_site(SiteState(Site("b.test"))) is None
    assert site_lines(None) == []


def test_a_site_tells_of_its_headers_and_indexes_as_they_were_judged() -> None:
    """Both come from what visits found, to pages and to files."""
    gains = SiteGains()
    for _ in range(12):
        gains = gains.compared(is_moved=True, is_changed=True, is_unconditional=True)
    index = SitemapNode(Url("http://a.test/i.xml"), Url("http://a.test/i.xml"), Origin.ROBOTS, 0.0, due_at=0.0)
    state = MemoryState()
    SitemapStore(state).put(replace(index, trust=IndexTrust(right=1, wrong=19)))
    facts = of_site(with_values(SiteState(Site("a.test")), gains), counted=index_signals(state, Site("a.test")))
    assert facts is not None
    assert [(each.kind, each.verdict, round(each.judged)) for each in facts.signals] == [
        ("header", "honest", 12),
        ("index", "useless", 20),
    ]
    assert facts.signals[0].recall == 1.0


def test_a_site_that_was_only_polled_says_nothing_of_changes() -> None:
    """A rate that was not measured is not shown."""
    said = site_lines(SiteFreshness(None, 0, (replace(HONEST, verdict="silent", judged=0.0),)))
    assert said[0] == ("changes", "")


def test_what_churns_is_told_as_what_does_not_count() -> None:
    """How many parts of a site's pages are different at every visit; nothing where there are none."""
    churn = Churn()
    blocks = [pack([Block(1, 1, 90), Block(2, n, 5, n), Block(3, n, 5, n)]) for n in range(7)]
    for old, new in pairwise(blocks):
        churn.observe(old, new)
    facts = of_site(SiteState(Site("a.test"), churn=churn.record))
    assert facts is not None
    assert (facts.churning, facts.compared) == (2, 6)
    line = dict(site_lines(facts))["churn"]
    assert line == "2 parts of its pages are different at every visit; changes in them are not counted"
    assert dict(site_lines(replace(facts, churning=1)))["churn"].startswith("one part of its pages is different")
    assert "churn" not in dict(site_lines(replace(facts, churning=0)))


def page_record(**more: object) -> UrlRecord:
    evidence = PageEvidence(visited_at=NOW - DAY, rate=0.1, watched_from=1).signalled(SignalKind.SITEMAP)
    record = UrlRecord(Url("http://a.test/p"), (FirstSeen(Source.LINK, 1.0),), visits=4, changes=2)
    return replace(record, evidence=evidence.pack(), due_at=NOW + 3 * 3600, **more)


def page_state(record: UrlRecord, *, price: float | None = 0.05) -> MemoryState:
    state = MemoryState()
    state.records.put([record])
    state.sites.put([kept_site()])
    if price is not None:
        state.put_meta(RevisitState(total=24.0, price=price))
    return state


def said_of(record: UrlRecord, state: MemoryState) -> dict[str, str]:
    return dict(page_lines(of_page(state, record, RefreshSettings(), NOW), NOW, "docs"))


def test_one_visit_is_singular() -> None:
    """After the first visit there was one more."""
    record = page_record(visits=2, changes=1)
    assert "one change in 1 visit after the first" in said_of(record, page_state(record))["changes"]


def test_a_page_is_told_from_what_is_kept() -> None:
    """Rate, freshness, what was said since, the next visit and why."""
    record = page_record()
    said = said_of(record, page_state(record))
    assert "2 changes in 3 visits after the first" in said["changes"]
    assert said["fresh"].endswith("likely: last seen 1 d ago; since then the sitemap's lastmod moved")
    assert said["next visit"] == "due in 3 h: the sitemap's lastmod moved"


def test_a_page_that_is_not_watched_has_no_next_visit() -> None:
    """What to type is said."""
    record = page_record()
    said = said_of(record, page_state(record, price=None))
    assert said["next visit"] == "none is planned: periplus watch docs comes back"


def test_a_page_that_waits_and_one_that_was_given_up() -> None:
    """Both have no time; one is in its site's queue."""
    record = page_record(failures=0)
    record = replace(record, due_at=None)
    state = page_state(record)
    assert said_of(record, state)["next visit"] == "none: it was given up"
    state.queues.push([Queued(record.url, Site("a.test"), Lane.REFRESH, 5)])
    assert said_of(record, state)["next visit"].startswith("due now, waits for its site's turn: ")


def test_after_a_failure_nothing_is_claimed() -> None:
    """Neither a rate nor freshness."""
    record = page_record(failures=1, reason="timeout", status=None)
    said = said_of(record, page_state(record))
    assert said["changes"] == ""
    assert said["fresh"] == "not known: the last visit failed"
    assert said["next visit"] == "due in 3 h: the last visit failed, and is tried again"


def test_a_page_seen_once_is_like_others() -> None:
    """It says nothing of itself."""
    facts = PageFreshness(0.1, 0.9, 60.0, 0, 0, {}, None, is_watched=False)
    assert "if it is like others of its site" in dict(page_lines(facts, NOW, "docs"))["changes"]
    record = UrlRecord(Url("http://a.test/p"), (FirstSeen(Source.LINK, 1.0),))
    assert of_page(page_state(record), record, RefreshSettings(), NOW) is None
