"""Jobs in the background of a crawl: when they start, one run at a time, and that a failure harms nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.lab.crawling import as_domains, rows, standing

from periplus.assembly import jobs
from periplus.assembly.collection import Collection, planned
from periplus.assembly.jobs import EVERY_PAGES, EVERY_SECONDS, FIRST_PAGES, BackgroundJobs, run_jobs
from periplus.assembly.running import CrawlRun
from periplus.crawl.stats import CrawlStats
from periplus.lab.web import World
from periplus.store import LearntFiles

WIDE = {"scope.kind": "any", "crawl.workers": 1}
LINKS_ONLY = {"spam.while_crawling": False}


class Starts:
    """Starts a process that waits until its input ends, in place of the jobs."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []

    def __call__(self, folder: Path) -> subprocess.Popen[bytes]:
        code = "import sys; sys.stdin.read()"
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code, folder], stdin=subprocess.PIPE)
        self.processes.append(process)
        return process

    def finish(self) -> None:
        """Let the last process end, if it has not, and close its input."""
        self.processes[-1].communicate()


def collection(folder: Path, options: dict[str, object]) -> Collection:
    return planned(folder, typed=["http://a.test/"], options=options)


def test_jobs_are_due_when_the_pages_have_doubled(tmp_path: Path) -> None:
    """First after `FIRST_PAGES`, then with each doubling; after `EVERY_SECONDS` one new page is enough."""
    starts = Starts()
    background = BackgroundJobs(collection(tmp_path, WIDE), 0, 0.0, starts)
    assert not background.check(FIRST_PAGES - 1, 1.0)
    assert background.check(FIRST_PAGES, 2.0)
    starts.finish()
    assert not background.check(2 * FIRST_PAGES - 1, 3.0)
    assert background.check(2 * FIRST_PAGES, 4.0)
    starts.finish()
    assert not background.check(2 * FIRST_PAGES, 4.0 + EVERY_SECONDS)
    assert not background.check(2 * FIRST_PAGES + 1, 3.0 + EVERY_SECONDS)
    assert background.check(2 * FIRST_PAGES + 1, 4.0 + EVERY_SECONDS)
    starts.finish()


def test_a_large_crawl_does_not_wait_for_a_doubling(tmp_path: Path) -> None:
    """`EVERY_PAGES` new pages are enough, also for a crawl that is continued."""
    starts, before = Starts(), 10 * EVERY_PAGES
    background = BackgroundJobs(collection(tmp_path, WIDE), before, 0.0, starts)
    assert not background.check(before + EVERY_PAGES - 1, 1.0)
    assert background.check(before + EVERY_PAGES, 2.0)
    starts.finish()


def test_one_run_at_a_time(tmp_path: Path) -> None:
    """While jobs run, no others start; an interrupted crawl ends them and starts none."""
    starts = Starts()
    background = BackgroundJobs(collection(tmp_path, WIDE), 0, 0.0, starts)
    assert background.check(FIRST_PAGES, 1.0)
    assert not background.check(100 * FIRST_PAGES, 2.0)
    starts.finish()
    assert background.check(100 * FIRST_PAGES, 3.0)
    background.end(1000 * FIRST_PAGES, 4.0, is_interrupted=True)
    assert [process.returncode == 0 for process in starts.processes] == [True, False]
    starts.finish()


@pytest.mark.parametrize("options", [WIDE | LINKS_ONLY | {"budgets.domain": "none"}, WIDE | {"scope.kind": "host"}])
def test_a_crawl_without_budgets_has_no_jobs(tmp_path: Path, options: dict[str, object]) -> None:
    """Neither while it runs nor at its end."""
    starts = Starts()
    background = BackgroundJobs(collection(tmp_path, options), 0, 0.0, starts)
    assert not background.check(EVERY_PAGES, EVERY_SECONDS)
    background.end(EVERY_PAGES, EVERY_SECONDS, is_interrupted=False)
    assert starts.processes == []


def test_a_process_that_cannot_start_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The crawl goes on, and jobs are tried again when they are next due."""

    def refuse(folder: Path) -> subprocess.Popen[bytes]:
        raise OSError(f"no memory for {folder.name}")

    background = BackgroundJobs(collection(tmp_path, WIDE), 0, 0.0, refuse)
    background.check(FIRST_PAGES, 1.0)
    assert not background.check(FIRST_PAGES + 1, 2.0)
    background.end(2 * FIRST_PAGES, 3.0, is_interrupted=False)
    assert caplog.text.count("no memory for") == 2


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
    started, begin = list[subprocess.Popen[bytes]](), jobs.start_process

    def start(folder: Path) -> subprocess.Popen[bytes]:
        started.append(begin(folder))
        return started[-1]

    monkeypatch.setattr(jobs, "start_process", start)
    monkeypatch.setattr(jobs, "FIRST_PAGES", 10)
    monkeypatch.setattr(jobs, "_PRIORITY", 0)  # a busy machine would let it wait for minutes
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
    assert {process.wait() for process in started} == {1}
    assert rows(made.folder, "select count(*) n from pages") == [{"n": 15}]
    assert LearntFiles(made.layout.learnt).newest() == {}
