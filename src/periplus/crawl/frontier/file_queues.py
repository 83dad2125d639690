"""Queues of what is not a page of the collection: files that sites publish about themselves, and probes.

They are not discoveries, and no filter judges them: what asked for them has decided that.
"""

from __future__ import annotations

from collections.abc import Sequence

from periplus.model import Discovery, FirstSeen, Lane, Probe, Purpose, Queued, Source, Url, UrlRecord, UrlRecords
from periplus.store import State
from periplus.urls import site_of

from .politeness import is_tried_again
from .selection import file_name, probe_name
from .settings import RetrySettings


def unknown_robots(records: UrlRecords, discoveries: Sequence[Discovery]) -> list[Url]:
    """The robots.txt files among discoveries that were not requested yet."""
    wanted = [discovery.url for discovery in discoveries if discovery.purpose is Purpose.ROBOTS]
    known = records.get([file_name(url) for url in wanted])
    return [url for url, record in zip(wanted, known, strict=True) if record is None]


def queued_files(state: State, urls: Sequence[Url], now: float) -> list[Queued]:
    """Queue files, and return their places."""
    seen = (FirstSeen(Source.SITEMAP, now),)
    state.records.add_new([UrlRecord(file_name(url), seen) for url in urls])
    entries = [Queued(url, site_of(url), Lane.FILES, 0) for url in urls]
    state.queues.push(entries)
    return entries


def queued_probes(state: State, probes: Sequence[Probe], retries: RetrySettings, now: float) -> list[Queued]:
    """Queue probes that do not wait already, and return their places."""
    wanted = {probe_name(probe): probe for probe in probes}
    known = state.records.get(list(wanted))
    names = [name for name, record in zip(wanted, known, strict=True) if record is None or _is_over(record, retries)]
    state.records.put([UrlRecord(name, (FirstSeen(Source.LINK, now),)) for name in names])
    entries = [Queued(name, site_of(wanted[name].url), Lane.PROBES, 0) for name in names]
    state.queues.push(entries)
    return entries


def _is_over(record: UrlRecord, retries: RetrySettings) -> bool:
    if record.visits:
        return True
    return bool(record.reason) and not is_tried_again(retries, record.reason, record.failures)
