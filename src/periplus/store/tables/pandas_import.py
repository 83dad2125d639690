"""Keeps pyarrow from importing pandas, which costs 0.3 s and 50 MB in every process.

`pyarrow.array` looks once per process whether pandas is installed, by importing it, to recognise a `Series`. Periplus
never passes one. Here pyarrow looks while pandas cannot be found in this thread, and does not look again until a
function needs pandas (`to_pandas`, `from_pandas`), which works as before. Until then `pyarrow.array` takes a `Series`
for any other sequence, so that NaN is not null. A process that has pandas loaded is left as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from threading import get_ident
from typing import Any

import pyarrow as pa

_PANDAS = "pandas"


class _NotFound(MetaPathFinder):
    """Reports pandas as missing to one thread."""

    def __init__(self) -> None:
        self._thread = get_ident()

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> None:  # noqa: ARG002
        """Raise if this thread imports pandas; otherwise leave it to the next finder."""
        if fullname == _PANDAS and get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {_PANDAS!r}", name=_PANDAS)


def skip_pandas() -> None:
    """Let pyarrow look for pandas now, and not find it, unless pandas is loaded already."""
    if _PANDAS in sys.modules:
        return
    finder = _NotFound()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])  # an empty list would not make it look
    finally:
        sys.meta_path.remove(finder)


skip_pandas()
