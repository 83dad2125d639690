"""Run one trial: serve its sites, start the crawler as often as the trial asks for, and judge what the servers saw."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ..channel import ContextOf
from ..connection import ConnectionLimits, Service
from ..log import RequestLog
from ..server import Listeners, RunningClock, open_loopback
from . import enclosure
from .adapters import Adapter
from .cases import Case, CaseOutcome, CrawlerRun, DeclaredTrial, Evidence, RunEnd, Trial, Verdict, verdict_of
from .name_server import NameServer
from .sites import Web

_HTTP, _HTTPS, _DNS = 80, 443, 53
_MOST_VISITS = 200_000
_LOOK_EVERY = 0.02
_WEIGH_EVERY = 0.2
_GRACE = 5.0
"""Seconds that a crawler has to end after SIGINT."""
_OUTPUT_KEPT = 4000
NO_TLS = "TLS needs the package cryptography: pip install 'periplus-lab[tls]'"


class Ground(Struct):
    """Where a trial takes place: its sites, their log, and the file of the authority that signs for them."""

    web: Web
    log: RequestLog
    ca: str
    names: NameServer | None
    listeners: Listeners


async def run_trial(declared: DeclaredTrial, adapter: Adapter, folder: Path, *, is_enclosed: bool) -> list[Verdict]:
    """Judge every case of a trial. `folder` is empty, and the caller's to delete."""
    async with _served(folder, adapter.agent, is_enclosed=is_enclosed) as ground:
        trial = declared.build(ground.web)
        lacking = _lacking(trial, ground.web)
        if lacking:
            return [Verdict(declared.group, case.name, CaseOutcome.NOT_APPLICABLE, lacking) for case in trial.cases]
        evidence = await _crawled(trial, adapter, ground, folder / "crawl")
        return [_judged(declared, trial, case, adapter, evidence) for case in trial.cases]


def _judged(declared: DeclaredTrial, trial: Trial, case: Case, adapter: Adapter, evidence: Evidence) -> Verdict:
    if reason := adapter.reason(declared.group, declared.name, case.name):
        return Verdict(declared.group, case.name, CaseOutcome.NOT_APPLICABLE, reason)
    return verdict_of(declared.group, case, trial.seed, evidence)


def _lacking(trial: Trial, web: Web) -> str:
    """Why a trial cannot be shown here; empty if it can."""
    if (trial.needs_names or trial.needs_tls or trial.disk or trial.ports) and not web.has_names:
        return enclosure.WHY_NOT
    return NO_TLS if trial.needs_tls and not web.has_tls else trial.lacking


@contextlib.asynccontextmanager
async def _served(folder: Path, agent: str, *, is_enclosed: bool) -> AsyncIterator[Ground]:
    """Serve a web that has no sites yet."""
    if is_enclosed:
        enclosure.furnish(folder)
    sock, _ = open_loopback(_HTTP if is_enclosed else 0)
    context_of, ca = _authority(folder) if is_enclosed else (None, "")
    web = Web(has_names=is_enclosed, port=sock.getsockname()[1], tls=context_of is not None, agent=agent)
    log = RequestLog(_MOST_VISITS)
    service = Service(web.reply, RunningClock(time.time()), log, ConnectionLimits(), 1.0, context_of)
    async with Listeners(service) as listeners:
        await listeners.listen(sock)
        names = None
        if is_enclosed:
            await listeners.listen(_any_ipv6(_HTTP))
            if context_of:
                await listeners.listen(open_loopback(_HTTPS)[0], secure=True)
            _, names = await asyncio.get_running_loop().create_datagram_endpoint(
                lambda: NameServer(web.lookup), local_addr=("127.0.0.1", _DNS)
            )
        yield Ground(web, log, ca, names, listeners)


