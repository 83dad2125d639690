"""Reads site records and metadata of format 3, which had a field for what each part of the crawl had learnt.

Format 4 has all of it by the names of types (`model.PartValues`). The rest of a record is the same, in other places.
Format 6 joins rows of bits (`linked`), of which format 5 has one for each 256 URLs.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import msgspec
from msgspec import Raw, Struct

from periplus.model import Site

from .environment import Environment
from .rows import damaged_row, encode, name_key

OLD_FORMAT: Final = b"3"
_COMMIT_EVERY: Final = 50_000
"""Rows after which the rewritten ones are committed: they take memory until then."""
_TIME = struct.Struct(">d")
_BITS = 32
"""Bytes of a row of `linked` in format 5 that are bits; a time is before them."""
_NIL: Final = Raw(b"\xc0")
_SITE_FIELDS: Final = (
    "site", "ip", "ip_expires_at", "robots_expire_at", "delay", "ready_at", "last_duration", "failures", "pages",
    "downloaded", "retired", "traps", "robots_at", "robots_redirects", "robots_tries", "balance", "priorities", "files",
    "signals", "stuck", "moved", "quiet", "churn", "gains", "visits_since_estimate", "is_admitted",
    "asked_for_sitemaps", "feeds", "archives", "absence", "cloaking", "redirections", "forms",
)  # fmt: skip
_SITE_VALUES: Final = {
    "priorities": "Priorities",
    "signals": "SiteEvidence",
    "gains": "SiteGains",
    "archives": "ArchiveProof",
    "absence": "SiteAbsence",
    "cloaking": "SiteProbes",
    "redirections": "SiteRedirections",
    "forms": "SiteForms",
}
_FILTER_FIELDS: Final = (
    "admitted", "throttled", "templates", "parameters", "dust", "dated", "ahead", "rendering", "chains", "paths",
)  # fmt: skip
_FILTER_VALUES: Final = {"dust": "SiteDust", "rendering": "SiteRendering"}
FIELDS_OF_META: Final = {"RevisitState": "revisits", "SitemapState": "sitemaps", "ComparisonState": "compared"}
"""Fields that `ShardMeta` had, by the types of their values."""


def upgrade(environment: Environment) -> None:
    """Rewrite the records of all sites. What was interrupted is done again from the beginning."""
    marks = environment.table("marks")
    if (whole := marks.get(name_key("meta ShardMeta"))) is not None:
        for name, value in values_of_meta(whole).items():
            if marks.get(name_key(f"meta {name}")) is None:
                marks.put(name_key(f"meta {name}"), value)
    table = environment.table("sites")
    for key, row in table.walk():
        table.put(key, upgraded(row))
        if environment.uncommitted >= _COMMIT_EVERY:
            environment.commit()


def join_bits(environment: Environment) -> None:
    """Append the bits of 256 URLs to those before them. What was interrupted is continued."""
    table = environment.table("linked")
    last, whole = b"", b""
    for key, row in table.walk():
        first = key[:6] + bytes((key[6] & 0xF0,))
        if first != last:
            last, whole = first, row if first == key else row[: _TIME.size]
        if first == key:
            continue
        time = max(whole[: _TIME.size], row[: _TIME.size], key=_TIME.unpack)
        whole = time + whole[_TIME.size :].ljust(_BITS * (key[6] & 15), b"\0") + row[_TIME.size :]
        table.put(first, whole)
        table.delete(key)
        if environment.uncommitted >= _COMMIT_EVERY:
            environment.commit()


def values_of_meta(whole: bytes) -> dict[str, bytes]:
    """What parts had inside the metadata of a shard, by the names of its types."""
    try:
        fields = msgspec.msgpack.decode(whole, type=dict[str, Raw])
    except msgspec.MsgspecError as error:
        raise damaged_row(error) from error
    return {name: bytes(fields[field]) for name, field in FIELDS_OF_META.items() if field in fields}


def upgraded(row: bytes) -> bytes:
    """A site record in the new format; one that is in it already is returned as it is."""
    new_site, new_filters = _new_records()
    place = new_site.__struct_fields__.index("values")  # in old records another field is there, which is not a map
    try:
        old = _decode(row)
        if len(old) > place and _is_map(old[place]):
            return row
        given = dict(zip(_SITE_FIELDS, old, strict=False))  # records of earlier versions have fewer fields
        if given.get("traps", _NIL) != _NIL:
            filters = dict(zip(_FILTER_FIELDS, _decode(given["traps"]), strict=False))
            given["traps"] = Raw(encode(_fields(filters, _FILTER_VALUES, new_filters)))
        count = given.pop("forms", _NIL)
        if count not in (_NIL, Raw(b"\0")):
            given["forms"] = Raw(encode([count]))
        return encode(_fields(given, _SITE_VALUES, new_site))
    except msgspec.MsgspecError as error:
        raise damaged_row(error) from error


@cache
def _new_records() -> tuple[Struct, Struct]:
    """The record of a new site, and of its filters."""
    from periplus.policy.filters import SiteFilterState  # loads policies, which only old records need here

    from ..crawl_state import SiteState

    return SiteState(Site("")), SiteFilterState()


def _fields(given: Mapping[str, Raw], kinds: Mapping[str, str], new: Struct) -> Sequence[object]:
    """The fields of a record in their new order: those that parts own are in `values`, missing ones as in `new`."""
    values = {kind: given[name] for name, kind in kinds.items() if given.get(name, _NIL) != _NIL}
    return [values if name == "values" else given.get(name, getattr(new, name)) for name in type(new).__struct_fields__]


def _is_map(value: Raw) -> bool:
    return bytes(value)[0] in (*range(0x80, 0x90), 0xDE, 0xDF)


_decode = msgspec.msgpack.Decoder(list[Raw]).decode
