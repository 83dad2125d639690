"""The CPU time of an audit beside that of the crawl it judges, on real manuals served as one site on loopback.

    python -m bench.audit_speed                     # 20,000 pages of the manuals of `bench.crawl`
    python -m bench.audit_speed --pages 2000

Three programs are measured with all their children, by the kernel: `periplus crawl`, `periplus audit` of the collection
it made, and, for memory, the largest of their processes. Pages come from a server in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bench.peers import HOME


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def list_directory(self, path: str | os.PathLike[str]) -> None:  # noqa: ARG002
        """No pages of our own making."""
        self.send_error(404)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nobody reads it."""


def _serve(folder: str, port: int) -> None:
    os.chdir(folder)
    server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
    server.request_queue_size = 256
    print(server.server_address[1], flush=True)
    server.serve_forever()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder that is served on loopback, by a process of its own."""
    command = [sys.executable, "-m", "bench.audit_speed", "--serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/"
        finally:
            server.terminate()


def _measured(*arguments: str) -> tuple[float, float]:
    """CPU seconds and MB of memory of a run of `periplus`."""
    code = (
        "import resource, subprocess, sys; done = subprocess.run([sys.executable, '-m', 'periplus', *sys.argv[1:]],"
        " stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        " print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1000, done.returncode)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    seconds, memory, status = done.stdout.split()
    if status not in ("0", "4"):
        raise RuntimeError(f"periplus {' '.join(arguments)} ended with {status}")
    return float(seconds), float(memory)


def _one_site(folder: Path, manuals: Path) -> None:
    """All manuals as folders of one site, with a page that links to the beginning of each."""
    links = []
    for manual in sorted(manuals.iterdir()):
        if manual.is_dir():
            (folder / manual.name).symlink_to(manual)
            pages = sorted(manual.rglob("*.html"))
            links += [f'<li><a href="{page.relative_to(manuals)}">{page.stem}</a>' for page in pages]
    text = "".join(links)
    (folder / "index.html").write_text(
        f'<!doctype html><html lang="en"><title>All manuals</title><h1>Manuals</h1>{text}'
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--manuals", type=Path, default=HOME / "web")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--serve")
    given = parser.parse_args()
    if given.serve:
        _serve(given.serve, 0)
        return
    with tempfile.TemporaryDirectory() as name:
        site, out = Path(name) / "site", given.out or Path(name) / "collection"
        site.mkdir()
        _one_site(site, given.manuals)
        with served(site) as seed:
            limits = ("--limit", str(given.pages), "--delay", "0", "--workers", "1", "--for", "0")
            crawl, crawl_memory = _measured("crawl", seed, "-o", str(out), *limits)
        audit, audit_memory = _measured("audit", str(out), "--json")
    print(f"crawl: {crawl:.1f} s of CPU, {1000 * crawl / given.pages:.2f} ms a page, {crawl_memory:.0f} MB")
    print(f"audit: {audit:.1f} s of CPU, {1000 * audit / given.pages:.2f} ms a page, {audit_memory:.0f} MB")
    print(f"audit / crawl: {audit / crawl:.2f}; both / crawl: {(crawl + audit) / crawl:.2f}")


if __name__ == "__main__":
    main()
