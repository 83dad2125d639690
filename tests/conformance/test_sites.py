"""What every `Sites`, `RobotsFiles` and `Payloads` promises."""

from __future__ import annotations

from copy import deepcopy

from periplus.content import ChurnRecord
from periplus.model import Payload, RobotsFile, Site, Url
from periplus.parts.revisit.evidence import SignalKind
from periplus.parts.revisit.gains import SiteGains
from periplus.parts.revisit.signals import KindEvidence, SiteEvidence
from periplus.parts.revisit.weights import Yield
from periplus.parts.sitemaps.scores import Priorities
from periplus.policy.balance import BalanceRecord, Sample
from periplus.policy.filters import SiteFilterState
from periplus.policy.filters.site_states import Parameter, Values, Window
from periplus.store import SiteState, State

FULL = SiteState(
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
    traps=SiteFilterState(7, 1, {2**64 - 1: Window(2**64 - 1, 64, 3)}, {5: Parameter(Values(), Window())}),
    robots_at=Url("https://a.test:8443/elsewhere"),
    robots_redirects=1,
    robots_tries=2,
    balance=BalanceRecord(100, 40, 1, 7, Sample(2, bytearray(b"\x01\x09"), [0, 77]), shared={5: None, 6: True}),
    priorities=Priorities({50: 3, 100: 1}),
    files=5,
    signals=SiteEvidence(rate=0.1, signals=1 / 3, pages=7).with_kind(SignalKind.FEED, KindEvidence(right=0.7, polls=3)),
    stuck=1,
    churn=ChurnRecord(9, 4, bytes(range(250)) * 16),
    gains=SiteGains(linked=Yield(0.1, 2.3), asked=1 / 3),
)


def test_sites_are_kept_whole(state: State) -> None:
    """Every field comes back, aligned with the question; unknown sites answer None."""
    plain = SiteState(Site("b.test"))
    state.sites.put([FULL, plain])
    assert state.sites.get([Site("b.test"), Site("c.test"), FULL.site]) == [plain, None, FULL]
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
    site = SiteState(Site("a.test"), priorities=Priorities({50: 1}), traps=SiteFilterState(1))
    state.sites.put([site])
    kept = deepcopy(site)
    for each in (site, *state.sites.get([site.site])):
        assert each is not None
        assert each.priorities is not None
        assert each.traps is not None
        each.priorities.observe([1.0])
        each.traps.admitted = 9
    assert state.sites.get([site.site]) == [kept]


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
