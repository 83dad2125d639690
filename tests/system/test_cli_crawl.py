"""`periplus crawl` and what follows it, as its own process, on the living web: begin, continue, stop, look, export."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.system.typed import Program, Run, Said

from periplus.store import DiskState
from periplus.store.layout import Layout
from periplus_lab import World
from periplus_lab.server import RunningLab, Server, SteppedClock

pytest_plugins = ["periplus_lab.pytest_plugin"]

QUICK = ("--delay", "0", "--workers", "1")


def started(*args: str, **options: Any) -> subprocess.Popen[str]:
    """The program in a process of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return Program(*args, **{**pipes, **options})


_IMPOSSIBLE = re.compile(r"[a-p]{16}")


@pytest.fixture
def web(start_lab: Callable[[Server], RunningLab]) -> RunningLab:
    """Five small sites, whose time stands still."""
    world = World(11, 5, pages=120)
    return start_lab(Server(world, SteppedClock(world.epoch), pace=0.01))


def seed(web: RunningLab, number: int = 0) -> str:
    return f"http://{web.world.sites()[number].host}/"


def into(web: RunningLab, out: Path, *args: str) -> tuple[str, ...]:
    """A crawl of every URL: rules for duplicate URLs are checked by fetching some pages twice."""
    settings = out.parent / "every_url.toml"
    settings.write_text("[dust]\nenabled = false\n")
    return ("crawl", "-o", str(out), "--config", str(settings), "--proxy", web.base, "--no-sitemaps", *args)


def summary(said: Said) -> dict[str, Any]:
    assert said.returncode == 0, said.stderr
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def good_pages(web: RunningLab) -> list[str]:
    """What was asked for and found, but for names that cannot exist: some sites answer those with a page as well."""
    visits = [visit for visit in web.log.visits() if visit.target != "/robots.txt" and visit.status == 200]
    return [visit.url for visit in visits if not _IMPOSSIBLE.search(visit.url)]


@pytest.mark.proof
def test_a_crawl_makes_a_collection_that_every_command_reads(web: RunningLab, tmp_path: Path, run: Run) -> None:
    """Seeds in, a folder out: settings, WARC, tables and state; then info and every export."""
    out = tmp_path / "c"
    process = started(*into(web, out, seed(web), "--scope", "host", "--json", *QUICK))
    stdout, stderr = process.communicate(timeout=600)
    found = summary(Said(process.returncode, stdout, stderr))
    assert found["ended"] == "complete"
    assert found["pages"] == found["this_run"]["pages"] > 20
    assert found["queued"] == 0
    assert {"periplus.toml", "state", "warc", "tables"} <= {path.name for path in out.iterdir()}

    said = run("info", str(out))
    assert f"{found['pages']:,}: {found['new']:,} new" in said.stdout
    facts = json.loads(run("info", str(out), "--json").stdout)
    assert facts["tally"]["pages"] == found["pages"]
    host = web.world.sites()[0].host
    site = json.loads(run("info", str(out), host, "--json").stdout)
    assert (site["site"], site["queued"]) == (host, {})
    assert site["robots"]["access"] in ("rules", "all")
    url = json.loads(run("info", str(out), seed(web), "--json").stdout)
    assert url["record"]["status"] == 200
    assert url["record"]["first_seen"][0]["source"] == "seed"
    assert "allows it" in run("info", str(out), f"{host}/").stdout
    assert run("info", str(out), "nobody.test").returncode == 2

    for form, is_folder in (
        ("jsonl", False),
        ("csv", False),
        ("warc", False),
        ("text", True),
        ("markdown", True),
        ("parquet", True),
    ):
        target = tmp_path / form
        done = run("export", str(out), "--format", form, "-o", str(target))
        assert done.returncode == 0, done.stderr
        assert target.is_dir() == is_folder
        assert run("export", str(out), "--format", form, "-o", str(target)).returncode == 2
    lines = run("export", str(out), "--format", "jsonl").stdout.splitlines()
    assert lines == (tmp_path / "jsonl").read_text().splitlines()
    assert len({json.loads(line)["url"] for line in lines}) == len(lines) > 20
    first = json.loads(run("export", str(out), "--format", "jsonl", "--markdown").stdout.splitlines()[0])
    assert first["markdown"]
    assert run("export", str(out), "--format", "warc", "--markdown").returncode == 2


