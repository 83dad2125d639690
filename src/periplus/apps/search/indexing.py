"""The search index of a collection: one page of each cluster that may be indexed, with the texts of links to it.

What is in the index is compared with the view `indexed`: pages that are new or were fetched again are added, pages that
left the view are deleted. So an index that was interrupted, or is behind, is completed by the same call.

`DIR/search` holds generations (`g0001`, ...) and the file `current`, which names the one that is searched. A rebuild
makes the next generation beside it and then renames `current`: readers have a whole index at every moment. A generation
that was replaced is removed by a later run, when readers have had time to notice.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from periplus.collection.collection import CollectionSetup
from periplus.model import CollectionDamaged, CollectionInUse, UsageError
from periplus.store.durable import write_file
from periplus.store.folders import FolderLock, FolderLocked
from periplus.store.layout import Layout
from periplus.store.tables import Spooled
from periplus.view.notebook import Displayed

if TYPE_CHECKING:
    from periplus.insight.views import Views
    from periplus.store.export.captures import Capture

    from . import Document, Index

log = logging.getLogger("periplus")

COMMIT_EVERY = 5_000
"""Documents between two commits: what an interrupted run loses at most, some ten seconds of work."""
OLD_GENERATION = 3_600.0
"""Seconds for which a generation that was replaced is kept for readers that have it open."""
RANK_CHANGE = 0.1
"""Relative change of a PageRank from which it is written again: less moves a score by at most 0.03."""
TOP_SHARE = 0.01
"""Share of pages, by PageRank, whose changed link texts are indexed at once while following a crawl."""
MANY_CHANGED = 0.3
"""Share of pages with changed link texts from which all of them are indexed again, also while following."""
SITES_WITH_LINKS = 200
"""Sites whose useful links are kept, the largest: the home pages that people look for."""
SITELINKS_CHANGE = 0.01
"""Share of pages that must have changed for useful links to be chosen again while following a crawl."""
LEAST_PAGES = 5
"""Minimum number of pages of a site for useful links to mean anything."""

_CURRENT, _LOCK = "current", "indexer.lock"
_GENERATION = re.compile(r"g(\d{4,})")
_ANCHORS = """\
with texts as (
    select target, lower(trim(anchor)) as text, count(distinct site) as sites, count(distinct page) as number
    from current_links where target <> page and length(trim(anchor)) between 2 and 100
        and not regexp_matches(coalesce(rel, ''), 'nofollow|ugc|sponsored')
        and not regexp_matches(trim(anchor), '^(https?://|www\\.)\\S+$')
    group by target, text)
select target, list(text order by sites desc, number desc, text) as texts from (
    select *, row_number() over (partition by target order by sites desc, number desc, text) as place from texts)
