"""Plants faults of every kind among clean pages, and counts which of them an audit names at the right page.

A web of a few hundred pages is made from a seed: languages, layouts, quotes, the order of attributes, entities and
optional tags differ from page to page. Each kind of fault is put on one page, the web is served on loopback, and
`periplus audit` crawls and judges it. A fault is found if the finding of its name has the page among its examples, as
the URL or as the page that links to it. An alarm is a finding at a page without a fault.
"""

# ruff: noqa: E501, N815 - sentences and tags in one line, faults of one form, names of http.server
from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Thread
from typing import Any

WORDS = {
    "en": ("the {0} of the {1} is {2} and it was in the {3} for a {0}|this is what you have to do with the {1} in your {2}"
           "|when they had the {3} there was a {0} on it, but not all of them were {2}"
           "|you can find one {0} by the {1} and how it is made from {2} with the {3}",
           "apple river lamp garden bridge paper winter engine letter harbour market violin window forest copper island"),
    "de": ("der {0} und die {1} sind mit dem {2} nicht von der {3} für ein {0}|das ist auch ein {1} in den {2} und es werden {3} zu sehen"
           "|sie haben sich auf die {3} von dem {0} im {1} für das {2}",
           "Apfel Fluss Lampe Garten Brücke Papier Winter Maschine Brief Hafen Markt Geige Fenster Wald Kupfer Insel"),
    "fr": ("le {0} et la {1} sont dans les {2} pour une {3} qui est sur le {0}|il y a des {1} par la {2} du {3} que les {0} ne sont pas"
           "|une {3} est plus que le {0} dans un {1} au {2}",
           "pomme fleuve lampe jardin pont papier hiver moteur lettre port marché violon fenêtre forêt cuivre île"),
    "es": ("el {0} de la {1} es para los {2} en una {3} con las {0}|no se por que los {1} en el {2} del {3} como un {0}"
           "|la {3} para el {0} es más que una {1} en los {2}",
           "manzana río lámpara jardín puente papel invierno motor carta puerto mercado violín ventana bosque cobre isla"),
}  # fmt: skip
HEAD = ("viewport", "description", "canonical", "og", "twitter", "data", "style", "extra")


@dataclass
class Page:
    """A page before it is written; a fault changes it."""

    path: str
    language: str
    title: str
    h1: str
    description: str
    texts: list[str]
    links: list[tuple[str, str]] = field(default_factory=list)
    declared: str | None = None
    canonical: list[str] = field(default_factory=list)
    body_canonical: str = ""
    metas: list[tuple[str, str, str]] = field(default_factory=list)
    alternates: list[tuple[str, str]] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=lambda: ["/app.js"])
    styles: list[str] = field(default_factory=lambda: ["/site.css"])
    extra: str = ""
    heading: str | None = None
    titles: list[str] = field(default_factory=list)
    drops: set[str] = field(default_factory=set)
    is_listed: bool = True
    is_linked: bool = True
    content_type: str = "text/html; charset=utf-8"


@dataclass
class Web:
    """Answers by path (status, type, body or target), the faults by page, and the pages without one."""

    origin: str
    random: Random
    pages: list[Page] = field(default_factory=list)
    others: dict[str, tuple[int, str, bytes]] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    robots: str = "User-agent: *\nDisallow: /internal/\nSitemap: {origin}/sitemap.xml\n"

    def put(self, path: str, body: str | bytes, kind: str = "text/html; charset=utf-8", status: int = 200) -> None:
        """Answer a path with a body."""
        self.others[path] = (status, kind, body.encode() if isinstance(body, str) else body)

    def move(self, path: str, target: str) -> None:
        """Answer a path with a redirect."""
        self.others[path] = (301, target, b"")

    def some(self, page: Page) -> Page:
        """Another page, without a fault."""
        return self.random.choice([each for each in self.pages[1:40] if each is not page])


Plant = Callable[[Web, Page], None]
FAULTS: dict[str, Plant] = {}


def fault(name: str) -> Callable[[Plant], Plant]:
    """Declare a fault by the name of its finding; a suffix behind `+` tells several of one finding apart."""

    def declared(plant: Plant) -> Plant:
        FAULTS[name] = plant
        return plant

    return declared


