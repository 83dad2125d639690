"""The control socket of a crawl that runs: every verb does what it says, as the server that is crawled sees it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.lab.crawling import rows
from tests.system.typed import Run, running, wait_until

from periplus.collection.control import MAX_LINE, ControlClient, LiveStatus, NoCrawlRuns, is_running
from periplus.collection.control_server import MAX_CLIENTS
from periplus.collection.readable import SOCKET
from periplus.model import CollectionError
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest_plugins = ["periplus_lab.pytest_plugin"]

SECONDS = 0.6
"""How long next to nothing may arrive while a crawl is paused: many times what it takes between two requests."""

UNDER_WAY = 4
"""Requests that may still arrive after a pause or a new rate: one under way and one begun at each of two sites."""


@pytest.fixture
def web(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    """Four sites of hundreds of pages each, whose time stands still."""
    world = World(11, 4, pages=1500)
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


def hosts(web: RunningLab) -> list[str]:
    return [site.host for site in web.world.sites()]


def asked(web: RunningLab, *args: str, delay: str = "0.05", seeds: int = 4) -> tuple[str, ...]:
    given = [f"http://{host}/" for host in hosts(web)[:seeds]]
    return ("crawl", *given, "--proxy", web.base, "--delay", delay, "--scope", "host", "--no-sitemaps", *args)


@contextmanager
def crawling(web: RunningLab, out: Path, *args: str, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """A crawl in a process of its own that has fetched a few pages, and whose socket is there."""
    before = web.log.total
    with running(*asked(web, "-o", str(out), *args, **more)) as process:
        wait_until(lambda: web.log.total > before + 20 and is_running(out), process)
        yield process


class Live(NamedTuple):
    """A crawl that several tests ask, one after the other; it is paused between them."""

    web: RunningLab
    out: Path
    process: subprocess.Popen[str]


@contextmanager
def left_running(folder: Path, workers: str) -> Iterator[Live]:
    """A crawl of two of four sites that lasts as long as its tests."""
    world = World(11, 4, pages=3000)
    with (
        RunningLab(Server(world, SteppedClock(world.epoch), pace=0.01)) as web,
        crawling(web, folder / "c", "--workers", workers, delay="0.05", seeds=2) as process,
    ):
        yield Live(web, folder / "c", process)


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with left_running(tmp_path_factory.mktemp("one"), "1") as live:
        yield live


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with left_running(tmp_path_factory.mktemp("two"), "2") as live:
        yield live


@contextmanager
def going_on(live: Live) -> Iterator[Live]:
    """Let a crawl go on until the test ends."""
    with ControlClient(live.out) as crawl:
        crawl.ask("resume")
        yield live
        crawl.ask("pause")


@pytest.fixture
def alone(one_worker: Live) -> Iterator[Live]:
    with going_on(one_worker) as live:
        yield live


@pytest.fixture(params=["one_worker", pytest.param("two_workers", marks=pytest.mark.slow)])
def live(request: pytest.FixtureRequest) -> Iterator[Live]:
    with going_on(request.getfixturevalue(request.param)) as live:
        yield live


def rest(crawl: ControlClient, process: subprocess.Popen[str]) -> None:
    """Pause a crawl and wait until none of its requests is under way, and no URL between two shards.

    Then two statuses that were made after the pause, one after the other, have the same numbers and no lease.
    """
    crawl.ask("pause")
    paused_at, seen = time.time(), {}

    def is_at_rest() -> bool:
        status = crawl.ask("status")
        if status["at"] > paused_at and status["progress"]["leases"] == 0:
            seen[status["at"]] = (status["progress"]["queued"], status["progress"]["tally"])
        return len(seen) > 1 and seen[max(seen)] == seen[sorted(seen)[-2]]

    wait_until(is_at_rest, process)


def pages_of(client: ControlClient) -> int:
    found: int = client.ask("status")["progress"]["tally"]["pages"]
    return found


@pytest.mark.proof
def test_a_paused_crawl_asks_for_nothing_until_it_is_resumed(live: Live) -> None:
    web, out, process = live
    with ControlClient(out) as crawl:
        assert crawl.ask("pause")["is_paused"]
        before = web.log.total
        time.sleep(SECONDS)
        assert web.log.total <= before + UNDER_WAY
        assert crawl.ask("status")["controls"]["is_paused"]
        assert not crawl.ask("resume")["is_paused"]
        wait_until(lambda: web.log.total > before + 3 * UNDER_WAY, process)


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_killed_crawl_knows_what_it_was_told(web: RunningLab, tmp_path: Path, run: Run, workers: str) -> None:
    """Killed after its answers, with all its processes: excluded URLs are never asked for, pinged ones are.

    The preview of an exclusion counts what then is refused. It holds until it is allowed again.
    """
    out, [host, *others] = tmp_path / "c", hosts(web)
    pattern = f"{host}/*"
    told = [f"http://{other}/told/{number}" for other in others for number in range(3)]
    with crawling(web, out, "--workers", workers) as process, ControlClient(out) as crawl:
        rest(crawl, process)
        shown = crawl.ask("exclude", pattern=pattern, preview=True)
        assert shown["is_preview"]
        assert shown["matching"] >= len(shown["sample"]) > 0
        assert all(url.startswith(f"http://{host}/") for url in shown["sample"])
        assert shown["is_complete"]
        assert crawl.ask("status")["excluded"] == []
        assert crawl.ask("exclude", pattern=pattern)["matching"] == shown["matching"]
        answer = crawl.ask(
            "discover", urls=[*told, "http://elsewhere.test/", "no url"], dates=[1.7e9, *[None] * (len(told) + 1)]
        )
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert answer == {"taken": len(told), "outside": ["http://elsewhere.test/"], "invalid": ["no url"]}
    assert (out / SOCKET).exists()
    assert not is_running(out)
    web.log.clear()
    with crawling(web, out) as process, ControlClient(out) as crawl:
        assert crawl.ask("status")["excluded"] == [pattern]
        facts = json.loads(run("info", str(out), f"http://{host}/never/seen", "--json").stdout)
        assert (facts["filtered"], facts["filter_rule"]) == ("excluded", pattern)
        wait_until(lambda: set(told) <= {visit.url for visit in web.log.visits()}, process)
        assert [visit.target for visit in web.log.visits(host) if visit.target != "/robots.txt"] == []
        crawl.ask("allow", pattern=pattern)
        wait_until(lambda: crawl.ask("status")["excluded"] == [], process)
    assert "http://elsewhere.test/" not in {visit.url for visit in web.log.visits()}


@pytest.mark.parametrize("order", [pytest.param("breadth_first", marks=pytest.mark.slow), "indegree"])
def test_preferred_urls_are_asked_for_next(web: RunningLab, tmp_path: Path, order: str) -> None:
    """Of the pages that wait at a site, those of the pattern come before all others."""
    out = tmp_path / "c"
    with crawling(web, out, "--workers", "1", "--order", order, seeds=1) as process, ControlClient(out) as crawl:
        wait_until(lambda: crawl.ask("status")["progress"]["queued"] > 60, process)
        rest(crawl, process)
        waiting = crawl.ask("exclude", pattern="*", preview=True)
        digit = max("0123456789", key=lambda each: sum(url.endswith(each) for url in waiting["sample"]))
        shown = crawl.ask("prefer", pattern=f"*{digit}", preview=True)
        assert 0 < shown["matching"] < waiting["matching"]
        web.log.clear()
        crawl.ask("prefer", pattern=f"*{digit}")
        crawl.ask("resume")
        count = min(shown["matching"], 10)
        wait_until(lambda: web.log.total >= count, process)
    first = [visit.target for visit in web.log.visits()][:count]
    assert [target for target in first if not target.endswith(digit)] == []


@pytest.mark.proof
def test_the_pace_holds_for_all_sites_together(alone: Live) -> None:
    web, out, process = alone
    with ControlClient(out) as crawl:
        assert crawl.ask("pace", rate=20)["rate"] == 20
        since = time.monotonic()
        before = web.log.total
        wait_until(lambda: web.log.total >= before + 14, process)
        assert time.monotonic() - since >= (14 - UNDER_WAY) / 20
        crawl.ask("pace")
        before = web.log.total
        wait_until(lambda: web.log.total > before + 10, process)
        with pytest.raises(CollectionError, match="rate must be at least 0"):
            crawl.ask("pace", rate=-1)


def test_a_submitted_sitemap_is_fetched(alone: Live) -> None:
    web, out, process = alone
    named = f"http://{hosts(web)[0]}/submitted.xml"
    with ControlClient(out) as crawl:
        assert crawl.ask("submit", sitemaps=[named])["taken"] == 1
        wait_until(lambda: named in {visit.url for visit in web.log.visits()}, process)


def test_a_widened_scope_holds(live: Live) -> None:
    web, out, process = live
    other = hosts(web)[2]
    with ControlClient(out) as crawl:
        assert crawl.ask("discover", urls=[f"http://{other}/"])["outside"] == [f"http://{other}/"]
        assert crawl.ask("widen", urls=[f"http://{other}/"])["taken"] == 1
        wait_until(lambda: len(web.log.visits(other)) > 10, process)
        assert crawl.ask("discover", urls=[f"http://{other}/told"])["outside"] == []


def test_status_is_one_value_that_grows(live: Live, run: Run) -> None:
    web, out, process = live
    with ControlClient(out) as crawl:
        first = crawl.ask("status")
        assert first.keys() == set(LiveStatus.__struct_fields__)
        assert (first["kind"], first["pid"], first["collection"]) == ("crawl", process.pid, str(out))
        later = crawl.ask("status")["at"] - first["at"]
        assert later == 0.0 or later > 0.9, "made at most once a second"
        wait_until(lambda: pages_of(crawl) > first["progress"]["tally"]["pages"], process)
        assert {site["site"] for site in crawl.ask("status")["sites"]} <= set(hosts(web))
        assert crawl.ask("status")["sites"]
        said = run("info", str(out), "--live", "--json")
        assert json.loads(said.stdout)["pid"] == process.pid
        shown = run("info", str(out), "--live")
        assert "pages" in shown.stdout
        assert shown.returncode == 0


@pytest.mark.proof
def test_stop_ends_the_crawl_and_keeps_everything(web: RunningLab, tmp_path: Path, run: Run) -> None:
    """Also the URLs that a pattern refused: they are rows. The path is too long for a socket, which lies elsewhere."""
    out, pattern = tmp_path / ("long" * 30) / "c", f"{hosts(web)[0]}/*"
    out.parent.mkdir()
    with crawling(web, out, "--workers", "1", "--json") as process, ControlClient(out) as crawl:
        place = (out / SOCKET).readlink()
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        rest(crawl, process)
        matching = crawl.ask("exclude", pattern=pattern)["matching"]
        crawl.ask("resume")
        wait_until(lambda: crawl.ask("status")["progress"]["tally"]["excluded"].get("excluded", 0) >= matching, process)
        assert crawl.ask("stop")["is_stopping"]
        stdout, _ = process.communicate(timeout=600)
        assert process.returncode == 130
        assert json.loads(stdout)["ended"] == "interrupted"
    assert not os.path.lexists(out / SOCKET)
    assert not place.parent.exists()
    with pytest.raises(NoCrawlRuns, match="is running"):
        crawl.ask("status")
    assert run("info", str(out), "--live").returncode == 2
    assert json.loads(run("info", str(out), "--json").stdout)["tally"]["pages"] == json.loads(stdout)["pages"]
    found = rows(out, "select count(*) as n from fetches where outcome = 'excluded'")
    assert found[0]["n"] >= matching > 0


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningLab, Path]]:
    """A web of 30 pages and a collection of all of them."""
    world = World(11, 2, pages=30)
    with RunningLab(Server(world, SteppedClock(world.epoch), pace=0.01)) as web:
        out = tmp_path_factory.mktemp("finished") / "c"
        with running(*asked(web, "-o", str(out), "--workers", "1", delay="0.02", seeds=2)) as process:
            process.communicate(timeout=600)
        yield web, out


@pytest.mark.parametrize(
    ("command", "delay"), [("watch", 0.1), pytest.param("refresh", 1.0, marks=pytest.mark.slow)]
)  # a refresh must not end before it is paused
def test_other_commands_can_be_controlled_too(
    finished: tuple[RunningLab, Path], tmp_path: Path, command: str, delay: float
) -> None:
    web, out = finished[0], Path(shutil.copytree(finished[1], tmp_path / "c"))
    settings = out / "periplus.toml"
    settings.write_text(settings.read_text().replace("delay = 0.02", f"delay = {delay}"))
    web.log.clear()
    told = f"http://{hosts(web)[0]}/told"
    with running(command, str(out), *(("--budget", "8640000") if command == "watch" else ())) as process:
        wait_until(lambda: is_running(out), process)
        with ControlClient(out) as crawl:
            assert crawl.ask("status")["kind"] == command
            crawl.ask("pause")
            assert crawl.ask("discover", urls=[told])["taken"] == 1
            before = web.log.total
            time.sleep(SECONDS)
            assert web.log.total <= before + UNDER_WAY
            crawl.ask("resume")
            wait_until(lambda: web.log.total > before, process)
            if command == "watch":  # a refresh fetches new pages at its end
                wait_until(lambda: told in {visit.url for visit in web.log.visits()}, process)
                with pytest.raises(CollectionError, match="a watch has no rate"):
                    crawl.ask("pace", rate=1)


def test_only_the_owner_may_open_the_socket_and_bad_requests_are_answered(one_worker: Live) -> None:
    """Bounded: lines, clients, URLs, patterns."""
    out = one_worker.out
    assert stat.S_IMODE((out / SOCKET).stat().st_mode) == 0o600
    with ControlClient(out) as crawl:
        for line in (b"", b"{", b"[1]", b'{"verb": "fly"}', b'{"verb": "exclude"}', b'{"verb": "status", "x": 1}'):
            assert b'"error":"not a request' in crawl.ask_raw(line)
        for pattern in ("", "re:(?=a)", "x" * 3000):
            with pytest.raises(CollectionError):
                crawl.ask("exclude", pattern=pattern)
        with pytest.raises(CollectionError, match="10001 URLs"):
            crawl.ask("discover", urls=["http://a.test/"] * 10_001)
        with pytest.raises(CollectionError, match="1 dates for 2 URLs"):
            crawl.ask("discover", urls=["http://a.test/", "http://b.test/"], dates=[1.0])
        assert pages_of(crawl) > 0
    _check_bounds(out)


def _check_bounds(out: Path) -> None:
    """One client too many is told so; so is one that sends an endless line, and both are disconnected."""
    with ExitStack() as opened:
        clients = [
            opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) for _ in range(MAX_CLIENTS + 1)
        ]
        for client in clients:
            client.settimeout(600)
            client.connect(str(out / SOCKET))
        assert b"too many clients" in clients[-1].recv(1000)
        with suppress(OSError):
            for _ in range(2 * MAX_LINE // 65_536):
                clients[0].sendall(b"x" * 65_536)
        assert b"a line of more than" in clients[0].recv(1000)
