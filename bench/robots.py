"""robots.txt against Protego: reading files, deciding about URLs, and both at once for a site seen for the first time.

The files are made here, in the shapes that real ones have. Of 4,067 files of popular sites half have at most 11 rules
and a tenth more than 81; two in five have patterns with a star; a few list hundreds of crawlers or thousands of paths.
Set PERIPLUS_ROBOTS to a folder of real files to measure those as well.

Each file is asked about its own fresh URLs, each once a round: one in four is made from one of its rules, one in four
has a query, and the rest are pages such as a crawler meets. No URL occurs twice, so a cache of answers does not help.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from periplus.formats import robots

from .harness import Group, Target, race

AGENT = "Periplus"
URLS_A_FILE = 24
WORDS = tuple(
    re.findall(
        r"\w+",
        "about account admin ajax api archive article basket blog browse cart catalog category checkout comment "
        "contact content customer download event feed file forum gallery help history image index info item login "
        "logout mail map media member message module news order page photo preview print privacy product profile "
        "public rating register report review rss sale search service session share shop sitemap special static "
        "store stream subscribe support tag template theme thread topic track upload user video view wishlist",
    )
)
BOTS = (
    "Googlebot",
    "bingbot",
    "Slurp",
    "Baiduspider",
    "Yandex",
    "MJ12bot",
    "AhrefsBot",
    "GPTBot",
    "CCBot",
    "Twitterbot",
)


def measure(quick: bool) -> list[Group]:
    """Compare on generated files; and on real ones where a folder of them is named."""
    groups = _measure("files in real shapes", _generated(Random(9309), 100 if quick else 400), quick)
    if folder := os.environ.get("PERIPLUS_ROBOTS"):
        bodies = [path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()]
        real = [body for body in bodies if not robots.looks_like_html(body)]
        groups += _measure("real files", Random(9309).sample(real, min(len(real), 200 if quick else 1000)), quick)
    return groups


def _measure(kind: str, bodies: Sequence[bytes], quick: bool) -> list[Group]:
    from protego import Protego

    rng = Random(9309)
    parsed = [robots.parse(body) for body in bodies]
    texts = [body.decode("utf-8", "replace") for body in bodies]
    urls = [_urls(rng, one) for one in parsed]
    peers = [Protego.parse(text) for text in texts]
    rules = sum(len(group.rules) for one in parsed for group in one.groups)
    facts = {"files": f"{len(bodies):,}", "bytes": f"{sum(map(len, bodies)):,}", "rules": f"{rules:,}"}
    rounds = 3 if quick else 7

    def ask_ours() -> None:
        for one, some in zip(parsed, urls, strict=True):
            for url in some:
                one.allows(AGENT, url)

    def ask_peer() -> None:
        for one, some in zip(peers, urls, strict=True):
            for url in some:
                one.can_fetch(url, AGENT)

    def group(title: str, unit: str, units: int, ours: Callable[[], object], peer: Callable[[], object]) -> Group:
        rates = race({"periplus": ours, "protego": peer}, units=units, rounds=rounds, clock=time.process_time)
        ratio = {"parse": 4.0, "decide": 10.0}.get(title)
        targets = (Target("periplus", "protego", ratio),) if ratio else ()
        return Group(f"robots.txt: {title}, {kind}", unit, rates, targets, facts=facts)

    return [
        group(
            "parse",
            "files/s",
            len(bodies),
            lambda: [robots.parse(body) for body in bodies],
            lambda: [Protego.parse(text) for text in texts],
        ),
        group("decide", "URLs/s", URLS_A_FILE * len(bodies), ask_ours, ask_peer),
        group(
            "parse and decide once",
            "files/s",
            len(bodies),
            lambda: [robots.parse(body).allows(AGENT, some[0]) for body, some in zip(bodies, urls, strict=True)],
            lambda: [Protego.parse(text).can_fetch(some[0], AGENT) for text, some in zip(texts, urls, strict=True)],
        ),
    ]


def _urls(rng: Random, parsed: robots.Robots) -> list[str]:
    patterns = [rule.pattern for group in parsed.groups_for(AGENT) for rule in group.rules] or ["/"]
    return [_url(rng, rng.choice(patterns) if number % 4 == 0 else None) for number in range(URLS_A_FILE)]


def _url(rng: Random, pattern: str | None) -> str:
    if pattern is not None:
        path = "/" + pattern.replace("*", rng.choice(WORDS)).rstrip("$").lstrip("/")
        return f"https://www.example.com{path}{rng.choice(('', 'a', '/b.html'))}"
    path = "/".join(rng.choice(WORDS) for _ in range(rng.randint(0, 3)))
    query = f"?page={rng.randint(1, 99)}&sort={rng.choice(WORDS)}" if rng.random() < 1 / 3 else ""
    return f"https://www.example.com/{path}/{rng.choice(WORDS)}-{rng.randint(1, 10**6)}.html{query}"


def _generated(rng: Random, count: int) -> list[bytes]:
    """Files of every shape, as often as it is met."""
    shapes = [_blog] * 40 + [_cms] * 25 + [_shop] * 14 + [_news] * 10 + [_portal] * 6 + [_market] * 3 + [_wiki] * 2
    return [shapes[number % len(shapes)](rng).encode() for number in range(count)]


def _path(rng: Random, depth: int = 2) -> str:
    return "".join(f"/{rng.choice(WORDS)}" for _ in range(rng.randint(1, depth)))


def _blog(rng: Random) -> str:
    """A few lines, as blog software writes them."""
    extra = "".join(f"Disallow: {_path(rng)}/\n" for _ in range(rng.randint(0, 6)))
    return f"User-agent: *\nDisallow: /wp-admin/\nAllow: /wp-admin/admin-ajax.php\n{extra}\nSitemap: {_sitemap(rng)}\n"


def _cms(rng: Random) -> str:
    """Comments, folders, files and their aliases."""
    rules = "".join(
        f"Disallow: {_path(rng)}{rng.choice(('/', '.php', '.txt', ''))}\n" for _ in range(rng.randint(15, 45))
    )
    queries = "".join(f"Disallow: /?q={rng.choice(WORDS)}/\n" for _ in range(rng.randint(0, 8)))
    head = "#\n# robots.txt\n#\n# For more information see the manual.\n\n"
    return f"{head}User-agent: *\nCrawl-delay: 10\n{rules}{queries}"


def _shop(rng: Random) -> str:
    """Stars and query parameters."""
    wild = "".join(
        f"Disallow: {rng.choice(('/*?', '/*&', '*/', '/*.', _path(rng) + '/*'))}{rng.choice(WORDS)}"
        f"{rng.choice(('=', '=*', '/', '$', '*'))}\n"
        for _ in range(rng.randint(5, 40))
    )
    plain = "".join(f"Disallow: {_path(rng)}/\n" for _ in range(rng.randint(10, 40)))
    others = f"User-agent: Yandex\n{plain}Host: www.example.com\n"
    return f"User-agent: *\nAllow: /\n{plain}{wild}\n{others}\nSitemap: {_sitemap(rng)}\n"


def _news(rng: Random) -> str:
    """Many crawlers that are not wanted, then rules for the others."""
    unwanted = "".join(
        f"User-agent: {rng.choice(BOTS)}-{rng.choice(WORDS)}\nDisallow: /\n\n" for _ in range(rng.randint(20, 200))
    )
    rules = "".join(f"Disallow: {_path(rng, 3)}\n" for _ in range(rng.randint(20, 60)))
    maps = "".join(f"Sitemap: {_sitemap(rng)}\n" for _ in range(rng.randint(1, 12)))
    return f"{unwanted}User-agent: *\n{rules}\n{maps}"


def _portal(rng: Random) -> str:
    """Hundreds of folders, allowed and not."""
    rules = "".join(
        f"{rng.choice(('Disallow', 'Disallow', 'Allow'))}: {_path(rng, 3)}{rng.choice(('', '/', '?', '?*', '$'))}\n"
        for _ in range(rng.randint(150, 400))
    )
    return f"User-agent: *\n{rules}\nUser-agent: Twitterbot\nAllow: /imgres\n\nSitemap: {_sitemap(rng)}\n"


def _market(rng: Random) -> str:
    """Several groups of long rules, many with stars."""
    rules = "".join(
        f"Disallow: {_path(rng)}{rng.choice(('', '/', '/*/', '*'))}{rng.choice(WORDS)}\n"
        for _ in range(rng.randint(80, 200))
    )
    return "\n".join(f"User-agent: {agent}\n{rules}" for agent in ("*", *rng.sample(BOTS, 3)))


def _wiki(rng: Random) -> str:
    """The same long beginnings again and again, in several languages and spellings."""
    unwanted = "".join(f"User-agent: {rng.choice(WORDS)}-{rng.choice(BOTS)}\nDisallow: /\n\n" for _ in range(40))
    rules = "".join(
        f"Disallow: /wiki/{rng.choice(('Special', 'Wikipedia', 'Spezial', 'User'))}{rng.choice((':', '%3A', '_talk:'))}"
        f"{rng.choice(WORDS).title()}_{rng.choice(WORDS)}{rng.choice(('', '/', '%C3%A4'))}\n"
        for _ in range(700)
    )
    head = "# Please note: there are a lot of pages on this site.\n"
    return f"{head}{unwanted}User-agent: *\nDisallow: /w/\nDisallow: /api/\n{rules}"


def _sitemap(rng: Random) -> str:
    return f"https://www.example.com/{rng.choice(WORDS)}/sitemap-{rng.randint(1, 99)}.xml"