def _sets(name: str, **values: Any) -> None:
    def plant(_: Web, page: Page) -> None:
        for key, value in values.items():
            setattr(page, key, value)

    FAULTS[name] = plant


def _drops(name: str, *what: str) -> None:
    FAULTS[name] = lambda _, page: page.drops.update(what)


def _adds(name: str, extra: str) -> None:
    def plant(web: Web, page: Page) -> None:
        page.extra += extra.replace("ORIGIN", web.origin).replace("OTHER", web.some(page).path)

    FAULTS[name] = plant


_drops("h1-missing", "h1")
_sets("h1-empty", heading="<h1 class='x'> &nbsp; </h1>")
_adds("h1-several", "<h1>Yet another subject</h1>")
_adds("headings-skip", "<h2>Part</h2><p>Short.</p><h5>Detail</h5>")
_sets("title-missing", titles=[])
_drops("title-missing", "title")
_sets("title-short", title="Hi")
_sets(
    "title-long",
    title="A title that goes on and on about everything there is to know, and then about much more than that",
)
_sets("title-several", titles=["Another title of the same page"])
_drops("description-missing", "description")
_sets("description-short", description="Short.")
_sets("description-long", description="A description that goes on and on. " * 9)
_sets("description-several", metas=[("name", "description", "A second description of the very same page")])
_sets("lang-code", declared="english")
_sets("lang-mismatch", declared="pl")
_drops("lang-missing", "lang")
_drops("viewport-missing", "viewport")
_drops("doctype-missing", "doctype")
_drops("og-missing", "og")
_drops("og-incomplete", "og:image")
_drops("twitter-card-missing", "twitter")
_adds("javascript-links", '<p><a href="javascript:open(1)">More of it</a></p>')
_adds("vague-links", '<p>For more <a href="OTHER">click here</a></p>')
_adds("empty-links", '<p><a class="i" href="OTHER"><span></span></a></p>')
_adds("file-links", '<p><a href="file:///C:/Documents/plan.doc">The plan</a></p>')
_adds("malformed-links", '<p><a href="htp://example.org/x">Elsewhere</a></p>')
_adds("malformed-links+www", '<p><a href="www.example.org">Elsewhere</a></p>')
_adds("nofollow-internal", '<p><a rel="nofollow" href="OTHER">A page of ours</a></p>')
_adds("tracking-parameters", '<p><a href="OTHER?utm_source=footer&amp;utm_medium=link">A page of ours</a></p>')
_adds("broken-fragments", '<p><a href="#not-there">Below</a></p>')
_adds("broken-fragments+other", '<p><a href="OTHER#not-there">In another page</a></p>')
_adds("image-alt-missing", '<img src="/ok.png" width="10" height="10">')
_adds("image-size-missing", '<img src="/ok.png" alt="A lamp">')
_adds("dead-images", '<img src="/gone.png" width="10" height="10" alt="Gone">')
_adds("heavy-images", '<img src="/heavy.jpg" width="10" height="10" alt="Heavy">')
_adds("iframe-title-missing", '<iframe src="/frame.html" width="300" height="200"></iframe>')
_adds("form-insecure", '<form method="post" action="http://forms.example.org/send"><input name="mail"></form>')
_adds("form-insecure+password", '<form method=POST action="/login"><input type="password" name="p"></form>')
_adds("broken-links", '<p><a href="/nowhere">Nothing is here</a></p>')
_adds("dead-documents", '<p><a href="/gone.pdf">The leaflet</a></p>')
_adds("links-to-forbidden", '<p><a href="/internal/plan">The plan</a></p>')
_sets("dead-styles", styles=["/site.css", "/gone.css"])
_sets("dead-scripts", scripts=["/app.js", "/gone.js"])
_sets("many-requests", scripts=[f"/app.js?{number}" for number in range(120)])
_sets("canonical-several", canonical=["SELF", "/somewhere-else"])
_sets("canonical-several+same", canonical=["SELF", "SELF"])
_sets("canonical-protocol", canonical=["file:///srv/www/index.html"])
_sets("canonical-fragment", canonical=["SELF#top-of-page"])
_sets("canonical-errors", canonical=["/nowhere-at-all"])
_sets("data-syntax", data=['{"@context": "https://schema.org", "@type": "Article", "headline": "x",}'])
_sets("data-context", data=['{"@type": "Article", "headline": "A lamp"}'])
_sets("data-type-missing", data=['{"@context": "https://schema.org", "name": "A lamp"}'])
_sets("data-type-unknown", data=['{"@context": "https://schema.org", "@type": "Lampshop", "name": "A lamp"}'])
_sets("data-required", data=['{"@context": "https://schema.org", "@type": "Event", "name": "Opening"}'])
_sets(
    "data-values",
    data=['{"@context":"https://schema.org","@type":"Event","name":"Opening","startDate":"next Tuesday",'
          '"location":"Hall","description":"d","endDate":"2026-01-02","image":"/ok.png"}'],
)  # fmt: skip
_adds(
    "data-required+microdata",
    '<div itemscope itemtype="https://schema.org/Product"><span itemprop="description">A lamp</span></div>',
)
_adds("data-type-unknown+rdfa", '<div vocab="https://schema.org/" typeof="Lampe"><b property="name">Lamp</b></div>')
_sets("twitter-card-invalid", metas=[("name", "twitter:card", "big")])
_drops("twitter-card-invalid", "twitter")
_sets("canonical-relative", canonical=["RELATIVE"])
_sets("nofollow-pages", metas=[("name", "robots", "index, nofollow")])
_adds("head-in-body", '<meta name="robots" content="index, follow">')
_adds("head-in-body+title", "</div><title>A title at the wrong place</title>")
_adds("placeholder-text", "<p>Lorem ipsum dolor sit amet, consectetur adipiscing elit.</p>")
_adds("localhost-links", '<p><a href="http://localhost:3000/lamps">All lamps</a></p>')
_adds("form-insecure+get", '<form action="/enter"><input name="u"><input type=password name=p></form>')
_adds("empty-links+image", '<p><a href="OTHER"><img src="/ok.png" alt="" width="9" height="9"></a></p>')
_adds("broken-links+error", '<p><a href="/broken">The shop</a></p>')
_sets("meta-refresh", metas=[("http-equiv", "refresh", "600")])


