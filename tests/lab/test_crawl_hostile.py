"""A crawl that meets every hostile host at once, and the traps: it ends, and each of them has its reason.

What is expected of each host is a table, so that a new one without a row fails.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.lab.crawling import by_proxy, crawl, place, rows, standing, truth

from periplus_lab import World
from periplus_lab.hostile import DOMAIN, REGISTRY
from periplus_lab.log import Visit
from periplus_lab.traps import CALENDAR, DOUBLING, FACETS, FARM, SESSIONS

pytest.importorskip("cryptography", reason="TLS of the lab needs the extra `lab`")

ATTEMPTS = 2
LARGEST = 1 << 20
IN_BUFFERS = 8 << 20
"""What a server may have handed to the system before it notices that the client has gone."""
BUSY = 450.0
"""Seconds into the ten minutes of hosts that are busy at times: all of them are."""
LONGEST = 600.0
"""Seconds of a transfer and of a crawl, far more than either takes: only outcomes end them."""
HASTY: dict[str, object] = {"wire.timeout": 4.0, "wire.low_speed_time": 2, "retries.max_attempts": 1}
"""For hosts that answer slowly on purpose."""
ATTEMPTS_ON_TIME = 5
"""Crawls of those hosts until their robots.txt came in time: on a machine that stalls it may time out, too."""
MOST_REQUESTS = 20
MOST_MEMORY = 300 << 20

SLOW = {"too-slow", "timeout"}
BROKEN = {"reset", "closed-early"}
GOOD, CUT, MOVED = {"good"}, {"truncated"}, {"redirected"}
RULED = {"/": GOOD, "/public": GOOD, "/private/": {"robots"}}
SITEMAP = {"/": GOOD, "/sitemap.xml": {"unwanted-type"}}

ENDS: dict[str, dict[str, set[str]]] = {
    "binary-as-html": {"/": GOOD},
    "brotli-bomb": {"/": GOOD},
    "bursts-of-503": {"/": {"http-503"}},
    "busy": {"/": {"http-429"}},
    "busy-retry-after": {"/": {"http-429"}},
    "close-before-body": {"/": {"closed-early"}},
    "close-before-head": {"/": {"closed-early"}},
    "cookies-required": {"/": MOVED},
    "deep-html": {"/": GOOD, "/bottom": GOOD},
    "endless-body": {"/": CUT},
    "endless-headers": {"/": {"too-many-headers"}},
    "endless-sitemap": SITEMAP,
    "gzip-bomb": {"/": CUT},
    "length-too-long": {"/": CUT},
    "length-too-short": {"/": GOOD},
    "redirect-chain": {"/": MOVED} | {f"/hop/{hop}": MOVED for hop in range(1, 11)},
    "redirect-loop": {"/": MOVED, "/a": MOVED, "/b": MOVED},
    "redirect-private": dict.fromkeys(("/", "/metadata", "/ten", "/ipv6", "/decimal"), MOVED)
    | {"/file": {"bad-redirect"}},
    "redirect-storm": {"/": MOVED},
    "reset": {"/": BROKEN},
    "reset-in-body": {"/": {"reset"}},
    "robots-5xx": {"/": {"robots-unreachable"}},
    "robots-home": {"/": GOOD, "/public": GOOD, "/private/": GOOD},
    "robots-large": RULED,
    "robots-many-rules": RULED,
    "slow-drip": {"/": SLOW},
    "slow-first-byte": {"/": SLOW},
    "tls-cut": {"/": BROKEN},
    "tls-expired": {"/": {"tls"}},
    "tls-self-signed": {"/": {"tls"}},
    "tls-wrong-name": {"/": {"tls"}},
    "wrong-charset": {"/": GOOD, "/unknown": GOOD, "/meta": GOOD, "/bom": GOOD},
    "xml-bomb": SITEMAP,
    "xxe": SITEMAP,
}
PROBLEMS = {
    "binary-as-html": "binary",
    "brotli-bomb": "bomb",
    "endless-body": "too-many-links",
    "gzip-bomb": "too-large",
    "wrong-charset": "bad-characters",
}
PRIVATE = {"127.0.0.1", "169.254.169.254", "10.0.0.1", "[::1]"}


class Met(NamedTuple):
    """A crawl that met them."""

    world: World
    folder: Path
    visits: list[Visit]
    ends: dict[tuple[str, str], str]
    grown: int
    queued: int


@pytest.fixture(scope="module")
def met(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Met]:
    """Every hostile host, all doors to private places, and an ordinary site.

    Those that answer slowly on purpose are met by a crawl of their own, with short timeouts: in the other one a machine
    that is busy would let ordinary answers time out.
    """
    world = World(28, 2, pages=60)
    folder = tmp_path_factory.mktemp("hostile")
    doors = [f"http://redirect-private.{DOMAIN}{path}" for path in ENDS["redirect-private"]]
    slow = [f"http://{name}.{DOMAIN}/" for name, ends in ENDS.items() if ends == {"/": SLOW}]
    hostile = [f"http://{one.host}/" for one in REGISTRY.values()]
    seeds = [*(url for url in hostile if url not in slow), *doors, world.sites()[0].url, secure(world)]
    with standing(world, BUSY, tls_port=0) as lab:
        authority = folder / "lab.pem"
        authority.write_bytes(lab.server.authority_pem)
        options = by_proxy(lab) | {
            "scope.kind": "host",
            "crawl.for": LONGEST,
            "politeness.delay": 0.02,
            "politeness.slow_factor": 0.0,
            "retries.max_attempts": ATTEMPTS,
            "retries.backoff": 0.05,
            "retries.max_backoff": 0.2,
            "wire.timeout": LONGEST,
            "wire.low_speed_time": int(LONGEST),
            "wire.max_page_bytes": LARGEST,
            "wire.ca_file": str(authority),
        }
        before = private_memory()
        [status] = crawl(folder / "collection", seeds, options)
        grown = private_memory() - before
        queued, ends = status.frontier.queued, _ends(folder / "collection")
        for attempt in range(ATTEMPTS_ON_TIME):
            [last] = crawl(folder / f"slow-{attempt}", slow, options | HASTY)
            late = _ends(folder / f"slow-{attempt}")
            if "robots-unreachable" not in late.values():
                break
        queued, ends = queued + last.frontier.queued, ends | late
        yield Met(world, folder / "collection", lab.log.visits(), ends, grown, queued)


def secure(world: World) -> str:
    """A page with nothing wrong about it, over TLS."""
    return f"https://{world.sites()[1].host}/about.html"


def private_memory() -> int:
    """Bytes of this process that it shares with no other process and no file."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        pytest.skip("this system does not tell how much memory is private")
    return int(found[1]) * 1024


