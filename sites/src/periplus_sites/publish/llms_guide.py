"""llms.txt: a guide to the published pages for language models, from the titles and descriptions in the ledger.

The title and the quote are those of the home page, unless the settings give others. A section is a folder directly
below the root, the largest first; pages of the root come first, and what has no room is in the section `Optional`.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from periplus.formats.llms_txt import OPTIONAL, GuideLink, LlmsTxt, Section, write
from periplus.model import Url
from periplus_sites.ledger import Ledger, Row

from .settings import PAGE_TYPES, LlmsSettings

NAME: Final = "llms.txt"
MAX_PAGES: Final = 20_000
"""Pages that are read from the ledger to choose from: the ones with the shortest addresses."""
_SENTENCE: Final = re.compile(r".+?[.!?…。](?=\s|$)")
_PAGES_SECTION: Final = "Pages"


def guide_of(ledger: Ledger, base_url: str, settings: LlmsSettings) -> bytes:
    """The guide as a file."""
    rows = [row for row in ledger.published_pages(MAX_PAGES) if row.mime in PAGE_TYPES[:2] and row.title]
    home = next((row for row in rows if row.url == base_url), None)
    folders: dict[str, list[GuideLink]] = {}
    for row in rows:
        if row is not home:
            folders.setdefault(_folder(row.url, base_url), []).append(_link(row))
    sections = sorted(folders.items(), key=lambda each: (each[0] != "", -len(each[1]), each[0]))
    shown = [
        Section(_heading(folder), tuple(links[: settings.links_per_section]))
        for folder, links in sections[: settings.sections]
    ]
    rest = [link for _, links in sections[: settings.sections] for link in links[settings.links_per_section :]]
    rest += [link for _, links in sections[settings.sections :] for link in links]
    if rest:
        shown.append(Section(OPTIONAL, tuple(rest[: settings.optional_links])))
    title = settings.title or (home.title if home is not None else "") or base_url
    description = settings.description or (home.details.description if home is not None else "")
    return write(LlmsTxt(title, description, tuple(shown)))


def _folder(url: str, base_url: str) -> str:
    first, slash, rest = url.removeprefix(base_url).partition("/")
    return first if slash and "?" not in first and (rest or slash) else ""


def _heading(folder: str) -> str:
    words = " ".join(re.split(r"[-_\s]+", unquote(folder))).strip()
    return words[:1].upper() + words[1:] if words else _PAGES_SECTION


def _link(row: Row) -> GuideLink:
    described = row.details.description
    first = _SENTENCE.match(described)
    return GuideLink(Url(row.url), row.title, first[0] if first else described)
