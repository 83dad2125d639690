"""Verdicts of jobs over the tables: one Parquet file a judge, beside what else was computed.

    insight/verdicts-mirrors.parquet    what the judge of mirrors concluded when it last ran

The view `verdicts` has these and the verdicts that the crawl reached itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from periplus.model import Judged
from periplus.store.tables.columns import batch_of
from periplus.store.tables.schemas import VERDICTS
from periplus.store.tables.single_rows import verdict_row


def write(folder: Path, judge: str, verdicts: Sequence[Judged]) -> None:
    """Replace the verdicts of a judge on the collection in `folder`."""
    place = folder / "insight"
    place.mkdir(exist_ok=True)
    rows = [verdict_row(verdict) for verdict in verdicts]
    table = pa.Table.from_batches([batch_of(VERDICTS, zip(*rows, strict=True))] if rows else [], VERDICTS)
    draft = place / f".verdicts-{judge}.{os.getpid()}"
    parquet.write_table(table, draft)
    draft.replace(place / f"verdicts-{judge}.parquet")


def files_of_judges(folder: Path) -> list[Path]:
    """What judges wrote of the collection in `folder`."""
    return sorted((folder / "insight").glob("verdicts-*.parquet"))
