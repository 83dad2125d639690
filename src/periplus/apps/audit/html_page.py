"""An audit as one HTML file without scripts, in the style of all files of `view`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape

from periplus.view.findings import SIGNS
from periplus.view.html import html_file, html_finding
from periplus.view.wording import clean, size

from .results import Audit, Cost, Mark


def page(audit: Audit, made_at: float) -> str:
    """Write the whole file."""
    site = escape(clean(audit.site))
    content = [
        f'<header><p class="mark">Periplus audit</p><h1>{site}</h1>',
        f'<p class="soft">Audit of {_day(made_at)}{escape(seen(audit))}. {escape(summary(audit))}</p></header>\n',
        *_limits(audit),
        *_numbers(audit),
        '<section><h2>At a glance</h2><ul class="marks card">\n',
        *map(_mark, audit.marks),
        "</ul></section>\n<section><h2>Findings</h2>\n",
        *(map(html_finding, audit.findings) if audit.findings else (f"<p>{summary(audit)}</p>\n",)),
        "</section>\n",
        *_cost(audit.cost),
        *_unjudged(audit),
        "<footer>Made by Periplus. Severities: ✗ error, misleads crawlers or visitors; ",
        "! warning, wastes visits; i notice, minor.</footer>\n",
    ]
    return html_file(f"Audit of {site}", content, has_tables=False)


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
        "downloaded": size(audit.cost.bytes),
    }
    yield '<ul class="tiles">'
    yield from (f"<li><b>{value}</b><span>{name}</span></li>" for name, value in numbers.items())
    yield "</ul>\n"


def _mark(mark: Mark) -> str:
    sign = f'<span class="sign {mark.verdict}" title="{mark.verdict}">{SIGNS[mark.verdict]}</span>'
    return f'<li>{sign}<b>{mark.question}</b><span class="{mark.verdict}">{escape(mark.says)}</span></li>\n'


def _cost(cost: Cost) -> Iterator[str]:
    yield "<h2>What this crawl cost</h2>\n"
    yield f"<p>{cost.requests:,} requests and {size(cost.bytes)} for {cost.pages:,} different pages; "
    yield f"{cost.needless:,} of {cost.visits:,} requests for pages ({cost.share:.0%}) returned nothing new"
    if cost.wasted:
        yield ": " + ", ".join(f"{number:,} {escape(name)}" for name, number in cost.wasted.items())
    yield ".</p>\n"


def _unjudged(audit: Audit) -> Iterator[str]:
    if audit.unjudged:
        yield "<h2>Not checked</h2>\n<ul>"
        yield from (f"<li><code>{name}</code>: {escape(why)}</li>" for name, why in audit.unjudged.items())
        yield "</ul>\n"
