"""A PDF as a page: its text, page by page, as an HTML document with a section for each page.

Readers of HTML then do the rest: search finds a section and leads to `#page=7`, which browsers open at that page;
Markdown and chunks have the pages as headings. `store.export.pdf_reader` gets the text out of a file.

Reasons of the problems:

- `pdf-no-reader`: pypdfium2 is not installed; `detail` says what to install.
- `pdf-too-large`: the file is longer than is read.
- `pdf-encrypted`: a password is needed.
- `pdf-damaged`: the file, or the page `at`, cannot be read.
- `pdf-timeout`: reading took too long; `at` is the page.
- `pdf-crashed`: reading ended the process, or took too much memory; `at` is the page.
- `pdf-cut`: more pages or text than are read; `at` is the last page that was read.
- `pdf-no-text`: none of its pages has text, as of scanned documents.

Pages that were read before an error are kept.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from msgspec import Struct

from periplus.model import Problem

MIME: Final = "application/pdf"
_MARK: Final = b"%PDF-"
_MARK_WITHIN: Final = 1024
"""Bytes in which readers look for the mark: servers and mail programs put something before it."""
_MAX_TITLE: Final = 300
_FULL: Final = 0.7
"""Length of a line that continues in the next one, as a share of the long lines of its page."""
_LONG_LINES: Final = 10
"""The n-th part of the lines that is longer than what counts as long: one line of a table is longer than all others."""
_SENTENCE_ENDS: Final = (".", "!", "?", ":", "。", "！", "？")
_BULLETS: Final = ("•", "◦", "▪", "·", "–", "∗", "* ", "- ")
_HYPHENS: Final = re.compile("[\x02\ufffe\u00ad]\r?\n")
"""A word divided at the end of a line, as PDFium marks it."""
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_FILE_NAME: Final = re.compile(
    r"""(?:microsoft\ \w+|powerpoint\ presentation)\ *-\ .*
    |.*\.(?:docx?|rtf|tex|dvi|indd|pptx?|xlsx?|od[pst]|pdf|e?ps|qxd|pmd)
    |\S*\.(?:html?|txt|xml|wpd|pub|fm|lyx|tmp|p65)
    |(?:[a-z]:\\|/|file:).*
    |\S*[_\\]\S*""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_TITLE: Final = re.compile(
    r"""[(<\[]?(?:
    title|anonymous|unknown|unspecified|none|null|no\ title|unbenannt|sans\ titre
    |(?:untitled|(?:new\ |untitled\ |word\ |microsoft\ word\ )?document|(?:powerpoint\ )?presentation|slide)[-_ ]*\d*
    )?[)>\]]?""",
    re.IGNORECASE | re.VERBOSE,
)
"""What programs write where nobody gave a title."""


class PdfText(Struct, frozen=True):
    """The text of a PDF. `title` is that of its metadata, `heading` the largest text of its first page."""

    pages: tuple[str, ...] = ()
    title: str = ""
    heading: str = ""
    language: str = ""
    problems: tuple[Problem, ...] = ()


def is_pdf(body: bytes, content_type: str | None) -> bool:
    """Whether a body is a PDF: it begins as one or, if its type says so, nearly does."""
    if body.startswith(_MARK):
        return True
    return (content_type or "").strip().lower().startswith(MIME) and _MARK in body[:_MARK_WITHIN]


def pdf_title(text: PdfText) -> str:
    """The title of a PDF: that of its metadata if a person wrote one, else the heading of its first page."""
    given = " ".join(_CONTROLS.sub(" ", text.title).split())
    if _NO_TITLE.fullmatch(given) or _FILE_NAME.fullmatch(given):
        given = ""
    return (given or " ".join(_CONTROLS.sub(" ", text.heading).split()))[:_MAX_TITLE]


def html_of(text: PdfText) -> bytes:
    """An HTML document of a PDF's text; a page without text has no section."""
    language = f' lang="{escape(text.language)}"' if text.language.isascii() else ""
    parts = [f"<!doctype html><html{language}><meta charset=utf-8><title>{escape(pdf_title(text))}</title><main>"]
    for number, page in enumerate(text.pages, 1):
        paragraphs = list(_paragraphs(page))
        if paragraphs:
            parts.append(f'<h2 id="page={number}">Page {number}</h2>')
            parts += [f"<p>{'<br>'.join(map(escape, lines))}</p>" for lines in paragraphs]
    return "\n".join([*parts, "</main></html>\n"]).encode("utf-8", "replace")


def _paragraphs(page: str) -> list[list[str]]:
    """The paragraphs of a page, each as lines: only a long line continues in the next one, unless that is an item."""
    written = _CONTROLS.sub("", _HYPHENS.sub("", page)).splitlines()
    lines = [" ".join(line.split()) for line in written]
    lengths = sorted(map(len, lines), reverse=True)
    full = _FULL * lengths[len(lengths) // _LONG_LINES] if lengths else 0
    found: list[list[str]] = []
    is_open = is_within = False
    for line in lines:
        if not line:
            is_open = False
            continue
        if not is_open:
            found.append([line])
        elif is_within and not line.startswith(_BULLETS):
            found[-1][-1] += f" {line}"
        else:
            found[-1].append(line)
        is_within = len(line) >= full
        is_open = is_within or not line.endswith(_SENTENCE_ENDS)
    return found
