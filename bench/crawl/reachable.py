"""Which pages a crawler can reach by links: a walk over the files, with no crawler's code and no wire in it.

A page here is a *file*: `/` and `/index.html` are one page, and so are the same file with two queries, because the log
of the server names files too. Links are `href`s of `a` and `area`, which every crawler follows; frames, meta refresh
and scripts are not links. What the walk finds is what lxml sees, resolved by the standard library (RFC 3986).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import quote, unquote, urljoin, urlsplit

from lxml import etree

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
