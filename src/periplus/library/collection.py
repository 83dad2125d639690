"""A collection as a program reads it: its pages, its tables in SQL, and what happened to it.

Everything is read as of the last commit of each shard, also while a crawl or watch writes the collection. Nothing here
changes it, except that the results of long computations are kept in its folder `insight`.

The answer to a question in SQL is a DuckDB relation, with the database that it needs.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from msgspec import Struct
from msgspec.structs import replace

from periplus.apps.changes import ChangeKind, changes_since, detail_of, usual_beginning
from periplus.apps.changes.refreshing import Refreshed, announce_refreshed, refresh, selection_of
from periplus.apps.changes.watching import planned_watch
from periplus.apps.export.explaining import PagePermissions, explain
from periplus.apps.export.exporting import WHILE_CRAWLED, Export, ExportOptions
from periplus.apps.export.retrieval import DEFAULT_INDEX
from periplus.apps.report.making import (
    audit_trend_of,
    audited,
    check_report_file,
    described,
    judged,
    report_of,
    write_report,
)
from periplus.apps.search.indexing import Indexed, open_index, update_index, with_vectors
from periplus.apps.serve.served import DEFAULT_PORT
from periplus.collection import collection as plans
from periplus.collection.collection import states
from periplus.collection.config.settings import Config
from periplus.collection.facts.lookup import UrlFacts, url_facts
from periplus.collection.options import named_settings
from periplus.collection.typed_values import duration, moment_of
from periplus.engine.plugins import EXTRACTORS, OwnParts, load_plugin
from periplus.model import CollectionInUse, Url, UsageError
from periplus.store.export import Committed, Exported, Selection
from periplus.store.export.captures import captures_of, find_original, latest_captures
from periplus.store.export.chunks import DEFAULT_SIZE, WORDS
from periplus.store.tables import Spooled
from periplus.urls import site_of
from periplus.view.notebook import ProgressLine, facts_html, rows_html
from periplus.view.values import TableRow

from .crawling import Extract, running_crawl
from .credentials import Auth, Cookies, Headers, LoginRequest, access_for
from .extracting import Extraction
from .page import Page
from .page_change import PageChange, PageChanges
from .serving import serve
from .watching import Watch

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa

    from periplus.apps.audit import Audit, TrendPoint
    from periplus.apps.search import Results
    from periplus.apps.search.collection_evaluation import SearchEvaluation
    from periplus.engine.shard import ShardStatus
    from periplus.insight.views import Views
    from periplus.parts.forms.show import FormFacts

ROWS_AT_ONCE = 10_000
"""Rows in memory while iterating."""


class Answer:
    """A DuckDB relation: all its methods are here. The database is closed when the answer is not used any more.

    Rows are taken through Arrow, so that times need no further package (DuckDB's own `fetchall` needs pytz).
    """

    def __init__(self, relation: duckdb.DuckDBPyRelation, views: Views) -> None:
        self._relation = relation
        self._close = weakref.finalize(self, views.close)

    @classmethod
    def to(cls, sql: str, views: Views) -> Self:
        """Ask a question."""
        try:
            return cls(views.relation(sql), views)
        except BaseException:
            views.close()
            raise

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._relation.columns)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows as tuples."""
        return list(self)

    def df(self) -> pd.DataFrame:
        """All rows as a pandas data frame."""
        return self.arrow().to_pandas()

    def arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return self._relation.to_arrow_reader(ROWS_AT_ONCE).read_all()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Row after row, a few of them in memory at a time."""
        for batch in self._relation.to_arrow_reader(ROWS_AT_ONCE):
            yield from zip(*[column.to_pylist() for column in batch.columns], strict=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._relation, name)

    def __repr__(self) -> str:
        return repr(self._relation)

    def _repr_html_(self) -> str:
        return rows_html(self.columns, self)

    def close(self) -> None:
        """Close the database now."""
        self._close()


log = logging.getLogger("periplus")


class KnownPage(Struct, frozen=True):
    """What is known of a URL: `facts` as `periplus info` prints them, and its good versions, oldest first."""

    facts: UrlFacts
    versions: tuple[Page, ...]

    @property
    def latest(self) -> Page | None:
        """The last good version."""
        return self.versions[-1] if self.versions else None


class Collection:
    """The folder of a collection: `periplus.open(folder)`."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._found = plans.existing(Path(folder))
        self._layout = self._found.layout

    def __repr__(self) -> str:
        return f"Collection({str(self.folder)!r})"

    def _repr_html_(self) -> str:
        return facts_html([("collection", str(self.folder)), ("seeds", self.seeds)])

    @property
    def folder(self) -> Path:
        """The folder of the collection."""
        return self._found.folder

    @property
    def seeds(self) -> tuple[Url, ...]:
        """The seeds of its crawl."""
        return self._found.seeds

    @property
    def config(self) -> Config:
        """Its settings, from `periplus.toml`."""
        return self._found.config

    def _spooled(self) -> tuple[Spooled, ...]:
        """How far each shard has committed, asked of the crawl itself if it runs in this process."""
        running = running_crawl(self.folder)
        return self._layout.spooled if running is None else running.spooled

    # pages

    def pages(self, site: str | None = None) -> Iterator[Page]:
        """The last good version of every page, in the order of fetching; of one site (`docs.example.org`), if named."""
        spooled = self._spooled()
        for capture in latest_captures(self._layout.tables, spooled):
            if site is None or site_of(capture.url) == site:
                yield Page(capture, self._layout.warc, lambda each: find_original(self._layout.tables, spooled, each))

    def __iter__(self) -> Iterator[Page]:
        return self.pages()

    def page(self, url: str) -> KnownPage:
        """What is known of a URL: where it was found, its versions, why it is not fetched, when it is visited again.

        Not while a crawl of this process writes the collection.
        """
        self._check_not_running("page")
        facts = url_facts(self._found, url)
        return KnownPage(facts, tuple(self._versions(facts.url)))

    def _versions(self, url: str) -> Iterator[Page]:
        """Every good version of one URL, oldest first."""
        spooled = self._spooled()
        for capture in captures_of(self._layout.tables, spooled, url):
            yield Page(capture, self._layout.warc, lambda each: find_original(self._layout.tables, spooled, each))

    def changes(
        self,
        since: str | float | None = None,
        until: str | float | None = None,
        *,
        site: str | Sequence[str] = (),
        path: str | Sequence[str] = (),
        kind: str | Sequence[str] = (),
        diff: bool = True,
    ) -> PageChanges:
        """What appeared, changed and vanished, to iterate over: shard by shard, in the order of time.

        `since` and `until` are times as `periplus changes` takes them (`2d`, `2026-11-14`) or POSIX seconds; without
        `since`, the last run that found something. `site`, `path` and `kind` select; without `diff` texts are not
        compared, which is faster.
        """
        now = time.time()
        asked = moment_of(since, now) if isinstance(since, str) else since
        begin = usual_beginning(self.folder, now, spooled=self._spooled()).at if asked is None else asked
        end = moment_of(until, now) if isinstance(until, str) else until
        kinds = [kind_named(each) for each in _several(kind)] or tuple(ChangeKind)
        sites, paths = _several(site), _several(path)

        def find() -> Iterator[PageChange]:
            spooled = self._spooled()
            for change in changes_since(
                self.folder, begin, end, sites=sites, paths=paths, kinds=kinds, spooled=spooled
            ):
                yield PageChange(change, detail_of(self.folder, change) if diff else None)

        return PageChanges(begin, find)

    def index(self, *, rebuild: bool = False, vectors: str | None = None) -> Indexed:
        """Make the search index of the collection, or bring it up to date: `periplus index`.

        `vectors` names what makes vectors of passages (`wordllama`, `module:function`; empty: none); it is kept.
        """
        line = ProgressLine()
        self._found = with_vectors(self._found, vectors)
        return update_index(self._found, rebuild=rebuild, say=_said(line), tell=line.count)

    def forms(self, site: str | None = None) -> list[FormFacts]:
        """The forms of the collection or of a site: what each is for, what its queries yielded, and which come next.

        Not while a crawl of this process writes the collection.
        """
        self._check_not_running("forms")
        from periplus.parts.forms.show import form_facts

        with states(self._found.layout) as opened:
            return form_facts(opened.values(), site)

    def search(self, query: str, k: int = 10) -> Results:
        """The `k` best pages for a query, as `periplus search` shows them; `index` makes what is searched."""
        with open_index(self._found) as index:
            return index.search(query, k)

    def serve(
        self,
        *,
        port: int = DEFAULT_PORT,
        host: str = "127.0.0.1",
        token_file: str | PathLike[str] | None = None,
        public_search: bool = False,
        public_url: str = "",
        receive: bool = False,
    ) -> None:
        """Serve the collection in a browser until Ctrl-C: `periplus serve`. `periplus.serve` does several."""
        serve(
            self.folder,
            port=port,
            host=host,
            token_file=token_file,
            public_search=public_search,
            public_url=public_url,
            receive=receive,
        )

    def search_eval(self, queries: int = 500) -> SearchEvaluation:
        """How well pages are found by queries made from links and titles, beside plain BM25: `periplus search eval`."""
        from periplus.apps.search.collection_evaluation import evaluate_search

        return evaluate_search(self._found, queries)

    def refresh(
        self,
        *,
        url: str | Sequence[str] = (),
        site: str | Sequence[str] = (),
        older_than: str | float | None = None,
        new: bool | None = None,
        extract: Extract | str | None = None,
        settings: Mapping[str, object] | None = None,
        headers: Headers | None = None,
        cookies: Cookies | None = None,
        auth: Auth | None = None,
        login: LoginRequest | None = None,
    ) -> Refreshed:
        """Ask every page again, once, on condition (If-None-Match, If-Modified-Since), and return what that found.

        The keywords are the URLs and options of `periplus refresh`; `extract` makes items of pages that were sent again
        or are new; `settings`, by their names (`docs/settings.md`), hold for this refresh; credentials are given again,
        as they are never stored. A refresh that was interrupted is continued by the same call.
        """
        found = plans.existing(self.folder)
        found.check_trusted()
        config, of_proxy = plans.without_password(found.config.with_options(named_settings(settings)))
        selection = selection_of(found, _several(site), _several(url), duration("older_than", older_than) or 0.0)
        credentials, session = access_for(found.seeds, headers=headers, cookies=cookies, auth=auth, login=login)
        parts = OwnParts(credentials=credentials.merged(of_proxy), session=session)
        with plans.held(self.folder):
            made = _extractor(extract)
            extraction = None if made is None else Extraction(found.layout, made)

            def follow(_plan: object, _crawl: object, statuses: list[ShardStatus]) -> None:
                if extraction is not None:
                    extraction.follow(statuses)

            refreshed = refresh(
                config,
                self.folder,
                found.seeds,
                found.workers,
                selection,
                fetches_new=new,
                parts=parts,
                on_progress=follow,
            )
            if extraction is not None:
                extraction.finish()
            announce_refreshed(replace(found, config=config), refreshed)
            return refreshed

    def watch(
        self,
        *,
        budget: str | int | None = None,
        for_: str | float | None = None,
        diff: bool = True,
        extract: Extract | str | None = None,
        settings: Mapping[str, object] | None = None,
        headers: Headers | None = None,
        cookies: Cookies | None = None,
        auth: Auth | None = None,
        login: LoginRequest | None = None,
    ) -> Watch:
        """Plan a watch: pages are visited again when it is worth it, until the block is left. It begins with the block.

            with docs.watch(budget=10_000) as watch:
                for change in watch:
                    print(change.kind, change.url)

        `budget` is visits a day over all sites, `for_` how long to watch (`12h`). The budget and `settings`, by their
        names (`docs/settings.md`), are saved with the collection, as those of `periplus watch` are. Without `diff`
        texts are not compared. `extract` makes items of the pages that are sent.
        """
        asked = named_settings(settings)
        if for_ is not None:
            asked["crawl.for"] = duration("for_", for_)
        saved, now = planned_watch(self.folder, asked, budget)
        given, session = access_for(now.seeds, headers=headers, cookies=cookies, auth=auth, login=login)
        parts = OwnParts(credentials=now.credentials.merged(given), session=session)
        return Watch(saved, now, parts, extract=_extractor(extract), diff=diff)

    def audit(self, site: str | None = None, *, slow: float = 2.0, examples: int = 5) -> Audit:
        """The audit of a site for its owner: findings with examples, why they matter and what to do.

        `site` is needed where the collection has several. No request is made.
        """
        from periplus.apps.audit import AuditSettings

        self._check_not_running("audit")
        return audited(self._found, site, AuditSettings(slow=slow, examples=examples), say=_said(ProgressLine()))

    def grid(self, path: str | PathLike[str] | None = None, *, site: str | None = None) -> list[TableRow]:
        """Every fetched URL of a site with status, index state, texts, links, weight and time, as dictionaries.

        With a `path` they are also written there: as HTML if the name ends in `.html`, else as CSV. `site` is needed
        where the collection has several. No request is made.
        """
        from periplus.apps.audit import AuditSettings, grid_text

        self._check_not_running("audit")
        found = judged(self._found, site, AuditSettings(has_grid=True))
        if path is not None:
            text = grid_text(found.audit.site, found.grid, Path(path), time.time())
            Path(path).write_text(text, encoding="utf-8", newline="")
        return found.grid

    def audit_trend(self, site: str | None = None) -> tuple[TrendPoint, ...]:
        """The numbers of all audits of a site that `periplus audit` kept in the collection, the oldest first."""
        return audit_trend_of(self._found, site)

    def report(self, path: str | PathLike[str] | None = None) -> Path:
        """Write the report of the collection as one HTML file, by default `report.html` in its folder; the file."""
        self._check_not_running("report")
        file = self.folder / "report.html" if path is None else Path(path)
        check_report_file(file)
        write_report(report_of(self._found, described, say=_said(ProgressLine())), file)
        return file

    # tables

    def query(self, sql: str) -> Answer:
        """Ask in SQL: one `select` over the tables and views of `docs/tables.md` and `docs/measures.md`.

        The answer is a DuckDB relation: `.df()`, `.pl()`, `.arrow()`, `.fetchall()`, or iterate over its rows.
        """
        from periplus.insight.views import Views  # loads DuckDB, which takes a moment

        return Answer.to(sql, Views(self.folder, spooled=self._spooled(), say=_said(ProgressLine())))

    # for others

    def export(
        self,
        format: str,  # noqa: A002 - the option has this name
        path: str | PathLike[str],
        *,
        site: str | Sequence[str] = (),
        include: str | Sequence[str] = (),
        lang: str | Sequence[str] = (),
        dedupe: bool = False,
        for_: str = "",
        unknown: str = "keep",
        markdown: bool = False,
        since: str | float | None = None,
        changed: bool = False,
        name: str = "",
        where: str = "",
        title: str = "",
        all: bool = False,  # noqa: A002 - the option has this name
        sign: str | PathLike[str] | None = None,
        timestamp: str = "",
        index: str = DEFAULT_INDEX,
        size: int = DEFAULT_SIZE,
        unit: str = WORDS,
        overlap: int = 0,
    ) -> Exported:
        """Write the collection to a new file or folder: `periplus export`. The result counts what was written.

        Formats: `jsonl`, `csv`, `markdown`, `text`, `parquet`, `warc`, `wacz`, `cc-index`, `urls`, `chunks` and `bulk`.
        The keywords are the options of the command (`docs/export.md`); not every format has all of them. `since` may be
        POSIX seconds, too.
        """
        asked = ExportOptions(
            form=format,
            selection=Selection(
                tuple(_several(site)), tuple(_several(include)), tuple(_several(lang)), dedupe, for_, unknown
            ),
            markdown=markdown,
            where=where,
            title=title,
            wants_all=all,
            sign=None if sign is None else Path(sign),
            timestamp=timestamp,
            index=index,
            since=since,
            changed=changed,
            name=name,
            size=size,
            unit=unit,
            overlap=overlap,
        )
        running = running_crawl(self.folder)
        if running is not None and asked.form not in WHILE_CRAWLED:
            raise CollectionInUse(f"{self.folder} is crawled by this process", hint="export it after the `with` block")
        committed = None if running is None else Committed(running.spooled)
        return Export(plans.existing(self.folder), asked, committed).to_path(Path(path))

    def permissions(self, url: str) -> PagePermissions:
        """What a page may be used for, who decided, and the proof: `periplus export --explain`."""
        return explain(plans.existing(self.folder), url)

    def _check_not_running(self, what: str) -> None:
        if running_crawl(self.folder) is not None:
            raise CollectionInUse(f"{self.folder} is crawled by this process", hint=f"call {what} after the block")


def _said(line: ProgressLine) -> Callable[[str], None]:
    """Logs what a long step is about, and shows it in a notebook."""

    def say(text: str) -> None:
        log.info(text)
        line.show(text, is_last=True)

    return say


def _extractor(extract: Extract | str | None) -> Extract | None:
    return cast("Extract | None", load_plugin(EXTRACTORS, extract))


def _several(values: str | Sequence[str]) -> Sequence[str]:
    return (values,) if isinstance(values, str) else values


def kind_named(name: str) -> ChangeKind:
    """A kind of change by its name."""
    try:
        return ChangeKind(name)
    except ValueError as error:
        names = ", ".join(kind.value for kind in ChangeKind)
        raise UsageError(f"kind: {name!r} is not a kind of change", hint=f"give one of {names}") from error
