"""The served files: the manuals, a seed page that links to each, robots.txt, sitemaps; pages gzipped beforehand.

Made once from the unpacked packages and kept while their versions stay the same. Pages are compressed when the web is
made, so that the server's core serves and does not compress: the wire must not be what holds a fast crawler back.
The modification times of the files are those of the packages, so the sitemaps are the same on every machine.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape

from bench.crawl.reachable import PAGE_SUFFIXES, Page, is_page, reachable
from bench.crawl.sites import PORT, SEED_HOST, SITES, Site, host_of
from bench.peers import HOME, fetch_manuals

SITEMAPS = {"127.0.1.200": 1, "127.0.1.201": 4}
"""Hosts that have nothing but sitemaps, and the number of full files (50,000 URLs each) in each one's index."""
URLS_A_SITEMAP = 50_000
SEED = f"http://{SEED_HOST}:{PORT}/index.html"
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
_PACKED_PAGES = tuple(f"{suffix}.gz" for suffix in PAGE_SUFFIXES)
"""Debian packs some long pages; a server with gzip made beforehand would show a page where there is no such file."""
_FORM = "4"
"""Goes into the stamp: another number makes every machine build its web again."""


@dataclass(frozen=True)
class Web:
    """What is served, and the truth about it."""

    folder: Path
    pages: frozenset[Page]
    facts: dict[str, str]

    @property
    def hosts(self) -> list[str]:
        """Every address that answers."""
        return sorted(path.name for path in self.folder.iterdir() if path.is_dir())


def prepare() -> Web:
    """Fetch what is missing, build what is stale, and tell what is there."""
    fetch_manuals(site.package for site in SITES)
    folder = HOME / "web"
    stamp = _stamp(sorted(path.name for path in (HOME / "debs").glob("*.deb")))
    truth = folder / "truth.json"
    if not truth.exists() or json.loads(truth.read_text())["stamp"] != stamp:
        shutil.rmtree(folder, ignore_errors=True)
        truth.write_text(json.dumps({"stamp": stamp, **_built(folder)}))
    known = json.loads(truth.read_text())
    return Web(folder, frozenset((host, path) for host, path in known["pages"]), known["facts"])


def _stamp(packages: Iterable[str]) -> str:
    own = (_FORM, str(PORT), repr(SITES), repr(SITEMAPS))
    return hashlib.sha256("\n".join([*own, *packages]).encode()).hexdigest()


def _built(folder: Path) -> dict[str, object]:
    """Lay out every host, walk the links, then publish what was found as sitemaps."""
    print("building the web of manuals (once) ...", flush=True)
    for number, site in enumerate(SITES):
        copy_manual(HOME / "docs" / site.package, site.root, folder / host_of(number))
    write(folder / SEED_HOST / "index.html", seed_page(SITES).encode())
    roots = {f"{path.name}:{PORT}": path for path in folder.iterdir()}
    sizes: list[tuple[int, int]] = []
    pages = reachable(SEED, roots, on_page=lambda body, links: sizes.append((body, links)))
    for authority, root in roots.items():
        _publish_sitemap(authority, root, sorted(path for host, path in pages if host == authority))
    for host, count in SITEMAPS.items():
        _publish_large_sitemaps(f"{host}:{PORT}", folder / host, count)
    facts = {
        "hosts": f"{len(roots)}",
        "reachable pages": f"{len(pages):,}",
        "bytes a page": f"{sum(size for size, _ in sizes) // len(sizes):,}",
        "links a page": f"{sum(links for _, links in sizes) / len(sizes):.0f}",
    }
    return {"pages": sorted(pages), "facts": facts}


def copy_manual(package: Path, root: str, target: Path) -> None:
    """Link every file of the manual into `target`; what lies outside the package is not served."""
    package = package.resolve()
    for at, _, names in os.walk(package / root):
        for name in names:
            real = Path(at, name).resolve()
            if name.endswith(_PACKED_PAGES) or not (real.is_file() and real.is_relative_to(package)):
                continue
            file = target / Path(at, name).relative_to(package / root)
            file.parent.mkdir(parents=True, exist_ok=True)
            os.link(real, file)
            if is_page(name):
                _compress(file)


def write(file: Path, body: bytes) -> None:
    """A made file, as old as the oldest manual: a seed page that changes with every build would be no fair input."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(body)
    os.utime(file, (0, 0))
    _compress(file)


def _compress(file: Path) -> None:
    packed = file.with_name(file.name + ".gz")
    packed.write_bytes(gzip.compress(file.read_bytes(), 6, mtime=0))
    shutil.copystat(file, packed)


def seed_page(sites: tuple[Site, ...]) -> str:
    """The one made page: a link to the beginning of each manual."""
    rows = (
        f'<li><a href="http://{host_of(number)}:{PORT}/{entry}">{site.package}: {entry}</a></li>'
        for number, site in enumerate(sites)
        for entry in site.entries
    )
    head = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Manuals</title></head>'
    return f"{head}<body><h1>Manuals</h1><ul>{''.join(rows)}</ul></body></html>\n"


def _publish_sitemap(authority: str, root: Path, paths: list[str]) -> None:
    entries = []
    for path in paths:
        changed = datetime.fromtimestamp((root / path.lstrip("/")).stat().st_mtime, UTC)
        entries.append((f"http://{authority}{quote(path)}", f"{changed:%Y-%m-%dT%H:%M:%SZ}"))
    write(root / "sitemap.xml", sitemap(entries))
    write(root / "robots.txt", robots(authority, "sitemap.xml"))


def _publish_large_sitemaps(authority: str, root: Path, count: int) -> None:
    for number in range(count):
        numbers = range(number * URLS_A_SITEMAP, (number + 1) * URLS_A_SITEMAP)
        entries = [
            (f"http://{authority}/catalogue/{n % 97}/item-{n}.html", f"2024-{n % 12 + 1:02}-01") for n in numbers
        ]
        write(root / f"sitemap-{number}.xml", sitemap(entries))
    children = "".join(f"<sitemap><loc>http://{authority}/sitemap-{n}.xml</loc></sitemap>\n" for n in range(count))
    index = f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex {_NAMESPACE}>\n{children}</sitemapindex>\n'
    write(root / "sitemap_index.xml", index.encode())
    write(root / "robots.txt", robots(authority, "sitemap_index.xml"))


def sitemap(entries: Iterable[tuple[str, str]]) -> bytes:
    """A urlset of locations and dates, written by hand: what is measured must not also make the input."""
    rows = "".join(f"<url><loc>{escape(url)}</loc><lastmod>{date}</lastmod></url>\n" for url, date in entries)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {_NAMESPACE}>\n{rows}</urlset>\n'.encode()


def robots(authority: str, name: str) -> bytes:
    """All is allowed; the sitemap is named."""
    return f"User-agent: *\nAllow: /\nSitemap: http://{authority}/{name}\n".encode()
