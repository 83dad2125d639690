"""Tables, findings and whole files as HTML. Text of strangers is escaped, bounded in length, and never markup.

A file loads nothing, for light and dark themes, paper, and phones. Its policy allows one script, by its digest: the one
that sorts and filters tables, which are complete without it, or that of a grid.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from .findings import FaultyUrl, Finding, Severity
from .values import Column, Sheet
from .wording import clean, written

LinkWriter = Callable[[str], str]
"""Makes HTML from a value; it escapes the value."""

STYLE_FILE = Path(__file__).with_name("page.css")
"""The style of all pages: of files, and of those that the server shows."""
_STYLE = STYLE_FILE.read_text()
TABLE_SCRIPT = STYLE_FILE.with_name("tables.js").read_text()
"""Sorts and filters tables."""
LONGEST_LINK = 500
"""Letters of a URL at most to be shown as a link."""
LONGEST_CELL = 200
"""Letters of a cell; downloads have the whole value."""
_FIRST_EXAMPLES = 5
_MOST_EXAMPLES = 500
"""Examples of a finding that are shown at once, and those in the file at all."""
_BREAKS = re.compile(r"(?<=[^:/][/?&])(?=[^/])")
"""Where a URL may be broken: not within `https://`."""
_LONG = 24
"""Letters of a cell that is never broken within a word."""


def policy(script: str = TABLE_SCRIPT) -> str:
    """The content security policy of a file with this script."""
    digest = b64encode(sha256(script.encode()).digest()).decode()
    allowed = f"script-src 'sha256-{digest}'; " if script else ""
    return f"default-src 'none'; style-src 'unsafe-inline'; {allowed}base-uri 'none'; form-action 'none'"


def html_file(title: str, content: Iterable[str], *, script: str = TABLE_SCRIPT) -> str:
    """A whole file; title and content are HTML. A file without tables needs no script."""
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy(script)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>\n<style>\n{_STYLE}</style></head>\n<body><main>\n",
            *content,
            "</main>",
            f"<script>{script}</script>" if script else "",
            "</body></html>\n",
        ]
    )


def prose(text: str) -> str:
    """A sentence: text between backticks is code, and options are not broken across lines."""
    html = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(clean(text, LONGEST_LINK)))
    return re.sub(r"(?<![\w-])(--\w[\w-]*)", r'<span class="flag">\1</span>', html)


def breakable(text: str) -> str:
    """A URL that a narrow column breaks after its slashes, so that its last part stays whole where it fits."""
    return "<wbr>".join(map(escape, _BREAKS.split(text)))


def link(url: str, shown: str = "") -> str:
    """A URL: a link if it is http(s) and not too long, else its text."""
    text = breakable(clean(shown or url))
    is_link = url.startswith(("http://", "https://")) and len(url) <= LONGEST_LINK and url.isprintable()
    return f'<a href="{escape(url)}" rel="noreferrer nofollow noopener">{text}</a>' if is_link else text


def severity_label(name: str) -> str:
    """A severity as a coloured word."""
    return f'<span class="severity {escape(name)}">{escape(name)}</span>'


LINKS: Mapping[str, LinkWriter] = {
    "url": link, "severity": severity_label, "code": lambda text: f"<code>{escape(clean(text, LONGEST_CELL))}</code>"
}  # fmt: skip
"""How values of a kind are written in a file by itself; pages of a server have links to each other, too."""


def html_table(
    table: Sheet,
    links: Mapping[str, LinkWriter] = LINKS,
    sorts: Collection[str] = (),
    sort: LinkWriter = str,
    order: str = "",
) -> str:
    """The rows of a table. `sort` makes the target of the titles of the columns in `sorts`.

    `order` is the column that the rows are sorted by, with a minus before it if from the largest.
    """
    heads = "".join(_head(column, sort if column.name in sorts else None, order) for column in table.columns)
    rows = "".join(
        f"<tr>{''.join(_cell(column, row.get(column.name), links) for column in table.columns)}</tr>\n"
        for row in table.rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}">'
        f'<table data-part="{escape(table.name)}"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _head(column: Column, sort: LinkWriter | None, order: str) -> str:
    title = escape(column.title or column.name)
    title = title if sort is None else f'<a href="{escape(sort(column.name))}">{title}</a>'
    direction = {column.name: "ascending", f"-{column.name}": "descending"}.get(order)
    sorted_by = f' aria-sort="{direction}"' if direction else ""
    return f"<th{_class('n' if column.is_number else '')} scope=col{sorted_by}>{title}</th>"


def _cell(column: Column, value: Any, links: Mapping[str, LinkWriter]) -> str:
    if value is None or value == "":
        return f"<td{_class('n' if column.is_number else 'quiet')}>–</td>"
    if column.kind in links:
        rank = f' data-v="{Severity(value).rank}"' if column.kind == "severity" else ""
        kind = column.kind if column.kind in ("url", "site") else ""
        return f"<td{_class(kind)}{rank}>{links[column.kind](str(value))}</td>"
    sorts = f' data-v="{value}"' if isinstance(value, int | float) and not isinstance(value, bool) else ""
    text = written(value, column.kind, LONGEST_CELL)
    style = "n" if column.is_number else "when" if column.kind == "moment" else "long" if len(text) > _LONG else ""
    return f"<td{_class(style)}{sorts}>{escape(text)}</td>"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def html_finding(found: Finding) -> str:
    """A finding as a card."""
    kinds = ", ".join(f"{escape(name)}: {number:,}" for name, number in found.kinds.items())
    examples = [f"<li>{_example(each)}</li>" for each in found.evidence[:_MOST_EXAMPLES]]
    first, others = "".join(examples[:_FIRST_EXAMPLES]), "".join(examples[_FIRST_EXAMPLES:])
    hidden = len(found.evidence) - _MOST_EXAMPLES
    left = f'<p class="soft small">and {hidden:,} more: CSV and JSON have them</p>' if hidden > 0 else ""
    more = f"{len(found.evidence) - _FIRST_EXAMPLES:,} more"
    return (
        f'<article class="card" id="{found.name}"><h3>{severity_label(found.severity)} {escape(found.title)}'
        f' <small class="soft"><code>{found.name}</code></small></h3>'
        + (f'<p class="soft small">{kinds}</p>' if kinds else "")
        + f'<p>{escape(found.why)} <span class="do">{escape(found.advice)}</span></p>'
        + (f'<ul class="examples">{first}</ul>' if first else "")
        + (f'<details><summary>{more}</summary><ul class="examples">{others}</ul>{left}</details>' if others else "")
        + _explained(found)
        + "</article>\n"
    )


def _explained(found: Finding) -> str:
    rows = "".join(f"<dt>{escape(title)}</dt><dd>{escape(text)}</dd>" for title, text in found.explained.items())
    return f"<details><summary>About this finding</summary><dl>{rows}</dl></details>" if rows else ""


def _example(example: FaultyUrl) -> str:
    if not example.url:
        return f"<code>{escape(clean(example.note, LONGEST_LINK))}</code>"
    note = f' <span class="soft">{escape(clean(example.note, LONGEST_LINK))}</span>' if example.note else ""
    at = f' <span class="soft">(on {link(example.at)})</span>' if example.at else ""
    return f"{link(example.url)}{note}{at}"