def _any_ipv6(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind(("::", port))
    return sock


def _authority(folder: Path) -> tuple[ContextOf | None, str]:
    """Certificates for the lab's names, if the package that makes them is there."""
    try:
        from ..certificates import Authority
    except ImportError:
        return None, ""
    authority = Authority(folder)
    return authority.context, str(authority.path)


async def _crawled(trial: Trial, adapter: Adapter, ground: Ground, folder: Path) -> Evidence:
    """Start the crawler as often as the trial asks for; what was seen of it."""
    folder.mkdir()
    if trial.disk:
        enclosure.limit_disk(folder, trial.disk)
    values = {"seed": trial.seed, "folder": str(folder), "limit": str(trial.limit), "ca": ground.ca}
    starts, ends, memory = [], [], 0
    connections = await _watched(trial.ports)
    for run in trial.runs:
        if run.before:
            run.before()
        if run.disk or run.is_read_only:
            enclosure.limit_disk(folder, run.disk or trial.disk, is_again=True, is_read_only=run.is_read_only)
        starts.append(time.time())
        argv = adapter.argv(values, is_refresh=run.is_refresh)
        end, held = await _started(argv, trial, run, ground)
        ends.append(replace(end, room=shutil.disk_usage(folder).free))
        memory = max(memory, held)
    ground.listeners.cut()  # answers under way are noted when their connection ends
    await asyncio.sleep(_WEIGH_EVERY)
    visits = sorted(ground.log.visits(), key=lambda visit: visit.real_started_at)
    asked = tuple(ground.names.asked) if ground.names else ()
    return Evidence(
        visits=visits, starts=starts, ends=ends, folder=folder, memory=memory, lookups=asked,
        connections=tuple(connections),
    )  # fmt: skip


async def _watched(ports: tuple[int, ...]) -> list[int]:
    """Take connections at some ports of every address, and end them; the list to which each adds its port."""
    found: list[int] = []

    async def note(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.append(writer.get_extra_info("sockname")[1])
        writer.close()

    for port in ports:
        await asyncio.start_server(note, "", port)
    return found


async def _started(argv: list[str], trial: Trial, run: CrawlerRun, ground: Ground) -> tuple[RunEnd, int]:
    """One start of the crawler, until it ends, is killed, or its time is up; and the most memory it held."""
    began, before = time.monotonic(), ground.log.total
    trusted = dict.fromkeys(("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"), ground.ca)
    environment = os.environ | (trusted if ground.ca else {}) | dict(trial.environment)
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, env=environment, start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
    except OSError as error:
        return RunEnd(127, 0.0, output=f"cannot start {argv[0]}: {error.strerror}"), 0
    output = asyncio.create_task(_last_output(process))
    watch = _Watch(process.pid)
    disturbance: asyncio.Task[None] | None = None
    signalled_at = 0.0
    while process.returncode is None and time.monotonic() - began < trial.seconds:
        requests = ground.log.total - before
        if not signalled_at and _is_time(run, requests):
            watch.end(run.signal)
            signalled_at = time.time()
        if run.disturb and disturbance is None and requests >= run.disturb_after:
            disturbance = asyncio.create_task(asyncio.to_thread(run.disturb))
        watch.weigh()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _LOOK_EVERY)
    was_stopped = process.returncode is None
    took = time.time() - signalled_at if signalled_at else 0.0
    if was_stopped:
        await _stop(process, watch)
    watch.end(signal.SIGKILL)  # what it started and did not wait for
    if disturbance:
        await disturbance
    said = await output
    seconds = time.monotonic() - began
    end = RunEnd(process.returncode or 0, seconds, was_stopped, bool(signalled_at), said, took, signalled_at)
    return end, watch.most


def _is_time(run: CrawlerRun, requests: int) -> bool:
    """Whether a run gets its signal now."""
    if run.kill_when is not None:
        return run.kill_when()
    return 0 < run.kill_after <= requests


async def _stop(process: asyncio.subprocess.Process, watch: _Watch) -> None:
    watch.end(signal.SIGINT)
    try:
        await asyncio.wait_for(process.wait(), _GRACE)
    except TimeoutError:
        watch.end(signal.SIGKILL)
        await process.wait()


async def _last_output(process: asyncio.subprocess.Process) -> str:
    """Read all that the crawler prints, and keep its end."""
    kept = b""
    assert process.stdout is not None  # noqa: S101 - a pipe, as it was asked for
    while piece := await process.stdout.read(65536):
        kept = (kept + piece)[-_OUTPUT_KEPT:]
    return kept.decode("utf-8", "replace")


class _Watch:
    """The processes of a crawler: all of the session that its first process leads."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._weighed_at = 0.0
        self.most = 0

    def end(self, number: signal.Signals) -> None:
        """Send a signal to all of them."""
        for process in self._processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def weigh(self) -> None:
        """Add up the memory they hold, every now and then."""
        if time.monotonic() - self._weighed_at < _WEIGH_EVERY:
            return
        self._weighed_at = time.monotonic()
        self.most = max(self.most, sum(map(_resident, self._processes())))

    def _processes(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError, IndexError, ValueError):
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                    if int(fields[3]) == self._leader:
                        found.append(int(entry.name))
        return found


_PAGE = os.sysconf("SC_PAGE_SIZE")


def _resident(process: int) -> int:
    """Bytes in memory that it shares with no file."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        size = Path(f"/proc/{process}/statm").read_text().split()
        return (int(size[1]) - int(size[2])) * _PAGE
    return 0
