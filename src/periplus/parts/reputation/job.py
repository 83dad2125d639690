"""The job that computes the reputation of domains: from the links of a collection to the budgets of a crawl.

    learn_reputation(folder, layout.spooled, seeds=seeds)

reads what is new of the tables (`DomainGraph`), scores all domains (`parts.reputation.policy`), and returns a table of
budgets, of which the caller writes the bytes as the learnt file "reputation". It also writes verdicts of the judge
"reputation", for people.

The graph has registrable domains as nodes; an edge is a link from one domain to another, or a listing in its sitemaps.
Only Parquet files that were not read before are read; the graph is kept beside the other results in `insight/`, as two
files that belong together:

    insight/domains.parquet         the name of each domain, and which shards have sites of it
    insight/domain-edges.parquet    pairs of domains: links, and listings; in its metadata the files that were read

Rows that are still in spools are read every time and not kept. An edge counts once for a pair of domains, however many
pages have the link (`parts.reputation.policy`); a redirect is a link of the domain that redirects.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import duckdb
import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray
from pyarrow import parquet

from periplus.graph import trust
from periplus.model import SubjectJudged, Url
from periplus.store.durable import replace_file
from periplus.store.tables import Spooled
from periplus.store.tables.files import intact_files_of
from periplus.store.tables.reader import read_spooled
from periplus.store.tables.verdicts import write_verdicts
from periplus.urls import domain_of, site_of

from .known import KnownReputation, domain_hash
from .policy import budgets_of, networks, of_listed, star

# ruff: noqa: S608 - SQL is put together from our own words here


MAX_DOMAINS: Final = 1 << 22
"""Domains of a graph, at most: 4 million. Links to others do not count; they have the base budget anyway."""
_MERGE_AT: Final = 1_000_000
"""New edges that are held before they are merged with the others."""
_MAX_SITES: Final = 1 << 16
"""Sites whose domains are remembered, at most."""
_ROWS_AT_ONCE: Final = 100_000
"""Pairs of sites that are numbered together."""
_SPEC: Final = 1
_HOST: Final = r"'^https?://(?:[^/@]*@)?([^/?#]+)', 1"
_PAIRS: Final = {
    "links": """select distinct site::varchar, target_site::varchar from {rows} where not is_internal
        and not regexp_matches(rel::varchar, '\\b(nofollow|ugc|sponsored)\\b', 'i')""",
    "fetches": f"""select distinct site::varchar, regexp_extract(target, {_HOST}) from {{rows}}
        where outcome = 'redirected' and target is not null""",
    "sitemap_entries": f"""select * from (select distinct site::varchar as lister, regexp_extract(url, {_HOST}) as host
        from {{rows}}) where host <> lister""",
}
"""The pairs of sites in each table."""
_COLUMNS: Final = {
    "links": ("site", "target_site", "is_internal", "rel"),
    "fetches": ("site", "target", "outcome"),
    "sitemap_entries": ("site", "url"),
}
"""The columns that these queries need."""
Keys = NDArray[np.uint64]


class _Read(Struct, frozen=True):
    """What the stored graph was made from: files with their sizes, public suffixes, and the number of shards."""

    spec: int = _SPEC
    files: dict[str, int] = {}
    suffixes: tuple[str, ...] = ()
    shards: int = 1
    domains: int = 0


class DomainGraph:
    """Domains by number, their edges, and the shards that have sites of each. `owner` returns the shard of a site."""

    def __init__(
        self, suffixes: tuple[str, ...] = (), shards: int = 1, owner: Callable[[str], int] | None = None
    ) -> None:
        self._suffixes = suffixes
        self._shards = shards
        self._owner = owner or (lambda _site: 0)
        self.names: list[str] = []
        self._numbers: dict[str, int] = {}
        self._sites: dict[str, int] = {}
        self._bits: list[int] = []
        self._links = _EdgeSet()
        self._listings = _EdgeSet()
        self._files: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.names)

    @property
    def links(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Sources and targets of links between different domains, each pair once."""
        return self._links.ends()

    @property
    def listings(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Domains whose sitemaps list pages of other domains, each pair once."""
        return self._listings.ends()

    @property
    def shards(self) -> NDArray[np.int64]:
        """How many shards have sites of each domain, at least 1."""
        return np.maximum(np.array([bits.bit_count() for bits in self._bits], np.int64), 1)

    def number(self, site: str) -> int:
        """The number of the domain of a site, which is added if it is new; -1 if there is no room for more."""
        known = self._sites.get(site)
        if known is not None:
            return known
        name = domain_of(site, self._suffixes) or site
        number = self._numbers.get(name, -1)
        if number < 0 and len(self.names) < MAX_DOMAINS:
            number = self._numbers[name] = len(self.names)
            self.names.append(name)
            self._bits.append(0)
        if number >= 0 and self._shards > 1:
            self._bits[number] |= 1 << self._owner(site)
        if len(self._sites) >= _MAX_SITES:
            self._sites.clear()
        self._sites[site] = number
        return number

    def add(self, table: str, pairs: pa.RecordBatch) -> None:
        """Add pairs of sites that were found in a table."""
        sources, targets = map(self._numbers_of, pairs.columns)
        known = (sources >= 0) & (targets >= 0) & (sources != targets)
        edges = self._listings if table == "sitemap_entries" else self._links
        edges.add(sources[known], targets[known])

    def _numbers_of(self, sites: pa.Array) -> NDArray[np.int64]:
        encoded = sites.dictionary_encode()
        numbers = np.array([self.number(site) if site else -1 for site in encoded.dictionary.to_pylist()], np.int64)
        codes = encoded.indices.fill_null(len(numbers)).to_numpy(zero_copy_only=False)
        found: NDArray[np.int64] = np.append(numbers, -1)[codes]
        return found

    # files

    def read(
        self, folder: Path, spooled: Sequence[Spooled] = (), database: duckdb.DuckDBPyConnection | None = None
    ) -> int:
        """Add what is new in the tables of the collection in `folder`, and keep the graph there; how many files."""
        place = folder / "insight"
        new = self._load(place, folder / "tables", spooled)
        with _cursor(database) as cursor:
            for table, path in new:
                self._add_pairs(cursor, table, f"read_parquet('{_quoted(path)}')")
                self._files[f"{table}/{path.name}"] = path.stat().st_size
            if new:
                self._keep(place)
            for table in _PAIRS:
                rows = read_spooled(table, spooled, _COLUMNS[table])
                if len(rows):
                    cursor.register("spooled", rows)
                    self._add_pairs(cursor, table, "spooled")
                    cursor.unregister("spooled")
        return len(new)

    def _add_pairs(self, database: duckdb.DuckDBPyConnection, table: str, rows: str) -> None:
        """Add the pairs of sites among some rows of a table, a batch at a time."""
        for batch in database.sql(_PAIRS[table].format(rows=rows)).to_arrow_reader(_ROWS_AT_ONCE):
            self.add(table, batch)

    def _load(self, place: Path, tables: Path, spooled: Sequence[Spooled]) -> list[tuple[str, Path]]:
        """Take over the kept graph, if it was made of files that are there still. The files that it was not made of."""
        files = [(table, path) for table in _PAIRS for path in intact_files_of(tables, table, spooled)]
        sizes = {f"{table}/{path.name}": path.stat().st_size for table, path in files}
        kept = _kept(place)
        if kept is not None:
            read, names, edges = kept
            is_same = (read.spec, read.suffixes, read.shards) == (_SPEC, self._suffixes, self._shards)
            if is_same and read.files.items() <= sizes.items() and read.domains == len(names):
                self._take_over(read, names, edges)
        return [(table, path) for table, path in files if f"{table}/{path.name}" not in self._files]

    def _take_over(self, read: _Read, names: pa.Table, edges: pa.Table) -> None:
        self._files = dict(read.files)
        self.names = names["name"].to_pylist()
        self._bits = names["shards"].to_pylist()
        self._numbers = {name: number for number, name in enumerate(self.names)}
        keys, is_listing = edges["pair"].to_numpy(), edges["is_listing"].to_numpy()
        self._links.keys, self._listings.keys = keys[~is_listing], keys[is_listing]

    def _keep(self, place: Path) -> None:
        place.mkdir(exist_ok=True)
        links, listings = self._links.merged(), self._listings.merged()
        read = _Read(_SPEC, self._files, self._suffixes, self._shards, len(self.names))
        edges = pa.table(
            {
                "pair": np.concatenate([links, listings]),
                "is_listing": np.repeat([False, True], [len(links), len(listings)]),
            }
        ).replace_schema_metadata({"read": msgspec.json.encode(read)})
        names = pa.table({"name": pa.array(self.names, pa.string()), "shards": pa.array(self._bits, pa.uint64())})
        for name, table in (("domains", names), ("domain-edges", edges)):
            draft = place / f".{name}.{os.getpid()}"
            parquet.write_table(table, draft)
            replace_file(draft, place / f"{name}.parquet")


class _EdgeSet:
    """Pairs of numbers, each once: the source in the upper half of a key, the target in the lower."""

    def __init__(self) -> None:
        self.keys: Keys = np.zeros(0, np.uint64)
        self._new: list[Keys] = []
        self._waiting = 0

    def add(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> None:
        keys = np.unique(sources.astype(np.uint64) << np.uint64(32) | targets.astype(np.uint64))
        self._new.append(keys)
        self._waiting += len(keys)
        if self._waiting >= _MERGE_AT:
            self.merged()

    def merged(self) -> Keys:
        if self._new:
            self.keys = np.unique(np.concatenate([self.keys, *self._new]))
            self._new, self._waiting = [], 0
        return self.keys

    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        keys = self.merged()
        return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)


@contextmanager
def _cursor(database: duckdb.DuckDBPyConnection | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of the caller, with its limits and names of our own; else one in memory."""
    connection = duckdb.connect(":memory:", config={"threads": 1}) if database is None else database.cursor()
    try:
        yield connection
    finally:
        connection.close()


def _kept(place: Path) -> tuple[_Read, pa.Table, pa.Table] | None:
    """The graph that was kept; `None` if there is none, or it cannot be read: then it is made again."""
    try:
        names, edges = (parquet.read_table(place / f"{name}.parquet") for name in ("domains", "domain-edges"))
        return msgspec.json.decode(edges.schema.metadata[b"read"], type=_Read), names, edges
    except (OSError, pa.ArrowException, msgspec.MsgspecError, KeyError, TypeError):
        return None


def networks_of(
    folder: Path,
    names: Iterable[str],
    spooled: Sequence[Spooled] = (),
    database: duckdb.DuckDBPyConnection | None = None,
) -> NDArray[np.int64]:
    """A number for the network of each domain: /24 of an IPv4 address, /48 of IPv6. Without an address: its own."""
    files = [str(path) for path in intact_files_of(folder / "tables", "fetches", spooled)]
    found: dict[str, str] = {}
    with _cursor(database) as cursor:
        rows = read_spooled("fetches", spooled, ("site", "domain", "ip"))
        sources = [f"read_parquet([{','.join(repr(_quoted(Path(each))) for each in files)}])"] if files else []
        if len(rows):
            cursor.register("spooled", rows)
            sources.append("spooled")
        for source in sources:
            question = f"""select coalesce(domain, site)::varchar, min(ip::varchar) from {source}
                where ip is not null group by 1"""
            found |= {name: _network(ip) for name, ip in cursor.execute(question).fetchall()}
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(found.get(name, name), len(numbers)) for name in names], np.int64)