@fault("url-style")
def _url_style(web: Web, page: Page) -> None:
    odd = _plain(web, f"{page.path}/Old_Page")
    web.faults[-1] = ("url-style", odd.path)


@fault("url-style+underscore")
def _url_underscore(web: Web, page: Page) -> None:
    odd = _plain(web, f"{page.path}/old_page")
    web.faults[-1] = ("url-style", odd.path)


@fault("h1-duplicate")
def _h1_duplicate(web: Web, page: Page) -> None:
    twin = _plain(web, f"{page.path}-twin")
    twin.h1 = page.h1
    web.faults.append(("h1-duplicate", twin.path))


@fault("redirect-chains+loop")
def _redirect_loop(web: Web, page: Page) -> None:
    web.move(f"{page.path}-a", f"{page.path}-b")
    web.move(f"{page.path}-b", f"{page.path}-a")
    page.links.append((f"{page.path}-a", "Round and round"))


@fault("data-recommended")
def _data_recommended(_: Web, page: Page) -> None:
    page.data = [json.dumps({"@context": "https://schema.org", "@type": "Article", "headline": page.h1})]


@fault("twitter-card-invalid")
def _twitter_card_invalid(_: Web, page: Page) -> None:
    page.drops.add("twitter")
    page.metas.append(("name", "twitter:card", "big"))


@fault("title-missing")
def _title_missing(_: Web, page: Page) -> None:
    page.drops.add("title")


@fault("viewport-scaling")
def _viewport_scaling(_: Web, page: Page) -> None:
    page.drops.add("viewport")
    page.metas.append(("name", "viewport", "width=device-width, user-scalable=no"))


@fault("charset-missing")
def _charset_missing(_: Web, page: Page) -> None:
    page.drops.add("charset")
    page.content_type = "text/html"
    page.texts.append("Ein Café über die Straße in Århus")


