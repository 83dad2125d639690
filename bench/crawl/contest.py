"""One run of the bench: the web is made, each contestant runs alone, the log is counted, the tables are written."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from bench.crawl import nginx, process, report
from bench.crawl.contestants import CONTESTANTS, Contestant, Job, Work
from bench.crawl.nginx import count
from bench.crawl.web import PORT, SEED, SITEMAPS, URLS_A_SITEMAP, Web, prepare
from bench.peers import BENCH, HOME, why_absent

RESULTS = BENCH / "results"
PAGE = BENCH.parent / "docs" / "benchmarks.md"
BOUNDS = {True: 8, False: 240}
"""Seconds for each contestant, in quick mode and in full mode."""
_WIRE_SECONDS = 10


def contest(
    *,
    quick: bool,
    write: bool = False,
    only: Collection[str] | None = None,
    seconds: int | None = None,
    order: str | None = None,
) -> report.Report | None:
    """Run the contestants and print the tables; None, and a message, where the machine lacks what it takes."""
    try:
        web = prepare()
        nginx.check_port()
    except (OSError, RuntimeError) as error:
        _print(f"the crawl bench does not run here: {error}")
        return None
    bound = seconds or BOUNDS[quick]
    load = os.getloadavg()[0]
    rows, absent = [], {}
    for contestant in CONTESTANTS:
        if only and contestant.name not in only:
            continue
        why = why_absent(contestant.install)
        if why is None:
            rows.append(_one(contestant, web, quick=quick, bound=bound, order=order))
        else:
            absent[contestant.name] = why
    at = datetime.now(UTC)
    whole = report.Report(at, quick, bound, cores(), load, nginx.version(), web.facts, tuple(rows), absent)
    print(report.markdown(whole))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"crawl-{at:%Y%m%dT%H%M%SZ}.json").write_text(report.as_json(whole))
    if write:
        report.put_into(PAGE, whole)
    return whole


def cores() -> tuple[int, int] | None:
    """One core for the client and another for the server; None where there is only one."""
    ours = sorted(os.sched_getaffinity(0))
    return (ours[0], ours[-1]) if len(ours) > 1 else None


def _one(contestant: Contestant, web: Web, *, quick: bool, bound: int, order: str | None = None) -> report.Row:
    """Run one contestant against a server of its own and count what that served."""
    _print(f"running {contestant.name} ...")
    folder = HOME / "runs" / contestant.name.replace(" ", "-").replace(",", "")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "work").mkdir(parents=True)
    client, server = cores() or (None, None)
    work = replace(_work(contestant, web, folder, quick=quick, bound=bound), order=order)
    with nginx.serving(web.folder, web.hosts, folder / "nginx", server) as log:
        core = client if contestant.is_pinned else None
        run = process.run(contestant.argv(work), seconds=work.seconds, folder=work.folder, core=core)
    with log.open(encoding="utf-8", errors="replace") as lines:
        seen = count(lines, until=run.ended_at)
    units, share = len(seen.pages & web.pages), seen.share_of(web.pages)
    if contestant.job is Job.WIRE:
        units = seen.fetches
    if contestant.job is Job.SITEMAPS:
        units = _urls_said(work.folder / "stdout")
        share = units / (SITEMAPS[_sitemap_host(quick)] * URLS_A_SITEMAP)
    return report.Row(
        name=contestant.name,
        job=contestant.job.name,
        version=contestant.install.version(),
        units=units,
        seconds=run.ended_at - (seen.first_at or run.started_at),
        cpu_seconds=run.cpu_seconds,
        peak_bytes=run.peak_anonymous,
        share=share,
        beyond=seen.beyond(web.pages),
        requests=seen.requests,
        faults=seen.faults,
        status=run.status,
    )


def _work(contestant: Contestant, web: Web, folder: Path, *, quick: bool, bound: int) -> Work:
    pages = folder / "pages.txt"
    pages.write_text("".join(f"{host} {quote(path)}\n" for host, path in sorted(web.pages)))
    match contestant.job:
        case Job.CRAWL:
            return Work(SEED, folder / "work", bound, pages)
        case Job.WIRE:
            return Work(f"http://127.0.0.1:{PORT}/", folder / "work", min(bound, _WIRE_SECONDS), pages)
        case Job.SITEMAPS:
            return Work(f"http://{_sitemap_host(quick)}:{PORT}/", folder / "work", bound, pages)


def _sitemap_host(quick: bool) -> str:
    """The small one or the large one."""
    return min(SITEMAPS, key=SITEMAPS.__getitem__) if quick else max(SITEMAPS, key=SITEMAPS.__getitem__)


def _urls_said(output: Path) -> int:
    """What a reader of sitemaps says that it found: the server cannot know this. Nothing, if it was stopped before."""
    lines = output.read_text().split("\n")
    found = [json.loads(line)["urls"] for line in lines if line.startswith('{"urls"')]
    return int(found[-1]) if found else 0


def _print(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
