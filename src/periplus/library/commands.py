"""The functions of the front door: `crawl`, `open` and `map`. Keywords have the names of the command line's options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import cast

from msgspec.structs import replace

from periplus.collection import collection as plans
from periplus.collection.layout import Layout
from periplus.collection.options import crawl_settings, wire_settings
from periplus.collection.parts import EXTRACTORS, load_part, own_parts
from periplus.collection.seeds import read_seeds
from periplus.engine.sharding import Gather
from periplus.policy.found import Score, Want

from .collection import Collection
from .crawling import Crawl, Extract, Gathering
from .credentials import Auth, Cookies, Headers, credentials_for

Folder = str | PathLike[str]


def crawl(
    seeds: str | Iterable[str] = (),
    *,
    out: Folder,
    limit: int | None = None,
    media: str | Sequence[str] | None = None,
    max_bytes: str | int | None = None,
    depth: int | None = None,
    scope: str | None = None,
    include: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    for_: str | float | None = None,
    seed_file: Folder | None = None,
    order: str | None = None,
    order_by: Folder | None = None,
    topic: str | None = None,
    like: str | Sequence[str] | None = None,
    unlike: str | Sequence[str] | None = None,
    topic_by: str | None = None,
    sitemap: str | Sequence[str] | None = None,
    sitemaps: bool | None = None,
    render: str | None = None,
    forms: bool | None = None,
    delay: str | float | None = None,
    rate: float | None = None,
    contact: str | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    config: Folder | None = None,
    resolve: Iterable[str] | Mapping[str, str] | None = None,
    allow_private: str | Sequence[str] | None = None,
    proxy: str | None = None,
    ca_file: Folder | None = None,
    extract: Extract | str | None = None,
    want: Want | str | None = None,
    score: Score | str | None = None,
    headers: Headers | None = None,
    cookies: Cookies | None = None,
    auth: Auth | None = None,
) -> Crawl:
    """Plan a crawl from seeds into the folder `out`, or its continuation. It begins with the `with` block.

    The keywords up to `ca_file` are the options of `periplus crawl` (`docs/commands.md`); an option that is not given
    stays as it is in the collection. A new collection has one shard, which runs in this process, unless `workers` says
    otherwise. `extract`, `want` and `score` are functions, or names of entry points; `headers`, `cookies` and `auth`
    are sent to the origins of the seeds only, or to the sites that they name (`docs/library.md`).
    """
    folder = Path(out)
    asked = {
        **crawl_settings(
            limit=limit,
            media=media,
            max_bytes=max_bytes,
            depth=depth,
            scope=scope,
            include=include,
            exclude=exclude,
            for_=for_,
            order=order,
            order_by=None if order_by is None else Path(order_by),
            topic=topic,
            like=like,
            unlike=unlike,
            topic_by=topic_by,
            sitemap=sitemap,
            sitemaps=sitemaps,
            render=render,
            forms=forms,
            rate=rate,
            workers=workers or (None if cluster or Layout(folder).shards else 1),
        ),
        **wire_settings(contact, delay, resolve, allow_private, proxy, None if ca_file is None else Path(ca_file)),
    }
    plan = plans.planned(
        folder,
        typed=[seeds] if isinstance(seeds, str) else list(seeds),
        typed_lines=() if seed_file is None else read_seeds(Path(seed_file)),
        settings=None if config is None else Path(config),
        options=asked,
    )
    given = credentials_for(plan.seeds, headers=headers, cookies=cookies, auth=auth)
    parts = own_parts(want, score, order, plan.credentials.merged(given))
    made = cast("Extract | None", load_part(EXTRACTORS, extract))
    return Crawl(replace(plan, credentials=parts.credentials), parts, extract=made, gathering=_gathering(cluster))


def open(folder: Folder) -> Collection:  # noqa: A001 - as `gzip.open` and `dbm.open`
    """Open a collection for reading. A crawl or watch may be writing it at the same time."""
    return Collection(folder)


def _gathering(address: str | None) -> Gathering | None:
    """Runs the shards on Ray, if an address is given."""
    if address is None:
        return None

    @contextmanager
    def on_cluster(plan: plans.Collection) -> Iterator[tuple[plans.Collection, Gather | None]]:
        from periplus.apps.cluster import gathered

        asked, lease = plan.config.crawl.workers, plan.config.cluster.lease
        coordinator = plan.layout.coordinator.resolve()
        with gathered(address, coordinator, asked or plan.workers, lease) as (gather, processors):
            config = plan.config.with_options({"crawl.workers": asked or processors})
            yield replace(plan, config=config), gather

    return on_cluster