@fault("title-duplicate")
def _title_duplicate(web: Web, page: Page) -> None:
    twin = _plain(web, f"{page.path}-twin")
    twin.title = page.title
    web.faults.append(("title-duplicate", twin.path))


@fault("description-duplicate")
def _description_duplicate(web: Web, page: Page) -> None:
    twin = _plain(web, f"{page.path}-twin")
    twin.description = page.description
    web.faults.append(("description-duplicate", twin.path))


@fault("title-of-another")
def _title_of_another(web: Web, page: Page) -> None:
    page.title = web.some(page).h1


@fault("canonical-noindex")
def _canonical_noindex(web: Web, page: Page) -> None:
    hidden = _hidden(web, page)
    page.canonical, page.is_listed = [hidden.path], False


@fault("canonical-chains")
def _canonical_chains(web: Web, page: Page) -> None:
    web.move(f"{page.path}-moved", web.some(page).path)
    page.canonical, page.is_listed = [f"{page.path}-moved"], False
    page.links.append((f"{page.path}-moved", "Moved"))


@fault("canonical-first-page")
def _canonical_first_page(web: Web, page: Page) -> None:
    second = _plain(web, f"{page.path}?page=2")
    second.canonical, second.is_listed = [page.path], False
    page.links.append((f"{page.path}?page=2", "Page two"))
    web.faults[-1] = ("canonical-first-page", second.path)


@fault("canonical-in-body")
def _canonical_in_body(_: Web, page: Page) -> None:
    page.drops.add("canonical")
    page.body_canonical = page.path


def _hidden(web: Web, page: Page) -> Page:
    """A page that is not to be found, linked from a page with a fault."""
    hidden = _plain(web, f"{page.path}-hidden")
    hidden.metas.append(("name", "robots", "noindex, follow"))
    hidden.is_listed = False
    page.links.append((hidden.path, "Hidden"))
    return hidden


def _versions(web: Web, page: Page, code: str, target: str, *, is_complete: bool = True) -> None:
    page.alternates = [("en", page.path), (code, target)] + ([("x-default", page.path)] if is_complete else [])


def _returning(web: Web, page: Page, code: str = "de") -> Page:
    """Another page that names the page as a version, so that only what is planted is wrong."""
    other = _plain(web, f"{page.path}-{code.lower()}")
    other.alternates = [("en", page.path), (code if code == "de" else "de", other.path), ("x-default", page.path)]
    return other


@fault("hreflang-code")
def _hreflang_code(web: Web, page: Page) -> None:
    _versions(web, page, "en-UK", _returning(web, page, "en-UK").path)


@fault("hreflang-no-default")
def _hreflang_no_default(web: Web, page: Page) -> None:
    _versions(web, page, "de", _returning(web, page).path, is_complete=False)


@fault("hreflang-no-self")
def _hreflang_no_self(web: Web, page: Page) -> None:
    other = _returning(web, page)
    page.alternates = [("de", other.path), ("x-default", other.path)]


@fault("hreflang-conflict")
def _hreflang_conflict(web: Web, page: Page) -> None:
    one, two = _returning(web, page), _plain(web, f"{page.path}-at")
    two.alternates = [("en", page.path), ("de", two.path), ("x-default", page.path)]
    page.alternates = [("en", page.path), ("de", one.path), ("de", two.path), ("x-default", page.path)]


@fault("hreflang-redirects")
def _hreflang_redirects(web: Web, page: Page) -> None:
    web.move(f"{page.path}-alt", _returning(web, page).path)
    page.links.append((f"{page.path}-alt", "German"))
    _versions(web, page, "de", f"{page.path}-alt")


@fault("hreflang-noindex")
def _hreflang_noindex(web: Web, page: Page) -> None:
    hidden = _hidden(web, page)
    hidden.alternates = [("en", page.path), ("de", hidden.path), ("x-default", page.path)]
    _versions(web, page, "de", hidden.path)


@fault("hreflang-errors")
def _hreflang_errors(web: Web, page: Page) -> None:
    page.links.append((f"{page.path}-none", "German"))
    _versions(web, page, "de", f"{page.path}-none")


