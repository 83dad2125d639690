"""URLs that would make a crawler read or write its owner's files, speak to other services, or smuggle requests."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from ....hostile.script import HTML
from ....http import Answer, Request
from ...cases import Case, CrawlerRun, Evidence, Failure, Judge, Trial, trial
from ...enclosure import limit_disk
from ...sites import Web, html_page

_CANARIES = Path("/mnt")
"""In the enclosure alone: a file system that notes when its files are read."""
_LONG_AGO = 1_000_000_000
_ROOM = 1 << 20


def _canaries(files: dict[str, str]) -> None:
    limit_disk(_CANARIES, _ROOM)
    for name, text in files.items():
        path = _CANARIES / name
        path.write_text(text)
        os.utime(path, (_LONG_AGO, _LONG_AGO))


def _unread(name: str) -> Judge:
    def judge(_evidence: Evidence) -> Failure | None:
        path = _CANARIES / name
        return Failure(f"read the file {path}") if path.stat().st_atime != _LONG_AGO else None

    return judge


def _unconnected(*ports: int) -> Judge:
    def judge(evidence: Evidence) -> Failure | None:
        found = sorted(set(ports) & set(evidence.connections))
        return Failure(f"connected to port {found[0]}") if found else None

    return judge


@trial("safety")
def schemes(web: Web) -> Trial:
    """Links and redirects to files, and to services that are not HTTP."""
    site = web.site()
    files = {
        name: f'<!doctype html><title>secret</title><p><a href="{site.url(f"/from/{name}")}">a secret</a></p>\n'
        for name in ("linked.html", "redirected.html")
    }
    elsewhere = {
        "file": f"file://{_CANARIES}/redirected.html",
        "gopher": "gopher://11.77.9.9:6379/_FLUSHALL",
        "gopher-port": "gopher://11.77.9.9/1",
        "ftp": "ftp://11.77.9.9/pub/",
        "ssh": f"http://{site.host}:22/",
        "mail": f"http://{site.host}:25/",
        "irc": f"http://{site.host}:6667/",
        "nothing": "nothing:at-all",
        "data": "data:text/html,<p>data</p>",
        "javascript": "javascript:alert(1)",
    }
    for name, location in elsewhere.items():
        site.redirect(f"/to/{name}", location, 302)
    site.pages(f"/from/{name}" for name in files)
    chain = ("/on", "/on/and", "/on/and/on")
    for page, link in zip(chain, (*chain[1:], "/"), strict=True):
        site.page(page, link)
    redirects = [f"/to/{name}" for name in elsewhere]
    site.page("/", f"file://{_CANARIES}/linked.html", *elsewhere.values(), *redirects, chain[0])
    return Trial(
        seed=site.url(),
        needs_names=True,
        ports=(21, 22, 25, 70, 6379, 6667),
        runs=(CrawlerRun(before=lambda: _canaries(files)),),
        cases=(
            Case(
                name="file-link",
                says="A link of a page to a file of the crawler's machine is not read.",
                source="RFC 8089 section 4; WHATWG HTML 7.4.2.1 (a document on the web cannot navigate to file:)",
                wants=site.urls("/on"),
                forbids=site.urls("/from/linked.html"),
                judge=_unread("linked.html"),
            ),
            Case(
                name="file-redirect",
                says="A redirect to a file of the crawler's machine is not followed.",
                source="WHATWG Fetch 4.4 (a redirect to a scheme other than HTTP is a network error)",
                wants=site.urls("/to/file"),
                forbids=site.urls("/from/redirected.html"),
                judge=_unread("redirected.html"),
            ),
            Case(
                name="other-protocols",
                says="A redirect to ftp: or gopher:, which can speak to any service, is not followed.",
                source="WHATWG Fetch 4.4 (a redirect to a scheme other than HTTP is a network error); CWE-918",
                wants=site.urls("/to/ftp", "/to/gopher"),
                judge=_unconnected(21, 70, 6379),
            ),
            Case(
                name="ports-of-other-services",
                says="HTTP is not spoken to the ports of ssh, mail and chat: browsers block them as bad ports.",
                source="WHATWG Fetch 2.9 (port blocking)",
                wants=site.urls("/to/ssh", "/to/mail", "/to/irc"),
                judge=_unconnected(22, 25, 6667),
            ),
            Case(
                name="goes-on-after-other-schemes",
                says="Links and redirects that are no HTTP URLs do not end a crawl.",
                source="RFC 3986 section 1.2.2; RFC 9110 section 10.2.2",
                wants=site.urls("/to/nothing", *chain),
            ),
        ),
    )


def _any_page(request: Request) -> Answer:
    return Answer(200, (HTML,), html_page(request.target))


def _chain(*first: str) -> dict[str, tuple[str, ...]]:
    """Pages that lead on and on, so that the last is requested well after the `first`, which share a page with it."""
    chain = tuple(f"/on/{number}" for number in range(6))
    return {"/": (*first, chain[0])} | {page: (link,) for page, link in zip(chain, (*chain[1:], "/"), strict=True)}


@trial("safety")
def odd_names(web: Web) -> Trial:
    """Paths of which no file name can be made."""
    site = web.site()
    odd = (
        f"/{'long' * 100}.html", "/" + "deep/" * 300, f"/?long={'query' * 600}", "/nul%00byte", "/%2F%2f%5c",
        "/CON", "/con%20", "/%F0%9F%90%99%FF", "/dot./.", "/~",
    )  # fmt: skip
    site.otherwise = _any_page
    pages = _chain(*odd)
    for page, links in pages.items():
        site.page(page, *links)
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="names-that-no-file-can-have",
                says="A path that is too long or too strange for a file name does not end a crawl.",
                source="RFC 3986 section 3.3 (a segment may be any characters, of any length); CWE-400",
                wants=site.urls(*list(pages)[1:]),
            ),
        ),
    )


@trial("safety")
def file_and_folder(web: Web) -> Trial:
    """A path that is a page, and has pages below."""
    site = web.site()
    pages = _chain("/both", "/both/below", "/both/below/more", "/turned/below", "/turned")
    for page in (*pages["/"], *pages):
        site.page(page, *pages.get(page, ()))
    return Trial(
        seed=site.url(),
        cases=(
            Case(
                name="file-and-folder",
                says="A path can be a page and have pages below it: no page is lost because of the other.",
                source="RFC 3986 section 3.3 (segments are a hierarchy only by convention)",
                wants=site.urls(*pages["/"], *list(pages)[1:]),
            ),
        ),
    )


@trial("safety")
def traversal(web: Web) -> Trial:
    """Paths that climb out of a folder, and URLs with line breaks in them."""
    site = web.site()
    mark = f"escaped-{secrets.token_hex(8)}"
    ups = [up * depth for up in ("../", "%2e%2e%2f", "..%2f", "..%5c", "%2e%2e/", "..\\") for depth in (1, 2, 3, 4)]
    climbing = [f"/{up}{mark}.html" for up in ups]
    absolute = [f"/%2ftmp%2f{mark}.html", f"//tmp/{mark}.html", f"/?file=../../{mark}.html"]
    broken = "%20HTTP/1.1%0d%0aX-Injected:%20yes%0d%0aX-More:%20"
    site.redirect("/to/broken", f"/redirected{broken}", 302)
    site.otherwise = _any_page
    site.page("/", *climbing, *absolute, f"/linked{broken}", "/to/broken", "/plain")
    site.page("/plain")

    def judge_files(evidence: Evidence) -> Failure | None:
        home = evidence.folder
        places = [*home.parents[:4], Path("/tmp"), Path.cwd()]  # noqa: S108 - where a fault would write to
        found = [path for place in places for path in place.glob(f"{mark}*")]
        for path in found:
            path.unlink(missing_ok=True)
        return Failure(f"wrote {found[0]}, outside its folder {home}") if found else None

    def judge_fields(evidence: Evidence) -> Failure | None:
        found = [visit for visit in evidence.visits if visit.field("x-injected")]
        return Failure("sent a field of the request that a URL has in it", tuple(found)) if found else None

    return Trial(
        seed=site.url(),
        seconds=120,
        cases=(
            Case(
                name="paths-that-climb",
                says="Nothing is written outside the folder of the crawl, whatever the path of a URL.",
                source="CWE-22 (path traversal)",
                wants=site.urls("/plain"),
                judge=judge_files,
            ),
            Case(
                name="line-breaks-in-urls",
                says="An encoded line break in a link or a redirect is not decoded into a line of the request.",
                source="RFC 9112 section 11.1 (response splitting); CWE-113; CWE-93",
                wants=site.urls("/to/broken"),
                judge=judge_fields,
            ),
        ),
    )
