"""Which pages of a collection say nearly the same, as numbers: the hash of a URL, and that of its cluster.

Near-duplicates are those of `duplicates.clusters`. A page with hardly a sentence is in none of these: it says the same
as others only if it does so word by word, as in the crawl itself (`crawl.copies`).
"""

# ruff: noqa: S608 - SQL is put together from our own words here; what others wrote is quoted

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from periplus.store.tables import Spooled

from .duplicates import clusters

_SHORT = """
select hash(url) as key, hash(main_digest) as cluster from (
    select url, arg_max(main_digest, read_at) as main_digest, arg_max(main_length, read_at) as main_length
    from pages group by url)
where main_length between 1 and 100 and url not in (select url from alike)
qualify count(*) over (partition by main_digest) > 1
"""


def clusters_of(database: duckdb.DuckDBPyConnection, tables: Path, spooled: Sequence[Spooled]) -> pa.Table:
    """key, cluster: for pages of clusters of two and more."""
    urls: list[str] = []
    firsts: list[str] = []
    for each in clusters(tables, spooled=spooled):
        urls += each.urls
        firsts += [each.canonical] * len(each.urls)
    database.register("alike", pa.table({"url": pa.array(urls, pa.string()), "first": pa.array(firsts, pa.string())}))
    found = database.sql(
        f"select hash(url) as key, hash(first) as cluster from alike union all {_SHORT}"
    ).to_arrow_table()
    database.unregister("alike")
    return found
