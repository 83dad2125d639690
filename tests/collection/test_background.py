"""Jobs in the background of a crawl: when they start, one run at a time, and that a failure harms nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.lab.crawling import as_domains, rows, standing

from periplus.collection import background, jobs
from periplus.collection.background import (
    EARLY_PAGES,
    EVERY_PAGES,
    EVERY_SECONDS,
    FIRST_COST,
    FIRST_PAGES,
    FIRST_VERDICT,
    LOG_FILE,
    SHARE,
    BackgroundJobs,
    JobProcess,
    JobSchedule,
)
from periplus.collection.collection import CollectionSetup, planned
from periplus.collection.jobs import run_jobs, scratch_of
from periplus.collection.running import CrawlRun
from periplus.engine.stats import CrawlStats
from periplus.store import LearntFiles
from periplus_lab import World

WIDE = {"scope.kind": "any", "crawl.workers": 1}
LINKS_ONLY = {"spam.while_crawling": False}


class Starts:
    """Starts a process that ends as soon as it is let go, in place of the jobs. `code` is what it runs before that."""

    def __init__(self, folder: Path, code: str = "") -> None:
        self.processes: list[JobProcess] = []
        self._code = code
        self._gate = folder / "gate"
        self._folder = folder

    def __call__(self, _folder: Path) -> JobProcess:
        waits = f"import os, time\n{self._code}\nwhile not os.path.exists({str(self._gate)!r}): time.sleep(0.01)"
        self._gate.unlink(missing_ok=True)
        process = JobProcess([sys.executable, "-I", "-S", "-c", waits], self._folder / "jobs.log")
        self.processes.append(process)
        return process

    def finish(self) -> None:
        """Let the last process end, if it has not."""
        self._gate.touch()
        self.processes[-1].wait()


def collection(folder: Path, options: dict[str, object]) -> CollectionSetup:
    return planned(folder, typed=["http://a.test/"], options=options)


PLENTY = 1e9
"""Processor seconds of a crawl with which jobs may run at any time."""


def test_jobs_are_due_by_their_share_of_the_processor_time() -> None:
    """The first run early or by its estimate; each further one when all runs and it fit, by the cost of the last."""
    schedule = JobSchedule(1, 0.0)
    assert not schedule.is_due(EARLY_PAGES, 1.0, 0.99 * FIRST_COST / SHARE)
    assert schedule.is_due(EARLY_PAGES, 1.0, FIRST_COST / SHARE)
    assert schedule.is_due(EARLY_PAGES + 1, 1.0, 0.0)
    schedule.began(10_000, 1.0)
    schedule.ended(4.0)
    assert schedule.next_cost(15_000) == 6.0
    assert schedule.next_cost(20_000) == schedule.next_cost(90_000) == 8.0
    assert not schedule.is_due(20_000, 2.0, 0.99 * 12.0 / SHARE)
    assert schedule.is_due(20_000, 2.0, 12.0 / SHARE)
    assert schedule.used == 4.0


def test_jobs_are_due_when_the_pages_have_doubled() -> None:
    """First after `FIRST_PAGES`, then with each doubling or `EVERY_PAGES` new pages, if the share allows it."""
    schedule = JobSchedule(1, 0.0)
    assert not schedule.is_due(FIRST_PAGES, 1.0, PLENTY)
    assert schedule.is_due(FIRST_PAGES + 1, 1.0, PLENTY)
    schedule.began(10 * FIRST_PAGES, 1.0)
    schedule.ended(1.0)
    assert not schedule.is_due(20 * FIRST_PAGES - 1, 2.0, PLENTY)
    assert schedule.is_due(20 * FIRST_PAGES, 2.0, PLENTY)
    continued = JobSchedule(10 * EVERY_PAGES, 0.0)
    assert not continued.is_due(11 * EVERY_PAGES - 1, 1.0, PLENTY)
    assert continued.is_due(11 * EVERY_PAGES, 1.0, PLENTY)


def test_a_crawl_that_waits_has_jobs_by_the_time_that_has_passed() -> None:
    """After `EVERY_SECONDS` one new page is enough, but a run that would take too much of that time waits longer."""
    schedule = JobSchedule(100, 0.0)
    assert not schedule.is_due(100, EVERY_SECONDS, 1.0)
    assert not schedule.is_due(101, EVERY_SECONDS - 1, 1.0)
    assert schedule.is_due(101, EVERY_SECONDS, 1.0)
    schedule.began(101, EVERY_SECONDS)
    schedule.ended(60.0)
    assert not schedule.is_due(102, 2 * EVERY_SECONDS, 1.0)
    assert schedule.is_due(102, 3 * EVERY_SECONDS, 1.0)


def test_the_share_holds_over_a_whole_crawl() -> None:
    """Whatever runs cost, at most the share is used when one begins, and never more than one run above it."""
    chance, schedule = Random(1), JobSchedule(1, 0.0)
    runs, highest = 0, 0.0
    for pages in range(0, 3_000_000, 1000):
        crawl_seconds = 0.002 * pages
        if schedule.is_due(pages, crawl_seconds, crawl_seconds):
            assert schedule.used <= SHARE * crawl_seconds
            cost = 1.0 + chance.uniform(0.5, 2.0) * 1e-4 * pages
            schedule.began(pages, crawl_seconds)
            schedule.ended(cost)
            runs, highest = runs + 1, max(highest, cost)
            assert schedule.used <= SHARE * crawl_seconds + cost
    assert runs >= 3


def test_a_new_crawl_has_its_first_verdict_early() -> None:
    """After `FIRST_VERDICT` pages whatever it costs, and once more after `EARLY_PAGES`; then by the share."""
    schedule = JobSchedule(0, 0.0)
    assert not schedule.is_due(FIRST_VERDICT - 1, 1.0, 0.0)
    assert schedule.is_due(FIRST_VERDICT, 1.0, 0.0)
    schedule.began(FIRST_VERDICT, 1.0)
    schedule.ended(2.0)
    assert not schedule.is_due(EARLY_PAGES, 2.0, 0.0)
    assert schedule.is_due(FIRST_VERDICT + EARLY_PAGES, 2.0, 0.0)
    schedule.began(FIRST_VERDICT + EARLY_PAGES, 2.0)
    schedule.ended(2.0)
    assert not schedule.is_due(20 * EARLY_PAGES, 3.0, 0.0)


def test_a_small_crawl_has_jobs_only_at_its_end() -> None:
    """From `FIRST_PAGES` on; with fewer pages it pays nothing but for the first verdict."""
    assert not JobSchedule(0, 0.0).is_due_at_end(FIRST_PAGES - 1)
    assert JobSchedule(0, 0.0).is_due_at_end(FIRST_PAGES)
    assert not JobSchedule(0, 0.0).is_due(FIRST_VERDICT - 1, 10.0, 10.0)


def test_one_run_at_a_time(tmp_path: Path) -> None:
    """While jobs run, no others start; an interrupted crawl ends them and starts none."""
    starts = Starts(tmp_path)
    jobs_beside = BackgroundJobs(collection(tmp_path / "c", WIDE), 0, 0.0, starts)
    assert jobs_beside.check(FIRST_PAGES, 1.0, PLENTY)
    assert not jobs_beside.check(100 * FIRST_PAGES, 2.0, PLENTY)
    starts.finish()
    assert jobs_beside.check(100 * FIRST_PAGES, 3.0, PLENTY)
    jobs_beside.end(1000 * FIRST_PAGES, 4.0, is_interrupted=True)
    assert [process.returncode == 0 for process in starts.processes] == [True, False]


def test_the_time_that_jobs_take_is_measured(tmp_path: Path) -> None:
    """By the process itself, and counted for the next run: twice as many pages do not start one that costs more."""
    starts = Starts(tmp_path, "while time.process_time() < 0.3: pass")
    jobs_beside = BackgroundJobs(collection(tmp_path / "c", WIDE), 0, 0.0, starts)
    assert jobs_beside.check(FIRST_PAGES, 1.0, FIRST_COST / SHARE)
    starts.finish()
    assert not jobs_beside.check(2 * FIRST_PAGES, 2.0, 0.1)
    assert jobs_beside.cpu_seconds >= 0.3
    assert jobs_beside.cpu_seconds == starts.processes[0].cpu_seconds
    jobs_beside.end(FIRST_PAGES, 3.0, is_interrupted=False)
    assert len(starts.processes) == 1


@pytest.mark.parametrize("options", [WIDE | LINKS_ONLY | {"budgets.domain": "none"}, WIDE | {"scope.kind": "host"}])
def test_a_crawl_without_budgets_has_no_jobs(tmp_path: Path, options: dict[str, object]) -> None:
    """Neither while it runs nor at its end."""
    starts = Starts(tmp_path)
    jobs_beside = BackgroundJobs(collection(tmp_path / "c", options), 0, 0.0, starts)
    assert not jobs_beside.check(EVERY_PAGES, EVERY_SECONDS, PLENTY)
    jobs_beside.end(EVERY_PAGES, EVERY_SECONDS, is_interrupted=False)
    assert starts.processes == []


def test_a_process_that_cannot_start_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The crawl goes on, and jobs are tried again when they are next due."""

    def refuse(folder: Path) -> JobProcess:
        raise OSError(f"no memory for {folder.name}")

    jobs_beside = BackgroundJobs(collection(tmp_path, WIDE), 0, 0.0, refuse)
    jobs_beside.check(FIRST_PAGES, 1.0, PLENTY)
    assert not jobs_beside.check(FIRST_PAGES + 1, 2.0, PLENTY)
    jobs_beside.end(2 * FIRST_PAGES, 3.0, is_interrupted=False)
    assert caplog.text.count("no memory for") == 2