@pytest.mark.proof
def test_the_same_command_continues_and_fetches_nothing_twice(web: RunningLab, tmp_path: Path, run: Run) -> None:
    """A limit ends a crawl, a larger one goes on; what is known is not asked for again; seeds are added."""
    first = summary(run(*into(web, tmp_path, seed(web), "--limit", "8", "--scope", "host", "--json", *QUICK)))
    assert (first["ended"], first["pages"]) == ("limit", 8)
    second = summary(run(*into(web, tmp_path, "--limit", "100000", "--json", *QUICK)))
    assert second["ended"] == "complete"
    assert second["this_run"]["pages"] == second["pages"] - 8
    third = summary(run(*into(web, tmp_path, seed(web, 1), "--json", *QUICK)))
    assert third["pages"] > second["pages"]
    assert len(good_pages(web)) == len(set(good_pages(web))) == third["pages"]


def test_a_collection_keeps_its_number_of_shards(web: RunningLab, tmp_path: Path, run: Run) -> None:
    """Sites were dealt out among this number of shards: another number is refused, and says which to use."""
    assert run(*into(web, tmp_path, seed(web), "--limit", "1", *QUICK)).returncode == 0
    other = run(*into(web, tmp_path, "--workers", "3"))
    assert other.returncode == 2
    assert "--workers 1" in other.stderr


@pytest.mark.parametrize(
    ("number", "workers"), [pytest.param(signal.SIGINT, "2", marks=pytest.mark.slow), (signal.SIGTERM, "1")]
)
def test_a_crawl_that_is_stopped_keeps_everything(
    web: RunningLab, tmp_path: Path, run: Run, number: signal.Signals, workers: str
) -> None:
    """Ctrl-C, or a service manager: it ends with 130 and says so; the next crawl finishes, no page is fetched twice.

    Meanwhile no other process may crawl into the folder (3), but all may read.
    """
    process = started(*into(web, tmp_path, seed(web), "--json", "--delay", "50ms", "--workers", workers))
    web.log.wait_for(6, timeout=600)
    before = (tmp_path / "periplus.toml").read_bytes()
    second = run(*into(web, tmp_path, "--limit", "1"))
    assert second.returncode == 3
    assert f"in use by process {process.pid}" in second.stderr
    assert (tmp_path / "periplus.toml").read_bytes() == before
    assert run("info", str(tmp_path)).returncode == 0
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=600)
    assert process.returncode == 130, stderr
    assert "stopping" in stderr
    assert json.loads(stdout)["ended"] == "interrupted"
    done = summary(run(*into(web, tmp_path, "--json", "--delay", "0")))
    assert (done["ended"], done["workers"]) == ("complete", int(workers))
    assert len(good_pages(web)) == len(set(good_pages(web))) == done["pages"]


@pytest.mark.slow
def test_a_second_ctrl_c_ends_at_once(web: RunningLab, tmp_path: Path) -> None:
    """Whatever is under way: here a server that does not answer for as long as we wait. No process is left behind."""
    slow = "http://slow-drip.hostile.lab.test/"
    process = started(*into(web, tmp_path, slow, "--workers", "2", "--delay", "0"))
    web.log.wait_for(1, timeout=600)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert any("stopping" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=600)
    assert process.returncode == 130
    for number in range(2):
        DiskState(Layout(tmp_path).shard(number), shard=number).close()


