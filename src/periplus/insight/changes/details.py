"""What a change is about: titles, links, and what differs in the main text. Needs the archive, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from periplus.model import Page, Url
from periplus.store.export.documents import Document

from .difference import Difference, diff
from .texts import document_of
from .values import Change, Kind, Version

_EXCERPT: Final = 300
_MOST_LINKS: Final = 50


class LinkChange(Struct, frozen=True):
    """Where a page leads and did not before, or no more; how many of each, and the first of them."""

    added: int = 0
    removed: int = 0
    new: tuple[Url, ...] = ()
    gone: tuple[Url, ...] = ()


class Detail(Struct, frozen=True):
    """What a change is about.

    `title` is that of the later version which is there, `title_before` another that it had before; `excerpt` the
    beginning of a page that appeared; `difference` is there for what changed. `problem`: why there is less than that.
    """

    title: str = ""
    title_before: str = ""
    canonical: str = ""
    canonical_before: str = ""
    excerpt: str = ""
    links: LinkChange = LinkChange()
    difference: Difference | None = None
    problem: str = ""

    @property
    def size(self) -> float | None:
        """The share of words of the main text that differ; `None` where no two texts were compared."""
        return None if self.difference is None else self.difference.size


def detail_of(folder: Path, change: Change) -> Detail:
    """What a change in a collection is about."""
    if change.kind is Kind.CHANGED:
        return compare(folder, change.url, change.before, change.after)
    found = document_of(folder / "warc", change.url, change.after or change.before)
    if isinstance(found, str):
        return Detail(problem=found)
    excerpt = found.page.main_text[:_EXCERPT] if change.kind is Kind.APPEARED else ""
    return Detail(title=found.page.title, excerpt=excerpt)


def compare(folder: Path, url: Url, before: Version | None, after: Version | None) -> Detail:
    """What differs between two versions of a page."""
    old, new = (document_of(folder / "warc", url, version) for version in (before, after))
    if isinstance(new, str):
        return Detail(title="" if isinstance(old, str) else old.page.title, problem=new)
    if isinstance(old, str):
        return Detail(title=new.page.title, problem=old)
    return _compared(old, new)


def _compared(old: Document, new: Document) -> Detail:
    is_renamed = old.page.title != new.page.title
    is_moved = old.page.canonical != new.page.canonical
    return Detail(
        title=new.page.title,
        title_before=old.page.title if is_renamed else "",
        canonical=(new.page.canonical or "") if is_moved else "",
        canonical_before=(old.page.canonical or "") if is_moved else "",
        links=_links(old.page, new.page),
        difference=diff(old.to_text(), new.to_text()),
    )


def _links(old: Page, new: Page) -> LinkChange:
    before = dict.fromkeys(old.links.to_others().urls)
    after = dict.fromkeys(new.links.to_others().urls)
    added, removed = _without(after, before), _without(before, after)
    return LinkChange(len(added), len(removed), tuple(added[:_MOST_LINKS]), tuple(removed[:_MOST_LINKS]))


def _without(urls: Iterable[Url], others: dict[Url, None]) -> list[Url]:
    return [url for url in urls if url not in others]
