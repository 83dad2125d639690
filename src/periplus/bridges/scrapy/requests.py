"""What spiders asked for: a request for each URL, as JSON on disk; what JSON cannot hold stays in memory."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import lmdb
from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict
from xxhash import xxh3_128_digest

from periplus.model import Url

MAX_REQUEST = 16 * 1024
"""Bytes of a request as JSON; larger ones stay in memory."""
_MAP_SIZE = 1 << 40
"""Bytes of address space, not of memory or disk: more than any frontier has requests."""
_KEY = 480
"""Bytes of a key: LMDB takes 511."""


class Requests:
    """Requests by URL, durable against the death of the process as soon as `put` returns."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._env = lmdb.open(str(folder), map_size=_MAP_SIZE, sync=False, max_spare_txns=2)
        self.in_memory: deque[Request] = deque()

    def put(self, requests: Iterable[tuple[Url, bytes]]) -> None:
        """Keep requests; of one URL the first counts."""
        with self._env.begin(write=True) as transaction:
            for url, body in requests:
                transaction.put(_key(url), body, overwrite=False)

    def get(self, url: Url, spider: Spider) -> Request | None:
        """The request for a URL, with callback and errback of the spider."""
        with self._env.begin(buffers=False) as transaction:
            body = transaction.get(_key(url))
        return None if body is None else request_from_dict(_restored(json.loads(body)), spider=spider)

    def raw(self, url: Url) -> bytes | None:
        """The same as it is kept."""
        with self._env.begin() as transaction:
            found: bytes | None = transaction.get(_key(url))
            return found

    def __contains__(self, url: Url) -> bool:
        return self.raw(url) is not None

    def close(self) -> None:
        """Write everything to the disk, and close."""
        self._env.sync(True)
        self._env.close()


def encoded(request: Request, spider: Spider) -> bytes | None:
    """A request as JSON; `None` if it has a callback without a name, or values that are not JSON, or is too large."""
    try:
        fields: dict[str, Any] = {name: getattr(request, name) for name in request.attributes}
        fields["callback"] = _method_name(spider, request.callback)
        fields["errback"] = _method_name(spider, request.errback)
        fields["body"] = request.body.decode("latin-1")
        fields["headers"] = {
            name.decode("latin-1"): [value.decode("latin-1") for value in values]
            for name, values in request.headers.items()
        }
        if type(request) is not Request:
            fields["_class"] = f"{type(request).__module__}.{type(request).__name__}"
        body = json.dumps(fields, ensure_ascii=False).encode()  # takes subclasses of str, too
    except (TypeError, ValueError, AttributeError):
        return None
    return body if len(body) <= MAX_REQUEST else None


def _method_name(spider: Spider, method: Any) -> str | None:
    """The name of a spider's method. Scrapy's own search looks at every attribute of the spider for each request."""
    if method is None:
        return None
    name: str = method.__name__
    if getattr(spider, name, None) != method:
        raise ValueError(f"{name} is not a method of the spider")
    return name


def _restored(fields: dict[str, Any]) -> dict[str, Any]:
    fields["body"] = fields["body"].encode("latin-1")
    fields["headers"] = {
        name.encode("latin-1"): [value.encode("latin-1") for value in values]
        for name, values in fields["headers"].items()
    }
    return fields


def _key(url: Url) -> bytes:
    data = url.encode()
    return data if len(data) <= _KEY else data[: _KEY - 16] + xxh3_128_digest(data)
