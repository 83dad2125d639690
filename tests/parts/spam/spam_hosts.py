"""Generated hosts, honest and of farms, with their pages: what the shipped spam model is trained and measured on.

Pages are HTML in the lab's vocabulary, read by `content.read_page` as any page. A farm's page has one of several
templates: stuffed key words, a list of links, prose with paid links, a doorway with hidden words. A farm that adapts
rotates them, so that no two pages of a host look alike.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
from msgspec import Struct

from periplus.content import read_page
from periplus.parts.spam.features import Features, page_features
from periplus.parts.spam.link_features import DomainGraph
from periplus.urls import domain_of, site_of
from periplus_lab.randomness import host_label, sentences, topics, words

_KEY_WORDS = (
    "pills", "loans", "watches", "casino", "degrees", "ringtones", "mortgage", "slots", "insurance", "replica",
    "credit", "jackpot", "cheap", "best", "buy", "online", "free", "discount", "deals", "poker", "dating", "diet",
    "viagra", "debt", "finance", "hotels", "flights", "outlet", "coupons", "bonus", "bets", "forex",
)  # fmt: skip


class Host(Struct, frozen=True):
    """A host and its pages: URL and HTML."""

    name: str
    is_spam: bool
    pages: tuple[tuple[str, str], ...]


def features_of(url: str, html: bytes) -> Features:
    """The features of a page as the job over a collection finds them."""
    page = read_page(html, url, "text/html; charset=utf-8")
    own = domain_of(site_of(page.url))
    links = page.links.to_others()
    outgoing = {domain_of(site_of(target)) or site_of(target) for target in links.urls} - {own}
    return page_features(page.statistics, len(links), len(outgoing))


def honest_host(chance: Random, pages: int = 12) -> Host:
    """A host of prose, with some index pages and some links to others."""
    name = _honest_name(chance)
    templates = (_article, _article, _article, _index, _note, _reference)
    return _host(name, False, chance, pages, lambda: chance.choice(templates))


def farm_host(chance: Random, pages: int = 12, *, adapts: bool = False) -> Host:
    """A host of a farm. One that adapts has another template for each page, and an inconspicuous name."""
    templates = (_stuffed, _link_list, _paid_prose, _doorway)
    own = chance.choice(templates)
    name = _honest_name(chance) if adapts or chance.random() < 0.35 else _farm_name(chance)
    return _host(name, True, chance, pages, (lambda: chance.choice(templates)) if adapts else (lambda: own))


def stuffed_host(chance: Random, pages: int = 6) -> Host:
    """A host of a farm whose pages repeat one to three key words."""
    return _host(_farm_name(chance), True, chance, pages, lambda: _stuffed_with_few)


def farm_graph(chance: np.random.Generator, honest: int = 1000, farm: int = 200) -> DomainGraph:
    """Honest domains of uneven popularity, and a farm that links to itself; few links lead from the first to it."""
    popularity = 1.0 / np.arange(1, honest + 1)
    sources = np.repeat(np.arange(honest), 12)
    targets = chance.choice(honest, len(sources), p=popularity / popularity.sum())
    inside = np.repeat(np.arange(farm), 30) + honest
    farmed = chance.integers(honest, honest + farm, len(inside))
    bought, sold = chance.integers(0, honest, farm // 4), chance.integers(honest, honest + farm, farm // 4)
    camouflage = chance.integers(honest, honest + farm, farm), chance.integers(0, honest, farm)
    pairs = np.unique(
        np.stack(
            [np.concatenate([sources, inside, bought, camouflage[0]]),
             np.concatenate([targets, farmed, sold, camouflage[1]])]
        ),
        axis=1,
    )  # fmt: skip
    pairs = pairs[:, pairs[0] != pairs[1]]
    known = chance.choice(np.arange(honest, honest + farm), farm // 40, replace=False)
    return DomainGraph(pairs[0], pairs[1], honest + farm, chance.choice(honest, 20, replace=False), known)


def _host(name: str, is_spam: bool, chance: Random, pages: int, template: Callable[[], _Template]) -> Host:
    made = []
    for number in range(pages):
        title, html = template()(chance, name)
        slug = "-".join(title.split()[:8]) if chance.random() < 0.5 else _words(chance, 2, "-")
        made.append((f"http://{name}/{'' if number == 0 else slug + '.html'}", html))
    return Host(name, is_spam, tuple(made))


_Template = Callable[[Random, str], tuple[str, str]]
"""Makes the title and the HTML of a page of a host."""


def _honest_name(chance: Random) -> str:
    label = host_label(chance.getrandbits(63))
    if chance.random() < 0.2:
        label += "-" + host_label(chance.getrandbits(63))
    if chance.random() < 0.12:
        label += str(chance.randrange(1, 2030))
    if chance.random() < 0.05:
        label += "-" + host_label(chance.getrandbits(63))
    front = chance.choice(("", "", "www.", "www.", "blog.", "docs.", "shop.", "en.wiki.", "cs.dept."))
    return f"{front}{label}.{chance.choice(('test', 'example', 'invalid'))}"


def _farm_name(chance: Random) -> str:
    parts = chance.sample(_KEY_WORDS, chance.randrange(2, 5))
    label = chance.choice(("-", "-", "")).join(parts)
    if chance.random() < 0.5:
        label += chance.choice(("-", "")) + str(chance.randrange(1, 1000))
    front = chance.choice(("", "", f"{chance.choice(_KEY_WORDS)}.", f"{chance.choice(_KEY_WORDS)}-{parts[0]}."))
    return f"{front}{label}.{chance.choice(('test', 'example', 'invalid'))}"


# honest pages


def _article(chance: Random, host: str) -> tuple[str, str]:
    body = "".join(f"<p>{_prose(chance, chance.randrange(2, 8))}</p>" for _ in range(chance.randrange(3, 20)))
    return _page(_title(chance, host), _menu(chance, host) + body + _footer(chance))


def _index(chance: Random, host: str) -> tuple[str, str]:
    items = "".join(
        f'<li><a href="http://{host}/{_words(chance, 2, "-")}.html">{_words(chance, chance.randrange(1, 7))}</a> '
        f"{_prose(chance, 1) if chance.random() < 0.5 else ''}</li>"
        for _ in range(chance.randrange(5, 120))
    )
    return _page(_title(chance, host), f"{_menu(chance, host)}<ul>{items}</ul>{_footer(chance)}")


def _reference(chance: Random, host: str) -> tuple[str, str]:
    """A page of a manual: few words, often repeated, among many links."""
    own = chance.choices(words(), k=30)
    body = "".join(
        f'<dt><a href="#{number}">{" ".join(chance.choices(own, k=2))}</a></dt>'
        f"<dd>{' '.join(chance.choices(own, k=9))}</dd>"
        for number in range(chance.randrange(10, 80))
    )
    return _page(_title(chance, host), f"{_menu(chance, host)}<dl>{body}</dl>{_footer(chance)}")


def _note(chance: Random, host: str) -> tuple[str, str]:
    return _page(_title(chance, host), _menu(chance, host) + f"<p>{_prose(chance, 2)}</p>{_footer(chance)}")


def _title(chance: Random, host: str) -> str:
    """A title, some with the name of the section and of the site."""
    title = _words(chance, chance.randrange(1, 9))
    return f"{title} - {_words(chance, 2)} - {host}" if chance.random() < 0.4 else title


def _footer(chance: Random) -> str:
    """Links to others: most pages have few, one in five has many."""
    hosts = [_honest_name(chance) for _ in range(chance.randrange(8, 30) if chance.random() < 0.2 else 3)]
    return _links(chance, hosts, chance.randrange(len(hosts), 2 * len(hosts) + 1))


def _menu(chance: Random, host: str) -> str:
    return "".join(
        f'<a href="http://{host}/{_words(chance, 1)}/">{_words(chance, 1)}</a> ' for _ in range(chance.randrange(3, 25))
    )


# pages of a farm


def _stuffed(chance: Random, host: str) -> tuple[str, str]:
    """Few key words, each time among as many others as this page has: from a short list to a small dictionary."""
    return _stuffed_with(chance, host, chance.randrange(1, 7))


def _stuffed_with_few(chance: Random, host: str) -> tuple[str, str]:
    return _stuffed_with(chance, host, chance.randrange(1, 4))


def _stuffed_with(chance: Random, host: str, count: int) -> tuple[str, str]:
    keys = chance.sample(_KEY_WORDS, count)
    others = [topics()[chance.randrange(2048)].decode() for _ in range(chance.randrange(20, 150))]
    every = chance.randrange(3, 9)
    some = range(chance.randrange(150, 700))
    text = " ".join(chance.choice(keys if place % every == 0 else others) for place in some)
    return _page(_shouting(chance, host), f"<p>{text}</p>" + _farm_links(chance, 10, 40))


def _link_list(chance: Random, host: str) -> tuple[str, str]:
    return _page(_shouting(chance, host), f"<p>{_key_words(chance, 12)}</p>" + _farm_links(chance, 30, 120))


def _paid_prose(chance: Random, host: str) -> tuple[str, str]:
    parts = [
        f"<p>{_prose(chance, chance.randrange(1, 4))}{_farm_links(chance, 1, 6)} {_key_words(chance, 5)}</p>"
        for _ in range(chance.randrange(6, 16))
    ]
    return _page(_shouting(chance, host), "".join(parts))


def _doorway(chance: Random, host: str) -> tuple[str, str]:
    hidden = f'<div style="display:none">{_key_words(chance, chance.randrange(60, 300))}</div>'
    return _page(_shouting(chance, host), f"<h1>{_key_words(chance, 8)}</h1>{_farm_links(chance, 4, 15)}{hidden}")


def _shouting(chance: Random, host: str) -> str:
    named = host.partition(".")[0].replace("-", " ")
    phrase = _key_words(chance, 2)
    if chance.random() < 0.3:  # a short one
        return f"{phrase} {named} buy {phrase.partition(' ')[0]} {_key_words(chance, chance.randrange(1, 4))}"
    return f"{phrase} {named} {phrase} buy {phrase} {named} {_key_words(chance, chance.randrange(1, 8))}"


def _farm_links(chance: Random, least: int, most: int) -> str:
    hosts = [_farm_name(chance) for _ in range(chance.randrange(3, 25))]
    return _links(chance, hosts, chance.randrange(least, most + 1), _key_words)


def _key_words(chance: Random, count: int) -> str:
    return " ".join(chance.choices(_KEY_WORDS, k=count))


# parts


def _links(chance: Random, hosts: list[str], count: int, text: Callable[[Random, int], str] | None = None) -> str:
    write = text or _words
    return "".join(
        f'<a href="http://{chance.choice(hosts)}/{_words(chance, 1)}.html">'
        f"{write(chance, chance.randrange(1, 5))}</a>\n"
        for _ in range(count)
    )


def _words(chance: Random, count: int, between: str = " ") -> str:
    known = words()
    return between.join(known[min(int(chance.paretovariate(0.4)), len(known)) - 1] for _ in range(count))


def _prose(chance: Random, count: int) -> str:
    return "".join(chance.choice(sentences()).decode() for _ in range(count))


def _page(title: str, main: str) -> tuple[str, str]:
    head = f'<meta charset="utf-8"><title>{title}</title><link rel="stylesheet" href="/style.css">'
    body = f"<body><h1>{title}</h1>\n{main}\n</body>"
    return title, f'<!doctype html>\n<html lang="en"><head>{head}</head>\n{body}</html>\n'