def test_a_job_that_runs_away_fails_and_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It cannot allocate more than its limit; its report is in a file, its scratch folder is removed."""
    made = collection(tmp_path, WIDE)
    made.save()
    (scratch_of(tmp_path) / "left").mkdir(parents=True)
    code = "from periplus.collection.jobs import limit_data; limit_data(1 << 28); bytearray(1 << 29)"

    def run_away(folder: Path) -> JobProcess:
        return JobProcess([sys.executable, "-c", code], folder / "insight" / LOG_FILE)

    jobs_beside = BackgroundJobs(made, 0, 0.0, run_away)
    jobs_beside.end(FIRST_PAGES, 1.0, is_interrupted=False)
    assert "jobs over the tables failed with exit code 1" in caplog.text
    assert "MemoryError" in (tmp_path / "insight" / LOG_FILE).read_text()
    assert not scratch_of(tmp_path).exists()


def test_jobs_end_where_a_program_ignores_its_children(tmp_path: Path) -> None:
    """The system then forgets a process as soon as it has ended."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        process = JobProcess([sys.executable, "-I", "-S", "-c", ""], tmp_path / "jobs.log")
        process.wait()
        assert process.has_ended()
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (process.returncode, process.cpu_seconds) == (0, 0.0)


def test_jobs_leave_no_scratch_folder(tmp_path: Path) -> None:
    """What another process left is removed as well."""
    made = collection(tmp_path, WIDE)
    (scratch_of(tmp_path) / "left").mkdir(parents=True)
    assert run_jobs(made) == 0
    assert not scratch_of(tmp_path).exists()


