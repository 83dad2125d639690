"""How fast the small formats are read: access logs and feeds, against the readers that people write."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from datetime import datetime
from email.utils import parsedate_to_datetime
from random import Random

from periplus.formats import access_log, feed

from .harness import Group, Target, race

_AGENTS = (
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_9_1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/32.0 Safari/537.36",
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (X11; Linux x86_64; rv:24.0) Gecko/20140205 Firefox/24.0 Iceweasel/24.3.0",
    "-",
)


def measure(quick: bool) -> list[Group]:
    """Both tables."""
    return [_logs(10_000 if quick else 100_000), _feeds(20 if quick else 200)]


def _logs(count: int) -> Group:
    lines = _make_log(count)
    contestants: dict[str, Callable[[], object]] = {
        "periplus": lambda: _drain(access_log.read(lines)),
        "regex + strptime": lambda: _plain_reader(lines),
    }
    return Group(
        title="Access log, combined format",
        unit="lines/s",
        rates=race(contestants, units=count, rounds=5),
        targets=(Target("periplus", "regex + strptime", 3.0),),
        notes=("The peer keeps raw fields, and has no escapes, virtual hosts or odd lines.",),
    )


def _feeds(items: int) -> Group:
    body = _make_feed(items)
    repeats = 20
    contestants: dict[str, Callable[[], object]] = {
        "periplus": lambda: [feed.read(body, "https://example.com/feed") for _ in range(repeats)],
        "ElementTree": lambda: [_element_tree_reader(body) for _ in range(repeats)],
        "lxml": lambda: [_lxml_reader(body) for _ in range(repeats)],
    }
    return Group(
        title=f"RSS 2.0 feed of {items} items",
        unit="items/s",
        rates=race(contestants, units=items * repeats, rounds=5),
        targets=(Target("periplus", "ElementTree", 0.2),),
        notes=("The peers find texts and parse dates; they do not resolve links, strip markup, or survive any dirt.",),
    )


def _drain(values: Iterable[object]) -> None:
    for _ in values:
        pass


def _make_log(count: int) -> list[bytes]:
    random = Random(7)
    lines = []
    for number in range(count):
        second = number // 3
        when = (
            f"{17 + second // 86400:02}/May/2015:{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02} +0000"
        )
        ip = ".".join(str(random.randrange(1, 255)) for _ in range(4))
        path = f"/blog/tags/{random.randrange(1000)}/page.html?q={random.randrange(10**6)}"
        referrer = random.choice(("-", "http://example.com/presentations/logstash-monitorama-2013/"))
        agent = random.choice(_AGENTS)
        lines.append(
            f'{ip} - - [{when}] "GET {path} HTTP/1.1" 200 {random.randrange(10**6)} "{referrer}" "{agent}"\n'.encode()
        )
    return lines


_PLAIN = re.compile(r'(\S+) (\S+) (\S+) \[([^\]]+)\] "(\S+) (\S+) (\S+)" (\d+) (\S+) "([^"]*)" "([^"]*)"')


def _plain_reader(lines: list[bytes]) -> None:
    """What one finds in a thousand scripts."""
    for line in lines:
        match = _PLAIN.match(line.decode("utf-8", "replace"))
        if match is None:
            continue
        ip, _, user, when, method, path, protocol, status, size, referrer, agent = match.groups()
        at = datetime.strptime(when, "%d/%b/%Y:%H:%M:%S %z").timestamp()
        _ = (ip, user, at, method, path, protocol, int(status), 0 if size == "-" else int(size), referrer, agent)


def _make_feed(items: int) -> bytes:
    random = Random(11)
    parts = ['<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>News</title>']
    for number in range(items):
        url = f"https://example.com/2024/{number}/article-{random.randrange(10**6)}"
        text = " ".join(
            random.choice(("some", "words", "of", "a", "summary", "&lt;b&gt;bold&lt;/b&gt;")) for _ in range(60)
        )
        parts.append(
            f"<item><title>Article number {number}</title><link>{url}</link><guid>{url}</guid>"
            f"<pubDate>Mon, {number % 28 + 1:02} Jan 2024 {number % 24:02}:00:00 GMT</pubDate>"
            f"<description>{text}</description></item>"
        )
    parts.append("</channel></rss>")
    return "".join(parts).encode()


def _element_tree_reader(body: bytes) -> list[tuple[object, ...]]:
    return [
        (item.findtext("link"), item.findtext("guid"), item.findtext("title"), item.findtext("description"),
         parsedate_to_datetime(item.findtext("pubDate") or ""))
        for item in ElementTree.fromstring(body).iter("item")
    ]  # fmt: skip


def _lxml_reader(body: bytes) -> list[tuple[object, ...]]:
    from lxml import etree

    return [
        (item.findtext("link"), item.findtext("guid"), item.findtext("title"), item.findtext("description"),
         parsedate_to_datetime(item.findtext("pubDate") or ""))
        for item in etree.fromstring(body).iter("item")
    ]  # fmt: skip
