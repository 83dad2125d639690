"""The keywords of the library's functions that settings declare, for type checkers.

Written from the declarations by `python -m tests.declared`.
"""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TypedDict


class CrawlKeywords(TypedDict, total=False):
    """Keywords of `periplus.crawl`."""

    limit: int | None
    for_: str | float | None
    contact: str | None
    scope: str | None
    include: str | Sequence[str] | None
    exclude: str | Sequence[str] | None
    delay: str | float | None
    media: str | Sequence[str] | None
    pdf: bool | None
    render: str | None
    max_bytes: str | int | None
    order: str | None
    order_by: str | PathLike[str] | None
    depth: int | None
    topic: str | None
    like: str | Sequence[str] | None
    unlike: str | Sequence[str] | None
    topic_by: str | None
    forms: bool | None
    permissions: bool | None
    requisites: bool | None
    sitemaps: bool | None
    sitemap: str | Sequence[str] | None
    rate: float | None
    workers: int | None
    ca_file: str | PathLike[str] | None
    proxy: str | None
    proxies: str | PathLike[str] | None
    allow_private: str | Sequence[str] | None
    resolve: Iterable[str] | Mapping[str, str] | None


class MapKeywords(TypedDict, total=False):
    """Keywords of `periplus.map`."""

    contact: str | None
    scope: str | None
    include: str | Sequence[str] | None
    exclude: str | Sequence[str] | None
    delay: str | float | None
    media: str | Sequence[str] | None
    sitemap: str | Sequence[str] | None
    ca_file: str | PathLike[str] | None
    proxy: str | None
    proxies: str | PathLike[str] | None
    allow_private: str | Sequence[str] | None
    resolve: Iterable[str] | Mapping[str, str] | None