@fault("hreflang-no-return")
def _hreflang_no_return(web: Web, page: Page) -> None:
    _versions(web, page, "de", _plain(web, f"{page.path}-de").path)


@fault("card-image-relative")
def _card_image_relative(_: Web, page: Page) -> None:
    page.drops.add("og:image")
    page.metas.append(("property", "og:image", "/ok.png"))


@fault("dead-card-images")
def _dead_card_images(web: Web, page: Page) -> None:
    page.drops.add("og:image")
    page.metas.append(("property", "og:image", f"{web.origin}/gone-card.png"))


@fault("images-not-lazy")
def _images_not_lazy(_: Web, page: Page) -> None:
    page.extra += "".join(f'<img src="/ok.png?{n}" alt="Picture {n}" width="9" height="9">' for n in range(20))


@fault("heavy-pages")
def _heavy_pages(_: Web, page: Page) -> None:
    page.extra += "<!--" + "x" * 1_200_000 + "-->"


@fault("redirected-links")
def _redirected_links(web: Web, page: Page) -> None:
    web.move(f"{page.path}-old", web.some(page).path)
    page.links.append((f"{page.path}-old", "An old address"))


@fault("redirect-chains")
def _redirect_chains(web: Web, page: Page) -> None:
    web.move(f"{page.path}-old", f"{page.path}-older")
    web.move(f"{page.path}-older", web.some(page).path)
    page.links.append((f"{page.path}-old", "A very old address"))


@fault("one-inlink")
def _one_inlink(web: Web, page: Page) -> None:
    lonely = _plain(web, f"{page.path}-lonely")
    lonely.is_linked = False
    page.links.append((lonely.path, "Hardly linked"))
    web.faults[-1] = ("one-inlink", lonely.path)


@fault("orphans")
def _orphans(web: Web, page: Page) -> None:
    page.is_linked = False


@fault("pages-unlisted")
def _pages_unlisted(_: Web, page: Page) -> None:
    page.is_listed = False


@fault("soft-errors")
def _soft_errors(web: Web, page: Page) -> None:
    page.title, page.h1, page.texts = "404 - page not found", "Sorry, not found", ["There is nothing here."]
    page.is_listed = False


@fault("thin-pages")
def _thin_pages(_: Web, page: Page) -> None:
    page.texts = ["Few words."]


@fault("duplicate-pages")
def _duplicate_pages(web: Web, page: Page) -> None:
    copy = _plain(web, f"{page.path}?sort=up")
    copy.texts, copy.title, copy.h1, copy.description = page.texts, page.title, page.h1, page.description
    copy.language, copy.is_listed = page.language, False
    copy.drops.add("canonical")
    page.drops.add("canonical")
    page.links.append((copy.path, "Sorted"))
    web.faults[-1] = ("duplicate-pages", copy.path)


@fault("listed-errors")
def _listed_errors(web: Web, page: Page) -> None:
    web.listed.append(f"{page.path}-deleted")
    web.faults[-1] = ("listed-errors", f"{page.path}-deleted")


@fault("listed-redirects")
def _listed_redirects(web: Web, page: Page) -> None:
    web.move(f"{page.path}-moved", web.some(page).path)
    web.listed.append(f"{page.path}-moved")
    web.faults[-1] = ("listed-redirects", f"{page.path}-moved")


@fault("listed-noindex")
def _listed_noindex(_: Web, page: Page) -> None:
    page.metas.append(("name", "robots", "noindex"))


@fault("listed-canonical")
def _listed_canonical(web: Web, page: Page) -> None:
    first = _plain(web, f"{page.path}-first")
    first.texts, first.title, first.h1, first.description = page.texts, page.title, page.h1, page.description
    first.data, first.extra, first.images, first.language = [], "", page.images, page.language
    page.canonical, first.canonical = [first.path], ["SELF"]


@fault("canonical-others")
def _canonical_others(web: Web, page: Page) -> None:
    page.canonical = [web.some(page).path]


