"""Put a crawler through the trials, several at once, each in a process and a network of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from periplus.model import UsageError

from . import enclosure
from .adapters import Adapter
from .cases import NO_REQUEST, Case, CaseOutcome, DeclaredTrial, Trial, Verdict
from .running import run_trial
from .sites import Web
from .trials import TRIALS

AT_ONCE = 4
"""Trials that run at the same time by default: most of the time of a polite crawl is waiting."""
_SPARE = 60.0
"""Seconds that a trial may take besides its runs, on a busy machine."""


class Assignment(Struct, frozen=True):
    """What the process of a trial is given."""

    trial: str
    adapter: Adapter
    folder: str
    is_enclosed: bool


class Judgement(Struct, frozen=True):
    """What came of all cases, in their order."""

    name: str
    version: str
    settings: str
    verdicts: list[Verdict]
    seconds: float

    def count(self, outcome: CaseOutcome) -> int:
        """How many cases ended so."""
        return sum(verdict.outcome is outcome for verdict in self.verdicts)


class ListedCase(Struct, frozen=True):
    """A case as it is listed."""

    group: str
    name: str
    says: str
    source: str
    trial: str


def listed_cases() -> list[ListedCase]:
    """Every case, in order."""
    return [
        ListedCase(declared.group, case.name, case.says, case.source, declared.name)
        for declared in TRIALS.values()
        for case in _cases(declared)
    ]


def _cases(declared: DeclaredTrial) -> tuple[Case, ...]:
    return _built(declared).cases


def _built(declared: DeclaredTrial) -> Trial:
    return declared.build(Web(has_names=True, port=80, tls=True))


def judge(
    adapter: Adapter,
    only: Sequence[str] = (),
    *,
    at_once: int = AT_ONCE,
    is_enclosed: bool = True,
    keep: Path | None = None,
    on_verdicts: Callable[[Sequence[Verdict]], None] = lambda _verdicts: None,
) -> Judgement:
    """Judge a crawler.

    `only` has groups, `group/case` or `group/trial`; all cases by default. Without `is_enclosed`, or where this machine
    cannot make a network of its own, sites are at addresses of loopback, and cases that need names do not apply.
    `keep`: where the crawler's files stay. `on_verdicts` is called after each trial.
    """
    chosen = _chosen(only, adapter)
    entrance = enclosure.entrance() if is_enclosed else ()
    with tempfile.TemporaryDirectory(prefix="periplus-judge-", ignore_cleanup_errors=True) as temporary:
        folder = keep or Path(temporary)
        began = time.monotonic()
        found = asyncio.run(_judge_all(chosen, adapter, folder, entrance, at_once, on_verdicts))
    verdicts = [
        verdict
        for declared in chosen
        for verdict in found[declared.full_name]
        if not only or {verdict.group, verdict.name, declared.full_name} & set(only)
    ]
    return Judgement(adapter.name, adapter.version, adapter.settings, verdicts, time.monotonic() - began)


def _chosen(only: Sequence[str], adapter: Adapter) -> list[DeclaredTrial]:
    """The trials that show what is asked for; all names, also those in the adapter, must be known."""
    names = {declared.full_name: _names(declared) for declared in TRIALS.values()}
    known = set().union(*names.values())
    if unknown := [name for name in (*only, *adapter.not_applicable) if name not in known]:
        raise UsageError(f"{unknown[0]} is not a group, trial or case", hint="List them: periplus lab judge --list")
    return [declared for declared in TRIALS.values() if not only or names[declared.full_name] & set(only)]


def _names(declared: DeclaredTrial) -> set[str]:
    cases = {f"{declared.group}/{case.name}" for case in _cases(declared)}
    return {declared.group, declared.full_name, *cases}


async def _judge_all(
    chosen: Sequence[DeclaredTrial],
    adapter: Adapter,
    folder: Path,
    entrance: tuple[str, ...],
    at_once: int,
    on_verdicts: Callable[[Sequence[Verdict]], None],
) -> dict[str, list[Verdict]]:
    free = asyncio.Semaphore(at_once)
    found: dict[str, list[Verdict]] = {}

    async def one(declared: DeclaredTrial) -> None:
        async with free:
            verdicts = found[declared.full_name] = await _in_process(declared, adapter, folder, entrance)
            on_verdicts(verdicts)

    longest = sorted(chosen, key=lambda declared: -_longest(declared))
    await one(shortest := longest.pop())
    if all(verdict.reason.startswith(NO_REQUEST) for verdict in found[shortest.full_name]):
        raise UsageError(f"the crawler {found[shortest.full_name][0].reason}", hint="Run its command by hand first")
    # The longest first, or the last of them would run alone.
    await asyncio.gather(*map(one, longest))
    return found


def _longest(declared: DeclaredTrial) -> float:
    trial = _built(declared)
    return trial.seconds * len(trial.runs)


async def _in_process(
    declared: DeclaredTrial, adapter: Adapter, folder: Path, entrance: tuple[str, ...]
) -> list[Verdict]:
    """Run one trial in a process of its own, in an enclosure if there is one."""
    home = folder / f"{declared.group}-{declared.name}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    assignment = Assignment(declared.full_name, adapter, str(home), bool(entrance))
    process = await asyncio.create_subprocess_exec(
        *entrance, sys.executable, "-m", __package__, start_new_session=True,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        said, errors = await asyncio.wait_for(
            process.communicate(msgspec.json.encode(assignment)), _longest(declared) + _SPARE
        )
    except TimeoutError:
        said, errors = b"", b"the trial did not end"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if errors:
        sys.stderr.write(f"{declared.full_name}: {errors.decode('utf-8', 'replace')}")
    try:
        return msgspec.json.decode(said, type=list[Verdict])
    except msgspec.DecodeError:
        raise RuntimeError(f"the trial {declared.full_name} failed in the lab itself") from None


def run_assignment() -> None:
    """The process of a trial: an assignment on standard input, verdicts on standard output."""
    assignment = msgspec.json.decode(sys.stdin.buffer.read(), type=Assignment)
    out = os.dup(sys.stdout.fileno())
    verdicts = asyncio.run(
        run_trial(
            TRIALS[assignment.trial],
            assignment.adapter,
            Path(assignment.folder),
            is_enclosed=assignment.is_enclosed,
        )
    )
    os.write(out, msgspec.json.encode(verdicts))
