"""The search index of a collection: one page of each cluster that may be indexed, with the texts of links to it.

What is in the index is compared with the view `indexed`: pages that are new or were fetched again are added, pages that
left the view are deleted. So an index that was interrupted, or is behind, is completed by the same call.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from periplus.model import UsageError
from periplus.store.export.captures import Capture, latest_captures
from periplus.store.export.documents import read_document

from .collection import Collection

if TYPE_CHECKING:
    from periplus.insight.views import Views
    from periplus.search import Document, Index

log = logging.getLogger("periplus")

COMMIT_EVERY = 5_000
"""Documents between two commits: what an interrupted run loses at most, some ten seconds of work."""
_ANCHORS = """\
with texts as (
    select target, lower(trim(anchor)) as text, count(distinct site) as sites, count(*) as number
    from current_links where target <> page and length(trim(anchor)) between 2 and 100
        and not regexp_matches(coalesce(rel, ''), 'nofollow|ugc|sponsored')
    group by target, text)
select target, list(text order by sites desc, number desc, text) as texts from (
    select *, row_number() over (partition by target order by sites desc, number desc, text) as place from texts)
where place <= 16 group by target"""
_EMPTY_ANCHORS = frozenset(
    {
        "anterior",
        "aquí",
        "avanti",
        "back",
        "click here",
        "download",
        "edit",
        "here",
        "hier",
        "home",
        "ici",
        "indietro",
        "link",
        "mehr",
        "more",
        "más",
        "next",
        "permalink",
        "prev",
        "previous",
        "précédent",
        "qui",
        "read more",
        "siguiente",
        "suite",
        "suivant",
        "this",
        "top",
        "up",
        "weiter",
        "zurück",
    }
)
"""Texts of links that say nothing about their target."""


class Indexed(Struct, frozen=True):
    """What one run of indexing did. `total` are the documents of the index, `unreadable` pages without a text."""

    added: int
    deleted: int
    unchanged: int
    unreadable: int
    total: int


class _Page(Struct, frozen=True):
    page_rank: float
    anchors: tuple[str, ...]


def open_index(collection: Collection) -> Index:
    """The index of a collection, for searching."""
    from periplus.search import Index

    if not (collection.layout.search / "documents.sqlite").is_file():
        raise UsageError(f"{collection.folder} has no index", hint=f"make one: periplus index {collection.folder}")
    return Index.open(collection.layout.search)


def update_index(
    collection: Collection,
    *,
    say: Callable[[str], None] = log.info,
    tell: Callable[[int, int], None] = lambda _done, _of: None,
) -> Indexed:
    """Bring the index of a collection up to date; `tell` hears how many of how many documents were added."""
    from periplus.insight.views import Views  # imports DuckDB: only where it is used
    from periplus.search import Index, id_of

    layout = collection.layout
    with Views(collection.folder, spooled=layout.spooled, say=say) as views:
        pages = _pages(views)
    with Index.open(layout.search) as index:
        known = index.fetch_times()
        wanted = {id_of(url) for url in pages}
        stale = index.urls_of(id_ for id_ in known if id_ not in wanted)
        index.delete(stale)
        new = [
            capture
            for capture in latest_captures(layout.tables, layout.spooled)
            if capture.url in pages and known.get(id_of(capture.url)) != capture.fetched_at.timestamp()
        ]
        added = 0
        for number, document in enumerate(_documents(collection, new, pages), 1):
            added += index.add([document])
            if number % COMMIT_EVERY == 0:
                index.commit()
            tell(number, len(new))
        index.set_ranks((url, page.page_rank, 0.0) for url, page in pages.items())
        index.commit()
        return Indexed(added, len(stale), len(pages) - len(new), len(new) - added, len(index))


def _pages(views: Views) -> dict[str, _Page]:
    """Every page that is to be in the index."""
    anchors = {
        row["target"]: tuple(text for text in row["texts"] if text not in _EMPTY_ANCHORS)
        for row in views.rows(_ANCHORS)
    }
    rows = views.rows("select url, pagerank * count(*) over () as page_rank from indexed")
    return {row["url"]: _Page(float(row["page_rank"] or 0.0), anchors.get(row["url"], ())) for row in rows}


def _documents(collection: Collection, captures: list[Capture], pages: dict[str, _Page]) -> Iterator[Document]:
    """The documents of captures, as far as they can be read and have words."""
    from periplus.search import Document

    for capture in captures:
        found = read_document(collection.layout.warc, capture)
        if isinstance(found, str) or not (found.page.text or found.page.title):
            continue
        page, known = found.page, pages[capture.url]
        directives = page.directives
        yield Document(
            url=capture.url,
            title=page.title,
            text=page.main_text or page.text,
            description=page.description,
            anchors=known.anchors,
            language=page.language or None,
            media_type=(capture.content_type or "text/html").partition(";")[0].strip().lower(),
            fetched_at=capture.fetched_at.timestamp(),
            page_rank=known.page_rank,
            max_snippet=0 if directives.nosnippet else directives.max_snippet,
            may_show_copy=not directives.noarchive,
        )
