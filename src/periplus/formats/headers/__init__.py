"""HTTP header fields of responses, as far as a crawler needs them.

`fields` is the view of a response's header section and the grammar that all fields share, and reads Content-Type and
Link; `caching` reads ETag, Last-Modified, Cache-Control, Expires and Retry-After, and
`robots_tag` X-Robots-Tag, whose grammar meta robots shares. Dates are in `formats.dates`.

A field that cannot be parsed is treated as absent: readers here return `None` or an empty value, and report no
`Problem`, because no field is worth a row in a table. No reader raises, and none looks at more than
`LONGEST_VALUE` characters of a value. Sending and deciding are done elsewhere.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .caching import (
        LONGEST_WAIT,
        CacheControl,
        ETag,
        fresh_for,
        read_cache_control,
        read_etag,
        read_last_modified,
        read_retry_after,
        validators_of,
    )
    from .fields import LONGEST_VALUE, Headers, MediaType, WebLink, read_content_type, read_links
    from .robots_tag import read_directives, read_robots_tag, strictest
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "LONGEST_VALUE",
    "LONGEST_WAIT",
    "CacheControl",
    "ETag",
    "Headers",
    "MediaType",
    "WebLink",
    "fresh_for",
    "read_cache_control",
    "read_content_type",
    "read_directives",
    "read_etag",
    "read_last_modified",
    "read_links",
    "read_retry_after",
    "read_robots_tag",
    "strictest",
    "validators_of",
]
