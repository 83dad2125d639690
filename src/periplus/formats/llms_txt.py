"""llms.txt: a short guide to a site in Markdown, which the site publishes for language models (llmstxt.org, 2024).

    guide = read(body, "https://example.org/llms.txt")
    write(LlmsTxt("Example", "What it is.", (Section("Docs", guide.links),)))

A title (`# Name`), perhaps a quote that says what the site is, and sections (`## Docs`) of links, each on a line:
`- [name](url): note`. The section `Optional` may be skipped where room is short. Other text is not kept.

Reasons of problems: `no-title`: the file does not begin with a title and is not read; `too-large`: only the first
`MAX_BYTES` are read; `too-many-links`: only the first `MAX_LINKS` are kept.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from periplus.model import Problem, Url
from periplus.urls import canonical

MAX_BYTES: Final = 1 << 20
"""Bytes of a file that are read: guides have some kilobytes, and the whole text of a site belongs in other files."""
MAX_LINKS: Final = 5000
"""Links of a file that are kept."""
MAX_TEXT: Final = 1000
"""Characters of a name, note or quote that are kept."""
OPTIONAL: Final = "Optional"
"""The section of links that may be skipped."""

_LINK: Final = re.compile(
    r"[ \t]*+[-*+][ \t]*+\[([^\[\]]*+)\]"  # the name
    r"\([ \t]*+<?([^\s<>()]++(?:\([^\s<>()]*+\))?[^\s<>()]*+)>?[^)\n]*+\)(.*)"  # the URL, which may hold parentheses
)
_MARKS: Final = re.compile(r"[\[\]\s]+")


class GuideLink(Struct, frozen=True):
    """A link of a guide. `url` is canonical."""

    url: Url
    name: str
    note: str = ""


class Section(Struct, frozen=True):
    """Links under one heading; the heading is empty for links that stand before the first one."""

    name: str
    links: tuple[GuideLink, ...] = ()


class LlmsTxt(Struct, frozen=True):
    """A guide to a site."""

    title: str
    summary: str = ""
    sections: tuple[Section, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def links(self) -> tuple[GuideLink, ...]:
        """The links of all sections, in their order."""
        return tuple(link for section in self.sections for link in section.links)


def looks_like_guide(body: bytes) -> bool:
    """Whether a file begins with a title in Markdown."""
    return re.match(rb"(?:\xef\xbb\xbf)?\s*#[ \t]+\S", body[:1024]) is not None


def read(body: bytes, url: str) -> LlmsTxt:
    """The guide in a file; never raises. `url` is that of the file, for links that are relative."""
    problems = []
    if len(body) > MAX_BYTES:
        problems.append(Problem("too-large", f"{len(body)} bytes", MAX_BYTES))
    if not looks_like_guide(body):
        return LlmsTxt("", problems=(*problems, Problem("no-title", at=0)))
    lines = body[:MAX_BYTES].decode("utf-8", "replace").lstrip("\ufeff").splitlines()
    title, summary = "", list[str]()
    names, found = [""], [list[GuideLink]()]
    count = 0
    for line in lines:
        if line.startswith("## "):
            names.append(_folded(line[3:].rstrip("# \t")))
            found.append([])
        elif not title:
            title = _folded(line.strip().lstrip("#")) if line.strip() else ""
        elif line.startswith(">") and len(names) == 1 and not found[0]:
            summary.append(line[1:])
        elif (link := _link(line, url)) is not None:
            count += 1
            if count <= MAX_LINKS:
                found[-1].append(link)
    if count > MAX_LINKS:
        problems.append(Problem("too-many-links", str(count)))
    sections = tuple(Section(name, tuple(links)) for name, links in zip(names, found, strict=True) if name or links)
    return LlmsTxt(title, _folded(" ".join(summary)), sections, tuple(problems))


def _link(line: str, base: str) -> GuideLink | None:
    match = _LINK.match(line[:8192])
    url = None if match is None else canonical(match[2], base)
    if match is None or url is None:
        return None
    return GuideLink(url, _folded(match[1]), _folded(match[3].strip().removeprefix(":")))


def write(guide: LlmsTxt) -> bytes:
    """A guide as a file: what `read` reads back. Texts are folded to one line, and lose their brackets."""
    blocks = [f"# {_plain(guide.title)}"]
    if guide.summary:
        blocks.append(f"> {_plain(guide.summary)}")
    for section in guide.sections:
        links = "\n".join(map(_written, section.links))
        blocks.append(f"## {_plain(section.name)}\n\n{links}".rstrip() if section.name else links)
    return ("\n\n".join(blocks) + "\n").encode("utf-8", "replace")


def _written(link: GuideLink) -> str:
    note = f": {_plain(link.note)}" if link.note else ""
    url = link.url.replace("(", "%28").replace(")", "%29")
    return f"- [{_plain(link.name) or link.url}]({url}){note}"


def _plain(text: str) -> str:
    return _folded(_MARKS.sub(" ", text).strip("#> "))


def _folded(text: str) -> str:
    return " ".join(text.split())[:MAX_TEXT]