def test_a_dry_run_fetches_and_writes_nothing(web: RunningLab, tmp_path: Path, run: Run) -> None:
    """It says what would be done: seeds in their canonical form, scope, politeness, where."""
    out = tmp_path / "c"
    done = run(
        *into(web, out, "--seeds", "-", "--dry-run", "--contact", "me@a.example"), stdin="# mine\nExample.org/%7Ex\n"
    )
    assert done.returncode == 0
    assert "https://example.org/~x" in done.stdout
    assert "me@a.example" in done.stdout
    plan = json.loads(run(*into(web, out, "example.org", "--dry-run", "--json", "--for", "1h30m")).stdout)
    assert (plan["seeds"], plan["seconds"], plan["is_new"]) == (["https://example.org/"], 5400.0, True)
    assert not out.exists()
    assert len(web.log) == 0


def test_mistakes_end_with_2_and_say_what_to_type(tmp_path: Path, run: Run) -> None:
    """Unknown keys name the nearest; strangers' folders are refused; no traceback, ever."""
    settings = tmp_path / "mine.toml"
    settings.write_text("[politeness]\ndelai = 2\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    out = str(tmp_path / "c")
    cases = [
        (("a.example", "-o", out, "--config", str(settings)), "did you mean delay?"),
        (("a.example", "-o", str(tmp_path / "full")), "thesis.tex"),
        (("-o", out), "give a seed"),
        (("a.example", "-o", out, "--for", "soon"), "10m"),
        (("a.example", "-o", out, "--resolve", "x"), "--resolve"),
        (("a.example", "-o", out, "--exclude", "re:("), "[patterns]"),
        (("a.example", "-o", out, "--contact", "me (here)"), "User-Agent"),
        (("a.example", "-o", out, "--seeds", str(tmp_path / "nothing")), "nothing"),
        (("a.example", "-o", out, "--limit", "0"), "--limit"),
        (("a.example",), "--out"),
    ]
    for args, said in cases:
        done = run("crawl", *args)
        assert done.returncode == 2, args
        assert said in done.stderr, (args, done.stderr)
        assert "Traceback" not in done.stderr
    assert not (tmp_path / "c").exists()
    assert run("info", str(tmp_path / "full")).returncode == 2
    assert run("export", str(tmp_path / "full"), "--format", "jsonl").returncode == 2


def test_nothing_fetched_ends_with_1_and_why(tmp_path: Path, run: Run) -> None:
    """A name that leads nowhere: the reason is shown, and the exit code tells a script."""
    settings = tmp_path / "mine.toml"
    settings.write_text("[retries]\nmax_attempts = 1\nbackoff = 0.01\n")
    arguments = ("--resolve", "a.test=127.0.0.1", "--config", str(settings), *QUICK)
    done = run("crawl", "http://a.test:9/", "-o", str(tmp_path / "c"), *arguments)
    assert done.returncode == 1, done.stderr
    assert "nothing could be fetched" in done.stdout


def test_names_can_be_given_addresses(web: RunningLab, tmp_path: Path, run: Run) -> None:
    """`--resolve` leads to a server without DNS and without a proxy, and a private address is then meant."""
    host = web.world.sites()[0].host
    arguments = ("--resolve", f"{host}=127.0.0.1", "--scope", "host", "--limit", "1", "--json", *QUICK)
    found = summary(run("crawl", web.url(host), "-o", str(tmp_path), *arguments))
    assert found["pages"] == 1


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
def test_on_a_terminal_the_display_is_live(web: RunningLab, tmp_path: Path) -> None:
    """Lines stay in place, the cursor comes back, and the end says what to type next."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    process = started(*into(web, tmp_path, seed(web), "--limit", "5", *QUICK), stderr=theirs, env=environment)
    os.close(theirs)
    drawn = bytearray()
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        drawn += piece
    stdout, _ = process.communicate(timeout=600)
    os.close(ours)
    assert process.returncode == 0
    text = drawn.decode()
    assert "Ctrl-C stops and keeps everything" in text
    assert "\x1b[?25h" in text
    assert f"periplus info {tmp_path}" in stdout
