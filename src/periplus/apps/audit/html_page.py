"""An audit as one HTML file without scripts or external files, for screens of any size and for print.

Text of the site (URLs, titles, lines of robots.txt) is escaped, and only http and https URLs become links.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from importlib.resources import files

from .results import Audit, Cost, FaultyUrl, Finding, Mark

_STYLE = files(__package__).joinpath("html_page.css").read_text()
SIGNS = {"error": "✗", "warning": "!", "notice": "i", "good": "✓", "unknown": "?"}
"""The sign of each verdict, for readers who do not see the colours."""
_CONTENT_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_BYTES = ("bytes", "kB", "MB", "GB", "TB")


def page(audit: Audit, made_at: float) -> str:
    """Write the whole file."""
    site = escape(audit.site)
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_CONTENT_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Audit of {site}</title>\n<style>\n{_STYLE}</style></head>\n<body><main>\n",
            f"<h1>{site}</h1>\n",
            f'<p class="soft">Audit of {_day(made_at)}{escape(seen(audit))}. {escape(summary(audit))}</p>\n',
            *_limits(audit),
            *_numbers(audit),
            "<h2>At a glance</h2>\n<ul class=marks>\n",
            *map(_mark, audit.marks),
            "</ul>\n<h2>Findings</h2>\n",
            *(map(_finding, audit.findings) if audit.findings else (f"<p>{summary(audit)}</p>\n",)),
            *_cost(audit.cost),
            *_unjudged(audit),
            "<footer><p>Made by Periplus. Severities: ✗ error, misleads crawlers or visitors; ",
            "! warning, wastes visits; i notice, minor.</p></footer>\n</main></body></html>\n",
        ]
    )


def summary(audit: Audit) -> str:
    """The result in one sentence."""
    counts = dict.fromkeys(("error", "warning", "notice"), 0)
    for found in audit.findings:
        counts[found.severity.value] += 1
    parts = [f"{number} {word}{'s' if number != 1 else ''}" for word, number in counts.items() if number]
    nothing = "No problems were found." if audit.pages else "No page could be read."
    return ", ".join(parts).capitalize() + "." if parts else nothing


def seen(audit: Audit) -> str:
    """When the answers were fetched, as the rest of a sentence."""
    if audit.seen_from is None or audit.seen_until is None:
        return ""
    first, last = _day(audit.seen_from), _day(audit.seen_until)
    return f", as of {last}" if first == last else f", as of {first} to {last}"


def limits(audit: Audit) -> str:
    """What an incomplete crawl leaves open, in one sentence; empty if the crawl was complete."""
    if audit.is_whole:
        return ""
    urls = "1 known URL was" if audit.waiting == 1 else f"{audit.waiting:,} known URLs were"
    return (
        f"The crawl is incomplete: {urls} not fetched. Broken links, orphans and other faults there are not reported."
    )


def _limits(audit: Audit) -> Iterator[str]:
    if text := limits(audit):
        yield f"<p><b>{escape(text)}</b></p>\n"


def sized(number: float) -> str:
    """A number of bytes with a unit."""
    unit = 0
    while number >= 1000 and unit < len(_BYTES) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:,.0f} {_BYTES[unit]}" if unit < 2 or number >= 100 else f"{number:.1f} {_BYTES[unit]}"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0")


def _numbers(audit: Audit) -> Iterator[str]:
    numbers = {
        "pages read": f"{audit.pages:,}",
        "URLs in sitemaps": f"{audit.listed:,}",
        "of these fetched ": f"{audit.visited:,}",
        "linked URLs": f"{audit.linked:,}",
        "of these fetched": f"{audit.followed:,}",
        "requests": f"{audit.cost.requests:,}",
        "downloaded": sized(audit.cost.bytes),
    }
    yield "<ul class=numbers>"
    yield from (f"<li><b>{value}</b>{name}</li>" for name, value in numbers.items())
    yield "</ul>\n"


def _mark(mark: Mark) -> str:
    sign = f'<span class="sign {mark.verdict}" title="{mark.verdict}">{SIGNS[mark.verdict]}</span>'
    return f'<li>{sign}<b>{mark.question}</b><span class="{mark.verdict}">{escape(mark.says)}</span></li>\n'


def _finding(found: Finding) -> str:
    parts = ", ".join(f"{escape(name)}: {number:,}" for name, number in found.parts.items())
    return "".join(
        [
            f'<article class="{found.severity.value}" id="{found.name}">',
            f"<span class=label><code>{found.name}</code></span>",
            f"<h3>{SIGNS[found.severity.value]} {escape(found.title)}</h3>",
            f'<p class="parts soft">{parts}</p>' if parts else "",
            f"<p>{escape(found.why)}</p><p class=do>{escape(found.advice)}</p>",
            "<ul class=examples>" if found.examples else "",
            *map(_example, found.examples),
            "</ul>" if found.examples else "",
            "</article>\n",
        ]
    )


def _example(example: FaultyUrl) -> str:
    note = f" <span class=soft>{escape(example.note)}</span>" if example.note else ""
    via = f" <span class=soft>(on {_link(example.at)})</span>" if example.at else ""
    return f"<li>{_link(example.url)}{note}{via}</li>"


def _link(url: str) -> str:
    shown = escape(url)
    is_web = url.startswith(("http://", "https://"))
    return f'<a href="{shown}" rel="noreferrer nofollow">{shown}</a>' if is_web else shown


def _cost(cost: Cost) -> Iterator[str]:
    yield "<h2>What this crawl cost</h2>\n"
    yield f"<p>{cost.requests:,} requests and {sized(cost.bytes)} for {cost.pages:,} different pages; "
    yield f"{cost.needless:,} of {cost.visits:,} requests for pages ({cost.share:.0%}) returned nothing new"
    if cost.wasted:
        yield ": " + ", ".join(f"{number:,} {escape(name)}" for name, number in cost.wasted.items())
    yield ".</p>\n"


def _unjudged(audit: Audit) -> Iterator[str]:
    if audit.unjudged:
        yield "<h2>Not checked</h2>\n<ul>"
        yield from (f"<li><code>{name}</code>: {escape(why)}</li>" for name, why in audit.unjudged.items())
        yield "</ul>\n"
