"""What a person is told while a crawl runs and when it ends: failures at once, waits, bounds, a first crawl."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from tests.lab.scripted_web import ScriptedWeb, sitemap_index, urlset
from tests.system.typed import Run

from periplus.collection.config.settings import Config
from periplus.collection.opening import open_crawl
from periplus.collection.seeds import seeds_from
from periplus_lab import World
from periplus_lab.server import RunningLab, Server

HOME = "http://site.test"
QUICK = ("--delay", "0", "--workers", "1", "--no-sitemaps")


@pytest.fixture
def settings(tmp_path: Path) -> str:
    """One retry, soon."""
    path = tmp_path / "mine.toml"
    path.write_text("[retries]\nmax_attempts = 2\nbackoff = 0.6\n")
    return str(path)


def page(*links: str) -> str:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<!doctype html><title>Page</title><main>{anchors} and a sentence of its own.</main>"


@pytest.mark.proof
@pytest.mark.parametrize("workers", [1, 2])
def test_a_crawl_without_a_reachable_seed_ends_without_a_retry(tmp_path: Path, run: Run, workers: int) -> None:
    """With the reason and what to check, once for each seed; a retry would come after an hour."""
    (tmp_path / "patient.toml").write_text("[retries]\nbackoff = 3600\n")
    seeds = ("http://a.test:9/", "http://b.test:9/")
    arguments = ("--resolve", "*.test=127.0.0.1", "--config", str(tmp_path / "patient.toml"), *QUICK)
    done = run("crawl", *seeds, "-o", str(tmp_path / "c"), *arguments, "--workers", str(workers), "--json")
    assert done.returncode == 1
    summary = json.loads(done.stdout)
    assert (summary["ended"], summary["pages"], summary["queued"]) == ("unreachable", 0, 2)
    said = sorted(line for line in done.stderr.splitlines() if "cannot reach" in line)
    assert len(said) == 2
    for line, seed in zip(said, seeds, strict=True):
        assert line.startswith(f"cannot reach {seed}: the server refused the connection; check the port")


def test_the_next_step_after_an_unreachable_seed_is_named(tmp_path: Path, settings: str, run: Run) -> None:
    """Both on stderr when it fails, and in the summary."""
    arguments = ("--resolve", "a.test=127.0.0.1", "--config", settings, *QUICK)
    done = run("crawl", "http://a.test:9/", "-o", str(tmp_path / "c"), *arguments)
    assert "; given up" in done.stderr
    assert done.stdout.startswith("nothing could be fetched: connect-refused 1\n")
    assert "the server refused the connection; check the port" in done.stdout
    assert "the same command tries again" in done.stdout


def test_a_server_error_says_what_is_waited_for(tmp_path: Path, settings: str, run: Run) -> None:
    """The URL and the status, once."""
    with ScriptedWeb({f"{HOME}/": page()}) as web:
        web.failing.add(f"{HOME}/")
        done = run("crawl", f"{HOME}/", "-o", str(tmp_path / "c"), "--proxy", web.base, "--config", settings, *QUICK)
    said = [line for line in done.stderr.splitlines() if line.startswith("retrying")]
    assert len(said) == 1
    assert said[0].startswith(f"retrying {HOME}/ ")
    assert said[0].endswith(": server error 500")


def test_an_invalid_certificate_is_named(tmp_path: Path, settings: str, run: Run) -> None:
    """Not only that the site cannot be reached, and how an own authority is trusted."""
    pytest.importorskip("cryptography.x509", reason="certificates need the extra `lab`")
    with RunningLab(Server(World(sites=3), tls_port=0)) as lab:
        host = lab.world.hosts[0]
        arguments = ("--resolve", f"{host}=127.0.0.1", "--config", settings, *QUICK)
        done = run("crawl", f"https://{host}:{lab.tls_port}/", "-o", str(tmp_path / "c"), *arguments)
    (said,) = [line for line in done.stderr.splitlines() if "cannot reach" in line]
    assert "the certificate is from an authority that is not trusted here" in said
    assert "--ca-file" in said


def test_the_end_says_why_and_what_is_left(tmp_path: Path, run: Run) -> None:
    """The bound that ended the crawl, how many URLs wait, and how to continue; then a first crawl has no changes."""
    links = [f"/{number}" for number in range(9)]
    pages: dict[str, str | bytes] = {f"{HOME}{path}": page("/deep") for path in links}
    pages |= {f"{HOME}/": page(*links), f"{HOME}/deep": page("/deeper")}
    folder = str(tmp_path / "c")
    with ScriptedWeb(pages) as web:
        into = ("crawl", f"{HOME}/", "-o", folder, "--proxy", web.base, *QUICK)
        some = run(*into, "--limit", "4").stdout
        assert some.startswith("done: the limit of 4 pages is reached (--limit)")
        assert re.search(r"left in the queue: [67] URLs", some)
        assert f"periplus crawl -o {folder} --limit 8" in some
        rest = run(*into, "--limit", "100", "--depth", "2").stdout
    assert rest.startswith("done: every URL in scope was visited")
    assert "not followed: 1 link to pages more than 2 links from a seed (--depth)" in rest


def test_sitemaps_that_wait_are_not_pages_in_the_queue(tmp_path: Path, run: Run) -> None:
    """The queue of pages is never longer than what is known, however many files are left to read."""
    files = [f"{HOME}/map-{number}.xml" for number in range(30)]
    pages: dict[str, str | bytes] = {f"{HOME}/": page("/a", "/b"), f"{HOME}/a": page(), f"{HOME}/b": page()}
    pages |= {f"{HOME}/sitemap.xml": sitemap_index(*files), **{file: urlset(f"{HOME}/b") for file in files}}
    folder = str(tmp_path / "c")
    with ScriptedWeb(pages) as web:
        words = ("crawl", f"{HOME}/", "-o", folder, "--proxy", web.base, "--delay", "0", "--workers", "1")
        summary = json.loads(run(*words, "--limit", "1", "--json").stdout)
    assert summary["queued_files"]
    assert summary["queued"] - summary["queued_files"] <= summary["known"]
    facts = json.loads(run("info", folder, "--json").stdout)
    assert facts["queued"] <= facts["known"]
    assert facts["total"]["files"] == summary["queued_files"]


def test_a_first_crawl_has_no_changes(tmp_path: Path, run: Run) -> None:
    """Pages of a first crawl have not appeared: there was nothing before."""
    folder = str(tmp_path / "c")
    with ScriptedWeb({f"{HOME}/": page("/a"), f"{HOME}/a": page()}) as web:
        run("crawl", f"{HOME}/", "-o", folder, "--proxy", web.base, *QUICK)
    said = run("changes", folder).stdout
    assert said.startswith("first crawl: 2 pages")
    assert "appeared" not in said


def test_the_time_of_a_crawl_begins_with_its_first_request(tmp_path: Path) -> None:
    """A start that takes longer than the crawl may last leaves time to fetch."""
    with ScriptedWeb({f"{HOME}/": page()}) as web:
        config = Config().with_options({**web.settings, "crawl.for": 0.5})
        crawl = open_crawl(config, tmp_path, seeds_from([f"{HOME}/"]), 1)
        time.sleep(0.6)
        crawl.run()
        assert f"{HOME}/robots.txt" in web.asked
