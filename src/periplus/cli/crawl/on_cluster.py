"""`--cluster` of the commands that crawl: the same shards on a cluster.

Ray is loaded only here, and only for who asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec.structs import replace

from periplus.assembly import MAX_SHARDS
from periplus.assembly.collection import Collection
from periplus.crawl.sharding import Gather

from ..consoles import stderr_console


@contextmanager
def gathering(address: str | None, collection: Collection) -> Iterator[tuple[Collection, Gather | None, int]]:
    """The collection, who brings its shards together (`None`: this machine does), and how many shards there can be.

    A collection that is begun on a cluster without a number of shards gets one for each of its processors.
    """
    if address is None:
        yield collection, None, MAX_SHARDS
        return
    from periplus.cluster import gathered

    words = "Ray begins on this machine ..." if address == "local" else f"connecting to Ray at {address} ..."
    stderr_console().print(words, style="dim", highlight=False)
    asked = collection.config.crawl.workers
    lease = collection.config.cluster.lease
    with gathered(address, collection.layout.coordinator.resolve(), asked or collection.workers, lease) as (
        gather,
        processors,
    ):
        config = collection.config.with_options({"crawl.workers": asked or processors})
        yield replace(collection, config=config), gather, MAX_SHARDS if address == "local" else processors
