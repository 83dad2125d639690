"""Sites that are applications: the server sends a shell, and scripts show the pages.

    world = ApplicationWorld(seed=7, sites=1)
    world.pages()                       the truth: every page of the application, and its links

`APPLICATION` has 300 pages. Most have a path of their own (`/item/17`, shown by the history API), the others are behind
`#!` (`/#!/note/203`); the data of each come from `/api/pages/17`. `TROUBLE` has pages that are hard on a browser: one
polls forever, one loops, one fills the memory, one never finishes loading, one grows while it is scrolled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Final

from msgspec import Struct

from .http import Answer, Request
from .randomness import at, key_of
from .sites import Profile
from .spam_web.part import HTML, notice, prose
from .world import DEFAULT_EPOCH, World

APPLICATION: Final = "application.lab.test"
TROUBLE: Final = "trouble.lab.test"
PAGES: Final = 300
"""Pages of the application."""
FIRST_NOTE: Final = 200
"""The number of the first page behind `#!`."""
POLLER, LOOP, MEMORY, ENDLESS, GROWING = "/poller", "/loop", "/memory", "/endless", "/growing"
_LINKS: Final = 4
"""Links of a page besides the one home."""
_SENTENCES: Final = 8
_API: Final = re.compile(r"/api/pages/(\d{1,4})", re.ASCII)
_ROUTE: Final = re.compile(r"/item/(\d{1,4})", re.ASCII)
_SCRIPT: Final = (("Content-Type", "text/javascript; charset=utf-8"), ("Cache-Control", "max-age=3600"))
_STYLE: Final = (("Content-Type", "text/css"), ("Cache-Control", "max-age=3600"))
_JSON: Final = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))

_APP: Final = """'use strict';
const root = document.getElementById('root');
function number() {
  const note = location.hash.match(/^#!\\/note\\/(\\d+)$/);
  if (note) return note[1];
  const item = location.pathname.match(/^\\/item\\/(\\d+)$/);
  return item ? item[1] : '0';
}
function show(page) {
  document.title = page.title;
  root.textContent = '';
  const article = root.appendChild(document.createElement('article'));
  article.appendChild(document.createElement('h1')).textContent = page.title;
  for (const text of page.text) article.appendChild(document.createElement('p')).textContent = text;
  const list = root.appendChild(document.createElement('ul'));
  for (const link of page.links) {
    const anchor = list.appendChild(document.createElement('li')).appendChild(document.createElement('a'));
    anchor.href = link;
    anchor.textContent = link;
    if (!link.includes('#!')) anchor.onclick = event => {
      event.preventDefault();
      history.pushState(null, '', link);
      load();
    };
  }
}
async function load() {
  const answer = await fetch('/api/pages/' + number());
  if (answer.ok) show(await answer.json());
}
window.onhashchange = window.onpopstate = load;
load();
"""

_TROUBLES: Final = {
    POLLER: "setInterval(() => fetch('/api/news?' + Math.random()).then(r => r.text())"
    ".then(t => { root.textContent = 'The news of ' + t; }), 150);",
    LOOP: "root.textContent = 'A page that computes'; setTimeout(() => { for (;;) {} }, 50);",
    MEMORY: "const kept = []; setInterval(() => { for (let i = 0; i < 20; i++)"
    " kept.push(Array.from({length: 200000}, (_, n) => ({n, text: 'x' + n}))); }, 1);",
    ENDLESS: "root.textContent = 'A page that waits'; const one = document.createElement('script');"
    " one.src = '//slow-first-byte.hostile.lab.test:' + (location.port || 80) + '/'; document.body.appendChild(one);",
    GROWING: "let parts = 0; const more = () => { if (parts++ >= 20) return; const part = document.createElement('p');"
    " part.style.height = '1500px'; part.textContent = 'Part ' + parts; root.appendChild(part); }; more();"
    " window.onscroll = more;",
}


class ApplicationPage(Struct, frozen=True):
    """The truth about a page: the URL by which a crawler knows it, its title, and the URLs it links to."""

    url: str
    title: str
    links: tuple[str, ...]


class ApplicationWorld(World):
    """A world with an application and a site of pages that are hard on a browser."""

    def __init__(
        self,
        seed: int = 7,
        sites: int = 1,
        *,
        pages: int | None = None,
        epoch: float = DEFAULT_EPOCH,
        profiles: Sequence[Profile] = (),
        size: int = PAGES,
    ) -> None:
        """`size` is the number of pages of the application; a third of them are behind `#!`."""
        super().__init__(seed, sites, pages=pages, epoch=epoch, profiles=profiles)
        self.hosts = (*self.hosts, APPLICATION, TROUBLE)
        self.size = size
        self.moved_to = "/"
        """Where `/moved` of the application redirects to."""
        self.first_note = FIRST_NOTE if size == PAGES else 2 * size // 3
        self._key = key_of(seed, "application")

    def answer(self, request: Request) -> Answer:
        """The shell for every page of the applications, their scripts and data; other hosts as ever."""
        if request.host not in (APPLICATION, TROUBLE):
            return super().answer(request)
        path = request.target.partition("?")[0]
        if path == "/robots.txt":
            return Answer(200, (("Content-Type", "text/plain"),), b"User-agent: *\nDisallow: /secret/\n")
        if request.host == TROUBLE:
            return self._trouble(path)
        if path == "/moved":
            return Answer(302, (("Location", self.moved_to),), b"")
        if path == "/static/app.js":
            return Answer(200, _SCRIPT, _APP.encode())
        if path == "/static/app.css":
            return Answer(200, _STYLE, b"body { font: 1em sans-serif }")
        if (found := _API.fullmatch(path)) and int(found[1]) < self.size:
            return Answer(200, _JSON, self._data(int(found[1])))
        route = _ROUTE.fullmatch(path)
        if path == "/" or (route and 0 < int(route[1]) < self.first_note):
            return Answer(200, HTML, _shell("/static/app.js"))
        return notice(404, "Not found", "There is no such page.")

    def _trouble(self, path: str) -> Answer:
        if path in _TROUBLES:
            return Answer(200, HTML, _shell("", _TROUBLES[path]))
        if path == "/":
            links = "".join(f'<li><a href="{one}">{one}</a></li>' for one in _TROUBLES)
            return Answer(200, HTML, f"<title>Trouble</title><ul>{links}</ul>".encode())
        if path == "/api/news":
            return Answer(200, _JSON, b'"today"')
        return notice(404, "Not found", "There is no such page.")

    def _data(self, number: int) -> bytes:
        page = {"title": self._title(number), "text": self._text(number), "links": self._links(number)}
        return json.dumps(page).encode()

    def _title(self, number: int) -> str:
        return f"{prose(at(self._key, number), 1)[:40].rsplit(' ', 1)[0]} {number}"

    def _text(self, number: int) -> list[str]:
        return [prose(at(self._key, 10_000 + 10 * number + part), _SENTENCES // 2) for part in range(2)]

    def _numbers(self, number: int) -> list[int]:
        """The pages that a page links to: the next one, so that all are reached, and some further ones."""
        size = self.size
        chosen = [(number + 1) % size, *((number * 7 + 31 * step) % size for step in range(1, _LINKS))]
        return list(dict.fromkeys(each for each in chosen if each != number))

    def _links(self, number: int) -> list[str]:
        return ["/", *(self._way(each) for each in self._numbers(number) if each)]

    def _way(self, number: int) -> str:
        """The link to a page, as the application writes it."""
        if number == 0:
            return "/"
        return f"/item/{number}" if number < self.first_note else f"/#!/note/{number}"

    def _address(self, number: int, port: int | None) -> str:
        """The URL by which a crawler knows a page."""
        base = f"http://{APPLICATION}" + (f":{port}" if port else "")
        way = self._way(number)
        return base + (f"/?_escaped_fragment_=/note/{number}" if "#!" in way else way)

    # -- the truth

    def pages(self, port: int | None = None) -> list[ApplicationPage]:
        """Every page of the application."""
        return [
            ApplicationPage(
                self._address(number, port),
                self._title(number),
                tuple(self._address(each, port) for each in sorted({0, *self._numbers(number)})),
            )
            for number in range(self.size)
        ]


def _shell(script: str, content: str = "") -> bytes:
    """What the server of an application sends for every page."""
    source = f' src="{escape(script)}"' if script else ""
    early = "const root = document.getElementById('root');" if content else ""
    style = '<link rel="stylesheet" href="/static/app.css">' if script else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Application</title>{style}</head>\n'
        "<body><noscript>You need to enable JavaScript to run this app.</noscript>\n"
        f'<div id="root"></div>\n<script{source}>{early}{content}</script></body></html>\n'
    ).encode()
