"""`periplus lab`: serve a generated web on loopback, until Ctrl-C; `periplus lab judge`: put a crawler through trials.

The first says where it listens, what sites there are and how to point a browser or a crawler at them; the front page
and docs/lab.md have the rest. The second is described in docs/conformance.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from collections import Counter
from pathlib import Path
from typing import Annotated

import click
import msgspec
from click.exceptions import Exit
from rich.text import Text

from periplus.cli import options
from periplus.cli.commands import Argument, CommandGroup, Option
from periplus.cli.consoles import stderr_console, stdout_console
from periplus.model import UsageError
from periplus.view.terminal import print_line, print_table
from periplus.view.values import Column, Sheet, counts, sheet_of
from periplus.view.wording import counted
from periplus_lab import World
from periplus_lab.applications import APPLICATION, ApplicationWorld
from periplus_lab.hostile import REGISTRY
from periplus_lab.log import DEFAULT_CAPACITY, RequestLog
from periplus_lab.server import HOME, RunningClock, Server
from periplus_lab.sites import DOMAIN
from periplus_lab.spam_web import HostileWorld

LARGEST_SHOWN = 12


class Listening(msgspec.Struct, frozen=True):
    """What `--json` prints once the lab is up: all that a program needs to use it."""

    url: str
    port: int
    tls_port: int | None
    seed: int
    hosts: int
    pages: int


lab = CommandGroup("lab")


@lab.alone
def serve_lab(
    sites: Annotated[int, Option(min=1, help="Number of sites.")] = 200,
    speed: Annotated[float, Option(min=0, help="Virtual seconds for each real one; 86400: a day a second.")] = 3600,
    seed: Annotated[int, Option(help="The same seed gives the same web, byte for byte.")] = 7,
    pages: Annotated[
        int | None, Option(min=1, help="Approximate number of pages in all; by default it follows from --sites.")
    ] = None,
    port: Annotated[int, Option(min=0, max=65535, help="Port to listen on at 127.0.0.1; 0: any free port.")] = 0,
    tls: Annotated[bool, Option("--tls", help="Also serve TLS, on a port of its own.")] = False,
    tls_port: Annotated[int, Option(min=0, max=65535, help="The port for TLS; 0: any free one.")] = 0,
    hostile_web: Annotated[
        bool, Option("--hostile-web", help="Add a link farm and other spam, with links from honest sites.")
    ] = False,
    scripts: Annotated[
        bool, Option("--scripts", help="Add an application of 300 pages that are shown by scripts.")
    ] = False,
    latency: Annotated[float, Option(min=0, help="Seconds before the first byte of every answer.")] = 0,
    log: Annotated[Path | None, Option(help="Write every request to this file, as JSON lines.")] = None,
    json: Annotated[
        bool, Option("--json", help="Print where it listens as one JSON object, and nothing else.")
    ] = False,
) -> None:
    """Serve a generated web on loopback whose every fact is known.

    Example: periplus lab --sites 200 --speed 3600 --seed 7
    """
    if click.get_current_context().invoked_subcommand:
        return
    if hostile_web and scripts:
        raise UsageError("--hostile-web and --scripts are two different webs", hint="start one lab for each")
    kind = HostileWorld if hostile_web else ApplicationWorld if scripts else World
    world = kind(seed, sites, pages=pages)
    server = Server(
        world,
        RunningClock(world.epoch, speed),
        RequestLog(DEFAULT_CAPACITY, log),
        port=port,
        tls_port=tls_port if tls or tls_port else None,
        latency=(lambda _request: latency) if latency else None,
    )
    # The world lives as long as the process: let the collector not look at it again and again.
    gc.freeze()
    asyncio.run(_serve(server, is_for_programs=json))
    server.log.close()
    if not json:
        stderr_console().print(f"{counted(server.log.total, 'request')} served.")


EXIT_FAILED = 4


@lab.verb
def judge(
    command: Annotated[
        list[str] | None,
        Argument(metavar="COMMAND...", help="The crawler, with {seed}, {folder}, {limit}, {ca}."),
    ] = None,
    adapter: Annotated[
        Path | None, Option(metavar="FILE", help="Read the crawler's command from this adapter (TOML).")
    ] = None,
    only: Annotated[
        list[str] | None, Option(metavar="CASE", help="Judge only this group, trial or case: robots/wildcard.")
    ] = None,
    at_once: Annotated[int, Option("--at-once", min=1, max=64, help="Trials that run at the same time.")] = 4,
    loopback: Annotated[
        bool,
        Option("--loopback", help="Serve at addresses of loopback, without host names: fewer cases apply."),
    ] = False,
    keep: Annotated[
        Path | None, Option(metavar="DIR", help="Keep what the crawler writes, a folder for each trial.")
    ] = None,
    html: Annotated[Path | None, Option(metavar="FILE", help="Write one page that explains every failure.")] = None,
    junit: Annotated[Path | None, Option(metavar="FILE", help="Write JUnit XML for CI systems.")] = None,
    listed: Annotated[bool, Option("--list", help="List the cases, and judge nothing.")] = False,
    json: options.Json = False,
) -> None:
    """Put a crawler through a hostile web, and judge it by what the servers saw.

    Example: periplus lab judge -- wget -r -P {folder} {seed}
    """
    from periplus_lab.commands.judge import judge_shown, list_cases
    from periplus_lab.conformance.adapters import Adapter, read_adapter
    from periplus_lab.conformance.reports import failures, to_html, to_junit

    if listed:
        list_cases(json=json)
        return
    if bool(command) == bool(adapter):
        raise UsageError(
            "give either a crawler's command after --, or an adapter",
            hint="periplus lab judge -- my-crawler {seed} --out {folder} --limit {limit}",
        )
    judgement = judge_shown(
        read_adapter(adapter) if adapter else Adapter(Path((command or [""])[0]).name, command or []),
        only or [],
        at_once=at_once,
        is_enclosed=not loopback,
        keep=keep,
        json=json,
    )
    if html:
        html.write_text(to_html([judgement]), "utf-8")
    if junit:
        junit.write_text(to_junit(judgement), "utf-8")
    raise Exit(EXIT_FAILED if failures(judgement) else 0)


async def _serve(server: Server, *, is_for_programs: bool) -> None:
    stopping = asyncio.Event()
    async with server:
        with contextlib.suppress(NotImplementedError):  # not on every system; there Ctrl-C ends it less quietly
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        if is_for_programs:
            click.echo(msgspec.json.encode(_listening(server)))
        else:
            _print_lab(server)
        await stopping.wait()


def _listening(server: Server) -> Listening:
    world = server.world
    total = sum(site.size for site in world.sites())
    return Listening(f"http://{HOME}:{server.port}/", server.port, server.tls_port, world.seed, len(world.hosts), total)


def _print_lab(server: Server) -> None:
    console = stdout_console()
    lab_at = _listening(server)
    print_table(console, _site_table(server.world))
    console.print(Text(f"The lab is at {lab_at.url}", style="bold"))
    host = server.world.sites()[0].host
    lines = [
        f"  in a browser   {lab_at.url}",
        f"  with curl      curl -x {lab_at.url} http://{host}/",
        f"  with Periplus  periplus crawl http://{host}/ -o DIR --proxy {lab_at.url}",
        f"  a crawler      http_proxy={lab_at.url} … http://{host}/",
    ]
    if isinstance(server.world, HostileWorld):
        lines.append(f'  as a hostile web: periplus.toml with [scope] kind = "any", suffixes = ["{DOMAIN}"]')
    if isinstance(server.world, ApplicationWorld):
        lines.append(
            f"  an application periplus crawl http://{APPLICATION}/ -o DIR --proxy {lab_at.url} --render when-needed"
        )
    if lab_at.tls_port is not None:
        lines += [
            f"  with TLS       curl -so ca.pem {lab_at.url}ca.pem",
            f"                 curl --cacert ca.pem --connect-to ::{HOME}:{lab_at.tls_port} https://{host}/",
        ]
    for line in [*lines, f"  {len(REGISTRY)} hostile hosts, seeds and more: see the front page. Ctrl-C stops."]:
        print_line(console, line)


def _site_table(world: World) -> Sheet:
    """The largest sites in full, the others counted by profile."""
    sites = sorted(world.sites(), key=lambda site: -site.size)
    title = f"{counted(len(sites), 'site')}, {counted(sum(site.size for site in sites), 'page')}, seed {world.seed}"
    columns = (Column("host"), Column("profile"), Column("changes"), Column("validators"), counts("pages"))
    rows = [
        (site.host, site.profile.value, site.pattern.value, site.validation.value, site.size)
        for site in sites[:LARGEST_SHOWN]
    ]
    rest = Counter(site.profile.value for site in sites[LARGEST_SHOWN:])
    smaller = ", ".join(f"{n} {name}" for name, n in rest.most_common())
    return sheet_of(title, columns, rows, [f"and {rest.total():,} smaller: {smaller}"] if rest else ())
