"""A client of the URLFrontier API that shares nothing with our server: its code is generated from a schema by protoc.

Where grpcio-tools is not installed, the classes of our own table stand in; the tests with raw bytes remain.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc

from periplus_urlfrontier.messages import CALLS, MESSAGES
from periplus_urlfrontier.server import FrontierServerSettings, running

PROTO = """
syntax = "proto3";
package urlfrontier;
message Empty {}
message AnyCrawlID {}
message Local { bool local = 1; }
message Active { bool state = 1; bool local = 2; }
message Boolean { bool state = 1; }
message Long { uint64 value = 1; }
message StringList { repeated string values = 1; }
message URLInfo { string url = 1; string key = 2; map<string, StringList> metadata = 3; string crawlID = 4; }
message DiscoveredURLItem { URLInfo info = 1; }
message KnownURLItem { URLInfo info = 1; uint64 refetchable_from_date = 2; }
message URLItem {
  oneof item { DiscoveredURLItem discovered = 1; KnownURLItem known = 2; }
  string ID = 3; uint64 creation_date = 4;
}
message AckMessage { string ID = 1; enum Status { OK = 0; SKIPPED = 1; FAIL = 2; } Status status = 2; }
message DiscoveredBatch { string ID = 1; repeated URLInfo items = 2; }
message BatchAck { string ID = 1; repeated AckMessage.Status statuses = 2; }
message GetParams {
  uint32 max_urls_per_queue = 1; uint32 max_queues = 2; string key = 3; uint32 delay_requestable = 4;
  oneof item { AnyCrawlID anyCrawlID = 5; string crawlID = 6; }
}
message Stats {
  uint64 size = 1; uint32 inProcess = 2; map<string, uint64> counts = 3; uint64 numberOfQueues = 4; string crawlID = 5;
}
message Pagination { uint32 start = 1; uint32 size = 2; bool include_inactive = 3; string crawlID = 4; bool local = 5; }
message QueueList {
  repeated string values = 1; uint64 total = 2; uint32 start = 3; uint32 size = 4; string crawlID = 5;
}
message QueueWithinCrawlParams { string key = 1; string crawlID = 2; bool local = 3; }
message QueueDelayParams { string key = 1; uint32 delay_requestable = 2; string crawlID = 3; bool local = 4; }
message BlockQueueParams { string key = 1; uint64 time = 2; string crawlID = 3; bool local = 4; }
message DeleteCrawlMessage { string value = 1; bool local = 2; }
message CrawlLimitParams { string key = 1; uint32 limit = 2; string crawlID = 3; bool local = 4; }
message URLStatusRequest { string url = 1; string key = 2; string crawlID = 3; }
message ListUrlParams {
  uint32 start = 1; uint32 size = 2; string key = 3; string crawlID = 4; bool local = 5;
  optional string filter = 6; optional bool ignoreCase = 7;
}
message CountUrlParams {
  string key = 1; string crawlID = 2; optional string filter = 3; optional bool ignoreCase = 4; optional bool local = 5;
}
message PurgeUrlParams { string key = 1; string crawlID = 2; uint32 days = 3; }
message LogLevelParams {
  enum Level { TRACE = 0; DEBUG = 1; INFO = 2; WARN = 3; ERROR = 4; }
  string package = 1; Level level = 2; bool local = 3;
}
"""


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = 1_800_000_000.0

    def now(self) -> float:
        return self.at


def generated(folder: Path) -> dict[str, Any]:
    """The classes of all messages, by protoc if it is installed."""
    try:
        from grpc_tools import protoc
    except ImportError:
        return MESSAGES
    (folder / "frontier_schema.proto").write_text(PROTO)
    assert protoc.main(["protoc", f"-I{folder}", f"--python_out={folder}", "frontier_schema.proto"]) == 0
    sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module("frontier_schema_pb2")
    finally:
        sys.path.remove(str(folder))
    return {name: getattr(module, name) for name in MESSAGES}


class Client:
    """Calls by name, with keyword arguments, as a crawler would make them; `crawl` is its crawl ID."""

    def __init__(self, address: str, messages: dict[str, Any], crawl: str = "", token: str = "") -> None:
        self.channel = grpc.insecure_channel(address, options=[("grpc.max_send_message_length", 1 << 28)])
        self.messages, self.crawl = messages, crawl
        self.headers = [("authorization", f"Bearer {token}")] if token else []

    def call(self, name: str, request: Any) -> Any:
        takes, returns = CALLS[name]
        kind = ("stream" if "stream" in takes else "unary") + "_" + ("stream" if "stream" in returns else "unary")
        method = getattr(self.channel, kind)(
            f"/urlfrontier.URLFrontier/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=self.messages[returns.removeprefix("stream ")].FromString,
        )
        answer = method(request, metadata=self.headers, timeout=120)
        return list(answer) if "stream" in returns else answer

    def ask(self, name: str, **fields: Any) -> Any:
        """A call with one message; the crawl ID is added where the message has one."""
        kind = self.messages[CALLS[name][0]]
        if "crawlID" in kind.DESCRIPTOR.fields_by_name and "anyCrawlID" not in fields:
            fields.setdefault("crawlID", self.crawl)
        return self.call(name, kind(**fields))

    def info(self, url: str, key: str = "", metadata: dict[str, list[str]] | None = None) -> Any:
        values = {name: self.messages["StringList"](values=each) for name, each in (metadata or {}).items()}
        return self.messages["URLInfo"](url=url, key=key, metadata=values, crawlID=self.crawl)

    def discovered(self, info: Any, name: str = "") -> Any:
        return self.messages["URLItem"](discovered={"info": info}, ID=name)

    def known(self, info: Any, date: float = 0, name: str = "") -> Any:
        return self.messages["URLItem"](known={"info": info, "refetchable_from_date": int(date)}, ID=name)

    def put(self, items: Iterable[Any]) -> list[tuple[str, int]]:
        return [(ack.ID, ack.status) for ack in self.call("PutURLs", iter(list(items)))]

    def discover(self, *urls: str, key: str = "") -> list[tuple[str, int]]:
        return self.put(self.discovered(self.info(url, key)) for url in urls)

    def done(self, *urls: str, key: str = "", date: float = 0) -> list[tuple[str, int]]:
        return self.put(self.known(self.info(url, key), date) for url in urls)

    def get(self, queues: int = 0, each: int = 0, key: str = "", lease: int = 0) -> list[str]:
        found = self.ask("GetURLs", max_queues=queues, max_urls_per_queue=each, key=key, delay_requestable=lease)
        return [info.url for info in found]


@contextmanager
def serving(folder: Path, clock: Time | None = None, **settings: Any) -> Iterator[str]:
    """A server on a free port of this machine, in a thread of its own; its address."""
    started = threading.Event()
    found: list[Any] = []

    async def run() -> None:
        stop = asyncio.Event()
        found.append(partial(asyncio.get_running_loop().call_soon_threadsafe, stop.set))
        async with running(folder, FrontierServerSettings(port=0, **settings), clock) as address:
            found.append(address)
            started.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert started.wait(120)
    try:
        yield found[1]
    finally:
        found[0]()
        thread.join()