where place <= 1000 group by target"""
PDF_FILES = (
    "select url from media where content_type = 'application/pdf' and url not in (select url from urls where is_page)"
)
"""PDFs that a crawl for files fetched: they are not in `pages`."""
_INDEXED = (
    "select url, pagerank * count(*) over () as page_rank from indexed where url not in ("  # noqa: S608 - our own words
    " select url from pages group by url having arg_max_null(unavailable_after, read_at) <= now())"
    f" union all select url, 0.0 from ({PDF_FILES})"
)
_MAY_LIST = """\
select url from pages group by url
having arg_max(links, read_at) >= 8 and arg_max(anchor_words, read_at) >= 0.5 * arg_max(words, read_at)"""
_EMPTY_ANCHOR_TEXTS = """
anterior|aquí|avanti|back|click|click here|continue|continue reading|czytaj więcej|details|download|edit|en savoir plus
go|here|hier|home|ici|indietro|info|learn more|leer más|lees meer|leggi tutto|link|lire la suite|läs mer|meer|mehr
mehr erfahren|mehr lesen|more|more info|más|más información|next|page|permalink|prev|previous|précédent|qui|read more
see more|show more|siguiente|suite|suivant|this|this page|top|up|view|weiter|weiterlesen|więcej|zurück|далее|здесь
назад|подробнее|こちら|続きを読む|上一页|下一页|更多|点击这里
"""
EMPTY_ANCHORS = frozenset(_EMPTY_ANCHOR_TEXTS.strip().replace("\n", "|").split("|"))
"""Link texts that do not describe their target."""

Say = Callable[[str], None]
Tell = Callable[[int, int], None]


class Indexed(Displayed, frozen=True):
    """What one run of indexing did. `total` are the documents of the index, `unreadable` pages without a text.

    `relinked` are pages that were not fetched again, but whose link texts changed.
    """

    added: int
    deleted: int
    unchanged: int
    unreadable: int
    total: int
    relinked: int = 0


class _Page(Struct, frozen=True):
    page_rank: float
    anchors: tuple[str, ...]
    may_list: bool
    """Whether half of its words are in links: then its text is looked at more closely (`listings`)."""


class _Plan(Struct, frozen=True):
    """What has to be done to bring an index up to date."""

    stale: list[str]
    new: list[Capture]
    anchors: dict[str, tuple[str, ...]]
    ranks: list[tuple[str, float, float]]


def open_index(collection: CollectionSetup) -> Index:
    """The index of a collection, for searching."""
    from . import Index, IndexOutdated

    folder = current_generation(collection.layout)
    if folder is None:
        raise UsageError(f"{collection.folder} has no index", hint=f"make one: periplus index {collection.folder}")
    try:
        return Index.open(folder, vectors=collection.config.search.vectors)
    except IndexOutdated:  # by its vectors, which are then not used, or else it raises again
        return Index.open(folder)


def current_generation(layout: Layout) -> Path | None:
    """The folder of the index that is searched; None if there is none."""
    try:
        name = (layout.search / _CURRENT).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    folder = layout.search / name
    return folder if _GENERATION.fullmatch(name) and folder.is_dir() else None


def with_vectors(collection: CollectionSetup, vectors: str | None) -> CollectionSetup:
    """The collection with its setting for vectors changed and saved; as it is for `None`."""
    if vectors is None or vectors == collection.config.search.vectors:
        return collection
    if vectors:
        from periplus.engine.plugins import load_plugin  # with numpy and more: only where it is used

        from .vectors import VECTORS

        load_plugin(VECTORS, vectors)  # complains of a name that does not exist
    search = replace(collection.config.search, vectors=vectors)
    changed = replace(collection, config=replace(collection.config, search=search))
    changed.save()
    return changed


def update_index(
    collection: CollectionSetup,
    *,
    rebuild: bool = False,
    say: Say = log.info,
    tell: Tell = lambda _done, _of: None,
) -> Indexed:
    """Bring the index of a collection up to date; `tell` is called with how many of how many documents were added.

    With `rebuild` the pages are read again into a new generation, which replaces the old one when it is whole.
    """
    with _held(collection.layout):
        return _updated(collection, rebuild, say, tell, follows=False)


def follow_index(
    collection: CollectionSetup,
    wait: Callable[[], bool],
    *,
    rebuild: bool = False,
    say: Say = log.info,
    tell: Tell = lambda _done, _of: None,
) -> Iterator[Indexed]:
    """Update the index as long as `wait` returns true; yields what each run did, if it did anything.

    A run costs nothing while no rows are added to the tables.
    """
    with _held(collection.layout):
        seen = _tables_state(collection.layout)
        yield _updated(collection, rebuild, say, tell, follows=False)
        while wait():
            now = _tables_state(collection.layout)
            if now != seen:
                yield _updated(collection, False, say, tell, follows=True)
                seen = now


@contextmanager
def _held(layout: Layout) -> Iterator[None]:
    """Lock the index of a collection against other indexers, until the process ends."""
    layout.search.mkdir(parents=True, exist_ok=True)
    try:
        lock = FolderLock(layout.search, _LOCK)
    except FolderLocked as error:
        raise CollectionInUse(
            f"process {error.owner} is indexing {layout.folder}", hint="Wait for it to end, or stop it."
        ) from error
    try:
        yield
    finally:
        lock.close()


def _updated(collection: CollectionSetup, rebuild: bool, say: Say, tell: Tell, *, follows: bool) -> Indexed:
    from . import Index, IndexOutdated

    layout = collection.layout
    _remove_old(layout)
    current = current_generation(layout)
    if current is not None and not rebuild:
        try:
            with Index.open(current, vectors=collection.config.search.vectors) as index:
                return _completed(collection, index, say, tell, follows=follows)
        except IndexOutdated:
            say("the index was made by another version or with other vectors, and is made again")
        except CollectionDamaged as error:
            raise CollectionDamaged(str(error), hint=f"Run: periplus index {layout.folder} --rebuild") from error
    vectors = collection.config.search.vectors
    folder = _next_generation(layout, vectors)
    if current is None:  # nothing is searched yet: the first index can be searched while it grows
        _switch_to(folder)
    with Index.open(folder, vectors=vectors) as index:
        done = _completed(collection, index, say, tell, follows=False)
    _switch_to(folder)
    return done


def _switch_to(folder: Path) -> None:
    """Have a generation searched from now on."""
    write_file(folder.parent / _CURRENT, folder.name.encode("ascii"))


def _next_generation(layout: Layout, vectors: str) -> Path:
    """The folder for a new index: one that was begun and not finished is continued, unless its files are damaged."""
    from periplus.model import PeriplusError

    from . import Index

    current = current_generation(layout)
    last = int(current.name[1:]) if current is not None else 0
    folder = layout.search / f"g{last + 1:04}"
    try:
        Index.open(folder, vectors=vectors).close()
    except PeriplusError:
        shutil.rmtree(folder)
    return folder


def _remove_old(layout: Layout) -> None:
    """Remove generations that were replaced some time ago."""
    current = current_generation(layout)
    if current is None or time.time() - (layout.search / _CURRENT).stat().st_mtime < OLD_GENERATION:
        return
    for path in layout.search.iterdir():
        found = _GENERATION.fullmatch(path.name)
        if found and int(found[1]) < int(current.name[1:]):
            shutil.rmtree(path, ignore_errors=True)


def _completed(collection: CollectionSetup, index: Index, say: Say, tell: Tell, *, follows: bool) -> Indexed:
    from periplus.insight.views import Views  # imports DuckDB: only where it is used
    from periplus.store.export.captures import latest_captures

    layout = collection.layout
    with Views(collection.folder, spooled=layout.spooled, say=say) as views:
        pages = _pages(views)
    plan = _planned(index, pages, latest_captures(layout.tables, layout.spooled), follows=follows)
    index.delete(plan.stale)
    added = 0
    for number, document in enumerate(_documents(collection, plan.new, pages), 1):
        added += index.add([document])
        if number % COMMIT_EVERY == 0:
            index.commit()
        tell(number, len(plan.new))
    relinked = index.set_anchors(plan.anchors)
    index.set_ranks(plan.ranks)
    changed = added + len(plan.stale)
    if changed and (not follows or changed >= SITELINKS_CHANGE * len(pages)):
        index.set_sitelinks(_useful_links(index))
    index.commit()
    return Indexed(
        added=added,
        deleted=len(plan.stale),
        unchanged=len(pages) - len(plan.new),
        unreadable=len(plan.new) - added,
        total=len(index),
        relinked=relinked,
    )


def _planned(index: Index, pages: Mapping[str, _Page], captures: Iterator[Capture], *, follows: bool) -> _Plan:
    """Compare the index with the pages it should have."""
    from . import hash_of, id_of

    known = index.standings()
    wanted = {id_of(url) for url in pages}
    new = [
        capture
        for capture in captures
        if capture.url in pages
        and (id_of(capture.url) not in known or known[id_of(capture.url)][0] != capture.fetched_at.timestamp())
    ]
    again = {capture.url for capture in new}
    kept = {url: (page, known[id_of(url)]) for url, page in pages.items() if id_of(url) in known and url not in again}
    anchors = {url: page.anchors for url, (page, stood) in kept.items() if hash_of(page.anchors) != stood[1]}
    if follows and len(anchors) < MANY_CHANGED * len(pages):
        least = sorted((page.page_rank for page in pages.values()), reverse=True)[int(TOP_SHARE * len(pages))]
        anchors = {url: texts for url, texts in anchors.items() if pages[url].page_rank >= least}
    return _Plan(
        stale=index.urls_of(id_ for id_ in known if id_ not in wanted),
        new=new,
        anchors=anchors,
        ranks=[
            (url, page.page_rank, 0.0)
            for url, (page, stood) in kept.items()
            if abs(page.page_rank - stood[2]) > RANK_CHANGE * stood[2]
        ],
    )


def _pages(views: Views) -> dict[str, _Page]:
    """Every page that is to be in the index."""
    anchors = link_texts(views)
    listing = {row["url"] for row in views.rows(_MAY_LIST)}
    rows = views.rows(_INDEXED)
    return {
        row["url"]: _Page(float(row["page_rank"] or 0.0), anchors.get(row["url"], ()), row["url"] in listing)
        for row in rows
    }


def link_texts(views: Views) -> dict[str, tuple[str, ...]]:
    """The texts of links to each page that say something, the most frequent first."""
    return {
        row["target"]: tuple(text for text in row["texts"] if text not in EMPTY_ANCHORS) for row in views.rows(_ANCHORS)
    }


def _useful_links(index: Index) -> dict[str, list[tuple[str, str]]]:
    """The most useful links of the largest sites, from the pages in the index."""
    from periplus.apps.ulinks import Listed, ulinks
    from periplus.apps.ulinks.titles import without_site

    found = {}
    for site, pages in index.site_sizes()[:SITES_WITH_LINKS]:
        if pages >= LEAST_PAGES:
            titles = dict(index.pages_of_site(site))
            links = [link.url for link in ulinks(Listed(url, None, None, title) for url, title in titles.items())]
            shown = without_site({url: titles[url] for url in links if titles.get(url)})
            names = {url: name for url, name in index.names_of_site(site) if name in titles[url]}
            found[site] = [(url, names.get(url) or shown.get(url) or titles[url]) for url in links if url in titles]
    return found


def _tables_state(layout: Layout) -> tuple[frozenset[Path], tuple[Spooled, ...]]:
    """The files of the tables, and how far each shard committed rows beyond them: different once a row was added."""
    return frozenset(layout.tables.rglob("*.parquet")), layout.spooled


def _documents(collection: CollectionSetup, captures: list[Capture], pages: Mapping[str, _Page]) -> Iterator[Document]:
    """The documents of captures, as far as they can be read and have words."""
    from periplus.content.entities import PageSummary, summary_of
    from periplus.store.export.documents import read_document

    from . import Document

    for capture in captures:
        found = read_document(collection.layout.warc, capture, texts_only=True)
        if isinstance(found, str) or not (found.page.text or found.page.title):
            continue
        page, known = found.page, pages[capture.url]
        directives = page.directives
        if directives.hides_at(time.time()):  # also by the header of a file that the crawl did not read
            continue
        html = found.html
        said = summary_of(html, capture.url) if html else PageSummary()
        yield Document(
            url=capture.url,
            title=page.title,
            text=page.main_text or page.text,
            description=page.description,
            anchors=known.anchors,
            language=page.language or None,
            media_type=(capture.content_type or "text/html").partition(";")[0].strip().lower(),
            fetched_at=capture.fetched_at.timestamp(),
            modified_at=said.modified_before(capture.fetched_at.timestamp())
            if found.modified_at is None
            else found.modified_at.timestamp(),
            breadcrumbs=said.breadcrumbs,
            page_rank=known.page_rank,
            sections=page.sections if page.main_text else (),
            is_listing=known.may_list and _is_listing(collection, capture),
            max_snippet=0 if directives.nosnippet else directives.max_snippet,
            may_show_copy=not directives.noarchive,
        )


def _is_listing(collection: CollectionSetup, capture: Capture) -> bool:
    """Whether a page lists others: read with its links."""
    from periplus.store.export.documents import read_document

    from .listings import is_listing

    found = read_document(collection.layout.warc, capture)
    return not isinstance(found, str) and is_listing(found.page.main_text, found.page.links.to_others().anchors)
