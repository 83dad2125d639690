"""`periplus survey` on generated domains over HTTP: every table is the truth, also after a kill; what a person sees."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.lab.surveyed_server import ServedDomains
from tests.lab.surveyed_truth import written_differences
from tests.system.typed import Program, Run, run_program

from periplus.collection.config.settings import Config

PATIENCE = 600.0
RATE = 8
"""Requests a second of a survey that is to be stopped in the middle: the rest of it takes several seconds."""
UNLIMITED = ("--rate", "0")


def typed_for(served: ServedDomains, folder: Path, *, workers: int = 1) -> tuple[str, ...]:
    """What is typed to survey the domains that are served, in a hurry."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "domains.txt").write_text("".join(f"{domain}\n" for domain in served.plan.domains))
    settings = {name: value for name, value in served.settings.items() if name != "wire.proxy"}
    (folder / "hurried.toml").write_text(Config().with_options(settings).dump())
    return (
        *("survey", str(folder / "domains.txt"), "-o", str(folder / "out"), "--workers", str(workers)),
        *("--config", str(folder / "hurried.toml"), "--proxy", served.proxy),
    )


def truth_of(folder: Path, served: ServedDomains) -> list[str]:
    """Where what was written differs from what was planned."""
    return written_differences(folder / "out" / "survey" / "tables", served.plan)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "workers"),
    [(30, 1), (1000, 1), (1000, 2)],
)
def test_every_table_is_the_truth(run: Run, tmp_path: Path, count: int, workers: int) -> None:
    """What is written of domains that were asked over HTTP equals what the generator planned, in every table."""
    with ServedDomains(count, 3, by_proxy=True, naming=0.3) as served:
        said = run(*typed_for(served, tmp_path, workers=workers), "--json")
    summary = json.loads(said.stdout)
    assert said.returncode == 0
    assert truth_of(tmp_path, served) == []
    assert (summary["ended"], summary["domains"], summary["queued"]) == ("complete", count, 0)
    assert summary["survey"]["domains"] == count
    assert 0 < summary["survey"]["sitemap files read"] <= summary["files"]  # one that others vouch for is read again
    assert not any(url.endswith("/sitemap.xml") or "/p/" in url for url in served.requests)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "kills", "workers"),
    [(30, (RATE,), 1), *((120, (30, 150), workers) for workers in (1, 2))],
)
def test_killed_again_and_again_it_counts_the_same(
    tmp_path: Path, count: int, kills: tuple[int, ...], workers: int
) -> None:
    """The same command goes on where a kill left it, and every table is the truth in the end."""
    with ServedDomains(count, 4, by_proxy=True, naming=0.5) as served:
        typed = typed_for(served, tmp_path, workers=workers)
        for requests in kills:
            slowed = (*typed, "--rate", str(requests))
            process = Program(*slowed, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
            until = time.monotonic() + PATIENCE
            while sum(served.requests.values()) < requests and process.poll() is None and time.monotonic() < until:
                time.sleep(0.005)
            process.kill()
            process.communicate()
        assert process.returncode == -signal.SIGKILL
        done = run_program(*typed, *UNLIMITED, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert truth_of(tmp_path, served) == []


@pytest.mark.proof
def test_what_is_there_can_be_counted_in_the_middle(run: Run, tmp_path: Path) -> None:
    """Ctrl-C keeps everything and says so by 130; --tables-only counts that, and the same command goes on."""
    with ServedDomains(24, 5, by_proxy=True, naming=0.5) as served:
        typed = typed_for(served, tmp_path)
        slowed = (*typed, "--rate", str(RATE))
        process = Program(*slowed, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        until = time.monotonic() + PATIENCE
        while sum(served.requests.values()) < RATE and time.monotonic() < until:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        assert "--tables-only" in out
        asked = sum(served.requests.values())
        counted = run("survey", "-o", str(tmp_path / "out"), "--tables-only", "--json")
        assert counted.returncode == 0
        assert sum(served.requests.values()) == asked
        numbers = json.loads(counted.stdout)
        assert numbers["ended"] == "counted"
        assert numbers["survey"]["domains"] == 24
        assert run(*typed[:1], *typed[2:], *UNLIMITED).returncode == 0
    assert truth_of(tmp_path, served) == []


def test_a_person_sees_numbers_tables_and_places(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table is the truth; the main one is on stdout, the report with its figures and the list in the folder."""
    monkeypatch.setattr("periplus.collection.collection.SEEDS_IN_SETTINGS", 20)
    with ServedDomains(30, 6, by_proxy=True, naming=0.5) as served:
        said = run(*typed_for(served, tmp_path))
    folder = tmp_path / "out"
    assert said.returncode == 0
    assert truth_of(tmp_path, served) == []
    assert "every domain was asked" in said.stdout
    assert "share of domains with robots.txt" in said.stdout
    assert "report.md" in said.stdout
    report = (folder / "survey" / "report.md").read_text()
    for figure in (folder / "survey" / "figures").iterdir():
        assert figure.read_text().startswith("<?xml") or "<svg" in figure.read_text()
        assert f"figures/{figure.name}" in report
    assert (folder / "survey" / "tables" / "fields.csv").read_text().startswith("field,")
    settings = (folder / "periplus.toml").read_text()
    assert served.plan.domains[0] not in settings
    assert "seeds.txt" in settings


def test_a_list_with_mistakes_is_surveyed_all_the_same(run: Run, tmp_path: Path) -> None:
    """From standard input; a line that names no domain is told with its number and counted."""
    with ServedDomains(5, 7, by_proxy=True) as served:
        typed = typed_for(served, tmp_path)
        lines = "# mine\n1," + "\n".join(served.plan.domains) + "\nno domain at all\n"
        said = run("survey", "-", *typed[2:], "--json", stdin=lines)
    assert said.returncode == 0
    assert "line 7 names no domain" in said.stderr
    assert (json.loads(said.stdout)["bad_lines"], json.loads(said.stdout)["domains"]) == (1, 5)


def test_the_usual_places_and_only_a_sample_of_each_index_if_asked(run: Run, tmp_path: Path) -> None:
    """The report of 2008 did not guess, so it is an option; what was asked holds when the survey goes on.

    One file of each index: the others are named, and told as not fetched.
    """
    with ServedDomains(25, 9, by_proxy=True, naming=0.9) as served:
        said = run(*typed_for(served, tmp_path), "--well-known", "--sample-least", "1", "--json")
    assert said.returncode == 0
    assert any(url.endswith("/sitemap.xml") for url in served.requests)
    assert Config.load(tmp_path / "out" / "periplus.toml").value("sitemaps.well_known")
    indexes = [file for file in served.plan.files if file.kind == "index" and file.url in served.requests]
    assert max(file.children for file in indexes) > 1
    for index in indexes:
        children = {file.url for file in served.plan.files if file.parent == index.url}
        assert len(children & served.requests.keys()) <= 1
    assert "not-fetched" in (tmp_path / "out" / "survey" / "tables" / "sitemap_outcomes.csv").read_text()


def test_no_answer_at_all_is_reported(run: Run, tmp_path: Path) -> None:
    """Exit code 1, and tables that tell why."""
    (tmp_path / "quick.toml").write_text("[retries]\nmax_attempts = 1\nbackoff = 0.01\n")
    said = run(
        *("survey", "-", "-o", str(tmp_path / "out"), "--resolve", "*.nobody.test=127.0.0.1", "--workers", "1"),
        *("--config", str(tmp_path / "quick.toml")),
        stdin="a.nobody.test:1\nb.nobody.test:1\n",
    )
    assert said.returncode == 1
    assert "connect-refused" in said.stdout


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (("survey", "-o", "{}/out"), "no domains to survey"),
        (("survey", "{}/nowhere.txt", "-o", "{}/out"), "nowhere.txt"),
        (("survey", "-o", "{}/out", "--tables-only"), "is not a collection"),
        (("survey", "-", "-o", "{}/crawl"), "not a survey"),
        (("survey", "-", "-o", "{}/out", "--sample-share", "2"), "--sample-share"),
    ],
)
def test_wrong_usage_is_told(run: Run, tmp_path: Path, args: tuple[str, ...], complaint: str) -> None:
    """Exit code 2, what is wrong, and nothing begun."""
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "periplus.toml").write_text('[crawl]\nseeds = ["http://a.test/"]\n')
    said = run(*(arg.format(tmp_path) for arg in args), stdin="a.test\n")
    assert said.returncode == 2
    assert complaint in said.stderr
    assert not (tmp_path / "out" / "state").exists()
