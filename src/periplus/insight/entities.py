"""The table `entities`: what the stored pages say of themselves in structured data.

It is made when it is first asked for, from the last version of every page in the archive, and kept in the folder
`insight`; later only pages that were fetched since are read. A crawl reads none of it: to look for its marks
alone would cost every page.

    insight/entities.parquet    the rows; a page without entities has one without a syntax
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from periplus.content.entities import entities_of
from periplus.content.html import html_of_body
from periplus.store.durable import replace_file
from periplus.store.export.captures import Capture, latest_captures
from periplus.store.export.documents import read_answer
from periplus.store.tables import Spooled
from periplus.store.tables.schemas import schema_of
from periplus.urls import fingerprints, site_of

from .entity_rows import EntityRow

WAY: Final = b"2"
"""Counted up whenever the same pages would give something else."""
_WAY_KEY: Final = b"periplus-way"
_PAGES_AT_ONCE: Final = 2000


SCHEMA: Final = schema_of(EntityRow).with_metadata({_WAY_KEY: WAY})


def update_entities(folder: Path, file: Path, spooled: Sequence[Spooled]) -> Path:
    """Bring the table of the collection in `folder` up to date, in this file."""
    known = _known(file)
    captures = list(latest_captures(folder / "tables", spooled))
    new = [each for each in captures if known.get(_key(each.url)) != _moment(each)]
    current = {_key(each.url) for each in captures}
    if file.exists() and not new and known.keys() <= current:
        return file
    file.parent.mkdir(exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    replaced = {_key(each.url) for each in new}
    with pq.ParquetWriter(draft, SCHEMA, compression="zstd") as writer:
        if known:
            for batch in pq.ParquetFile(file).iter_batches():
                keys = fingerprints(batch["page"].to_pylist())
                stays = [key in current and key not in replaced for key in keys]
                writer.write_batch(batch.filter(pa.array(stays)).cast(SCHEMA))
        rows = _rows(folder / "warc", iter(new))
        while some := list(islice(rows, _PAGES_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(some, SCHEMA))
    replace_file(draft, file)
    return file


def _known(file: Path) -> dict[int, int]:
    """The pages that were read, each with the time of its version; none if the file was made in another way."""
    try:
        read = pq.ParquetFile(file)
    except (OSError, pa.ArrowException):
        return {}
    if (read.schema_arrow.metadata or {}).get(_WAY_KEY) != WAY:
        return {}
    known: dict[int, int] = {}
    for batch in read.iter_batches(columns=["page", "read_at"]):
        times = batch["read_at"].cast(pa.int64()).to_numpy(zero_copy_only=False).astype(np.int64).tolist()
        known.update(zip(fingerprints(batch["page"].to_pylist()), times, strict=True))
    return known


def _key(url: Any) -> int:
    return fingerprints([url])[0]


def _moment(capture: Capture) -> int:
    return round(capture.fetched_at.timestamp() * 1e6)


def _rows(archive: Path, captures: Iterator[Capture]) -> Iterator[dict[str, Any]]:
    for capture in captures:
        answer = read_answer(archive, capture)
        html = None if isinstance(answer, str) else html_of_body(answer[1], capture.content_type)
        facts = {"page": capture.url, "site": site_of(capture.url), "read_at": capture.fetched_at}
        found = entities_of(html, capture.url) if html else []
        if not found:
            yield {**facts, "position": 0}
        for position, entity in enumerate(found):
            yield {
                **facts,
                "position": position,
                "syntax": entity.syntax,
                "type": entity.type or None,
                "name": entity.name or None,
                "url": entity.url or None,
                "date_published": _microseconds(entity.published_at),
                "date_modified": _microseconds(entity.modified_at),
                "breadcrumbs": entity.breadcrumbs or None,
            }


def _microseconds(at: float | None) -> int | None:
    return None if at is None else round(at * 1e6)
