"""When files are read again, what is learnt of them and of their indexes, and when they retire."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.each_case import each_case

from periplus.engine.sitemaps.revisit import IndexTrust, Rate, RevisitSettings, interval
from periplus.engine.sitemaps.trees import Origin, SitemapNode
from periplus.engine.sitemaps.visits import (
    FileReading,
    RetirementSettings,
    after_failure,
    after_reading,
    after_same,
    dated,
    is_back,
    trust_after,
    unlisted,
    woken,
)
from periplus.model import ConfigError, Granularity, Lastmod, Url

DAY = 86_400.0
HOUR = 3_600.0
REVISIT, RETIREMENT = RevisitSettings(), RetirementSettings()
URL = Url("http://a.test/1.xml")
NODE = SitemapNode(URL, URL, Origin.ROBOTS, 0.0)
FULL = FileReading("urlset", entries=10, wanted=10)
SAME = FileReading("urlset", entries=10, wanted=10, is_changed=False)


def read(node: SitemapNode, now: float, reading: FileReading = FULL, trust: IndexTrust | None = None) -> SitemapNode:
    return after_reading(node, reading, now, REVISIT, RETIREMENT, trust)


def at(seconds: float) -> Lastmod:
    return Lastmod(seconds, Granularity.SECOND)


def test_rate_follows_the_published_trace() -> None:
    """The recursive estimator, over changed and unchanged visits at various intervals."""
    rate, trace = Rate(0.5, 1.0), []
    for is_changed, days in [(True, 1), (False, 1), (False, 2), (True, 3), (False, 1), (True, 1)]:
        rate = rate.observed(is_changed, days * DAY)
        trace.append(rate.per_day)
    assert trace == pytest.approx([0.885374, 0.590249, 0.354149, 0.424289, 0.377146, 0.459471], abs=1e-6)


@given(st.lists(st.tuples(st.booleans(), st.floats(0.0, 1e12)), max_size=50), st.floats(0.5, 100.0))
def test_interval_is_always_within_its_bounds(visits: list[tuple[bool, float]], memory: float) -> None:
    """Whatever was seen, the next visit is neither at once nor never."""
    rate = Rate()
    for is_changed, seconds in visits:
        rate = rate.observed(is_changed, seconds, memory)
        assert rate.changes >= 0.0
        assert REVISIT.shortest <= interval(rate, REVISIT) <= REVISIT.longest


def test_files_that_change_are_read_more_often() -> None:
    """A file is polled at its own pace: hourly news soon, a forgotten file hardly ever."""
    busy = idle = read(NODE, 0.0)
    for visit in range(1, 30):
        busy = read(busy, visit * HOUR)
        idle = after_same(idle, visit * DAY, REVISIT, RETIREMENT)
    assert busy.due_at - 29 * HOUR == REVISIT.shortest
    assert idle.due_at - 29 * DAY > 10 * DAY
    assert (busy.visits, busy.changes, idle.changes) == (30, 29, 0)


def test_first_reading_is_not_a_change() -> None:
    """What was never seen before cannot have changed since."""
    node = read(NODE, 100.0)
    assert (node.visits, node.changes, node.rate) == (1, 0, Rate())


def test_index_hint_brings_a_visit_forward() -> None:
    """A date that moved makes a file due as soon as is polite; one that stands still changes nothing."""
    node = read(msgspec.structs.replace(NODE, lastmod=at(1.0)), 100.0, trust=IndexTrust())
    later = 100.0 + 6 * HOUR
    assert dated(node, at(1.0), later, REVISIT, IndexTrust()).due_at == node.due_at
    assert dated(node, at(200.0), later, REVISIT, IndexTrust()).due_at == later
    assert dated(node, at(200.0), 101.0, REVISIT, IndexTrust()).due_at == 100.0 + REVISIT.shortest


def test_index_that_cries_wolf_is_not_followed() -> None:
    """Dates that move without a change lose their credit, and the file's own pace decides."""
    index, node = NODE, msgspec.structs.replace(NODE, lastmod=at(0.0))
    node = read(node, 0.0, trust=index.trust)
    for visit in range(1, 20):
        now = visit * 2 * HOUR
        node = dated(node, at(now - 1.0), now, REVISIT, index.trust)
        index = trust_after(index, node, False, now)
        node = after_same(node, now, REVISIT, RETIREMENT, index.trust)
    assert index.trust.precision < 0.05
    assert interval(node.rate, REVISIT, index.trust, is_hinted=True) > 12 * HOUR


def test_silence_of_an_honest_index_is_believed() -> None:
    """Where files whose date stood still never changed, such files are let be, though they once changed often."""
    trust, rate = IndexTrust(), Rate(10.0, 1.0)
    assert interval(rate, REVISIT, trust) == pytest.approx(0.6931 / 0.5 * DAY, rel=1e-3)
    for _ in range(100):
        trust = trust.learnt(False, False, DAY)
    assert interval(rate, REVISIT, trust) == REVISIT.longest
    assert interval(rate, REVISIT, trust, is_hinted=True) == REVISIT.shortest
    for _ in range(300):
        trust = trust.learnt(False, True, DAY)
    assert interval(rate, REVISIT, trust) < 2 * DAY


def test_log_structured_index_is_read_only_at_its_end() -> None:
    """After two readings that only appended, what is older waits as long as anything may; a rewrite ends that."""
    index = read(NODE, 0.0, FileReading("index", children=5, wanted=5, is_appended=True))
    assert index.trust.appended == 0  # there was nothing to append to
    for visit in (1, 2):
        index = read(index, visit * DAY, FileReading("index", children=5, wanted=5, is_appended=True))
    assert index.trust.is_log
    assert read(index, 3 * DAY, FileReading("index", children=5, wanted=5, is_changed=False)).trust.is_log
    assert interval(Rate(), REVISIT, index.trust) == REVISIT.longest
    assert interval(Rate(), REVISIT, index.trust, is_hinted=True) == REVISIT.shortest
    index = read(index, 4 * DAY, FileReading("index", children=5, wanted=5, is_appended=False))
    assert not index.trust.is_log


