"""Who takes part: the name, how it is installed, and how it is started.

Every peer lives in an environment of its own under `bench/.peers`, made from pinned requirements, so that no peer's
dependencies decide another's versions, or ours. A new contestant is one more `Contestant` in `CONTESTANTS`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

from bench.crawl.sites import PORT, SITES, host_of
from bench.crawl.web import HOME
from periplus import __version__

BENCH = Path(__file__).resolve().parent.parent
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


class Install(Protocol):
    """How a contestant comes to this machine."""

    def missing(self) -> str | None:
        """What is missing and cannot be installed from here; None if all can be had."""

    def ensure(self) -> None:
        """Install what is not there yet."""

    def version(self) -> str:
        """What takes part, by version."""


@dataclass(frozen=True)
class Venv:
    """Packages of Python, in a virtual environment of their own."""

    name: str
    package: str

    @property
    def python(self) -> str:
        """The interpreter of that environment."""
        return str(HOME / self.name / "bin" / "python")

    @property
    def _requirements(self) -> Path:
        return BENCH / f"requirements-{self.name}.txt"

    def missing(self) -> str | None:
        """Python is here, or this would not run."""
        return None

    def ensure(self) -> None:
        """Made again whenever the requirements change."""
        done = HOME / self.name / "requirements.txt"
        if done.exists() and done.read_bytes() == self._requirements.read_bytes():
            return
        subprocess.run([sys.executable, "-m", "venv", "--clear", HOME / self.name], check=True)
        pip = [self.python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", "-r", self._requirements], check=True)
        shutil.copyfile(self._requirements, done)

    def version(self) -> str:
        """The pinned version of the package that gives the contestant its name."""
        pins = dict(line.split("==") for line in self._requirements.read_text().split() if "==" in line)
        return pins[self.package]


@dataclass(frozen=True)
class Npm:
    """Packages of Node, beside a copy of their script, because Node looks for packages beside the script."""

    folder: Path

    @property
    def home(self) -> Path:
        """Where script and packages are."""
        return HOME / self.folder.name

    def missing(self) -> str | None:
        """Node and npm are the owner's to install."""
        absent = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
        return f"no {' and no '.join(absent)} here" if absent else None

    def ensure(self) -> None:
        """Made again whenever the folder's package.json changes; the script is always the newest."""
        wanted, done = self.folder / "package.json", self.home / "installed.json"
        self.home.mkdir(exist_ok=True)
        for file in self.folder.iterdir():
            shutil.copyfile(file, self.home / file.name)
        if done.exists() and done.read_bytes() == wanted.read_bytes():
            return
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=self.home, check=True)
        shutil.copyfile(wanted, done)

    def version(self) -> str:
        """The pinned version of its one dependency."""
        (pinned,) = json.loads((self.folder / "package.json").read_text())["dependencies"].values()
        return str(pinned)


@dataclass(frozen=True)
class Tool:
    """A program of the system; `install.sh` has put it there if it could."""

    name: str

    def missing(self) -> str | None:
        """Whether it is there."""
        return None if shutil.which(self.name) else f"no {self.name} here"

    def ensure(self) -> None:
        """Nothing is left to do."""

    def version(self) -> str:
        """The first number it says of itself, whatever its exit code."""
        said = subprocess.run([self.name, "--version"], capture_output=True, text=True, check=False)
        number = re.search(r"\d+(?:\.\d+)+", said.stdout or said.stderr)
        return number.group() if number else "unknown"


@dataclass(frozen=True)
class Ours:
    """Periplus as it is here, in the environment that runs the bench."""

    @property
    def python(self) -> str:
        """The interpreter that runs the bench."""
        return sys.executable

    def missing(self) -> str | None:
        """It is what is measured."""
        return None

    def ensure(self) -> None:
        """It is there, or this would not run."""

    def version(self) -> str:
        """As it names itself."""
        return __version__


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
