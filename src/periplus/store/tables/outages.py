"""Leaves out what the visits of an outage show: they say nothing about the pages of the site that was down.

Tables keep every row as it was written. To those who read them, visits to pages while a site was down are probes, and
pages that were read then were not, nor compared; so every reader stays with the version before. An outage begins with
the visits by which it was noticed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from periplus.lazy_exports import LazyModule

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    from numpy.typing import NDArray
else:
    np, pa, pc = map(LazyModule, ("numpy", "pyarrow", "pyarrow.compute"))

TIMES: Final = {"fetches": "ended_at", "pages": "read_at", "changes": "seen_at"}
"""The tables that are read so, and the column that says when a row was seen."""
_LAST: Final = 2**63 - 1


class Downtimes:
    """When each site was down, in microseconds."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        ends: dict[tuple[str, int], int] = {}
        for batch in batches:
            since, until = (batch[name].cast(pa.int64()).to_pylist() for name in ("since", "until"))
            for site, start, end in zip(batch["site"].to_pylist(), since, until, strict=True):
                known = ends.get((site, start), _LAST)
                ends[site, start] = known if end is None else end
        spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for (site, start), end in ends.items():
            if end > start:
                spans[site].append((start, end))
        self._spans = {site: np.sort(np.array(each), axis=0) for site, each in spans.items()}

    def __bool__(self) -> bool:
        return bool(self._spans)

    def apply(self, table: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of one of `TIMES` without what outages show."""
        is_down = self._is_down(batch["site"], batch[TIMES[table]])
        if not is_down.any():
            return batch
        if table != "fetches":
            return batch.filter(pa.array(~is_down))
        place = batch.schema.get_field_index("purpose")
        plain = (
            batch["purpose"].dictionary_decode() if pa.types.is_dictionary(batch["purpose"].type) else batch["purpose"]
        )
        is_probe = pc.and_(pa.array(is_down), pc.equal(plain, "page"))
        changed = pc.if_else(is_probe, "probe", plain).cast(plain.type)
        return batch.set_column(
            place, batch.schema.field(place), changed.dictionary_encode().cast(batch["purpose"].type)
        )

    def _is_down(self, sites: pa.Array, times: pa.Array) -> NDArray[np.bool_]:
        encoded = sites if pa.types.is_dictionary(sites.type) else sites.dictionary_encode()
        numbers = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
        at = pc.fill_null(times.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        found = np.zeros(len(numbers), np.bool_)
        for number, site in enumerate(encoded.dictionary.to_pylist()):
            if site in self._spans:
                starts, ends = self._spans[site].T
                begun, over = (np.searchsorted(each, at, side="right") for each in (starts, ends))
                found |= (numbers == number) & (begun > over)
        return found
