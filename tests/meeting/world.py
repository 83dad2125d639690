"""A small web with every trap, made from a seed, and what is true of it.

A web has some ten hosts at a few addresses. Each host is of a kind (`_HOSTS`): ordinary sites, calendars, session
identifiers, facets, mirrors, copies, soft 404s, redirects and loops, slow and failing servers, databases behind forms,
applications that need scripts, link farms. Their robots.txt, names and failures are those of `simulated_web.World`.

What is true: `pages` has the links and the *subject* of every URL. URLs with one subject show the same page under
several names, so a crawler may fetch any of them. A page is *owed* if nothing on its way is a trap: a crawl that was
led to it, and was not told to leave it out, must have fetched it.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace
from tests.properties.replayed_world import START, hash_of
from tests.properties.simulated_web import World

from periplus.model import (
    BROWSER_PROBE,
    Failed,
    Fetched,
    FetchOutcome,
    FetchTask,
    NotModified,
    Purpose,
    Redirected,
    Site,
    Url,
)
from periplus.urls import canonical, site_of

SOUND_ROBOTS: Final = ("missing", "open", "rules", "rules", "slow", "once-broken", "moved", "page")
"""Kinds of robots.txt that end well."""
_ELSEWHERE: Final = 0.25
"""The share of hosts whose robots.txt is at the end of a chain of redirects over other hosts."""
BAD_ROBOTS: Final = ("broken", "busy", "silent", "away", "dead", "loop", "odd")
SOUND_NAMES: Final = ("ok", "ok", "ok", "once", "short", "long")
FAILING: Final = ("500", "503", "429", "timeout", "refused", "404", "once-500", "once-timeout", "type", "redirect")
SOUND_PAGES: Final = ("ok", "ok", "ok", "ok", "ok", "ok", "ok", "404", "once-500", "type")
"""Kinds of pages after which a site is not given up, however many of them follow each other."""
TOPIC: Final = "harbour lighthouse"
_ALIKE: Final = "This page is the same on every site and says so in the same words each time it is asked for. "
_SORRY: Final = "Sorry, the page that you have asked for could not be found on this server. Please try the search. "
_RECORDS: Final = 24
_PER_PAGE: Final = 6
_WORDS: Final = ("amber", "basalt", "cobalt", "dolomite", "emerald", "feldspar")
"""Words that records of a database contain; each query finds those with its word."""


class Page(Struct):
    """What is true of a URL. `kind` is how it answers; `listed`: in a sitemap or feed of its site."""

    kind: str = "ok"
    links: list[Url] = field(default_factory=list)
    subject: str = ""
    is_owed: bool = False
    text: str = ""
    extra: str = ""
    target: Url | None = None


class MeetingWorld(World):
    """The web of a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, 0, 1)
        self.chance = Random(f"meeting world {seed}")
        self.pages: dict[Url, Page] = {}
        self.listed: dict[Site, list[Url]] = {}
        self.named_in: dict[Site, str] = {}
        self.slow: set[Site] = set()
        self.sound: set[Site] = set()
        self.mirrors: dict[Site, Site] = {}
        self.farms: list[Site] = []
        self.homes: list[Url] = []
        self._texts = 0
        kinds = ["plain", *self.chance.sample(_HOSTS, self.chance.randint(4, 8))]
        for number, kind in enumerate(kinds):
            getattr(self, f"_{kind}")(self._host(number, kind))
        self._link_homes()
        self._chain_robots()
        chance = Random(f"moving {seed}")
        self.moving = {site: f"198.51.100.{chance.randrange(4)}" for site in self.sites if chance.random() < 0.2}
        self.urls = list(self.pages)
        self.kinds = {url: page.kind for url, page in self.pages.items()}

    # hosts

    def _host(self, number: int, kind: str, *, is_sound: bool | None = None) -> Site:
        chance = self.chance
        site = Site(f"{chance.choice(('', 'www.', 'shop.'))}{kind.replace('_', '')}{number}.test")
        if is_sound is None:
            is_sound = kind != "plain" or number == 0 or chance.random() < 0.6
        self.sites.append(site)
        self.robots[site] = chance.choice(SOUND_ROBOTS if is_sound else (*SOUND_ROBOTS, *BAD_ROBOTS))
        self.names[site] = chance.choice(SOUND_NAMES) if is_sound or chance.random() < 0.7 else "not-found"
        self.ips[site] = f"192.0.2.{chance.randrange(4)}"
        if number == 0:  # from here all others are reached
            self.robots[site], self.names[site] = chance.choice(SOUND_ROBOTS[:5]), "ok"
        if is_sound:
            self.sound.add(site)
        return site

    def _link_homes(self) -> None:
        """Link the first home to each of the others, in a chain or as a star."""
        for place, home in enumerate(self.homes[1:], start=1):
            self.pages[self.homes[self.chance.randrange(place)]].links.append(home)

    def _chain_robots(self) -> None:
        """Let the robots.txt of some sound hosts be elsewhere: after one to five redirects, or after one too many."""
        chance = Random(f"robots {self._seed}")
        self.robots_chains: dict[Site, list[Url]] = {}
        places = [site for site in self.sites if site in self.sound and self.names[site] == "ok"]
        for site in self.sites[1:]:
            if site in self.sound and self.robots[site] in SOUND_ROBOTS and chance.random() < _ELSEWHERE:
                hosts = chance.choices(places, k=chance.choice((1, 1, 2, 5, 6)))
                self.robots_chains[site] = [_url(host, f"/of/{site}/{place}.txt") for place, host in enumerate(hosts)]

    def _chained_robots(self, task: FetchTask, now: float) -> FetchOutcome | None:
        """The next redirect of a chain, or its end."""
        _, is_of, rest = task.url.partition("/of/")
        if is_of:
            name, _, place = rest.removesuffix(".txt").partition("/")
            onward = self.robots_chains[Site(name)][int(place) + 1 :]
        elif task.url.endswith("/robots.txt"):
            onward = self.robots_chains.get(site_of(task.url), [])
        else:
            return None
        if not onward:
            return None
        return Redirected(task, 302, onward[0], (), now, self._duration(task.url), task.ip)

    def _page_at(
        self, site: Site, path: str, links: Iterable[Url] = (), *, kind: str = "ok", is_owed: bool = True,
        subject: str = "", text: str = "", extra: str = "", target: Url | None = None,
    ) -> Url:  # fmt: skip
        url = _url(site, path)
        is_reached = site in self.sound and "/private/" not in path
        self._texts += 1
        self.pages[url] = Page(
            kind,
            list(links),
            subject or str(url),
            is_owed and is_reached and kind in ("ok", "once-500"),
            text or self._text(subject or str(url)),
            extra,
            target,
        )
        return url

    def _text(self, subject: str) -> str:
        chance = Random(f"{self._seed} {subject}")
        words = [f"{chance.choice(_WORDS)}{chance.randrange(400)}" for _ in range(45)]
        return " ".join((*words, TOPIC if chance.random() < 0.2 else ""))

    def _home(self, site: Site, links: Iterable[Url], **more: str) -> Url:
        home = self._page_at(site, "/", links, extra=more.get("extra", ""), text=more.get("text", ""))
        self.homes.append(home)
        return home

    def _plain(self, site: Site) -> None:
        """A tree of pages, some of which fail; some are only in the sitemap."""
        chance, kinds = self.chance, SOUND_PAGES if site in self.sound else (*SOUND_PAGES, *FAILING)
        paths = [f"/{chance.choice(('', '', 'news/', 'private/'))}{number}" for number in range(chance.randint(8, 22))]
        urls: list[Url] = []
        for place, path in enumerate(paths):
            kind = chance.choice(kinds)
            target = self.homes[0] if kind == "redirect" and self.homes else None
            kind = "404" if kind == "redirect" and target is None else kind
            url = self._page_at(site, path, kind=kind, target=target)
            if urls and chance.random() < 0.8:
                self.pages[chance.choice(urls)].links.append(url)
            elif place % 2:
                self.listed.setdefault(site, []).append(url)
            urls.append(url)
        for url in urls:
            self.pages[url].links += chance.sample(urls, min(len(urls), chance.randint(0, 3)))
        picture = f'<img src="/pictures/{chance.randrange(9)}.png" alt="a picture">'
        home = self._home(site, [urls[0], *chance.sample(urls, min(3, len(urls)))], extra=picture)
        self.listed.setdefault(site, []).extend([home, *chance.sample(urls, min(3, len(urls)))])
        self.named_in[site] = chance.choice(("robots", "robots", "well-known", "broken", "nowhere"))

    def _soft_404(self, site: Site) -> None:
        """Missing pages are sent with status 200, or redirect to the home page."""
        real = [self._page_at(site, f"/real/{number}") for number in range(6)]
        kind = self.chance.choice(("sorry", "sorry", "home"))
        home = _url(site, "/")
        missing = [
            self._page_at(
                site, f"/{folder}/{number}", kind="ok" if kind == "sorry" else "redirect", is_owed=False, text=_SORRY,
                subject=f"{site} missing", target=home,
            )
            for number, folder in enumerate(("old", "gone", "shop", "a/b", "archive", "lost") * 2)
        ]  # fmt: skip
        self._home(site, real + missing)
        self.sorry = {**getattr(self, "sorry", {}), site: kind}

    def _alike(self, site: Site) -> None:
        """Pages of several templates that say the same as those of other sites."""
        folders = ("about", "imprint", "help/us", "terms", "legal/notes", "contact")
        urls = [self._page_at(site, f"/{folder}", text=_ALIKE * 3) for folder in folders]
        more = [self._page_at(site, f"/more/{number}") for number in range(8)]
        for url in more:
            self.pages[url].links += urls
        self._home(site, [*urls, *more])

    def _calendar(self, site: Site) -> None:
        """Months that lead to the months before and after."""
        months = [(2023 + month // 12, month % 12 + 1) for month in range(-14, 40)]
        urls = [
            self._page_at(site, f"/events/{year}/{month:02d}/", is_owed=False, subject=f"{site} {year} {month}")
            for year, month in months
        ]
        for before, after in pairwise(urls):
            self.pages[before].links.append(after)
            self.pages[after].links.append(before)
        self._home(site, [urls[14]])

    def _sessions(self, site: Site) -> None:
        """Every link has the session of its page in it."""
        names = [f"/item/{number}" for number in range(10)]
        for number, name in enumerate(names):
            links = [self._session_url(site, other, number) for other in self.chance.sample(names, 3)]
            self._page_at(site, name, links, subject=f"{site}{name}")
        self._home(site, [self._session_url(site, name, 99) for name in names[:4]])

    def _session_url(self, site: Site, name: str, number: int) -> Url:
        url = _url(site, f"{name}?sid={number:04d}9f86d081884c7d65")
        self.pages[url] = Page(subject=f"{site}{name}", is_owed=True, text=self._text(f"{site}{name}"))
        return url

    def _facets(self, site: Site) -> None:
        """Lists by colour, size and order; the order changes nothing, nor does `ref`."""
        options = [(colour, size) for colour in ("red", "blue", "green") for size in ("s", "m")]
        urls = []
        for colour, size in options:
            for tail in ("", "&sort=up", "&sort=down", "&ref=1", "&ref=2"):
                path = f"/list?colour={colour}&size={size}{tail}"
                urls.append(self._page_at(site, path, is_owed=False, subject=f"{site} {colour} {size}"))
        for url in urls:
            self.pages[url].links += self.chance.sample(urls, 4)
        self._home(site, urls[::3])

    def _variants(self, site: Site) -> None:
        """Pages by several names: with a slash, an idle parameter, another case."""
        names = [f"/thing/{number}" for number in range(14)]
        urls = []
        for name in names:
            for path in (name, f"{name}/", f"{name}?ref=front", f"{name}?ref=list"):
                url = self._page_at(site, path, is_owed=path == name, subject=f"{site}{name}")
                self.pages[url].text = self._text(f"{site}{name}")
                urls.append(url)
        for url in urls:
            self.pages[url].links += self.chance.sample(urls, 3)
        self._home(site, urls)

    def _mirror(self, site: Site) -> None:
        """Another host with the same pages."""
        other = self._host(len(self.sites), "original", is_sound=True)
        urls = []
        for host in (other, site):
            of_host = [
                self._page_at(host, f"/doc/{number}", subject=f"{other}/doc/{number}", is_owed=host is other)
                for number in range(12)
            ]
            for url in of_host:
                self.pages[url].links += self.chance.sample(of_host, 2)
            self._home(host, of_host[:6], text=self._text(f"{other} home"))
            self.pages[_url(host, "/")].subject = f"{other}/"
            self.pages[_url(host, "/")].is_owed = host is other
            urls += of_host
        self.mirrors[site] = other

    def _redirects(self, site: Site) -> None:
        """Chains, loops, and ways to other hosts."""
        end = self._page_at(site, "/end")
        links = []
        for length in (1, 3, 14):
            for step in range(length):
                last = end if step == length - 1 else _url(site, f"/way{length}/{step + 1}")
                links += [self._page_at(site, f"/way{length}/{step}", kind="redirect", is_owed=False, target=last)][:1]
        for name, target in (("a", "b"), ("b", "a"), ("self", "self")):
            loop = _url(site, f"/loop/{target}")
            links.append(self._page_at(site, f"/loop/{name}", kind="redirect", is_owed=False, target=loop))
        away = self.homes[0] if self.homes else end
        links.append(self._page_at(site, "/away", kind="redirect", is_owed=False, target=away))
        self._home(site, [end, *links])

    def _slow(self, site: Site) -> None:
        """Answers take many seconds."""
        self._plain(site)
        self.slow.add(site)

    def _failing(self, site: Site) -> None:
        """Nearly every page fails."""
        self.sound.discard(site)
        urls = [self._page_at(site, f"/{number}", kind=self.chance.choice(FAILING[:5])) for number in range(14)]
        self._home(site, urls)

    def _dead(self, site: Site) -> None:
        """There is no such host."""
        self.sound.discard(site)
        self.names[site] = self.chance.choice(("not-found", "private"))
        self._home(site, [self._page_at(site, "/1", is_owed=False)])

    def _database(self, site: Site) -> None:
        """Records that only a form leads to."""
        self.names[site] = "ok"
        for number in range(_RECORDS):
            words = " ".join(_WORDS[place] for place in {number % 6, number % 4, number % 5})
            self._page_at(
                site, f"/record/{number}", is_owed=False, text=f"{words} {self._text(f'{site} record {number}')}"
            )
        form = (
            '<form action="/find" method="get"><label>Search <input type="search" name="q"></label>'
            "<button>Search</button></form>"
        )
        self._home(site, [_url(site, "/record/0"), _url(site, "/record/1")], extra=form)

    def _application(self, site: Site) -> None:
        """Pages that are empty without their scripts."""
        urls = [self._page_at(site, f"/app/{number}", kind="shell", is_owed=False) for number in range(6)]
        for before, after in pairwise(urls):
            self.pages[before].links.append(after)
        self._home(site, urls[:2])

    def _cloaked(self, site: Site) -> None:
        """Browsers are shown something else."""
        self._plain(site)
        for url in self.pages:
            if site_of(url) == site and self.pages[url].kind == "ok":
                self.pages[url].kind = "cloaked" if self.pages[url].is_owed else "ok"

    def _farm(self, site: Site) -> None:
        """Domains that link to each other, with one text."""
        hosts = [site, *(self._host(len(self.sites), f"farm{number}", is_sound=True) for number in range(3))]
        homes = [_url(host, "/") for host in hosts]
        for host in hosts:
            urls = [self._page_at(host, f"/offer/{number}", homes, text="cheap offer " * 30) for number in range(5)]
            self._home(host, [*urls, *homes])
        self.farms += hosts

    def _hosts(self, site: Site) -> None:
        """A domain whose every name answers."""
        names = [Site(f"h{number}.{site}") for number in range(12)]
        for name in names:
            self.sites.append(name)
            self.robots[name], self.names[name], self.ips[name] = "missing", "ok", self.ips[site]
            self.sound.add(name)
        for name in names:
            self._page_at(name, "/", [_url(self.chance.choice(names), "/")])
        self._home(site, [_url(name, "/") for name in names[:3]])

    # answers

    def _duration(self, url: Url) -> float:
        chance = Random(f"{self._seed}/{url}/{self.asked[url, False]}")
        took = chance.choice((0.0, 0.05, 0.3, 1.1))
        return took + chance.choice((4.0, 9.0)) if site_of(url) in self.slow else took

    def _robots(self, task: FetchTask, now: float) -> FetchOutcome:
        outcome = self._chained_robots(task, now) or super()._robots(task, now)
        site = task.site
        if isinstance(outcome, Fetched) and outcome.body.startswith(b"User-agent"):
            place = {"robots": "/index.xml", "broken": "/broken.xml"}.get(self.named_in.get(site, ""))
            if place is not None:
                return replace(outcome, body=outcome.body + f"Sitemap: https://{site}{place}\n".encode())
        return outcome

    def answer(self, task: FetchTask, now: float) -> FetchOutcome:
        if task.purpose is Purpose.SITEMAP and task.ip is not None:
            self.asked[task.url, False] += 1
            return self._file(task, now)
        return super().answer(task, now)

    def _page(self, task: FetchTask, now: float) -> FetchOutcome:
        page = self.pages.get(task.url)
        if page is None:
            return self._unknown(task, now)
        kind, is_first = page.kind, self.asked[task.url, False] == 1
        if kind == "redirect" and page.target is not None:
            return Redirected(task, 302, page.target, (), now, self._duration(task.url), task.ip)
        if kind in ("ok", "shell", "cloaked") or (kind.startswith("once-") and not is_first):
            return self._html(task, now, page)
        if kind == "redirect":
            return self._fetched(task, now, 404, b"")
        return super()._page(task, now)

    def _unknown(self, task: FetchTask, now: float) -> FetchOutcome:
        """A URL that no page names: a query of a form, a picture, or one that was made up."""
        site, url = site_of(task.url), task.url
        if "/find?" in url:
            return self._results(task, now)
        if url.endswith(".png"):
            return Fetched(task, 200, (("Content-Type", "image/png"),), b"\x89PNG" + url.encode(), now, 0.1, task.ip)
        match getattr(self, "sorry", {}).get(site):
            case "sorry":
                return self._html(task, now, Page(text=_SORRY))
            case "home":
                return Redirected(task, 302, _url(site, "/"), (), now, 0.1, task.ip)
            case _:
                return self._fetched(task, now, 404, b"")

    def _html(self, task: FetchTask, now: float, page: Page) -> FetchOutcome:
        body = self.document(task.url, page, now, is_rendered=False)
        if page.kind == "cloaked" and task.probe == BROWSER_PROBE:
            body = self.document(task.url, Page(text="buy our cheap watches now " * 20), now, is_rendered=False)
        tag = f'"{hash_of(body)}"'
        if task.validators is not None and task.validators.etag == tag:
            return NotModified(task, (), now, self._duration(task.url), task.ip)
        headers = (("Content-Type", "text/html; charset=utf-8"), ("ETag", tag))
        return replace(self._fetched(task, now, 200, body), headers=headers)

    def document(self, url: Url, page: Page, now: float, *, is_rendered: bool) -> bytes:
        """The document of a page at a time; one that needs scripts is an empty shell before it is rendered."""
        if page.kind == "shell" and not is_rendered:
            return b'<html><head><title>app</title></head><body><div id="root"></div><script src="/app.js"></script>'
        version = int(now - START) // 7200 if str(url).endswith(("0", "3")) else 0
        changing = f"version {version} " + " ".join(f"news{version}n{n}" for n in range(25)) if version else ""
        links = "".join(f'<li><a href="{link}">to {link[8:]}</a></li>' for link in page.links)
        feed = ""
        if self.listed.get(site_of(url)):
            feed = f'<link rel="alternate" type="application/rss+xml" href="https://{site_of(url)}/feed.xml">'
        title = page.text.split(" ", 3)[:3] if page.text else ["page"]
        return (
            f"<html><head><title>{' '.join(title)}</title>{feed}</head><body><h1>{' '.join(title)}</h1>"
            f"<p>{page.text}</p><p>{changing}</p>{page.extra}<ul>{links}</ul></body></html>"
        ).encode()

    def rendered(self, url: Url, now: float) -> bytes:
        """The document of a page after its scripts ran."""
        return self.document(url, self.pages.get(url, Page()), now, is_rendered=True)

    def _results(self, task: FetchTask, now: float) -> FetchOutcome:
        found = re.search(r"[?&]q=([^&]*)", task.url)
        number = re.search(r"[?&]page=(\d+)", task.url)
        word, place = found[1] if found else "", int(number[1]) if number else 1
        site = site_of(task.url)
        records = [_url(site, f"/record/{each}") for each in range(_RECORDS)]
        hits = [url for url in records if word and word in self.pages[url].text.split()]
        shown = hits[(place - 1) * _PER_PAGE : place * _PER_PAGE]
        links = "".join(f'<li><a href="{url}">{self.pages[url].text[:40]}</a></li>' for url in shown)
        more = f'<a rel="next" href="/find?q={word}&amp;page={place + 1}">next</a>' if hits[place * _PER_PAGE :] else ""
        text = (
            f"<p>{len(hits)} results for {word}</p><ul class=results>{links}</ul>{more}" if hits else "<p>Nothing.</p>"
        )
        body = f"<html><head><title>Search</title></head><body>{text}</body></html>".encode()
        headers = (("Content-Type", "text/html; charset=utf-8"),)
        return replace(self._fetched(task, now, 200, body), headers=headers)

    def _file(self, task: FetchTask, now: float) -> FetchOutcome:
        """Sitemaps and feeds."""
        site, url = site_of(task.url), task.url
        listed, where = self.listed.get(site, []), self.named_in.get(site)
        if url.endswith("/index.xml") and where == "robots":
            files = ("a.xml", "b.xml.gz", "gone.xml", "broken.xml")
            places = "".join(f"<sitemap><loc>https://{site}/{name}</loc></sitemap>" for name in files)
            return self._fetched(task, now, 200, f"<sitemapindex>{places}</sitemapindex>".encode())
        if url.endswith("/a.xml"):
            return self._fetched(task, now, 200, _urlset(listed[::2]))
        if url.endswith("/b.xml.gz"):
            return self._fetched(task, now, 200, gzip.compress(_urlset(listed[1::2]), mtime=0))
        if url.endswith("/sitemap.xml") and where == "well-known":
            return self._fetched(task, now, 200, _urlset(listed))
        if url.endswith("/broken.xml"):
            return self._fetched(task, now, 200, _urlset(listed[:3])[:-60])
        if url.endswith("/feed.xml") and listed:
            items = "".join(f"<item><link>{each}</link></item>" for each in listed[:2])
            return self._fetched(task, now, 200, f"<rss><channel>{items}</channel></rss>".encode())
        if url == self.slow_file(site):
            return Failed(task, "timeout", now, 30.0, ip=task.ip)
        return self._fetched(task, now, 404, b"")

    # truth

    def file_of(self, site: Site) -> Url:
        """A file that a site might list pages in."""
        return _url(site, self.chance.choice(("/index.xml", "/sitemap.xml", "/slow.xml", "/feed.xml")))

    def slow_file(self, site: Site) -> Url:
        """A file of a site that never arrives, for which the site may be given up."""
        return _url(site, "/slow.xml")

    def listed_in(self, url: Url) -> list[Url]:
        """The pages that a file lists, if it is one whose whole contents can be read."""
        listed = self.listed.get(site_of(url), [])
        where = self.named_in.get(site_of(url))
        if url.endswith("/a.xml"):
            return listed[::2]
        if url.endswith("/b.xml.gz"):
            return listed[1::2]
        if url.endswith("/sitemap.xml") and where == "well-known":
            return listed
        return listed[:2] if url.endswith("/feed.xml") else []

    def subject(self, url: Url) -> str:
        """What a URL shows: equal for all names of a page."""
        page = self.pages.get(url)
        return str(url) if page is None else page.subject


_HOSTS: Final = (
    "plain", "plain", "plain", "soft_404", "soft_404", "alike", "alike", "calendar", "sessions", "facets", "variants",
    "mirror", "redirects", "slow", "failing", "dead", "database", "application", "cloaked", "farm", "hosts",
)  # fmt: skip
"""Kinds of hosts, as often as they are drawn."""


def _url(site: Site, path: str) -> Url:
    url = canonical(f"https://{site}{path}")
    assert url is not None
    return url


def _urlset(urls: Iterable[Url]) -> bytes:
    entries = "".join(f"<url><loc>{url.replace('&', '&amp;')}</loc></url>" for url in urls)
    return f"<urlset>{entries}</urlset>".encode()
