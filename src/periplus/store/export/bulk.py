"""Pages as lines of the `_bulk` API of OpenSearch and Elasticsearch: an action, and a document after it.

The id of a document depends on its URL alone: to send a file twice changes nothing.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import datetime
from hashlib import sha256
from typing import Final

import msgspec
from msgspec import Struct

from periplus.model import Preference, Preferences
from periplus.urls import domain_of, site_of

from .documents import DecodedCapture

MAX_ANCHORS: Final = 16
"""Texts of links to a page that are sent with it."""
_ID_LENGTH: Final = 22
"""Characters of an id: 132 bits, with which collisions do not occur in practice."""

_encode = msgspec.json.Encoder().encode


class PageFacts(Struct, frozen=True):
    """What the collection knows of a page beside its text."""

    pagerank: float | None = None
    depth: int | None = None
    cluster: int | None = None
    anchors: tuple[str, ...] = ()
    modified_at: datetime | None = None


class BulkDocument(Struct, frozen=True):
    """A page as a search engine gets it. `modified_at`: when a crawl first saw its last change, or `Last-Modified`."""

    url: str
    site: str
    domain: str | None
    title: str
    description: str
    text: str
    main_text: str
    language: str | None
    fetched_at: datetime
    modified_at: datetime | None
    pagerank: float | None
    depth: int | None
    anchors: tuple[str, ...]
    cluster: int | None
    canonical: str | None
    preferences: dict[str, str]


_TEXT: Final = {"type": "text"}
_WORD: Final = {"type": "keyword"}
_TYPES: Final[dict[str, dict[str, object]]] = {
    "fetched_at": {"type": "date"},
    "modified_at": {"type": "date"},
    "pagerank": {"type": "double"},
    "depth": {"type": "integer"},
    "cluster": {"type": "long"},
    "preferences": {
        "properties": dict.fromkeys(("search", "ai_input", "train", "use", "tdm"), _WORD),
    },
    **{name: dict(_TEXT) for name in ("title", "description", "text", "main_text", "anchors")},
}


def mapping() -> bytes:
    """The types of the fields, as the body of a request that makes an index."""
    properties = {name: _TYPES.get(name, _WORD) for name in BulkDocument.__struct_fields__}
    body = {"mappings": {"dynamic": False, "properties": properties}}
    return msgspec.json.format(_encode(body)) + b"\n"


def id_of(url: str) -> str:
    """The id of a page."""
    return urlsafe_b64encode(sha256(url.encode()).digest()).decode()[:_ID_LENGTH]


def index_lines(index: str, document: DecodedCapture, facts: PageFacts, preferences: Preferences) -> bytes:
    """The action that adds a page or replaces it, and the page."""
    capture, page = document.capture, document.page
    row = BulkDocument(
        url=capture.url,
        site=site_of(capture.url),
        domain=domain_of(site_of(capture.url)),
        title=page.title,
        description=page.description,
        text=page.text,
        main_text=page.main_text,
        language=document.language or None,
        fetched_at=capture.fetched_at,
        modified_at=facts.modified_at or document.modified_at,
        pagerank=facts.pagerank,
        depth=facts.depth,
        anchors=facts.anchors[:MAX_ANCHORS],
        cluster=facts.cluster,
        canonical=page.canonical,
        preferences=preference_words(preferences.and_also(page.preferences)),
    )
    action = _encode({"index": {"_index": index, "_id": id_of(capture.url)}})
    return action + b"\n" + _encoded(row) + b"\n"


def delete_line(index: str, url: str) -> bytes:
    """The action that removes a page."""
    return _encode({"delete": {"_index": index, "_id": id_of(url)}}) + b"\n"


def preference_words(preferences: Preferences) -> dict[str, str]:
    """The stated preferences on the use of a page, by name; unknown ones are left out."""
    uses = (
        ("search", preferences.search),
        ("ai_input", preferences.ai_input),
        ("train", preferences.train),
        ("tdm", preferences.tdm),
    )
    words = {name: preference.value for name, preference in uses if preference is not Preference.UNKNOWN}
    return words if preferences.use is None else words | {"use": preferences.use.value}


def _encoded(row: BulkDocument) -> bytes:
    try:
        return _encode(row)
    except UnicodeEncodeError:  # lone surrogates, which UTF-8 cannot hold
        texts = {
            name: value.encode("utf-8", "replace").decode()
            for name, value in msgspec.structs.asdict(row).items()
            if isinstance(value, str)
        }
        return _encode(msgspec.structs.replace(row, **texts))
