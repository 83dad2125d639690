"""Pages to read: a sample of real ones, and reading with the Python scanner.

They are a sample of the documentation that `bench.crawl` serves, or of this machine's, evenly spaced in the order of
the paths, each file once whatever links lead to it. Where there is neither, pages of the same shape are generated.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

ROOTS = {
    "that the crawl bench serves": Path(__file__).parents[2] / "bench" / ".peers" / "docs",
    "in /usr/share/doc": Path("/usr/share/doc"),
}
"""Where real pages may be, the preferred place first."""


def sample_pages(count: int) -> tuple[list[bytes], str]:
    """A deterministic sample of real pages, and what they are; generated ones where there are too few."""
    for where, root in ROOTS.items():
        paths = _pages_below(root)
        if len(paths) >= count:
            step = len(paths) / count
            return [paths[int(number * step)].read_bytes() for number in range(count)], f"of {len(paths):,} {where}"
    return [_generated(number) for number in range(count)], "generated"


def _pages_below(root: Path) -> list[Path]:
    found = {
        (Path(folder) / name).resolve()
        for folder, _, names in os.walk(root, followlinks=True)
        for name in names
        if name.endswith(".html")
    }
    return sorted(found)


def _generated(number: int) -> bytes:
    chance = random.Random(number)
    words = [f"word{chance.randrange(5000)}" for _ in range(2000)]
    menu = "".join(f"<li><a href='/section/{item}.html'>Section {item}</a></li>\n" for item in range(20))
    body = []
    for start in range(0, len(words), 40):
        text = " ".join(words[start : start + 40])
        body.append(f"<h2 id=s{start}>Part {start}</h2>\n<p>{text} <a href='page{start}.html#x'>more</a>.</p>\n")
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>Page {number}</title></head>"
        f"<body><nav><ul>{menu}</ul></nav><main>{''.join(body)}</main><footer>12:30</footer></body></html>"
    ).encode()


@contextmanager
def pure_reader() -> Iterator[None]:
    """Read pages with the Python scanner and the Python twin of every native function."""
    from periplus.content import digests, masking, mime, scan, statistics
    from periplus.content.scan import python

    with (
        patch.multiple(scan, _SCAN=python.scan, _RESOLVE=python.resolve),
        patch.object(digests, "_masked", masking.masked_in_python),
        patch.object(statistics, "_text_counts", statistics.text_counts_in_python),
        patch.object(mime, "_count_controls", mime.count_controls_in_python),
    ):
        yield