@fault("long-urls")
def _long_urls(web: Web, page: Page) -> None:
    long = _plain(web, f"{page.path}/" + "a-very-long-name-" * 16)
    web.faults[-1] = ("long-urls", long.path)


# ---- clean pages


def _sentences(random: Random, language: str, count: int) -> list[str]:
    patterns, nouns = WORDS[language]
    names = nouns.split()
    return [
        " ".join(
            (text := random.choice(patterns.split("|")).format(*random.sample(names, 4)))[:1].upper() + text[1:] + "."
            for _ in range(random.randint(2, 5))
        )
        for _ in range(count)
    ]


def _plain(web: Web, path: str) -> Page:
    """A clean page."""
    random = web.random
    language = random.choice(["en", "en", "de", "fr", "es"])
    noun = random.choice(WORDS[language][1].split())
    name = f"{noun} {len(web.pages)}"
    page = Page(
        path, language, f"All about {name} - Lamps & Co", f"The {name} & its makers",
        f"What there is to know about the {name}, in a few words.", _sentences(random, language, random.randint(4, 8)),
    )  # fmt: skip
    kind = random.random()
    if kind < 0.3:
        article = {
            "@context": "https://schema.org", "@type": random.choice(["Article", "BlogPosting", "NewsArticle"]),
            "headline": page.h1, "author": {"@type": "Person", "name": "Ann Lee"}, "datePublished": "2026-01-05",
            "image": f"{web.origin}/ok.png",
        }  # fmt: skip
        page.data.append(json.dumps(article, indent=random.choice([None, 2])))
    elif kind < 0.4:
        crumbs = [{"@type": "ListItem", "position": 1, "name": "Home", "item": f"{web.origin}/"}]
        page.data.append(
            json.dumps({"@context": "http://schema.org/", "@type": "BreadcrumbList", "itemListElement": crumbs})
        )
    elif kind < 0.5:
        page.extra += (
            '<div itemscope itemtype="https://schema.org/Product"><span itemprop="name">Lamp</span>'
            '<img itemprop="image" src="/ok.png" alt="A lamp" width="9" height="9"><p itemprop="description">A lamp.</p>'
            '<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><meta itemprop="price" content="9.50">'
            '<meta itemprop="priceCurrency" content="EUR"><link itemprop="availability" href="https://schema.org/InStock">'
            "</div></div>"
        )
    if random.random() < 0.4:
        page.extra += '<h2 id="more">More of it</h2><p>See <a href="#more">below</a> &amp; above.</p><h3>Details</h3>'
    if random.random() < 0.5:
        page.images.append("/ok.png")
    if random.random() < 0.2:
        page.extra += '<form action="/search"><input name="q"><button>Go</button></form>'
    web.pages.append(page)
    return page


def build(seed: int, clean: int, origin: str) -> Web:
    """A web with all faults among clean pages."""
    random = Random(seed)
    web = Web(origin, random)
    home = _plain(web, "/")
    for number in range(clean - 1):
        page = _plain(
            web,
            f"/{random.choice(['lamps', 'news', 'shop', 'about'])}/page-{number}{random.choice(['', '.html', '/'])}",
        )
        if number % 12 == 0 and number:
            other = web.pages[-2]
            if not other.alternates and other is not home:
                page.alternates = other.alternates = [
                    ("en", page.path), ("de-AT", other.path), ("x-default", page.path)
                ]  # fmt: skip
    for number, (name, plant) in enumerate(random.sample(list(FAULTS.items()), len(FAULTS))):
        page = _plain(web, f"/faults/{number}-{random.randrange(1 << 30):x}")
        if name.startswith(("lang-mismatch", "hreflang")):
            page.language = "en"
            page.texts = _sentences(random, "en", 6)
        page.data, page.extra = [], ""
        web.faults.append((name.partition("+")[0], page.path))
        plant(web, page)
    _link(web)
    _publish(web)
    return web


def _link(web: Web) -> None:
    """Every page has links to it from several others, but for those that are not to be linked."""
    linked = [page for page in web.pages if page.is_linked]
    count = len(linked)
    for number, page in enumerate(linked):
        for step in (1, 2, 5, 17):
            target = linked[(number + step) % count]
            if not page.path.startswith("/faults/") or step != 17:
                page.links.append((target.path, target.h1))
    home = web.pages[0]
    home.links += [(page.path, page.h1) for page in linked if page is not home]


