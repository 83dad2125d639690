"""The wire against every hostile host: each ends with a documented reason or as an answer, within bounds."""

from __future__ import annotations

import re
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.lab.loopback_guard import LoopbackGuard

from periplus.engine.clock import SystemClock
from periplus.engine.fetch import CrawlerIdentity, CurlWire, Resolver, ResolverSettings, WireSettings
from periplus.model import Excluded, Failed, Fetched, FetchOutcome, FetchTask, Lane, Located, Purpose, Redirected
from periplus.urls import canonical, site_of
from periplus_lab import World
from periplus_lab.hostile import DOMAIN, REGISTRY
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest.importorskip("cryptography", reason="TLS of the lab needs the extra `lab`")

DOCS = Path(__file__).resolve().parents[3] / "docs" / "wire.md"
LARGEST_PAGE = 1 << 20
LARGEST_SITEMAP = 2 << 20

OVER_HTTP = {
    "slow-first-byte": {"timeout", "too-slow"},
    "slow-drip": {"too-slow", "timeout"},
    "endless-headers": {"too-many-headers"},
    "reset": {"reset"},
    "reset-in-body": {"reset"},
    "close-before-body": {"closed-early"},
    "close-before-head": {"closed-early"},
    "length-too-long": {"closed-early"},
}
SLOW = ("slow-first-byte", "slow-drip")
PATIENCE = 300.0
"""Seconds until a missing outcome is a failure: also on a busy machine all come far earlier."""
REDIRECTS = {
    "cookies-required",
    "redirect-chain",
    "redirect-loop",
    "redirect-private",
    "redirect-storm",
    "tls-cut",
    "tls-expired",
    "tls-self-signed",
    "tls-wrong-name",
}
TRUNCATED = {"endless-body", "gzip-bomb"}
OVER_TLS = {"tls-cut": "reset", "tls-expired": "tls", "tls-self-signed": "tls", "tls-wrong-name": "tls"}


@pytest.fixture(scope="module")
def lab() -> Iterator[RunningLab]:
    world = World(sites=2)
    with RunningLab(Server(world, SteppedClock(world.epoch), pace=0.1, tls_port=0)) as lab:
        yield lab


@pytest.fixture(scope="module")
def wire(lab: RunningLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CurlWire]:
    authority = tmp_path_factory.mktemp("wire-ca") / "ca.pem"
    authority.write_bytes(lab.server.authority_pem)
    settings = WireSettings(
        timeout=PATIENCE,
        connect_timeout=PATIENCE,
        low_speed_time=int(PATIENCE),
        max_page_bytes=LARGEST_PAGE,
        max_sitemap_bytes=LARGEST_SITEMAP,
        ca_file=str(authority),
    )
    wire = wire_with(settings)
    yield wire
    wire.close()


def wire_with(settings: WireSettings) -> CurlWire:
    clock = SystemClock()
    resolver = Resolver(ResolverSettings(hosts={f"*.{DOMAIN}": "127.0.0.1"}), clock=clock)
    return CurlWire(settings, identity=CrawlerIdentity(), clock=clock, resolver=resolver, guard=LoopbackGuard())


def task(url: str, purpose: Purpose = Purpose.PAGE, *, ip: str | None = "127.0.0.1", attempt: int = 1) -> FetchTask:
    found = canonical(url)
    assert found
    return FetchTask(found, site_of(found), purpose, Lane.DISCOVERY, 0.0, ip=ip, attempt=attempt)


def all_outcomes(wire: CurlWire, tasks: list[FetchTask]) -> dict[FetchTask, FetchOutcome]:
    for one in tasks:
        wire.start(one)
    found: dict[FetchTask, FetchOutcome] = {}
    until = time.monotonic() + PATIENCE
    while len(found) < len(tasks) and time.monotonic() < until:
        for outcome in wire.finished(1.0):
            assert outcome.task not in found
            found[outcome.task] = outcome
    return found