def _network(ip: str) -> str:
    return ":".join(ip.split(":")[:3]) if ":" in ip else ip.rpartition(".")[0]


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


SPAM_ABOVE: Final = 0.5
"""Probability of spam above which the links of a domain do not count."""
MAX_VERDICTS: Final = 10_000
"""Domains with a verdict: the most reputable ones, as many as a person may look at."""


class ReputationSettings(Struct, frozen=True):
    """How domains are scored: see `BudgetSettings`. `shards`: how many there are; `owner`: which has a site."""

    score: str = "trust"
    base: int = 10
    largest: int = 10_000
    suffixes: tuple[str, ...] = ()
    shards: int = 1
    owner: Callable[[str], int] | None = None


class Reputation(Struct, frozen=True):
    """The domains of a collection with their scores, budgets, and the number of domains that link to each."""

    names: list[str]
    scores: NDArray[np.float64]
    budgets: NDArray[np.int64]
    supporters: NDArray[np.float64]
    shards: NDArray[np.int64]

    def known(self) -> KnownReputation:
        """The table that shards look up budgets in: each shard has its part of a budget."""
        hashes = np.fromiter(map(domain_hash, self.names), np.uint64, len(self.names))
        budgets = np.maximum(self.budgets // self.shards, 1).astype(np.uint32)
        return KnownReputation(hashes, budgets, self.scores.astype(np.float32))


def learn_reputation(
    folder: Path,
    spooled: Sequence[Spooled] = (),
    *,
    seeds: Sequence[Url],
    settings: ReputationSettings | None = None,
    spam_of: Callable[[str], float] | None = None,
    now: float = 0.0,
    database: duckdb.DuckDBPyConnection | None = None,
) -> Reputation:
    """Score the domains of the collection in `folder`, and write verdicts there, judged at `now`.

    Tables are read by `database`, whose limits then hold for what it needs; without one, by a database of its own.
    `spam_of` is the probability that a domain is spam. Links of domains that are more likely spam than not do not
    count: trust that has leaked into a farm ends there.
    """
    settings = settings or ReputationSettings()
    graph = DomainGraph(settings.suffixes, settings.shards, settings.owner)
    graph.read(folder, spooled, database)
    own = np.unique(np.array([graph.number(site_of(seed)) for seed in seeds], np.int64))
    sources, targets = _honest_links(graph, spam_of)
    n = len(graph)
    supporters = star(targets, n)
    if settings.score == "star":
        scores = supporters
    elif settings.score == "networks":
        scores = networks(sources, targets, n, networks_of(folder, graph.names, spooled, database))
    else:
        scores = trust(sources, targets, n, own[own >= 0])
    scores = of_listed(scores, *graph.listings)
    budgets = budgets_of(scores, settings.base, settings.largest)
    found = Reputation(graph.names, scores, budgets, supporters, graph.shards)
    write_verdicts(folder, "reputation", _verdicts(found, settings.score, now))
    return found


def _honest_links(
    graph: DomainGraph, spam_of: Callable[[str], float] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The links between domains, without those of spam."""
    sources, targets = graph.links
    if spam_of is None:
        return sources, targets
    is_honest = np.fromiter((spam_of(name) <= SPAM_ABOVE for name in graph.names), bool, len(graph))
    return sources[is_honest[sources]], targets[is_honest[sources]]


def _verdicts(found: Reputation, score: str, now: float) -> list[SubjectJudged]:
    """The verdicts on the most reputable domains."""
    best = np.argsort(-found.scores, kind="stable")[:MAX_VERDICTS]
    highest = max(float(found.scores.max(initial=0.0)), 1e-300)
    return [
        SubjectJudged(
            found.names[number],
            "domain",
            "reputation",
            "trusted" if found.scores[number] > 0 else "unknown",
            float(found.scores[number]) / highest,
            (
                f"{int(found.supporters[number])} other domains link to it",
                f"its {score} allows {int(found.budgets[number])} pages in the first pass",
            ),
            now,
        )
        for number in best.tolist()
    ]
