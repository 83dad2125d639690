"""The functions of the front door: `crawl`, `open` and `map`. Keywords have the names of the command line's options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Unpack, cast

from msgspec.structs import replace

from periplus.collection import collection as plans
from periplus.collection.clusters import installed_cluster
from periplus.collection.options import asked_settings
from periplus.collection.seeds import read_seeds
from periplus.engine.plugins import EXTRACTORS, load_plugin, own_parts
from periplus.engine.sharding import Gather
from periplus.policy.found import Score, Want
from periplus.store.layout import Layout

from .collection import Collection
from .crawling import Crawl, Extract, Gathering
from .credentials import Auth, Cookies, Headers, LoginRequest, access_for
from .keywords import CrawlKeywords
from .signature import takes_settings

Folder = str | PathLike[str]


@takes_settings("crawl", CrawlKeywords)
def crawl(
    seeds: str | Iterable[str] = (),
    *,
    out: Folder,
    seed_file: Folder | None = None,
    cluster: str | None = None,
    config: Folder | None = None,
    settings: Mapping[str, object] | None = None,
    extract: Extract | str | None = None,
    want: Want | str | None = None,
    score: Score | str | None = None,
    headers: Headers | None = None,
    cookies: Cookies | None = None,
    auth: Auth | None = None,
    login: LoginRequest | None = None,
    **options: Unpack[CrawlKeywords],
) -> Crawl:
    """Plan a crawl from seeds into the folder `out`, or its continuation. It begins with the `with` block.

    `seed_file`, `cluster`, `config` and the keywords below are the options of `periplus crawl` (`docs/commands.md`);
    one that is not given stays as it is in the collection. `settings` has any others by their names
    (`docs/settings.md`): `{"politeness.slow_factor": 0}`. A new collection has one shard, which runs in this process,
    unless `workers` says otherwise. `extract`, `want` and `score` are functions, or names of entry points; `headers`,
    `cookies` and `auth` are sent to the origins of the seeds only, or to the sites that they name (`docs/library.md`).
    `login` says how to log in (`docs/sessions.md`).
    """
    folder = Path(out)
    asked = asked_settings("crawl", options, settings)
    if not (cluster or Layout(folder).shards):
        asked = {"crawl.workers": 1, **asked}
    plan = plans.planned(
        folder,
        typed=[seeds] if isinstance(seeds, str) else list(seeds),
        typed_lines=() if seed_file is None else read_seeds(Path(seed_file)),
        settings=None if config is None else Path(config),
        options=asked,
        has_own_ordering=score is not None,
    )
    given, session = access_for(plan.seeds, headers=headers, cookies=cookies, auth=auth, login=login)
    parts = own_parts(want, score, options.get("order"), plan.credentials.merged(given))
    parts = replace(parts, session=session)
    made = cast("Extract | None", load_plugin(EXTRACTORS, extract))
    return Crawl(replace(plan, credentials=parts.credentials), parts, extract=made, gathering=_gathering(cluster))


def open(folder: Folder) -> Collection:  # noqa: A001 - as `gzip.open` and `dbm.open`
    """Open a collection for reading. A crawl or watch may be writing it at the same time."""
    return Collection(folder)


def _gathering(address: str | None) -> Gathering | None:
    """Runs the shards on Ray, if an address is given."""
    if address is None:
        return None

    @contextmanager
    def on_cluster(plan: plans.CollectionSetup) -> Iterator[tuple[plans.CollectionSetup, Gather | None]]:
        asked, lease = plan.config.crawl.workers, plan.config.cluster.lease
        coordinator = plan.layout.coordinator.resolve()
        with installed_cluster().gathered(address, coordinator, asked or plan.workers, lease) as (gather, processors):
            config = plan.config.with_options({"crawl.workers": asked or processors})
            yield replace(plan, config=config), gather

    return on_cluster