@pytest.fixture(scope="module")
def pages(lab: RunningLab, wire: CurlWire) -> dict[str, FetchOutcome]:
    """The outcome of the first page of every hostile host, all fetched at once.

    Those that are slow on purpose have a wire of their own, with short timeouts: with those of any other host a busy
    machine would time out.
    """
    slow = [task(lab.url(REGISTRY[name].host)) for name in SLOW]
    hasty = wire_with(WireSettings(timeout=2.5, low_speed_time=1, max_page_bytes=LARGEST_PAGE))
    found = all_outcomes(hasty, slow)
    hasty.close()
    found |= all_outcomes(wire, [task(lab.url(one.host)) for name, one in REGISTRY.items() if name not in SLOW])
    return {site_of(one.url).partition(".")[0]: outcome for one, outcome in found.items()}


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_page_of_every_hostile_host(pages: dict[str, FetchOutcome], name: str) -> None:
    """A reason, a redirect or an answer; cut at the limit where it does not end."""
    outcome = pages[name]
    if name in OVER_HTTP:
        assert isinstance(outcome, Failed)
        assert outcome.reason in OVER_HTTP[name]
    elif name in REDIRECTS:
        assert isinstance(outcome, Redirected)
    else:
        assert isinstance(outcome, Fetched)
        assert outcome.is_truncated == (name in TRUNCATED)
        assert len(outcome.body) <= LARGEST_PAGE
        assert not outcome.is_truncated or len(outcome.body) == LARGEST_PAGE


def test_hostile_hosts_hold_nothing_up(pages: dict[str, FetchOutcome], wire: CurlWire) -> None:
    """All at once, and each has ended; afterwards every slot and byte is free again."""
    assert len(pages) == len(REGISTRY)
    assert wire.finished(0.0) == []
    assert wire.under_way == wire.buffered_bytes == 0


@pytest.mark.parametrize("name", sorted(OVER_TLS))
def test_tls_that_must_not_be_trusted(lab: RunningLab, wire: CurlWire, name: str) -> None:
    """Each fails, and nothing falls back to plain HTTP."""
    [outcome] = all_outcomes(wire, [task(f"https://{name}.{DOMAIN}:{lab.tls_port}/")]).values()
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status) == (OVER_TLS[name], None)


def test_endless_and_huge_files_are_cut_by_their_purpose(lab: RunningLab, wire: CurlWire) -> None:
    """A robots.txt of 12 MB at 512 KiB, a sitemap without an end at its own limit; the beginning is kept."""
    robots = task(lab.url(f"robots-large.{DOMAIN}", "/robots.txt"), Purpose.ROBOTS)
    sitemap = task(lab.url(f"endless-sitemap.{DOMAIN}", "/sitemap.xml"), Purpose.SITEMAP)
    found = all_outcomes(wire, [robots, sitemap])
    for one, size in ((robots, 512 * 1024), (sitemap, LARGEST_SITEMAP)):
        outcome = found[one]
        assert isinstance(outcome, Fetched)
        assert (len(outcome.body), outcome.is_truncated) == (size, True)
    assert found[robots].body.startswith(b"User-agent: *\nDisallow: /private/\n")  # type: ignore[union-attr]


def test_memory_is_bounded_while_a_body_does_not_end(lab: RunningLab, wire: CurlWire) -> None:
    """Eight endless bodies and eight endless heads: no more than their limits, and a little."""
    urls = [lab.url(f"{name}.{DOMAIN}", f"/{k}") for name in ("endless-body", "endless-headers") for k in range(8)]
    tracemalloc.start()
    all_outcomes(wire, [task(url) for url in urls])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 8 * LARGEST_PAGE + 8 * 4 * 128 * 1024 + (16 << 20)  # the lab's own memory is counted, too


def test_a_server_that_always_closes_early_is_heard_the_second_time(lab: RunningLab, wire: CurlWire) -> None:
    """What came is kept, as truncated, when it happens again; half a page after a reset never is."""
    early = task(lab.url(f"length-too-long.{DOMAIN}"), attempt=2)
    reset = task(lab.url(f"reset-in-body.{DOMAIN}"), attempt=2)
    found = all_outcomes(wire, [early, reset])
    assert isinstance(found[early], Fetched)
    assert found[early].is_truncated  # type: ignore[union-attr]
    assert isinstance(found[reset], Failed)


