"""A report as one HTML file: tiles, a summary, and its parts in chapters, as figures or tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from periplus.view.html import html_file, html_table, link, prose
from periplus.view.wording import clean, count, counted, duration, moment, share, size

from .drawing import drawn
from .questions import CHAPTERS
from .summary import sentences
from .values import AnsweredQuestion, Report, UsefulLinks


def page(report: Report) -> str:
    """The whole file."""
    name = escape(clean(report.name))
    content = [
        *_head(report, name),
        *(part for chapter in _chapters(report) for part in _chapter(report, chapter)),
        *_useful(report.useful),
        f"<footer>Made by Periplus on {moment(report.made_at)} UTC. Times are UTC. docs/report.md and"
        " docs/measures.md define the numbers.</footer>\n",
    ]
    return html_file(f"Report of {name}", content)


def _head(report: Report, name: str) -> Iterator[str]:
    asked = report.row("requests")
    span = ""
    if asked.get("began") is not None:
        span = f"Crawled from {moment(asked['began'])} to {moment(asked['ended'])} UTC."
    yield f'<header><p class="mark">Periplus report</p><h1>{name}</h1><p class="soft">{span}</p></header>\n'
    yield '<ul class="tiles">'
    yield from (f"<li><b>{value}</b><span>{words}</span></li>" for value, words in _tiles(report))
    yield "</ul>\n"
    yield "".join(_details("Query", "", _glance(report), report))
    summary = sentences(report)
    if summary:
        yield '<section class="short"><h2>In short</h2><ul>'
        yield from (f'<li><a href="#{each.part}">{prose(each.says)}</a> {prose(each.so)}</li>' for each in summary)
        yield "</ul></section>\n"
    chapters = [*((chapter, CHAPTERS[chapter][0]) for chapter in _chapters(report)), ("useful", "Useful links")]
    yield "<nav>" + "".join(f'<a href="#{key}">{title}</a>' for key, title in chapters) + "</nav>\n"


def _chapters(report: Report) -> list[str]:
    """The chapters that have parts."""
    known = {part.chapter for part in report.parts.values()}
    return [chapter for chapter in CHAPTERS if chapter in known]


def _glance(report: Report) -> list[AnsweredQuestion]:
    return [part for part in report.parts.values() if part.chapter == "glance" and part.rows]


def _tiles(report: Report) -> Iterator[tuple[str, str]]:
    glance, asked = report.row("glance"), report.row("requests")
    for key, words in (
        ("seen", "URLs discovered"),
        ("crawled", "fetched"),
        ("unique", "unique pages"),
        ("indexed", "indexable"),
    ):
        yield count(glance.get(key) or 0), words
    covered = glance.get("unique_coverage")
    yield "–" if covered is None else share(covered), "of unique pages listed in sitemaps"
    yield count(asked.get("requests") or 0), f"requests to {counted(asked.get('sites') or 0, 'site')}"
    yield size(asked.get("bytes") or 0), "downloaded"
    if report.freshness is not None:
        yield share(report.freshness.fresh), "of copies fresh (estimate)"


def _chapter(report: Report, chapter: str) -> Iterator[str]:
    title, about = CHAPTERS[chapter]
    parts = [part for part in report.parts.values() if part.chapter == chapter]
    yield f'<section id="{chapter}"><h2>{escape(title)}</h2><p class="soft lead">{escape(about)}</p>\n'
    if chapter == "freshness":
        yield from _fresh(report)
    figures = {part.name: figure for part in parts if (figure := drawn(part))}
    cards = [_figure(part, figures[part.name], report) for part in parts if part.name in figures]
    tables = [part for part in parts if part.name not in figures]
    if len(cards) == 1 and tables:
        cards.append(_table_card(tables.pop(0), report, "wide"))
    yield '<div class="grid">' + "".join(cards) + "</div>\n" if cards else ""
    if tables:
        yield '<div class="pair">' + "".join(_table_card(part, report) for part in tables) + "</div>\n"
    yield "</section>\n"


def _fresh(report: Report) -> Iterator[str]:
    known = report.freshness
    if known is None:
        yield '<p class="none">The freshness of the copies is not known yet.</p>\n'
        return
    yield f"<p><b>{share(known.fresh)}</b> of {count(known.pages)} copies are estimated to be current"
    yield f" (95 % interval: between {share(known.low)} and {share(known.high)}); they were fetched"
    yield f" {duration(known.age)} ago on average. <code>periplus info {escape(report.folder)}</code>"
    yield " shows the current estimate.</p>\n"


def _figure(part: AnsweredQuestion, figure: str, report: Report) -> str:
    return "".join(
        [
            f'<figure id="{part.name}" class="card"><figcaption><h3>{escape(part.title)}</h3></figcaption>{figure}',
            f'<p>{prose(part.says)}</p><p class="do">{prose(part.advice)}</p>',
            *_details("Table and query", table_of(part), (part,), report),
            "</figure>\n",
        ]
    )


def _table_card(part: AnsweredQuestion, report: Report, style: str = "") -> str:
    none = '<p class="none">Nothing to show here yet.</p>'
    return "".join(
        [
            f'<article id="{part.name}" class="card {style}"><h3>{escape(part.title)}</h3>',
            f'<p>{prose(part.says)} <span class="do">{prose(part.advice)}</span></p>',
            table_of(part) if part.rows else none,
            *_details("Query" if part.sql else "Command", "", (part,), report),
            "</article>\n",
        ]
    )


def _details(title: str, content: str, parts: Iterable[AnsweredQuestion], report: Report) -> Iterator[str]:
    yield f"<details><summary>{title}</summary>{content}"
    for part in parts:
        asked = f"periplus query {report.folder} - <<'SQL'\n{part.sql}\nSQL" if part.sql else part.command
        yield f'<pre tabindex="0"><code data-part="{part.name}">{escape(asked)}</code></pre>'
    yield "</details>"


MORE = "The first rows; the query without its limit returns all."


def table_of(part: AnsweredQuestion) -> str:
    """The rows of a part, and whether there are more."""
    return html_table(part) + (f'<p class="soft small">{MORE}</p>' if part.is_cut else "")


# useful links


def _useful(sites: Iterable[UsefulLinks]) -> Iterator[str]:
    yield '<section id="useful"><h2>Useful links</h2><p class="soft lead">The few pages that stand for most of a site, '
    yield "chosen by the structure of its URLs.</p>\n"
    cards = [_site(each) for each in sites if each.ulinks]
    yield '<div class="grid">' + "".join(cards) + "</div>" if cards else '<p class="none">No page was fetched yet.</p>'
    yield "</section>\n"


def _site(useful: UsefulLinks) -> str:
    links = "".join(
        f"<li><div>{link(each.url, each.title or each.url)}<small>{escape(_path(each.url))}</small></div>"
        f"<span class=soft>{share(each.share)}</span></li>"
        for each in useful.ulinks
    )
    about = f"{count(useful.pages)} pages" if useful.pages != 1 else "one page"
    asked = f"<pre tabindex=0><code>{escape(useful.command)}</code></pre>"
    return (
        f'<article class="card links"><h3>{escape(clean(useful.site, 60))}</h3><p class="soft small">{about}</p>'
        f"<ol>{links}</ol><details><summary>Command</summary>{asked}</details></article>\n"
    )


def _path(url: str) -> str:
    """What comes after the host."""
    return clean("/" + url.partition("://")[2].partition("/")[2], 60)
