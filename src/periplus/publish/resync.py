"""ResourceSync documents of a ledger: what exists, and what was created, updated and deleted, for harvesters.

The ledger keeps digests for its own comparisons, which are not those that ResourceSync knows (MD5, SHA-256): entries
have sizes and types, and no hash.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from periplus.formats import resourcesync
from periplus.formats.resourcesync import WELL_KNOWN, Change, Listed

from .files import write_file
from .ledger import Ledger

FOLDER: Final = "resync"
CAPABILITIES: Final = f"{FOLDER}/capabilitylist.xml"
RESOURCES: Final = f"{FOLDER}/resourcelist.xml"
CHANGES: Final = f"{FOLDER}/changelist.xml"
PER_LIST: Final = 50_000
"""Resources of one list, and changes of the change list: what a sitemap may hold."""
_KINDS: Final = {"new": "created", "changed": "updated", "removed": "deleted"}
_PUBLISHED: Final = "gone is null and hidden = ''"


class ResyncFiles:
    """Writes the documents of one site into a folder."""

    def __init__(self, ledger: Ledger, folder: Path, base_url: str) -> None:
        self._db = ledger.db
        self._folder = folder
        self._base = base_url

    def update(self) -> list[str]:
        """Bring the files up to date with the ledger; returns their names."""
        names = []
        for name, body in self._documents():
            path = self._folder / name
            if not path.exists() or path.read_bytes() != body:
                write_file(path, body)
            names.append(name)
        for path in (self._folder / FOLDER).glob("resourcelist-*.xml"):
            if f"{FOLDER}/{path.name}" not in names:
                path.unlink(missing_ok=True)
        return names

    def _documents(self) -> Iterator[tuple[str, bytes]]:
        """Every document, those that others name first."""
        capabilities = self._base + CAPABILITIES
        first, last = self._db.execute("select min(at), max(at) from events").fetchone()
        at = last or 0.0  # the time of the last event: the same bytes until something happens
        yield from self._resource_lists(at, capabilities)
        yield CHANGES, resourcesync.write_changes(self._changes(), first or 0.0, at, capabilities)
        lists = (("resourcelist", self._base + RESOURCES), ("changelist", self._base + CHANGES))
        yield CAPABILITIES, resourcesync.write_capabilities(self._base + WELL_KNOWN, lists)
        yield WELL_KNOWN, resourcesync.write_description(capabilities)

    def _resource_lists(self, at: float, capabilities: str) -> Iterator[tuple[str, bytes]]:
        rows = self._db.execute(f"select url, lastmod, size, mime from resources where {_PUBLISHED} order by id")  # noqa: S608 - our own words
        names: list[str] = []
        while batch := [Listed(*row) for row in rows.fetchmany(PER_LIST)]:
            body = resourcesync.write_resources(batch, at, capabilities)
            if not names and len(batch) < PER_LIST:
                yield RESOURCES, body
                return
            names.append(f"{FOLDER}/resourcelist-{len(names) + 1}.xml")
            yield names[-1], body
        lists = [self._base + name for name in names]
        yield RESOURCES, resourcesync.write_resource_index(lists, at, capabilities)

    def _changes(self) -> Iterator[Change]:
        rows = self._db.execute(
            "select url, kind, at, lastmod from (select * from events order by id desc limit ?) order by id",
            (PER_LIST,),
        )
        for url, kind, at, lastmod in rows:
            yield Change(url, _KINDS[kind], at, None if kind == "removed" else lastmod)
