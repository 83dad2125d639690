"""A whole log, of whichever format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from periplus.model import Problem

from .combined import read_line
from .extended import Layout
from .hits import Hit


def read(lines: Iterable[bytes]) -> Iterator[Hit | Problem]:
    """Every line that is not blank; a problem is `at` the first byte of its line, if lines keep their ends.

    A line that says what the fields of those below it are, holds until the next one does.
    """
    offset, layout = 0, Layout()
    for line in lines:
        if line[:1] != b"#" or not layout.learn(line):
            hit = layout.read_line(line) if layout.fields else read_line(line)
            if isinstance(hit, Hit):
                yield hit
            elif not line.isspace() and line:
                yield Problem(hit.reason, hit.detail, offset)
        offset += len(line)