def _publish(web: Web) -> None:
    origin = web.origin
    for page in web.pages:
        web.put(page.path, _write(web, page), page.content_type)
    dates = (f"2026-0{1 + n % 9}-{1 + n * 7 % 28:02}" for n in range(10**6))
    listed = [page.path for page in web.pages if page.is_listed] + web.listed
    rows = "".join(
        f"<url><loc>{origin}{escape(path)}</loc><lastmod>{date}</lastmod></url>"
        for path, date in zip(listed, dates, strict=False)
    )
    web.put(
        "/sitemap.xml",
        f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{rows}</urlset>',
        "application/xml",
    )
    web.put("/robots.txt", web.robots.format(origin=origin), "text/plain")
    web.put("/broken", "<title>Internal error</title>", status=500)
    web.put("/ok.png", b"\x89PNG" + b"0" * 300, "image/png")
    web.put("/heavy.jpg", b"0" * 900_000, "image/jpeg")
    web.put("/site.css", "body{}", "text/css")
    web.put("/app.js", "1", "text/javascript")
    web.put("/frame.html", "<!doctype html><title>A map of it all</title>")


class _Writer:
    """Writes tags in the manner of one page."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._quotes = random.choice(['"', '"', "'"])
        self._is_xhtml = random.random() < 0.3
        self._is_upper = random.random() < 0.1

    def tag(self, name: str, /, *, is_void: bool = True, **attributes: str) -> str:
        """A start tag."""
        pairs = list(attributes.items())
        self._random.shuffle(pairs)
        quote = self._quotes
        written = "".join(f" {key.replace('_', '-')}={quote}{escape(value, quote=True)}{quote}" for key, value in pairs)
        end = " />" if is_void and self._is_xhtml else ">"
        return f"<{name.upper() if self._is_upper else name}{written}{end}"


def _write(web: Web, page: Page) -> str:
    random = Random(f"{page.path} {len(web.pages)}")
    tags = _Writer(random)
    drops = page.drops
    head: list[str] = [] if "charset" in drops else [tags.tag("meta", charset="utf-8")]
    parts: list[str] = []
    if "title" not in drops:
        parts.append(f"<title>{escape(page.title)}</title>")
    parts += [f"<title>{escape(title)}</title>" for title in page.titles]
    if "viewport" not in drops:
        parts.append(tags.tag("meta", name="viewport", content="width=device-width, initial-scale=1"))
    if "description" not in drops:
        parts.append(tags.tag("meta", name="description", content=page.description))
    if "canonical" not in drops and page.body_canonical == "":
        targets = page.canonical or (["SELF"] if random.random() < 0.7 else [])
        parts += [
            tags.tag(
                "link",
                rel="canonical",
                href=_absolute(web, target.replace("SELF", page.path)).replace("RELATIVE", page.path),
            )
            for target in targets
        ]
    if "og" not in drops:
        values = {
            "og:title": page.title,
            "og:type": "article",
            "og:url": web.origin + page.path,
            "og:image": f"{web.origin}/ok.png",
        }
        parts += [tags.tag("meta", property=key, content=value) for key, value in values.items() if key not in drops]
    if "twitter" not in drops:
        parts.append(tags.tag("meta", name="twitter:card", content="summary"))
    parts += [
        tags.tag("meta", is_void=True, **{key.replace("-", "_"): name, "content": content})
        for key, name, content in page.metas
    ]
    parts += [
        tags.tag("link", rel="alternate", hreflang=code, href=web.origin + path) for code, path in page.alternates
    ]
    parts += [f'<script type="application/ld+json">{source}</script>' for source in page.data]
    parts += [tags.tag("link", rel="stylesheet", href=href) for href in page.styles]
    random.shuffle(parts)
    head += parts
    lang = {} if "lang" in drops else {"lang": page.declared or page.language}
    doctype = "" if "doctype" in drops else random.choice(["<!DOCTYPE html>", "<!doctype html>\n"])
    main = "" if "h1" in drops else page.heading or f"<h1>{escape(page.h1)}</h1>"
    main += "".join(f"<p>{escape(text)}{random.choice(['</p>', ''])}\n" for text in page.texts)
    main += "".join(tags.tag("img", src=src, alt="A lamp", width="9", height="9") for src in page.images) + page.extra
    items = "".join(f"<li>{tags.tag('a', is_void=False, href=path)}{escape(text)}</a>" for path, text in page.links)
    nav = f"<nav>{tags.tag('a', is_void=False, href='/')}Lamps &amp; Co</a></nav>"
    canonical = tags.tag("link", rel="canonical", href=web.origin + page.body_canonical) if page.body_canonical else ""
    scripts = "".join(f'<script src="{src}"></script>' for src in page.scripts)
    body = random.choice([
        f"{nav}<main>{main}</main><ul>{items}</ul><footer>Lamps &amp; Co, 2026</footer>",
        f"<div id=top>{nav}</div><article>{main}</article><aside><ul>{items}</ul></aside>",
        f"<header>{nav}</header><div class=content>{main}<hr><ul>{items}</ul></div>",
    ])  # fmt: skip
    opened = tags.tag("html", is_void=False, **lang)
    joined = "\n".join(head)
    return f"{doctype}{opened}<head>{joined}</head>\n<body>{canonical}{body}{scripts}</body></html>"


def _absolute(web: Web, target: str) -> str:
    return web.origin + target if target.startswith("/") else target


# ---- serving and judging

PROTECTING = {
    "Content-Security-Policy": "default-src 'self'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
}  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer as the web says."""
        answers: dict[str, tuple[int, str, bytes]] = self.server.answers  # type: ignore[attr-defined]
        path = self.path
        status, kind, body = answers.get(path) or answers.get(path.partition("?")[0]) or (404, "text/html", b"nothing")
        if path not in answers and "?utm_" not in path and not path.startswith(("/app.js?", "/ok.png?")):
            status, kind, body = 404, "text/html", b"nothing"
        self.send_response(status)
        self.send_header("Location" if status == 301 else "Content-Type", kind)
        for name, value in PROTECTING.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nobody reads it."""


@contextmanager
def served(make: Callable[[str], Web]) -> Iterator[Web]:
    """A web on loopback, made when its address is known."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.request_queue_size = 256
    web = make(f"http://127.0.0.1:{server.server_address[1]}")
    server.answers = web.others  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def audited(web: Web, *options: str) -> dict[str, Any]:
    """What `periplus audit` says of a web, as JSON."""
    command = [
        sys.executable, "-m", "periplus", "audit", f"{web.origin}/", "--json", "--examples", "1000", "--limit", "0",
        "--delay", "0", "--checks", "1000", *options,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr[-2000:])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@dataclass
class Score:
    """The faults that were missed, and findings at pages without a fault."""

    planted: int
    missed: list[tuple[str, str]]
    alarms: list[tuple[str, str, str]]
    clean: int

    @property
    def alarm_share(self) -> float:
        """The share of clean pages with an alarm."""
        return len({url for _, url, _ in self.alarms}) / max(1, self.clean)


def score(web: Web, audit: dict[str, Any]) -> Score:
    """Compare what was found with what was planted."""
    found: dict[str, set[str]] = {}
    alarms = []
    faulty = {web.origin + path for _, path in web.faults}
    clean = {web.origin + page.path for page in web.pages if not page.path.startswith("/faults/")}
    for each in audit["findings"]:
        for example in each["examples"]:
            found.setdefault(each["name"], set()).update((example["url"], example["at"]))
            if example["url"] in clean - faulty:
                alarms.append((each["name"], example["url"], example["note"]))
    missed = [(name, path) for name, path in web.faults if web.origin + path not in found.get(name, set())]
    return Score(len(web.faults), missed, alarms, len(clean))


def run(seed: int, clean: int) -> Score:
    """Make, serve, audit and score one web."""
    with served(lambda origin: build(seed, clean, origin)) as web:
        return score(web, audited(web))