def test_what_follows_a_short_answer_is_not_the_next_answer(lab: RunningLab, wire: CurlWire) -> None:
    """A connection with bytes left over is not used again."""
    for _ in range(3):
        [outcome] = all_outcomes(wire, [task(lab.url(f"length-too-short.{DOMAIN}"))]).values()
        assert isinstance(outcome, Fetched)
        assert outcome.body.startswith(b"<!doctype html>")


@pytest.mark.parametrize("name", ["close-before-head", "reset"])
def test_who_breaks_a_kept_connection_is_asked_once_more_and_no_oftener(
    lab: RunningLab, wire: CurlWire, name: str
) -> None:
    """Of an attempt that is not the first, every request that the server sees is one that was asked for."""
    host = f"{name}.{DOMAIN}"
    for attempt, most in ((1, 2), (2, 1)):
        target = f"/kept/{attempt}"
        [robots] = all_outcomes(wire, [task(lab.url(host, "/robots.txt"), Purpose.ROBOTS)]).values()
        assert isinstance(robots, Fetched)
        [outcome] = all_outcomes(wire, [task(lab.url(host, target), attempt=attempt)]).values()
        assert isinstance(outcome, Failed)
        assert outcome.reason in {"reset", "closed-early"}
        assert 1 <= sum(visit.target == target for visit in lab.log.visits(host)) <= most


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/metadata", "http://169.254.169.254/latest/meta-data/"),
        ("/ten", "http://10.0.0.1/"),
        ("/ipv6", "http://[::1]/"),
    ],
)
def test_redirects_to_private_places_end_there(lab: RunningLab, wire: CurlWire, path: str, target: str) -> None:
    """The redirect is an outcome; the place is refused when it is looked up, and when an address is forced on us."""
    [outcome] = all_outcomes(wire, [task(lab.url(f"redirect-private.{DOMAIN}", path))]).values()
    assert isinstance(outcome, Redirected)
    assert outcome.target == target
    for ip in (None, target.split("/")[2].strip("[]")):
        [refused] = all_outcomes(wire, [task(target, ip=ip)]).values()
        assert isinstance(refused, Excluded)
        assert refused.reason == "private-address"


def test_a_redirect_to_a_file_is_not_a_redirect(lab: RunningLab, wire: CurlWire) -> None:
    """Only the web is followed."""
    [outcome] = all_outcomes(wire, [task(lab.url(f"redirect-private.{DOMAIN}", "/file"))]).values()
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.status, outcome.detail) == ("bad-redirect", 302, "file:///etc/passwd")


def test_the_storm_of_hosts_is_located_one_by_one(lab: RunningLab, wire: CurlWire) -> None:
    """A host never heard of is only looked up until somebody decides to visit it."""
    [outcome] = all_outcomes(wire, [task(lab.url(f"redirect-storm.{DOMAIN}"))]).values()
    assert isinstance(outcome, Redirected)
    before = lab.log.total
    [located] = all_outcomes(wire, [task(outcome.target, ip=None)]).values()
    assert isinstance(located, Located)
    assert lab.log.total == before


def test_every_reason_is_documented() -> None:
    """A reason is a column of a table that people will read."""
    source = Path(__file__).resolve().parents[3] / "src" / "periplus" / "engine" / "fetch"
    said = set(re.findall(r"^- `([a-z0-9-]+)`:", (source / "reasons.py").read_text(), re.MULTILINE))
    said |= set(re.findall(r"^- `([a-z0-9-]+)`:", (source / "dns.py").read_text(), re.MULTILINE))
    given = set(re.findall(r'(?:failed\(|why = |: )"([a-z]+(?:-[a-z0-9]+)*)"', (source / "transfer.py").read_text()))
    given |= set(re.findall(r': "([a-z0-9-]+)"', (source / "reasons.py").read_text()))
    assert {"unwanted-type", "over-budget", "bad-redirect", "tls", "http2"} <= given
    assert sorted(given - said) == []
    page = DOCS.read_text()
    assert [reason for reason in sorted(said) if f"`{reason}`" not in page] == []
