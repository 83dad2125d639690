"""A collection for retrieval and for other search engines: `export --format chunks` and `--format bulk`.

Texts come from the archive (`store.export`), what is known of a page beside them from the views: which page of a
cluster of near-duplicates represents it, PageRank, depth, texts of links.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from msgspec.structs import replace

from periplus.apps.search.indexing import PDF_FILES, link_texts
from periplus.collection.collection import CollectionSetup
from periplus.model import Url, UsageError
from periplus.store.export import ChangedPages, Committed, Exported, Selection, export_captures, export_documents
from periplus.store.export.bulk import PageFacts, delete_line, index_lines
from periplus.store.export.captures import Capture, StatedPreferences
from periplus.store.export.chunks import ChunkShape, CutCapture, CutPage, chunk_line, chunks_of_cut, cut_page
from periplus.store.export.documents import NO_TEXT, DecodedCapture, read_document
from periplus.store.export.exporting import GONE, NEAR_DUPLICATE, NOT_INDEXABLE, ReadCapture, RefusesUse
from periplus.store.export.kept_chunks import KeptChunks, cutting_rule

if TYPE_CHECKING:
    from periplus.insight.views import Views

DEFAULT_INDEX: Final = "pages"
"""The name of the index that documents go to."""

_REPRESENTATIVES: Final = (
    f"select url, cluster from urls where is_representative union all select url, null from ({PDF_FILES})"  # noqa: S608 - our own words
)
_LEFT_OUT: Final = f"""
select url, case when {{copies}} then '{NEAR_DUPLICATE}' else '{NOT_INDEXABLE}' end as why from urls where is_page
"""  # noqa: S608 - our own words
_INDEXED: Final = """
with changed as (select url, max(seen_at) as at from changes where is_change group by url)
select indexed.url, pagerank, depth, cluster, changed.at as modified_at from indexed left join changed using (url)
"""
_GONE: Final = """
with wanted as ({wanted}),
visited as (select url, max(ended_at) as at from fetches where purpose = 'page' group by url)
select distinct visited.url, visited.at from visited semi join pages using (url) anti join wanted using (url)
where visited.at >= $since order by visited.url
"""


def export_chunks(
    collection: CollectionSetup,
    committed: Committed,
    selection: Selection,
    out: BinaryIO,
    *,
    shape: ChunkShape | None = None,
    changes: ChangedPages | None = None,
    refuses: RefusesUse | None = None,
) -> Exported:
    """Write the chunks of every page that represents its cluster, as JSON lines. Pages are counted, not chunks.

    With `changes` only of these pages, and then a line for each page that has no chunks any more.
    """
    shape = shape or ChunkShape()
    with _views(collection) as views:
        clusters = {Url(row["url"]): row["cluster"] for row in views.rows(_REPRESENTATIVES)}
        unwanted = _left_out(views, clusters, copies="true")
        _add_gone(views, _REPRESENTATIVES, changes)

    stated = StatedPreferences(collection.layout.tables, committed.spooled)

    # an export of everything asks for every page that is needed
    is_whole = changes is None and refuses is None and not selection
    chunks = 0
    with _kept(collection, shape, is_whole=is_whole) as kept:

        def read(capture: Capture) -> ReadCapture | str:
            if kept is not None and (page := kept.get(capture)) is not None:
                return CutCapture(capture, page)
            return read_document(collection.layout.warc, capture, texts_only=True)

        def cut(found: ReadCapture) -> CutPage:
            if not isinstance(found, DecodedCapture):
                return cast("CutCapture", found).page
            page = cut_page(found, shape)
            if kept is not None and found.is_repeatable and (page.parts or found.no_text == NO_TEXT):
                kept.add(found.capture, page)
            return page

        def write(found: ReadCapture) -> bool:
            nonlocal chunks
            page, url = cut(found), found.capture.url
            chunks += len(page.parts)
            out.writelines(map(chunk_line, chunks_of_cut(found.capture, page, clusters[url], stated.of(url))))
            return bool(page.parts)

        exported = export_captures(
            collection.folder,
            committed,
            selection,
            read,
            write,
            unwanted=unwanted,
            changes=changes,
            refuses=refuses,
        )
    if changes is not None:
        changes.write_deleted(out)
    return replace(exported, chunks=chunks)


@contextmanager
def _kept(collection: CollectionSetup, shape: ChunkShape, *, is_whole: bool) -> Iterator[KeptChunks | None]:
    """Pages that earlier exports have cut into such chunks; `None` if the shape or the program has no name."""
    rule = cutting_rule(shape.name) if shape.name else None
    if rule is None:
        yield None
        return
    layout = collection.layout
    with KeptChunks.opened(layout.kept_chunks, rule, layout.warc, is_whole=is_whole) as kept:
        yield kept


def export_bulk(
    collection: CollectionSetup,
    committed: Committed,
    selection: Selection,
    out: BinaryIO,
    *,
    index: str = DEFAULT_INDEX,
    changes: ChangedPages | None = None,
    refuses: RefusesUse | None = None,
) -> Exported:
    """Write every page that may be indexed as lines of the `_bulk` API.

    With `changes` only these pages, and a deletion for each page that is not to be indexed any more.
    """
    check_index_name(index)
    with _views(collection) as views:
        texts = link_texts(views)
        facts = {
            Url(row["url"]): PageFacts(
                row["pagerank"], row["depth"], row["cluster"], texts.get(row["url"], ()), row["modified_at"]
            )
            for row in views.rows(_INDEXED)
        }
        unwanted = _left_out(views, facts, copies="is_indexable")
        _add_gone(views, "select url from indexed", changes)
    stated = StatedPreferences(collection.layout.tables, committed.spooled)

    def write(document: DecodedCapture) -> None:
        url = document.capture.url
        out.write(index_lines(index, document, facts[url], stated.of(url)))

    exported = export_documents(
        collection.folder, committed, selection, write, unwanted=unwanted, changes=changes, refuses=refuses
    )
    if changes is not None:
        out.writelines(delete_line(index, url) for url in changes.deleted)
    return exported


def _left_out(views: Views, wanted: Collection[Url], *, copies: str) -> Callable[[Url], str]:
    """Why an export leaves out a URL: a near-duplicate if `copies` is true of it, not to be indexed, or gone by now."""
    reasons = {Url(row["url"]): str(row["why"]) for row in views.rows(_LEFT_OUT.format(copies=copies))}
    return lambda url: "" if url in wanted else reasons.get(url, GONE)


def _add_gone(views: Views, wanted: str, changes: ChangedPages | None) -> None:
    """Add deletions of pages that were visited in the time of the changes, and are not among the `wanted` ones now."""
    if changes is not None:
        since = datetime.fromtimestamp(changes.since, UTC)
        rows = views.rows(_GONE.format(wanted=wanted), {"since": since})
        changes.deleted |= {Url(row["url"]): row["at"].timestamp() for row in rows}


def check_index_name(index: str) -> None:
    """Refuse what is not the name of an index (the rules of OpenSearch and Elasticsearch)."""
    is_name = index == index.lower() and not index.startswith(("-", "_", "+", ".")) and 0 < len(index.encode()) < 256
    if not is_name or any(sign in index for sign in '\\/*?"<>| ,#:'):
        raise UsageError(f"--index: {index!r} is not the name of an index", hint="use lower-case letters, digits and -")


def _views(collection: CollectionSetup) -> Views:
    from periplus.insight.views import Views  # imports DuckDB: only where it is used

    return Views(collection.folder, spooled=collection.layout.spooled)