def _ends(folder: Path) -> dict[tuple[str, str], str]:
    """The last word on every page that was asked for, or not: of a URL in the clear and over TLS that over TLS."""
    said = rows(
        folder,
        "select url, outcome, reason, status, is_truncated from fetches where purpose = 'page' order by url, attempt",
    )
    return {place(row["url"]): _word(row) for row in said}


def _word(row: dict[str, Any]) -> str:
    if row["reason"]:
        return str(row["reason"])
    if row["outcome"] == "fetched" and row["status"] >= 400:
        return f"http-{row['status']}"
    return "truncated" if row["is_truncated"] else "redirected" if row["outcome"] == "redirected" else "good"


def test_the_table_has_every_host() -> None:
    """Every hostile host has its expected outcome here."""
    assert set(ENDS) == set(REGISTRY)


@pytest.mark.proof
@pytest.mark.parametrize("name", sorted(ENDS))
def test_every_hostile_host_ends_with_its_reason(met: Met, name: str) -> None:
    """Exactly these URLs, each with its last word; more than these only where a page invents them."""
    found = {target: word for (host, target), word in met.ends.items() if host == f"{name}.{DOMAIN}"}
    for target, words in ENDS[name].items():
        assert found.pop(target) in words
    assert set(found.values()) <= (CUT if name == "endless-body" else set())


@pytest.mark.proof
@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_what_is_wrong_with_a_page_is_written_down(met: Met, name: str) -> None:
    """A page that could be read in part says so."""
    [page] = rows(met.folder, f"select problems from pages where url = 'http://{name}.{DOMAIN}/'")
    assert PROBLEMS[name] in page["problems"]


@pytest.mark.proof
def test_the_crawl_ends_by_itself(met: Met) -> None:
    """Nothing waits any more, long before the time is up."""
    assert met.queued == 0


@pytest.mark.proof
def test_an_ordinary_site_does_not_suffer(met: Met) -> None:
    """All of its pages came, once each."""
    site = met.world.sites()[0]
    expected = truth(met.world, [site.url], site.host).statuses
    assert len(expected) > 30
    asked = Counter(v.url for v in met.visits if v.host == site.host and v.target != "/robots.txt")
    assert asked == dict.fromkeys(expected, 1)


