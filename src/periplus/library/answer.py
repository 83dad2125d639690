"""The answer to a question in SQL: a DuckDB relation, with the database that it needs."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa

    from periplus.insight.views import Views

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

    def close(self) -> None:
        """Close the database now."""
        self._close()
