"""What every `Sites`, `RobotsFiles` and `Payloads` promises."""

from __future__ import annotations

from tests.kept_values import with_values

from periplus.content import ChurnRecord
from periplus.engine.revisit.evidence import SignalKind
from periplus.engine.revisit.gains import SiteGains
from periplus.engine.revisit.signals import ArchiveProof, KindEvidence, SiteEvidence
from periplus.engine.revisit.weights import Yield
from periplus.engine.sitemaps.scores import Priorities
from periplus.model import Payload, RobotsFile, Site, Url
from periplus.policy.balance import BalanceRecord, SourceSample
from periplus.policy.filters import SiteFilterState
from periplus.policy.filters.site_states import ParameterCounts, Values, Window
from periplus.store import SiteState, State

VALUES = (
    Priorities({50: 3, 100: 1}),
    SiteEvidence(rate=0.1, signals=1 / 3, pages=7).with_kind(SignalKind.FEED, KindEvidence(right=0.7, polls=3)),
    SiteGains(linked=Yield(0.1, 2.3), asked=1 / 3),
)
FULL = with_values(
    SiteState(
        Site("a.test:8443"),
        ip="2001:db8::1",
        ip_expires_at=1.5,
        robots_expire_at=2.5,
        delay=0.25,
        ready_at=3.5,
        last_duration=0.125,
        failures=3,
        pages=4,
        downloaded=2**40,
        retired="no-address",
        traps=SiteFilterState(7, 1, {2**64 - 1: Window(2**64 - 1, 64, 3)}, {5: ParameterCounts(Values(), Window())}),
        robots_at=Url("https://a.test:8443/elsewhere"),
        robots_redirects=1,
        robots_tries=2,
        balance=BalanceRecord(
            100, 40, 1, 7, SourceSample(2, bytearray(b"\x01\x09"), [0, 77]), shared={5: None, 6: True}
        ),
        files=5,
        stuck=1,
        churn=ChurnRecord(9, 4, bytes(range(250)) * 16),
    ),
    *VALUES,
)


def test_sites_are_kept_whole(state: State) -> None:
    """Every field and value comes back, aligned with the question; unknown sites answer None."""
    plain = SiteState(Site("b.test"))
    state.sites.put([FULL, plain])
    *others, full = state.sites.get([Site("b.test"), Site("c.test"), FULL.site])
    assert others == [plain, None]
    assert full is not None
    assert tuple(full.value(type(each)) for each in VALUES) == VALUES
    assert full == FULL
    assert len(state.sites) == 2


def test_sites_are_copies(state: State) -> None:
    """Working on what was put or got changes nothing that is kept."""
    given = SiteState(Site("a.test"), pages=1)
    state.sites.put([given])
    given.pages = 2
    (got,) = state.sites.get([Site("a.test")])
    assert got is not None
    assert got.pages == 1
    got.pages = 3
    assert state.sites.get([Site("a.test")]) == [SiteState(Site("a.test"), pages=1)]


def test_sites_are_copies_at_any_depth(state: State) -> None:
    """What policies have learnt is copied as well, when it is put and when it is got."""
    site = with_values(SiteState(Site("a.test"), traps=SiteFilterState(1)), Priorities({50: 1}))
    state.sites.put([site])
    kept = state.sites.get([site.site])
    for each in (site, *state.sites.get([site.site])):
        assert each is not None
        stated = each.value(Priorities)
        assert stated is not None
        assert each.traps is not None
        stated.observe([1.0])
        each.traps.admitted = 9
    assert state.sites.get([site.site]) == kept


def test_values_are_kept_whether_or_not_they_were_looked_at(state: State) -> None:
    """A record that is put again keeps what nobody asked for, and has what was changed."""
    state.sites.put([FULL])
    (got,) = state.sites.get([FULL.site])
    assert got is not None
    stated = got.value(Priorities)
    assert stated is not None
    assert stated is got.value(Priorities)
    stated.observe([1.0])
    got.keep(SiteGains(asked=0.5))
    state.sites.put([got])
    (again,) = state.sites.get([FULL.site])
    assert again is not None
    assert again.value(Priorities) == Priorities({50: 3, 100: 2})
    assert again.value(SiteGains) == SiteGains(asked=0.5)
    assert again.value(SiteEvidence) == VALUES[1]
    assert again.value(ArchiveProof) is None


def test_the_last_state_counts(state: State) -> None:
    """A site put again is replaced, not counted again."""
    state.sites.put([SiteState(Site("a.test"), pages=1)])
    state.sites.put([SiteState(Site("a.test"), pages=2)])
    assert state.sites.get([Site("a.test")]) == [SiteState(Site("a.test"), pages=2)]
    assert len(state.sites) == 1


def test_the_last_robots_file_is_kept(state: State) -> None:
    """One for each site, whole, whatever its size or bytes."""
    first = RobotsFile(Site("a.test"), "none", b"", 1.0, 2.0, None, "timeout")
    second = RobotsFile(Site("a.test"), "rules", b"\xff\x00" * 250_000, 3.0, 4.0, 200)
    assert state.robots.get(Site("a.test")) is None
    state.robots.put(first)
    assert state.robots.get(Site("a.test")) == first
    state.robots.put(second)
    assert state.robots.get(Site("a.test")) == second
    assert state.robots.get(Site("b.test")) is None


def test_the_first_payload_is_kept(state: State) -> None:
    """A digest belongs to who brought it first; everyone later is told so, an equal one too."""
    first = Payload(b"d" * 20, Url("https://a.test/1"), 1.0, "urn:uuid:1")
    later = Payload(b"d" * 20, Url("https://b.test/2"), 2.0, "urn:uuid:2")
    other = Payload(b"e" * 20, Url("https://b.test/3"), 2.0, "urn:uuid:3")
    assert state.payloads.add_new(first) is None
    assert state.payloads.add_new(later) == first
    assert state.payloads.add_new(first) == first
    assert state.payloads.add_new(other) is None
