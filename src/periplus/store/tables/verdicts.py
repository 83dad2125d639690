"""What jobs over the tables of a collection concluded, beside the verdicts that its crawl reached itself.

    insight/verdicts-JUDGE.parquet    the verdicts of a judge at its last run

Both are rows of `verdicts`: a crawl writes them as events, a job replaces its file. The view `verdicts` has all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from periplus.lazy_exports import LazyModule
from periplus.model import SubjectJudged

from ..durable import replace_file
from .columns import batch_of_rows
from .files import files_of_judges
from .manifest import Spooled
from .reader import scan
from .schemas import SCHEMAS

if TYPE_CHECKING:
    from pyarrow import parquet
else:
    parquet = LazyModule("pyarrow.parquet")


def write_verdicts(folder: Path, judge: str, verdicts: Sequence[SubjectJudged]) -> None:
    """Replace the verdicts of a judge on the collection in `folder`."""
    place = folder / "insight"
    place.mkdir(exist_ok=True)
    schema = SCHEMAS[SubjectJudged.table]
    table = pa.Table.from_batches([batch_of_rows(SubjectJudged.table, verdicts)] if verdicts else [], schema)
    draft = place / f".verdicts-{judge}.{os.getpid()}"
    parquet.write_table(table, draft)
    replace_file(draft, place / f"verdicts-{judge}.parquet")


def scan_verdicts(folder: Path, spooled: Sequence[Spooled]) -> Iterator[pa.RecordBatch]:
    """All verdicts on the collection in `folder`."""
    yield from scan(folder / "tables", SubjectJudged.table, spooled=spooled)
    for path in files_of_judges(folder):
        yield from parquet.read_table(path).to_batches()