def test_gone_files_retire_after_some_days() -> None:
    """404 three times, a day apart; of a mere guess at once; and one good visit forgives."""
    node = read(NODE, 0.0)
    for visit in (1, 2):
        node = after_failure(node, "http-404", visit * DAY, REVISIT, RETIREMENT, 404)
        assert (node.retired, node.due_at) == ("", (visit + 1) * DAY)
    assert read(node, 3 * DAY).failures == 0
    assert after_failure(node, "http-404", 3 * DAY, REVISIT, RETIREMENT, 404).retired == "gone"
    guess = msgspec.structs.replace(NODE, origin=Origin.WELL_KNOWN)
    assert after_failure(guess, "http-404", 0.0, REVISIT, RETIREMENT, 404).retired == "gone"
    assert after_failure(guess, "timeout", 0.0, REVISIT, RETIREMENT).retired == ""


def test_unreachable_files_are_tried_ever_less_often() -> None:
    """Pauses double, and it ends."""
    node, now, waits = read(NODE, 0.0), 0.0, []
    while not node.retired:
        node = after_failure(node, "timeout", now, REVISIT, RETIREMENT)
        waits.append(node.due_at - now)
        now = node.due_at
    assert waits[:4] == [HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR]
    assert len(waits) == RETIREMENT.failed_visits
    assert max(waits) <= REVISIT.longest
    assert (node.retired, node.changes) == ("unreachable", 0)


@each_case(
    ("reading", "reason"),
    [
        (FileReading("html"), "not-a-sitemap"),
        (FileReading("urlset"), "empty"),
        (FileReading("urlset", entries=100), "useless"),
    ],
)
def test_fruitless_files_retire_with_a_reason(reading: FileReading, reason: str) -> None:
    """Five readings that brought nothing; one that does restarts the count."""
    node = NODE
    for visit in range(4):
        node = read(node, visit * DAY, reading)
        assert node.retired == ""
    assert read(read(node, 5 * DAY), 6 * DAY, reading).retired == ""
    assert read(node, 5 * DAY, reading).retired == reason


def test_empty_file_that_does_not_change_retires() -> None:
    """A visit that finds it unchanged counts like a reading that brought nothing; a full file stays."""
    node = read(NODE, 0.0, FileReading("urlset"))
    full = read(NODE, 0.0)
    for visit in range(1, 5):
        assert (node.retired, full.retired) == ("", "")
        node = after_same(node, visit * DAY, REVISIT, RETIREMENT)
        full = after_same(full, visit * DAY, REVISIT, RETIREMENT)
    assert (node.retired, full.retired) == ("empty", "")


def test_file_of_a_past_day_rests_until_its_index_dates_it_again() -> None:
    """One that its index dates retires after a month without a change; others are visited for ever."""
    of_day = msgspec.structs.replace(NODE, parent=Url("http://a.test/index.xml"), lastmod=at(5.0))
    node, root = read(of_day, 10.0), read(NODE, 10.0)
    assert after_same(node, 29 * DAY, REVISIT, RETIREMENT).retired == ""
    node = after_same(node, 31 * DAY, REVISIT, RETIREMENT)
    assert (node.retired, after_same(root, 31 * DAY, REVISIT, RETIREMENT).retired) == ("unchanged", "")
    assert not is_back(node, at(5.0), 400 * DAY)
    assert is_back(node, at(31 * DAY), 32 * DAY)
    assert (woken(node, 32 * DAY).retired, woken(node, 32 * DAY).due_at) == ("", 32 * DAY)
    assert not is_back(root, at(31 * DAY), 32 * DAY)


def test_empty_file_is_visited_again_after_a_week() -> None:
    """As long as its index names it."""
    node = NODE
    for visit in range(5):
        node = read(node, visit * DAY, FileReading("urlset"))
    assert node.retired == "empty"
    assert not is_back(node, None, node.due_at + DAY)
    assert is_back(node, None, node.due_at + 8 * DAY)


def test_retired_files_can_be_woken() -> None:
    """A file that is named again gets another chance, from the beginning; one in use is only read sooner."""
    node = woken(unlisted(read(NODE, 0.0)), 50.0)
    assert (node.retired, node.failures, node.due_at) == ("", 0, 50.0)
    assert woken(read(NODE, 0.0), 1.0).due_at == 1.0
    assert unlisted(NODE).retired == "unlisted"


def test_unchanged_forest_costs_one_visit_a_file_that_is_due() -> None:
    """A file that was found unchanged is not due again before its time."""
    node = after_same(read(NODE, 0.0), DAY, REVISIT, RETIREMENT)
    assert node.due_at >= DAY + REVISIT.shortest
    assert (node.read_at, node.visited_at) == (0.0, DAY)


def test_node_is_kept_whole() -> None:
    """What is stored of a node is all of it."""
    node = read(msgspec.structs.replace(NODE, lastmod=at(1.0), problems=(("bad-lastmod", 2),)), 5.0)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(node), type=SitemapNode) == node


@each_case("wrong", [{"shortest": 0.0}, {"longest": 1.0}, {"chance": 1.0}, {"memory": 0.0}])
def test_revisit_settings_that_cannot_be(wrong: dict[str, float]) -> None:
    """A setting that makes no sense is refused when it is read."""
    with pytest.raises(ConfigError):
        RevisitSettings(**wrong)
