"""The served files: the manuals, a seed page that links to each, robots.txt, sitemaps; pages gzipped beforehand.

Made once from the unpacked packages and kept while their versions stay the same. Pages are compressed when the web is
made, so that the server's core serves and does not compress: the wire must not be what holds a fast crawler back.
The modification times of the files are those of the packages, so the sitemaps are the same on every machine.

Manuals and not a crawl of the web, because anyone can fetch the same bytes again, and because their pages were made by
many tools for readers and not for us. A loopback address is a host to every crawler and needs no resolver.

Which pages a crawler can reach is found by a walk over the files, without a crawler's code. A page is a *file*: `/` and
`/index.html` are one page, and so are the same file with two queries, because the log of the server names files too.
Links are `href`s of `a` and `area`; frames, meta refresh and scripts are not. They are what lxml sees, resolved by the
standard library (RFC 3986).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import quote, unquote, urljoin, urlsplit
from xml.sax.saxutils import escape

from lxml import etree

from bench.peers import HOME, fetch_manuals

PORT = 18080
SEED_HOST = "127.0.1.1"


@dataclass(frozen=True)
class Site:
    """A manual: the folder of an unpacked package that is served as the root of one host, and where links begin."""

    package: str
    root: str
    entries: tuple[str, ...] = ("index.html",)


def _sphinx(*packages: str) -> tuple[Site, ...]:
    """Packages that keep Debian's habit: the manual lies in `html` of the package's own folder."""
    return tuple(Site(package, f"usr/share/doc/{package}/html") for package in packages)


SITES: tuple[Site, ...] = (
    Site("python3.11-doc", "usr/share/doc/python3.11/html"),
    Site("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html"),
    Site("sqlite3-doc", "usr/share/doc/sqlite3"),
    Site("apache2-doc", "usr/share/doc/apache2-doc/manual"),
    Site("libboost1.74-doc", "usr/share/doc/libboost1.74-doc", ("doc/html/index.html",)),
    Site("libeigen3-doc", "usr/share/doc/libeigen3-dev/html"),
    Site("git-doc", "usr/share/doc/git-doc"),
    Site("nodejs-doc", "usr/share/doc/nodejs/api"),
    Site("tomcat10-docs", "usr/share/tomcat10-docs/docs"),
    Site("exim4-doc-html", "usr/share/doc/exim4-doc-html/spec_html"),
    Site("postfix-doc", "usr/share/doc/postfix/html"),
    Site("varnish-doc", "usr/share/doc/varnish/html"),
    Site("bind9-doc", "usr/share/doc/bind9-doc/arm"),
    Site("ntpsec-doc", "usr/share/doc/ntpsec-doc/html"),
    Site("freetype2-doc", "usr/share/doc/libfreetype-dev"),
    Site("libtiff-doc", "usr/share/doc/libtiff-doc/manual"),
    Site("libxml2-doc", "usr/share/gtk-doc/html/libxml2"),
    Site("libcairo2-doc", "usr/share/gtk-doc/html/cairo"),
    Site("libglib2.0-doc", "usr/share/gtk-doc/html", ("glib/index.html", "gobject/index.html", "gio/index.html")),
    Site("libgtk-3-doc", "usr/share/gtk-doc/html", ("gdk3/index.html", "gtk3/index.html")),
    Site("libsoup-3.0-doc", "usr/share/doc/libsoup-3.0"),
    Site("swig4.0-doc", "usr/share/doc/swig4.0-doc/Manual"),
    Site("python-lxml-doc", "usr/share/doc/python-lxml/html"),
    Site("python-markdown-doc", "usr/share/doc/python-markdown-doc/docs"),
    Site("debian-faq", "usr/share/doc/debian/FAQ", ("index.en.html",)),
    *_sphinx(
        "python-scipy-doc", "python-django-doc", "python-sqlalchemy-doc", "python-celery-doc", "python-kombu-doc",
        "python-cherrypy3-doc", "python-pil-doc", "python-gevent-doc", "python-tornado-doc", "python-tables-doc",
        "python-werkzeug-doc", "python-flask-doc", "python-h5py-doc", "python-cryptography-doc", "python-aiohttp-doc",
        "python-pygments-doc", "python-babel-doc", "python-requests-doc", "python-jinja2-doc", "python-psycopg2-doc",
        "python-mako-doc", "python-click-doc", "python-attr-doc", "sphinx-doc",
    ),
)  # fmt: skip


def host_of(number: int) -> str:
    """The address of the site at this place of the list; the seed page has the one before."""
    return f"127.0.1.{number + 2}"


PAGE_SUFFIXES = (".html", ".htm")

Page = tuple[str, str]
"""Authority and path of the file, as the server names it after its index and its decoding."""


def file_of(url: str) -> tuple[str, str] | None:
    """The authority and the decoded path that a static server looks up; None for what is not of plain HTTP."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.scheme != "http":
        return None
    path = unquote(parts.path) or "/"
    plain = "/" + normpath(path).strip("/")
    ends_in_folder = path.endswith(("/", "/.", "/.."))
    return parts.netloc, plain.rstrip("/") + "/" if ends_in_folder else plain