def test_a_crawl_loads_no_libraries_of_jobs() -> None:
    """They take a second and 100 MB, and only the process of jobs needs them."""
    code = "import sys, periplus.collection.running; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "periplus.collection.jobs" in loaded
    assert not {"scipy", "duckdb", "rich", "click", "periplus.parts.spam.job"} & set(loaded)


def test_a_failed_job_keeps_what_was_learnt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A damaged table is a failure that is counted and logged; the next run, without it, learns again."""
    made = collection(tmp_path, WIDE | LINKS_ONLY)
    learnt = LearntFiles(made.layout.learnt)
    assert run_jobs(made) == 0
    before = learnt.newest()
    damaged = tmp_path / "tables" / "links" / "00-000001.parquet"
    damaged.parent.mkdir(parents=True, exist_ok=True)
    damaged.write_bytes(b"not a table")
    assert run_jobs(made) == 1
    assert "the job reputation failed" in caplog.text
    assert learnt.newest() == before == {"reputation": 1}
    damaged.unlink()
    assert run_jobs(made) == 0
    assert learnt.newest() == {"reputation": 2}


def test_spam_is_judged_again_when_the_pages_have_doubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the reputation, which uses it; a run between two doublings leaves the verdicts as they are."""
    made = collection(tmp_path, WIDE)
    pages = 1000
    monkeypatch.setattr(jobs, "tally_of", lambda _layout: CrawlStats(pages=pages))
    learnt = LearntFiles(made.layout.learnt)
    assert run_jobs(made) == 0
    assert learnt.newest() == {"spam": 1, "reputation": 1}
    pages = 1999
    assert run_jobs(made) == 0
    pages = 2000
    assert run_jobs(made) == 0
    assert learnt.newest() == {"spam": 2, "reputation": 3}


def test_a_crawl_is_complete_though_its_jobs_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the jobs ends with an error, because a file is where it writes; every page is fetched."""
    started, begin = list[JobProcess](), background.start_process

    def start(folder: Path) -> JobProcess:
        started.append(begin(folder))
        return started[-1]

    monkeypatch.setattr(background, "start_process", start)
    monkeypatch.setattr(background, "FIRST_PAGES", 10)
    monkeypatch.setattr(background, "_PRIORITY", 0)  # a busy machine would let it wait for minutes
    world = World(7, 2, pages=20)
    with standing(world) as lab:
        options = as_domains(lab) | {"politeness.delay": 0.0, "politeness.slow_factor": 0.0, "crawl.workers": 1}
        seeds = [site.url for site in world.sites()]
        made = planned(tmp_path / "c", typed=seeds, options=options | {"crawl.limit": 15})
        made.save()
        (made.folder / "insight").write_text("in the way")
        run = CrawlRun(made)
        for statuses in run.open().progress():
            run.read(statuses)
        run.end()
    assert [process.returncode for process in started] == [1]
    assert rows(made.folder, "select count(*) n from pages") == [{"n": 15}]
    assert LearntFiles(made.layout.learnt).newest() == {}
