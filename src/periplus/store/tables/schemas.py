"""The columns of the tables, in their order, with their types. What each column means is in `docs/tables.md`.

Times are `timestamp[us, UTC]`. Words from a small set, and texts that repeat from row to row, are dictionaries of
strings: small at rest and in memory, and plain strings in SQL. A null says that there is nothing to say; an empty
string that a site gave an empty value. New columns are added at the end of a table: in rows that were written before,
they are null (`columns.widened`).

Rows are made in `single_rows`, and for tables of many rows an event in `rows` and `links`.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from . import pandas_import  # noqa: F401 - before the first array is made

TEXT: Final = pa.string()
WORD: Final = pa.dictionary(pa.int32(), pa.string())
MOMENT: Final = pa.timestamp("us", tz="UTC")
NUMBER: Final = pa.int32()
SIZE: Final = pa.int64()
REAL: Final = pa.float64()
SHARE: Final = pa.float32()
CLAIM: Final = pa.bool_()
DIGEST: Final = pa.uint64()
SKETCH: Final = pa.binary()
WORDS: Final = pa.list_(pa.string())

DISCOVERIES: Final = pa.schema(
    [
        ("url", TEXT),
        ("site", WORD),
        ("source", WORD),
        ("found_at", MOMENT),
        ("depth", NUMBER),
        ("redirects", NUMBER),
        ("referrer", TEXT),
        ("is_new", CLAIM),
        ("lastmod", MOMENT),
        ("lastmod_granularity", WORD),
        ("changefreq", WORD),
        ("priority", REAL),
        ("anchor", TEXT),
        ("title", TEXT),
        ("refused", WORD),
        ("rule", WORD),
    ]
)

FETCHES: Final = pa.schema(
    [
        ("url", TEXT),
        ("site", WORD),
        ("domain", WORD),
        ("purpose", WORD),
        ("lane", WORD),
        ("source", WORD),
        ("outcome", WORD),
        ("status", NUMBER),
        ("reason", WORD),
        ("rule", WORD),
        ("detail", TEXT),
        ("started_at", MOMENT),
        ("ended_at", MOMENT),
        ("duration", REAL),
        ("bytes", SIZE),
        ("content_type", WORD),
        ("ip", WORD),
        ("target", TEXT),
        ("depth", NUMBER),
        ("attempt", NUMBER),
        ("redirects", NUMBER),
        ("is_truncated", CLAIM),
        ("digest", TEXT),
        ("warc_file", WORD),
        ("warc_offset", SIZE),
        ("warc_length", SIZE),
        ("is_revisit", CLAIM),
        ("width", NUMBER),
        ("height", NUMBER),
    ]
)

PAGES: Final = pa.schema(
    [
        ("url", TEXT),
        ("site", WORD),
        ("read_at", MOMENT),
        ("canonical", TEXT),
        ("title", TEXT),
        ("description", TEXT),
        ("language", WORD),
        ("charset", WORD),
        ("mime", WORD),
        ("text_length", NUMBER),
        ("main_length", NUMBER),
        ("links", NUMBER),
        ("resources", NUMBER),
        ("forms", NUMBER),
        ("alternates", NUMBER),
        ("feeds", NUMBER),
        ("noindex", CLAIM),
        ("nofollow", CLAIM),
        ("noarchive", CLAIM),
        ("refresh", TEXT),
        ("script_redirect", TEXT),
        ("raw_digest", DIGEST),
        ("text_digest", DIGEST),
        ("main_digest", DIGEST),
        ("links_digest", DIGEST),
        ("sketch", SKETCH),
        ("problems", WORDS),
        ("words", NUMBER),
        ("title_words", NUMBER),
        ("anchor_words", NUMBER),
        ("visible_share", SHARE),
        ("title_repeats", NUMBER),
        ("word_length", SHARE),
        ("distinct_share", SHARE),
        ("top_word_share", SHARE),
        ("compression", SHARE),
        ("hidden_share", SHARE),
        ("common_share", SHARE),
        ("search", WORD),
        ("ai_input", WORD),
        ("train", WORD),
        ("use", WORD),
        ("tdm", WORD),
        ("said_by", WORDS),
        ("relevance", SHARE),
    ]
)

# Nothing is null here, and saying so makes the largest table a quarter cheaper to write.
LINKS: Final = pa.schema(
    [
        pa.field("page", WORD, nullable=False),
        pa.field("site", WORD, nullable=False),
        pa.field("read_at", MOMENT, nullable=False),
        pa.field("target", WORD, nullable=False),
        pa.field("target_site", WORD, nullable=False),
        pa.field("anchor", TEXT, nullable=False),
        pa.field("rel", WORD, nullable=False),
        pa.field("kind", WORD, nullable=False),
        pa.field("is_internal", CLAIM, nullable=False),
    ]
)

SITEMAPS: Final = pa.schema(
    [
        ("url", TEXT),
        ("site", WORD),
        ("tree", WORD),
        ("parent", WORD),
        ("origin", WORD),
        ("depth", NUMBER),
        ("kind", WORD),
        ("visited_at", MOMENT),
        ("outcome", WORD),
        ("status", NUMBER),
        ("entries", SIZE),
        ("children", SIZE),
        ("bytes", SIZE),
        ("problems", WORDS),
        ("problem_count", SIZE),
        ("lastmod", MOMENT),
        ("first_seen_at", MOMENT),
        ("read_at", MOMENT),
        ("due_at", MOMENT),
        ("visits", NUMBER),
        ("changes", NUMBER),
        ("failures", NUMBER),
        ("retired", WORD),
    ]
)

SITEMAP_ENTRIES: Final = pa.schema(
    [
        ("url", TEXT),
        ("kind", WORD),
        ("sitemap", WORD),
        ("site", WORD),
        ("read_at", MOMENT),
        ("lastmod", MOMENT),
        ("lastmod_granularity", WORD),
        ("changefreq", WORD),
        ("priority", REAL),
        ("title", TEXT),
        ("entries", SIZE),
        ("children", SIZE),
        ("problems", WORDS),
        ("size", SIZE),
    ]
)

CHANGES: Final = pa.schema(
    [
        ("url", TEXT),
        ("site", WORD),
        ("seen_at", MOMENT),
        ("level", WORD),
        ("is_change", CLAIM),
    ]
)

VERDICTS: Final = pa.schema(
    [
        ("subject", TEXT),
        ("kind", WORD),
        ("judge", WORD),
        ("verdict", WORD),
        ("score", REAL),
        ("evidence", WORDS),
        ("judged_at", MOMENT),
    ]
)

FORM_PROBES: Final = pa.schema(
    [
        ("form", WORD),
        ("site", WORD),
        ("page", TEXT),
        ("action", TEXT),
        ("method", WORD),
        ("kind", WORD),
        ("fields", WORDS),
        ("status", WORD),
        ("reason", WORD),
        ("queries", NUMBER),
        ("requests", NUMBER),
        ("records", NUMBER),
        ("new_records", NUMBER),
        ("estimate", REAL),
        ("estimate_low", REAL),
        ("estimate_high", REAL),
        ("page_size", NUMBER),
        ("templates", WORDS),
        ("seen_at", MOMENT),
    ]
)

SCHEMAS: Final[dict[str, pa.Schema]] = {
    "discoveries": DISCOVERIES,
    "fetches": FETCHES,
    "pages": PAGES,
    "links": LINKS,
    "sitemaps": SITEMAPS,
    "sitemap_entries": SITEMAP_ENTRIES,
    "changes": CHANGES,
    "verdicts": VERDICTS,
    "form_probes": FORM_PROBES,
}
"""The tables by name."""
