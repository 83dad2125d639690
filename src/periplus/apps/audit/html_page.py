"""An audit as one HTML file without scripts, in the style of all files of `view`.

What matters comes first: the numbers, the budgets, what changed, a verdict on each area, the trend, and a list of all
findings; then the findings one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Final

from periplus.view.charts import ChartLine, Scale, line_plot, linear
from periplus.view.findings import SIGNS, Severity
from periplus.view.html import html_file, html_finding, link, severity_label
from periplus.view.wording import clean, count, counted, duration, size

from .comparison import AuditComparison, FindingChange, TrendPoint
from .results import Audit, BudgetCheck, Cost, Mark

BUDGET_WORDS: Final[dict[str, Callable[[float], str]]] = {
    "max_page_weight": size,
    "max_page_seconds": duration,
    "max_depth": lambda clicks: counted(clicks, "click"),
    "max_broken_links": count,
}
"""How the value of each budget is written."""
_CHANGES: Final = 3
"""Findings that the comparison names."""
_URLS: Final = 1
"""URLs of a finding that the comparison names; the CSV has all."""
_MOST_LISTED: Final = 6
"""Findings in the list before the details, the most severe."""


def page(
    audit: Audit, made_at: float, comparison: AuditComparison | None = None, trend: Sequence[TrendPoint] = ()
) -> str:
    """Write the whole file."""
    site = escape(clean(audit.site))
    content = [
        f'<header><p class="mark">Periplus audit</p><h1>{site}</h1>',
        f'<p class="soft">Audit of {_day(made_at)}{escape(seen(audit))}. {escape(summary(audit))}</p></header>\n',
        *_limits(audit),
        *_numbers(audit),
        *_budgets(audit.budgets),
        '<section><h2>At a glance</h2><ul class="marks card">\n',
        *map(_mark, audit.marks),
        "</ul></section>\n",
        *_history(comparison, trend),
        *_contents(audit),
        '<section id="details"><h2>Findings in detail</h2>\n' if audit.findings else "",
        *map(html_finding, audit.findings),
        "</section>\n" if audit.findings else "",
        *_cost(audit.cost),
        *_unjudged(audit),
        "<footer>Made by Periplus. Severities: ✗ error, misleads crawlers or visitors; ",
        "! warning, wastes visits; i notice, minor.</footer>\n",
    ]
    return html_file(f"Audit of {site}", content, script="")


def summary(audit: Audit) -> str:
    """The result in one sentence."""
    counts = _severities(audit)
    parts = [f"{number} {word}{'s' if number != 1 else ''}" for word, number in counts.items() if number]
    nothing = "No problems were found." if audit.pages else "No page could be read."
    return ", ".join(parts).capitalize() + "." if parts else nothing


def _severities(audit: Audit) -> dict[str, int]:
    counts = {severity.value: 0 for severity in Severity}
    for found in audit.findings:
        counts[found.severity.value] += 1
    return counts


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


def budget_line(check: BudgetCheck) -> str:
    """The result of a budget in one sentence."""
    limit, worst = BUDGET_WORDS[check.name](check.limit), BUDGET_WORDS[check.name](check.worst)
    if check.name == "max_broken_links":
        return f"{worst} broken, {limit} allowed"
    without = ", without the files that pages embed" if check.name == "max_page_weight" else ""
    if not check.is_over:
        return f"at most {worst}, {limit} allowed{without}"
    return f"{check.count:,} of {check.of:,} pages are over {limit}, the largest value is {worst}{without}"


def _limits(audit: Audit) -> Iterator[str]:
    if text := limits(audit):
        yield f"<p><b>{escape(text)}</b></p>\n"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0")


def _numbers(audit: Audit) -> Iterator[str]:
    counts = _severities(audit)
    numbers = {
        "errors": f"{counts['error']:,}",
        "warnings": f"{counts['warning']:,}",
        "notices": f"{counts['notice']:,}",
        "pages read": f"{audit.pages:,}",
        f"in sitemaps, {audit.visited:,} fetched": f"{audit.listed:,}",
        f"linked, {audit.followed:,} fetched": f"{audit.linked:,}",
    }
    yield '<ul class="tiles six">'
    yield from (f"<li><b>{value}</b><span>{name}</span></li>" for name, value in numbers.items())
    yield "</ul>\n"


def _budgets(budgets: Sequence[BudgetCheck]) -> Iterator[str]:
    if not budgets:
        return
    yield '<section id="budgets"><h2>Budgets</h2><ul class="marks card">\n'
    for check in budgets:
        verdict = "error" if check.is_over else "good"
        yield f"<li>{_sign(verdict)}<b><code>{check.name}</code></b>"
        yield f'<span class="{verdict}">{escape(budget_line(check))}{_worst(check)}</span></li>\n'
    yield "</ul></section>\n"


def _worst(check: BudgetCheck) -> str:
    return f": {link(check.examples[0].url)}" if check.examples else ""


def _sign(verdict: str) -> str:
    return f'<span class="sign {verdict}" title="{verdict}">{SIGNS[verdict]}</span>'


def _mark(mark: Mark) -> str:
    return (
        f'<li>{_sign(mark.verdict)}<b>{mark.question}</b><span class="{mark.verdict}">{escape(mark.says)}</span></li>\n'
    )


def _history(comparison: AuditComparison | None, trend: Sequence[TrendPoint]) -> Iterator[str]:
    """What changed since the last audit, and the trend over all, side by side."""
    if comparison is None and len(trend) < 2:
        return
    yield '<section id="history"><h2>Since the last audit</h2><div class="pair">\n'
    if comparison is not None:
        yield f'<div class="card"><h3>{count(comparison.new)} new, {count(comparison.fixed)} fixed, '
        yield f"{count(comparison.remaining)} remaining</h3>"
        changed = [each for each in comparison.changes if each.new_faults or each.fixed_faults]
        yield f'<ul class="examples">{"".join(map(_change, changed[:_CHANGES]))}</ul>' if changed else ""
        if len(changed) > _CHANGES:
            yield f'<p class="soft small">and {counted(len(changed) - _CHANGES, "more finding")}</p>'
        if comparison.unknown:
            yield f'<p class="soft small">Not comparable: {", ".join(comparison.unknown)}.</p>'
        yield "</div>\n"
    if len(trend) > 1:
        yield f'<figure class="card"><figcaption><h3>Findings over {counted(len(trend), "audit")}</h3></figcaption>'
        yield f"{trend_figure(trend)}</figure>\n"
    yield "</div></section>\n"


def _change(change: FindingChange) -> str:
    parts = [
        f"{count(number)} {word}" + (f": {_some(urls)}" if any(urls) else "")
        for number, word, urls in (
            (change.new_faults, "new", change.new), (change.fixed_faults, "fixed", change.fixed)
        )
        if number
    ]  # fmt: skip
    return f'<li><a href="#{escape(change.name)}"><code>{escape(change.name)}</code></a> {"; ".join(parts)}</li>'


def _some(urls: Sequence[str]) -> str:
    return ", ".join(map(link, urls[:_URLS])) + (", …" if len(urls) > _URLS else "")


def trend_figure(trend: Sequence[TrendPoint]) -> str:
    """The number of findings of each severity in all audits, as SVG."""
    lines = [
        ChartLine(name, style, tuple((point.at, float(getattr(point, name))) for point in trend))
        for name, style in (("notices", "even"), ("warnings", "links"), ("errors", "bad"))
    ]
    first, last = trend[0].at, max(trend[-1].at, trend[0].at + 1.0)
    form = "%H:%M" if last - first < 2 * 86_400 else "%d %b" if last - first < 365 * 86_400 else "%b %Y"
    x = Scale(first, last, lambda at: datetime.fromtimestamp(at, UTC).strftime(form), is_time=True)
    y = linear([value for each in lines for _, value in each.points], whole=True)
    return line_plot(lines, x, y, ("UTC", "findings"), "Findings of each severity over all audits")


def _contents(audit: Audit) -> Iterator[str]:
    yield '<section id="list"><h2>Findings</h2>\n'
    if not audit.findings:
        yield f"<p>{summary(audit)}</p></section>\n"
        return
    yield '<ol class="contents card">\n'
    for found in audit.findings[:_MOST_LISTED]:
        yield f"<li>{severity_label(found.severity)} "
        yield f'<a href="#{found.name}">{escape(found.title)}</a></li>\n'
    if len(audit.findings) > _MOST_LISTED:
        more = counted(len(audit.findings) - _MOST_LISTED, "more finding")
        yield f'<li><a href="#{audit.findings[_MOST_LISTED].name}">and {more}</a></li>\n'
    yield "</ol></section>\n"


def _cost(cost: Cost) -> Iterator[str]:
    yield "<h2>What this crawl cost</h2>\n"
    yield f"<p>{cost.requests:,} requests and {size(cost.bytes)} for {cost.pages:,} different pages; "
    yield f"{cost.needless:,} of {cost.visits:,} requests for pages ({cost.share:.0%}) returned nothing new"
    if cost.wasted:
        yield ": " + ", ".join(f"{number:,} {escape(name)}" for name, number in cost.wasted.items())
    yield ".</p>\n"


def _unjudged(audit: Audit) -> Iterator[str]:
    if audit.unjudged:
        yield '<h2 id="unchecked">Not checked</h2>\n<ul>'
        yield from (f"<li><code>{name}</code>: {escape(why)}</li>" for name, why in audit.unjudged.items())
        yield "</ul>\n"
