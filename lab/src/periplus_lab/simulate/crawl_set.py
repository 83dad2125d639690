"""Histories out of a folder in the form of the crawl set that Microsoft published: what a real crawler saw of pages.

Kolobov, Peres, Lubetzky & Horvitz (SIGIR 2019) and Kolobov, Peres, Lu & Horvitz (NeurIPS 2019) visited some 18 million
pages about once a day for 14 weeks and published what was found, as files of fields parted by tabs, without a head:

* `urlid_offset_history.txt`: number of a page, days from the beginning to its first visit, and its further visits as a
  JSON list of pairs: days since the visit before, and 1 if the page had changed since then, or 0
* `url_urlid_hostid.txt`: URL, number of the page, number of its host
* `host_hostid_isconstrained.txt`: a host's URL, its number, and whether its politeness is bounded (not used here)
* `urlid_imp.txt`: number of a page, its importance

Only the first must be there; each may be compressed, and its name may go on after a dot. A change is known to lie
between two visits: it is put in the middle. After the last visit of a page nothing is known, and no change is assumed.

The histories are tens of gigabytes: of more pages than are asked for a sample is kept, those whose numbers have the
least hashes, whatever their order in the files. Lines that cannot be read are left out, and counted by reason:

* `too-long`: more than a megabyte
* `fields-missing`: not as many fields as the file has
* `bad-number`: a number that is none, or below zero
* `bad-history`: no list of such pairs
* `page-repeated`: a second history, or a second line, of one page
* `page-unknown`, `host-unknown`, `importance-unknown`: a page that a file does not name; it has no name then, or the
  mean importance
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, KeysView
from pathlib import Path

import msgspec
import numpy as np
import xxhash
from msgspec import Struct
from numpy.typing import NDArray

from periplus.model import ConfigError

from .edge_lists import stream_lines
from .histories import DAY, Histories

HISTORIES, PAGES = "urlid_offset_history.txt", "url_urlid_hostid.txt"
HOSTS, IMPORTANCE = "host_hostid_isconstrained.txt", "urlid_imp.txt"
MOST_PAGES = 100_000
"""Default maximum number of pages."""
_LONGEST_LINE = 1 << 20
_NO_HOST = "unknown.invalid"
_HINT = f"a folder with {HISTORIES}, and if possible {PAGES}, {HOSTS} and {IMPORTANCE}"


class _Visits(Struct, frozen=True, gc=False):
    """One page: its first visit, and when it had changed, in days; and its last visit."""

    first: float
    changes: tuple[float, ...]
    last: float


_PAIRS = msgspec.json.Decoder(list[tuple[float, int]])


def read_crawl_set(folder: Path, *, most_pages: int = MOST_PAGES) -> Histories:
    """The histories of a folder, of at most `most_pages`; `left_out` counts lines that could not be read.

    Raises `ConfigError` if there are none.
    """
    file = _file(folder, HISTORIES)
    if file is None:
        raise ConfigError(f"{folder} holds no {HISTORIES}", hint=_HINT)
    left_out: Counter[str] = Counter()
    visits = _sample(file, most_pages, left_out)
    if not visits:
        why = ", ".join(f"{count} {reason}" for reason, count in left_out.most_common(3))
        raise ConfigError(f"{file} has no histories{f' ({why})' if why else ''}", hint=_HINT)
    numbers = sorted(visits, key=_rank)
    hosts, names = _named(folder, visits.keys(), left_out)
    sites = _sites(folder, {host for host, _ in names.values()}, hosts, left_out)
    place: dict[str, int] = {}
    site = [place.setdefault(sites.get(names[each][0], _NO_HOST), len(place)) for each in numbers]
    seen = [visits[each] for each in numbers]
    return Histories(
        list(place),
        np.array(site, np.int32),
        [names[each][1] for each in numbers],
        np.concatenate(([0], np.cumsum([len(page.changes) for page in seen]))).astype(np.int64),
        np.array([at * DAY for page in seen for at in page.changes], np.float64),
        np.array([page.first * DAY for page in seen]),
        max(page.last for page in seen) * DAY,
        weights=_weights(folder, numbers, left_out),
        left_out={reason: count for reason, count in left_out.items() if count},
    )


def _file(folder: Path, name: str) -> Path | None:
    """The file of that name, compressed or not."""
    found = sorted(path for path in folder.glob(f"{name}*") if path.is_file())
    return found[0] if found else None


def _rank(number: bytes) -> tuple[int, bytes]:
    return xxhash.xxh3_64_intdigest(number), number


def _sample(file: Path, most: int, left_out: Counter[str]) -> dict[bytes, _Visits]:
    """The pages of least rank, in one pass: lines that cannot be among them are not parsed."""
    kept: dict[bytes, _Visits] = {}
    bound: tuple[int, bytes] | None = None
    for number, first, pairs in _rows(file, 3, left_out):
        if bound is not None and _rank(number) > bound:
            continue
        if number in kept:
            left_out["page-repeated"] += 1
            continue
        page = _visits(first, pairs)
        if isinstance(page, str):
            left_out[page] += 1
            continue
        kept[number] = page
        if len(kept) > 2 * most:
            bound = _drop(kept, most)
    if len(kept) > most:
        _drop(kept, most)
    return kept


def _drop(kept: dict[bytes, _Visits], most: int) -> tuple[int, bytes]:
    """Keep those of least rank; the greatest of these."""
    ranks = sorted(map(_rank, kept))
    for _, number in ranks[most:]:
        del kept[number]
    return ranks[most - 1]


def _visits(first: bytes, pairs: bytes) -> _Visits | str:
    """The history in a line, or the reason why it is invalid."""
    now = begin = _number(first)
    if begin is None or now is None:
        return "bad-number"
    try:
        found = _PAIRS.decode(pairs)
    except msgspec.DecodeError:
        return "bad-history"
    changes = []
    for gap, is_changed in found:
        if gap < 0.0 or is_changed not in (0, 1):
            return "bad-history"
        if is_changed:
            changes.append(now + gap / 2)
        now += gap
    return _Visits(begin, tuple(changes), now) if now < 1e6 else "bad-history"


def _named(
    folder: Path, wanted: KeysView[bytes], left_out: Counter[str]
) -> tuple[dict[bytes, str], dict[bytes, tuple[bytes, str]]]:
    """The host that a URL names, by the host's number; and the host's number and the path of each wanted page."""
    hosts: dict[bytes, str] = {}
    names: dict[bytes, tuple[bytes, str]] = {}
    for url, number, host in _rows(_file(folder, PAGES), 3, left_out):
        if number not in wanted:
            continue
        if number in names:
            left_out["page-repeated"] += 1
            continue
        name, path = _parted(url)
        hosts.setdefault(host, name)
        names[number] = (host, path)
    for number in wanted:
        if number not in names:
            left_out["page-unknown"] += 1
            names[number] = (b"", number.decode("utf-8", "replace"))
    return hosts, names


def _sites(folder: Path, wanted: set[bytes], hosts: dict[bytes, str], left_out: Counter[str]) -> dict[bytes, str]:
    """The names of hosts: from their file, or else from URLs."""
    found: dict[bytes, str] = {}
    file = _file(folder, HOSTS)
    for url, host, _ in _rows(file, 3, left_out):
        if host in wanted:
            found[host] = _parted(url)[0]
    if file is not None:
        left_out["host-unknown"] += len(wanted - found.keys() - {b""})
    return {host: found.get(host) or hosts.get(host) or _NO_HOST for host in wanted}


def _weights(folder: Path, numbers: list[bytes], left_out: Counter[str]) -> NDArray[np.float64] | None:
    """The importance of each page, 1 in the mean; `None` without that file."""
    file = _file(folder, IMPORTANCE)
    if file is None:
        return None
    place = {number: row for row, number in enumerate(numbers)}
    weights = np.full(len(numbers), np.nan)
    for number, score in _rows(file, 2, left_out):
        row = place.get(number)
        if row is None:
            continue
        value = _number(score)
        if value is None:
            left_out["bad-number"] += 1
            continue
        weights[row] = value
    unknown = np.isnan(weights)
    left_out["importance-unknown"] += int(unknown.sum())
    mean = float(weights[~unknown].mean()) if not unknown.all() else 0.0
    if not mean > 0.0:
        return None
    return np.where(unknown, 1.0, weights / mean)


def _rows(file: Path | None, fields: int, left_out: Counter[str]) -> Iterator[tuple[bytes, ...]]:
    """The lines of a file with the given number of fields; none if the file does not exist."""
    if file is None:
        return
    for line in stream_lines(file, _LONGEST_LINE):
        if line is None:
            left_out["too-long"] += 1
            continue
        found = tuple(part.strip() for part in line.split(b"\t"))
        if len(found) >= fields:
            yield found[:fields]
        elif line.strip():
            left_out["fields-missing"] += 1


def _number(text: bytes) -> float | None:
    """A number of days, or a score: neither is below zero."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0.0 <= value < 1e300 else None


def _parted(url: bytes) -> tuple[str, str]:
    """The host of a URL, and the rest."""
    text = url.decode("utf-8", "replace")
    host, _, path = text.rpartition("://")[2].partition("/")
    return host.lower() or _NO_HOST, path