def is_page(path: str) -> bool:
    """Whether the server calls the file a page; a file named `.html` alone has no ending, to nginx as to Python."""
    return PurePosixPath(path).suffix.lower() in PAGE_SUFFIXES


def served(roots: Mapping[str, Path], authority: str, path: str) -> Page | None:
    """The page that the server answers with, after its redirect to a folder and its index; None if it has none."""
    root = roots.get(authority)
    if root is None or "\0" in path:
        return None
    file = root / path.lstrip("/")
    if path.endswith("/") or file.is_dir():
        path = path.rstrip("/") + "/index.html"
        file = root / path.lstrip("/")
    return (authority, path) if is_page(path) and file.is_file() else None


def links_in(body: bytes) -> tuple[str | None, list[str]]:
    """The page's base, if it names one, and its hrefs without their fragments."""
    try:
        tree = etree.fromstring(body, etree.HTMLParser(huge_tree=True)) if body.strip() else None
    except etree.XMLSyntaxError:
        tree = None
    if tree is None:
        return None, []
    base = next((str(element.get("href")) for element in tree.iter("base") if element.get("href")), None)
    hrefs = (element.get("href") for element in tree.iter("a", "area"))
    return base, [cleaned(str(href)) for href in hrefs if href is not None]


def cleaned(href: str) -> str:
    """What browsers do before they read a link: no white space around, no line breaks inside; no fragment."""
    return href.translate({9: None, 10: None, 13: None}).strip().partition("#")[0]


def targets(url: str, base: str | None, hrefs: Iterable[str]) -> Iterable[str]:
    """The absolute URLs that the page at `url` links to, each once."""
    start = _joined(url, base) if base else url
    for href in sorted(set(hrefs)):
        absolute = _joined(start, href)
        if absolute is not None:
            yield absolute


def _joined(base: str | None, href: str) -> str | None:
    try:
        return urljoin(base or "", href)
    except ValueError:
        return None


def reachable(seed: str, roots: Mapping[str, Path], *, on_page: Callable[[int, int], None] | None = None) -> set[Page]:
    """Every page that links lead to from `seed`, itself included. `on_page` is told the bytes and links of each."""
    found: set[Page] = set()
    asked: set[tuple[str, str]] = set()
    waiting = deque([seed])
    while waiting:
        wanted = file_of(waiting.popleft())
        if wanted is None or wanted in asked:
            continue
        asked.add(wanted)
        page = served(roots, *wanted)
        if page is None or page in found:
            continue
        found.add(page)
        authority, path = page
        body = (roots[authority] / path.lstrip("/")).read_bytes()
        base, hrefs = links_in(body)
        if on_page is not None:
            on_page(len(body), len(hrefs))
        waiting.extend(targets(f"http://{authority}{quote(path)}", base, hrefs))
    return found


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
