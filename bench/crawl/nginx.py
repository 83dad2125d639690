"""One nginx a run, on its own core, with a log of its own, which is the only count of pages that the bench believes.

One process, one server block: the address that the client asked for (`$host`) is the folder it is served from. Every
host is also served on 127.0.0.1, chosen by its Host field, because wrk speaks to one address only.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.crawl.web import PORT, Page

LOG_FORMAT = r'{"at":$msec,"host":"$host:$server_port","status":$status,"type":"$sent_http_content_type","path":"$uri"}'


def found() -> str | None:
    """Where nginx is; Debian keeps it out of an ordinary user's path."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def version() -> str:
    """As it names itself."""
    said = subprocess.run([found() or "nginx", "-v"], capture_output=True, text=True, check=True).stderr
    return said.rpartition("/")[2].split()[0]


def configuration(web: Path, hosts: list[str], log: Path, scratch: Path) -> str:
    """Static files as a careful administrator serves them: sendfile, keep-alive, gzip made beforehand."""
    listens = "\n".join(f"    listen {host}:{PORT} backlog=4096;" for host in ["127.0.0.1", *hosts])
    user = "user root;" if os.geteuid() == 0 else ""
    files = min(16_384, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    temporary = "\n".join(
        f"  {kind}_temp_path {scratch}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""{user}
daemon off;
worker_processes 1;
worker_rlimit_nofile {files};
pid {scratch}/nginx.pid;
error_log {scratch}/error.log;
events {{ worker_connections 4096; }}
http {{
{temporary}
  types {{
    text/html html htm; text/css css; text/javascript js; text/plain txt; text/xml xml; image/svg+xml svg;
    image/png png; image/gif gif; image/jpeg jpg jpeg; application/pdf pdf;
  }}
  default_type application/octet-stream;
  log_format bench escape=json '{LOG_FORMAT}';
  access_log {log} bench buffer=64k flush=1s;
  sendfile on; tcp_nopush on; keepalive_timeout 75s; keepalive_requests 1000000;
  gzip_static on; gzip_vary on;
  server {{
{listens}
    root {web}/$host;
    index index.html;
    # A folder without an index is no secret, it is not there.
    error_page 403 =404 @missing;
    location @missing {{ return 404; }}
  }}
}}
"""


@contextmanager
def serving(web: Path, hosts: list[str], folder: Path, core: int | None) -> Iterator[Path]:
    """Serve until the block ends; gives the log, which is whole only after that."""
    folder.mkdir(parents=True, exist_ok=True)
    log, settings = folder / "access.log", folder / "nginx.conf"
    log.unlink(missing_ok=True)
    settings.write_text(configuration(web, hosts, log, folder))
    check_port()
    pinned = [] if core is None else ["taskset", "-c", str(core)]
    server = subprocess.Popen([*pinned, found() or "nginx", "-p", folder, "-e", folder / "error.log", "-c", settings])
    try:
        _wait_for(server)
        yield log
    finally:
        # The buffered tail of the log is written when its timer fires, and not when the server is told to end.
        time.sleep(1.2)
        server.terminate()
        server.wait(10)


def check_port() -> None:
    """The hosts of the web have their port in their names, so it cannot be any free one."""
    if _answers():
        raise RuntimeError(f"port {PORT} of the loopback is taken; the bench needs it for itself")


def _answers() -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


def _wait_for(server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 10
    while not _answers():
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("nginx did not start; its error.log says why")
        time.sleep(0.02)


@dataclass(frozen=True)
class Served:
    """One run as the server saw it, up to the bound in time."""

    pages: frozenset[Page]
    """Different pages answered with 200."""
    fetches: int
    """All answers with 200 and a page, repeats included."""
    requests: int
    """All answers."""
    faults: int
    """Answers that say the server failed (5xx): a figure with these in it measures the bench and not the crawler."""
    first_at: float | None
    """When the first answer was sent, in seconds of the Unix clock."""

    def share_of(self, reachable: Set[Page]) -> float:
        """How much of what links lead to was fetched."""
        return len(self.pages & reachable) / len(reachable) if reachable else 0.0

    def beyond(self, reachable: Set[Page]) -> int:
        """Pages fetched though no link leads there: by frames, refreshes, scripts or sitemaps."""
        return len(self.pages - reachable)


def count(lines: Iterable[str], *, until: float = float("inf")) -> Served:
    """Count the answers sent before `until`. A last line cut short, as a killed server leaves it, is no answer."""
    pages: set[Page] = set()
    fetches = requests = faults = 0
    first_at: float | None = None
    for line in lines:
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if answer["at"] > until:
            continue
        requests += 1
        faults += answer["status"] >= 500
        first_at = answer["at"] if first_at is None else min(first_at, answer["at"])
        if answer["status"] == 200 and answer["type"].startswith("text/html"):
            fetches += 1
            pages.add((answer["host"], answer["path"]))
    return Served(frozenset(pages), fetches, requests, faults, first_at)
