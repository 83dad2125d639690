"""`periplus demo`: a small web that comes with Periplus, served on this machine, crawled by the real crawl, and judged.

The web is the lab's: some thirty sites that link to each other, duplicate each other and ask crawlers to stay out here
and there, and hosts that attack their visitors. No network is touched. At the end the servers themselves are asked
whether the crawl was polite, and a report of everything is made, to be looked at in a browser.
"""

from __future__ import annotations

import logging
import shlex
import tempfile
from pathlib import Path
from typing import Annotated, Any

from click.exceptions import Exit
from rich.console import Console

from periplus.cli.commands import Option
from periplus.cli.consoles import stderr_console, stdout_console
from periplus.cli.crawl.running import exit_code, run
from periplus.cli.crawl.summary import print_places
from periplus.cli.info import print_collection
from periplus.cli.report import written_report
from periplus.cli.setting_options import takes_settings, typed_settings
from periplus.collection.collection import CollectionSetup, held, planned
from periplus.collection.facts.lookup import collection_facts
from periplus.collection.options import with_fixed
from periplus.collection.summary import Summary
from periplus.view.terminal import print_line
from periplus.view.wording import counted, lasting, pace
from periplus_lab import World
from periplus_lab.hostile import REGISTRY
from periplus_lab.log import RequestLog
from periplus_lab.server import RunningClock, RunningLab, Server
from periplus_lab.sites import DOMAIN

SEED, SITES, PAGES = 9, 30, 1000
WORKERS = 2
DELAY = 0.02
"""Seconds between two requests to a site: our own servers do not mind. A crawl of the web rests a second."""
PACE = 0.2
"""Hostile hosts wait a fifth of their time."""
HOSTILE = (
    "gzip-bomb", "endless-body", "endless-headers", "slow-first-byte", "slow-drip", "reset", "close-before-head",
    "length-too-long", "redirect-loop", "redirect-storm", "robots-5xx", "robots-large", "binary-as-html", "deep-html",
    "busy",
)  # fmt: skip
OPTIONS: dict[str, object] = {
    "crawl.for": 45.0,
    "crawl.workers": WORKERS,
    "politeness.delay": DELAY,
    "politeness.slow_factor": 1.0,
    "retries.max_attempts": 2,
    "retries.backoff": 1.0,
    "wire.timeout": 8.0,
    "wire.low_speed_time": 3,
    "wire.max_page_bytes": 2 * 2**20,
    "scope.kind": "any",
    "scope.suffixes": (DOMAIN,),
}


@takes_settings("demo")
def demo(
    out: Annotated[
        Path | None,
        Option("--out", "-o", metavar="DIR", help="The folder of the collection; by default a new one."),
    ] = None,
    **given: Any,
) -> None:
    """Crawl a small web that comes with Periplus, print what was found and write a report: a minute, no network.

    Example: periplus demo
    """
    asked = typed_settings("demo", given)
    console = stdout_console()
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # that a client hung up is what hostile hosts are for
    folder = out or Path(tempfile.mkdtemp(prefix="periplus-demo-")) / "web"
    world = World(SEED, SITES, pages=PAGES)
    with RunningLab(Server(world, RunningClock(world.epoch), pace=PACE)) as lab:
        hosts = [*(site.host for site in world.sites()), *(REGISTRY[name].host for name in HOSTILE)]
        print_line(console, f"a web of {SITES} sites and {len(HOSTILE)} hostile hosts is up at {lab.base}", "bold")
        collection = planned(
            folder,
            found=[f"http://{host}/" for host in hosts],
            options=with_fixed({**OPTIONS, **asked}, {"wire.proxy": lab.base.rstrip("/")}, "demo"),
        )
        with held(folder):
            collection.save()
            summary = run(collection, stderr_console())
        console.print()
        _print_found(console, collection, summary, lab.log)
    print_places(console, summary)
    _, file = written_report(
        collection
    )  # after the crawl: a crawl freezes what is loaded, and DuckDB complains of that
    print_line(console, "to look at:", "bold")
    print_line(
        console, f"  {file}   (one file, for any browser; periplus report {shlex.quote(str(folder))} writes it again)"
    )
    raise Exit(exit_code(summary))


def _print_found(console: Console, collection: CollectionSetup, summary: Summary, log: RequestLog) -> None:
    print_collection(console, collection_facts(collection), is_whole=True)
    done = summary.this_run
    print_line(console, "politeness", "bold")
    rested = f"for {lasting(done.waited)} of {lasting(done.seconds)} every site that had something left rested"
    print_line(console, f"  {rested}; that makes {pace(done.pages_per_second)} over all sites")
    print_line(console, f"  the servers saw {counted(log.total, 'request')}: {_seen(log)}\n")


def _seen(log: RequestLog) -> str:
    """What the servers' log shows of the crawl."""
    hosts = log.hosts()
    at_once = max((log.most_at_once(host) for host in hosts), default=0)
    pauses = [gap for host in hosts for gap in log.gaps(host)]
    kept = sum(pause >= DELAY for pause in pauses) / max(len(pauses), 1)
    return f"at most {at_once} at a time to a host, {kept:.1%} of the pauses at least {DELAY * 1000:.0f} ms long"
