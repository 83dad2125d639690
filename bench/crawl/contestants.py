"""Who takes part: the name, how it is installed, and how it is started.

A new contestant is one more `Contestant` in `CONTESTANTS`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from bench.crawl.web import PORT, SITES, host_of
from bench.peers import BENCH, HOME, Install, Npm, Ours, Tool, Venv
from periplus import __version__

PEERS = Path(__file__).resolve().parent / "peers"


class Job(Enum):
    """What is asked of a contestant, and so what is counted."""

    CRAWL = "follow every link from the seed page"
    WIRE = "ask for every page again and again; read nothing"
    SITEMAPS = "read all sitemaps of a host"


@dataclass(frozen=True)
class Work:
    """What a contestant is given."""

    url: str
    """The seed page, or the host whose sitemaps are read."""
    folder: Path
    """Where it runs and may write; empty at the start."""
    seconds: int
    """When it will be stopped, whether it is done or not."""
    pages: Path
    """All pages, a line of host and path each: for the one who only measures the wire."""
    order: str | None = None
    """The ordering of Periplus, in place of its default."""


@dataclass(frozen=True)
class OursByDebian:
    """Periplus as it is here, by the Python of Debian, which is built with all optimisations."""

    @property
    def _home(self) -> Path:
        return HOME / "debian-python"

    @property
    def python(self) -> str:
        """The interpreter of an environment with our dependencies."""
        return str(self._home / "bin" / "python")

    def missing(self) -> str | None:
        """Whether Debian's Python is there, in the version that our dependencies are compiled for here."""
        if not Path(_DEBIAN_PYTHON).exists():
            return f"no {_DEBIAN_PYTHON} here"
        code = "import sys; print(*sys.version_info[:2])"
        said = subprocess.run([_DEBIAN_PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        ours = list(map(str, sys.version_info[:2]))
        return None if said == ours else f"Debian's Python is {'.'.join(said)}, the bench's {'.'.join(ours)}"

    def ensure(self) -> None:
        """An environment without packages: it takes those of the bench's environment, compiled files included."""
        subprocess.run([_DEBIAN_PYTHON, "-m", "venv", "--without-pip", self._home], check=True)
        packages = next(self._home.glob("lib/python*/site-packages"))
        paths = [sysconfig.get_paths()["purelib"], str(BENCH.parent / "src")]
        (packages / "bench.pth").write_text("".join(f"{path}\n" for path in paths))

    def version(self) -> str:
        """As it names itself."""
        return __version__


_DEBIAN_PYTHON = "/usr/bin/python3"


@dataclass(frozen=True)
class Contestant:
    """One row of the table. `is_pinned`: to one core, and the server to another; else it may use all of them."""

    name: str
    job: Job
    install: Install
    argv: Callable[[Work], list[str]]
    is_pinned: bool = True


_SCRAPY = Venv("scrapy", "Scrapy")
_CRAWLEE = Venv("crawlee", "crawlee")
_SITEMAPS = Venv("sitemaps", "ultimate-sitemap-parser")
_CRAWLEE_NODE = Npm(PEERS / "crawlee_node")
_SPIDER_NODE = Npm(PEERS / "spider_node")


def _scrapy(name: str, way: str) -> Contestant:
    script = str(PEERS / "scrapy_crawl.py")
    return Contestant(name, Job.CRAWL, _SCRAPY, lambda work: [_SCRAPY.python, script, way, work.url])


_OURS = Ours()


def _hosts() -> list[str]:
    """All hosts of the web, with their port."""
    return [f"{host_of(number)}:{PORT}" for number in range(len(SITES))]


def periplus_settings(parallel: int) -> str:
    """The settings of a crawl of the web of manuals."""
    return _PERIPLUS.format(hosts=json.dumps(_hosts()), parallel=parallel)


def _entries() -> list[str]:
    """What the seed page links to, for a peer whose crawls stay on one host."""
    hosts = _hosts()
    return [f"http://{hosts[number]}/{entry}" for number, site in enumerate(SITES) for entry in site.entries]


def periplus(
    name: str,
    workers: int,
    cluster: str = "",
    *,
    parallel: int = 16,
    install: Ours | OursByDebian = _OURS,
    is_pure: bool = False,
) -> Contestant:
    """The command line as it is, with everything on that is on by default: robots.txt, state, WARC, tables.

    Politeness is switched off, as it is for every peer, and the scope is the hosts of the bench. `cluster`: the same
    shards as actors of Ray; `parallel`: requests at once to a host; `is_pure`: pages are read by the Python scanner.
    """

    def argv(work: Work) -> list[str]:
        settings = work.folder / "bench.toml"
        settings.write_text(periplus_settings(parallel))
        scanner = ["env", "PERIPLUS_PURE=1"] if is_pure else []
        periplus = [*scanner, install.python, "-m", "periplus", "crawl", work.url, "--config", str(settings)]
        order = ["--order", work.order] if work.order else []
        where = ["--cluster", cluster] if cluster else []
        return [*periplus, *order, *where, "-o", "collection", "--workers", str(workers), "--json"]

    return Contestant(name, Job.CRAWL, install, argv, is_pinned=workers == 1)


_PERIPLUS = """
[scope]
kind = "any"
[patterns]
include = ['re:^http://127[.]']
[wire]
allow_private = {hosts}
[politeness]
delay = 0
slow_factor = 0
ip_delay = 0
max_parallel = {parallel}
[retries]
backoff = 0.2
"""


def _wget2(work: Work) -> list[str]:
    """Links only, as other crawlers follow them; a page is deleted once it is read."""
    hosts = ",".join(sorted({host_of(number) for number in range(len(SITES))}))
    return [
        "wget2", "--recursive", "--level=0", "--span-hosts", f"--domains={hosts}",
        "--ignore-tags=img,link,script,frame,iframe,embed", "--robots=off",
        "--tries=1", "--max-threads=16", "--delete-after", "--quiet", work.url,
    ]  # fmt: skip


def _httrack(work: Work) -> list[str]:
    """Pages only, without its limits on connections and bytes a second; it always stores what it fetches."""
    return [
        "httrack", work.url, "-O", "mirror", "-*", "+127.0.1.*", "-r100000", "-p1", "-s0", "-c16", "-%c0", "-A0", "-R0",
        "-C0", "-I0", "-q", "--disable-security-limits",
    ]  # fmt: skip


CONTESTANTS: tuple[Contestant, ...] = (
    Contestant(
        "wrk, the wire's limit",
        Job.WIRE,
        Tool("wrk"),
        lambda work: [
            "wrk", "-t1", "-c64", f"-d{max(1, work.seconds - 2)}s", "-s", str(PEERS / "wrk.lua"), work.url,
            "--", str(work.pages),
        ],
    ),
    _scrapy("Scrapy, LinkExtractor", "default"),
    _scrapy("Scrapy, tuned", "tuned"),
    _scrapy("Scrapy, selectolax and ada by hand", "selectolax"),
    periplus("Periplus", 1),
    periplus("Periplus, one request at a time to a host", 1, parallel=1),
    periplus("Periplus, two processes", 2),
    periplus("Periplus, two processes, one request at a time to a host", 2, parallel=1),
    periplus("Periplus, two actors of Ray", 2, cluster="local"),
    periplus("Periplus, Debian's Python", 1, install=OursByDebian()),
    periplus("Periplus, Python scanner", 1, is_pure=True),
    Contestant(
        "Crawlee for Python, Parsel",
        Job.CRAWL,
        _CRAWLEE,
        lambda work: [_CRAWLEE.python, str(PEERS / "crawlee_crawl.py"), work.url],
    ),
    Contestant(
        "Crawlee for Node, Cheerio",
        Job.CRAWL,
        _CRAWLEE_NODE,
        lambda work: ["node", str(_CRAWLEE_NODE.home / "crawl.mjs"), work.url],
    ),
    Contestant(
        "spider (Rust)",
        Job.CRAWL,
        _SPIDER_NODE,
        lambda _work: ["node", str(_SPIDER_NODE.home / "crawl.mjs"), *_entries()],
    ),
    Contestant("wget2", Job.CRAWL, Tool("wget2"), _wget2),
    Contestant("httrack", Job.CRAWL, Tool("httrack"), _httrack),
    Contestant(
        "ultimate-sitemap-parser",
        Job.SITEMAPS,
        _SITEMAPS,
        lambda work: [_SITEMAPS.python, str(PEERS / "sitemaps_read.py"), work.url],
    ),
)  # fmt: skip
