"""Which URLs a site still refers to: its links, canonical URLs, redirects and sitemaps, as they were last read.

A missing page is a fault of the site only while something refers to it. A repeated audit asks for those pages again,
and for no other missing pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from .site_table import make_listed

if TYPE_CHECKING:
    from periplus.insight.views import Views

_TABLES: Final = "current_links pages fetches discoveries sitemap_entries sitemap_files listed_entries"
_REFERRED: Final = """
with last as (
    select url, arg_max(status, ended_at) as status,
        arg_max_null(target, ended_at) filter (where outcome <> 'failed') as target
    from fetches where purpose = 'page' and outcome <> 'excluded' group by url),
present as (select * from last where coalesce(status, 0) not in (404, 410)),
read as (
    select pages.url, canonical, refresh, script_redirect from pages semi join present using (url)
    qualify row_number() over (partition by pages.url order by read_at desc) = 1),
named as (
    select target as url from current_links semi join present on present.url = page where page <> target
    union all select target from present
    union all select canonical from read where canonical <> url
    union all select refresh from read
    union all select script_redirect from read
    union all select url from audited_listed)
select url from audited_asked semi join named using (url) order by url
"""


def referred(views: Views, sites: Sequence[str], urls: Iterable[str]) -> list[str]:
    """Those of the URLs that a page which is there, a redirect or a sitemap of the sites refers to now."""
    views.prepare(_TABLES)
    make_listed(views.database, sites)
    views.database.register("audited_asked", pa.table({"url": list(urls)}))
    return [str(url) for (url,) in views.database.execute(_REFERRED).fetchall()]