@pytest.mark.proof
def test_a_good_certificate_is_trusted(met: Met) -> None:
    """By the authority that we were told of; those that fail do so for their own faults."""
    assert met.ends[place(secure(met.world))] == "good"
    assert secure(met.world) in {visit.url for visit in met.visits}


@pytest.mark.proof
def test_no_host_is_requested_too_often(met: Met) -> None:
    """However a host behaves, there are few requests to it; a storm of hosts is a few hosts."""
    requests = Counter(visit.host for visit in met.visits if visit.host.endswith(DOMAIN))
    assert max(requests.values()) <= MOST_REQUESTS
    assert sum(host.endswith(f".redirect-storm.{DOMAIN}") for host in requests) <= 10
    assert not {visit.target for visit in met.visits} & {"/stolen", "/dtd", "/late/"}


@pytest.mark.proof
def test_downloads_are_bounded(met: Met) -> None:
    """A page is cut at its limit, and the server notices soon."""
    [most] = rows(met.folder, "select max(bytes) as most from fetches")
    assert most["most"] == LARGEST
    assert max(visit.sent for visit in met.visits) <= LARGEST + IN_BUFFERS


@pytest.mark.proof
def test_memory_is_bounded(met: Met) -> None:
    """Ten gibibytes in a bomb, endless bodies and heads, all at once; the lab's own memory is counted, too."""
    assert met.grown < MOST_MEMORY


@pytest.mark.proof
def test_private_places_are_refused(met: Met) -> None:
    """Wherever a redirect leads; no request was sent there, not even through the proxy."""
    refused = {host for (host, _), word in met.ends.items() if word == "private-address"}
    assert refused == {host.partition(":")[0] for host in PRIVATE}
    assert not [visit.url for visit in met.visits if not visit.host.endswith(".lab.test")]


@pytest.mark.proof
def test_a_redirect_too_far_is_refused_by_its_rule(met: Met) -> None:
    """Chains and storms end at the same bound, and the refusal is a row."""
    refused = rows(met.folder, "select url, rule from discoveries where refused = 'redirect-chain'")
    assert {row["rule"] for row in refused} == {"max_redirects = 10"}
    assert {place(row["url"])[0].split(".")[-4] for row in refused} == {"redirect-chain", "redirect-storm"}


# traps


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl that walked into the traps. Their links are all of their own host, but for those of the farm."""
    folder = tmp_path_factory.mktemp("trapped")
    hurried = {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "crawl.for": LONGEST}
    with standing(World(28, 2, pages=60)) as lab:
        seeds = [f"http://{host}/" for host in (CALENDAR, FACETS, SESSIONS, DOUBLING)]
        for name, starts, more in (
            ("traps", seeds, {"scope.kind": "host"}),
            ("farm", [f"http://{FARM[0]}/"], {"scope.kind": "any", "budgets.max_pages_per_site": 10}),
        ):
            [status] = crawl(folder / name, starts, by_proxy(lab) | hurried | more)
            assert status.frontier.queued == 0
    return folder


@pytest.mark.proof
@pytest.mark.parametrize(
    ("host", "most", "reasons"),
    [
        (CALENDAR, 350, {"low-yield"}),
        (FACETS, 480, {"low-yield"}),
        (SESSIONS, 21, set()),
        (DOUBLING, 220, {"repeated-segment", "low-yield"}),
    ],
)
def test_a_trap_ends_by_its_guard(trapped: Path, host: str, most: int, reasons: set[str]) -> None:
    """At most `most` pages, those of the second look included. Sessions are taken out of URLs, not refused."""
    fetched = rows(
        trapped / "traps", f"select url from fetches where site = '{host}' and outcome = 'fetched' and purpose = 'page'"
    )
    refused = rows(
        trapped / "traps",
        f"select reason, rule from fetches where site = '{host}' and outcome = 'excluded'"
        f" union all select refused, rule from discoveries where refused is not null and contains(url, '//{host}/')",
    )
    assert 0 < len(fetched) <= most
    assert {row["reason"] for row in refused} == reasons
    assert all(row["rule"] for row in refused)


@pytest.mark.proof
def test_a_spam_farm_ends_by_the_budget_of_its_hosts(trapped: Path) -> None:
    """Every page of it is unique; each host may have a bounded number."""
    pages = rows(trapped / "farm", "select site, count(*) as pages from pages group by site")
    assert {row["site"]: row["pages"] for row in pages} == dict.fromkeys(FARM, 10)
    assert rows(trapped / "farm", "select distinct refused from discoveries where refused is not null") == [
        {"refused": "site-budget"}
    ]
