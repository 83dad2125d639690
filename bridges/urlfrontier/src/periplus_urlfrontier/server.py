"""The gRPC server: addresses, tokens, bounds, and how it ends."""

from __future__ import annotations

import asyncio
import hmac
import re
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError
from msgspec import Struct

from periplus.apps.serve.served import ServeSettings
from periplus.engine.clock import SystemClock
from periplus.model import Clock, CollectionError, UsageError

from .crawls import Crawls
from .messages import CALLS, MESSAGES, SERVICE
from .service import Service, Unknown
from .worker import Closing, Refusal, Worker

MAX_MESSAGE: Final = 8 * 2**20
"""Bytes of a message: a batch of 10,000 URLs of 800 bytes each."""
_MAX_STREAMS: Final = 100
"""Calls at once on one connection; further calls wait in the client."""
_MAX_CALLS: Final = 400
"""Calls at once in all; more are refused."""
_GRACE: Final = 5.0
"""Seconds for calls that are under way when the server stops."""
_OPTIONS: Final = [
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", MAX_MESSAGE),
    ("grpc.max_concurrent_streams", _MAX_STREAMS),
    ("grpc.so_reuseport", 0),  # a second server on the port is an error
]


class FrontierServerSettings(Struct, frozen=True, kw_only=True):
    """Where the frontier is served, and how."""

    host: str = "127.0.0.1"
    port: int = 7071
    """0: any free port."""
    token: str = ""
    """The token that clients send as `authorization: Bearer TOKEN`; empty: none, which needs a loopback address."""
    canonical: bool = False
    """Whether two spellings of a URL are one; the one that was sent first is returned."""


def parsed_address(address: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:7071` or `[::1]:7071`."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise UsageError(f"--grpc: {address} is not HOST:PORT", hint="Example: --grpc 127.0.0.1:7071")
    return host, int(port)


@asynccontextmanager
async def running(folder: Path, settings: FrontierServerSettings, clock: Clock | None = None) -> AsyncIterator[str]:
    """Serve a folder until the context ends, when all changes are durable. Yields the address where it listens."""
    ServeSettings(host=settings.host, port=settings.port, token=settings.token).check()
    server = grpc.aio.server(options=_OPTIONS, maximum_concurrent_rpcs=_MAX_CALLS)
    address = _bound(server, settings)  # before the folder is made: a port in use leaves nothing behind
    crawls = Crawls(folder)
    worker = Worker(crawls)
    try:
        service = Service(crawls, worker, clock or SystemClock(), node=address, is_canonical=settings.canonical)
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, _handlers(service, settings))])
        await server.start()
        try:
            yield address
        finally:
            await server.stop(_GRACE)
    finally:
        await worker.close()


def _bound(server: grpc.aio.Server, settings: FrontierServerSettings) -> str:
    """Take the address for the server; return it with the port that was chosen."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    try:
        port = server.add_insecure_port(f"{host}:{settings.port}")
    except RuntimeError as error:
        raise UsageError(
            f"cannot listen on {host}:{settings.port}",
            hint="Is another server running there? Choose another address with --grpc.",
        ) from error
    return f"{host}:{port}"


def serve(folder: Path, settings: FrontierServerSettings, started: Callable[[str], None]) -> None:
    """Serve until Ctrl-C or SIGTERM."""

    async def run() -> None:
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        async with running(folder, settings) as address:
            started(address)
            await stopped.wait()

    asyncio.run(run())


def _handlers(service: Service, settings: FrontierServerSettings) -> dict[str, Any]:
    handlers = {}
    for call, (takes, returns) in CALLS.items():
        method = getattr(service, re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=URL)(?=[A-Z])", "_", call).lower())
        is_stream_in, is_stream_out = takes.startswith("stream "), returns.startswith("stream ")
        kind = MESSAGES[takes.removeprefix("stream ")]
        if is_stream_in:
            make = grpc.stream_stream_rpc_method_handler
        elif is_stream_out:
            make = grpc.unary_stream_rpc_method_handler
        else:
            make = grpc.unary_unary_rpc_method_handler
        read = partial(_each_read if is_stream_in else _read, kind)
        answer = (_streamed if is_stream_out else _answered)(method, read, settings.token)
        serialised = None if is_stream_out else MESSAGES[returns].SerializeToString
        handlers[call] = make(answer, response_serializer=serialised)
    return handlers


def _read(kind: Any, sent: bytes) -> Any:
    """A message; gRPC would answer what is none with UNKNOWN, as if the fault were ours."""
    try:
        return kind.FromString(sent)
    except DecodeError as error:
        raise Refusal(f"not a {kind.DESCRIPTOR.name} of urlfrontier.proto: {error}") from error


async def _each_read(kind: Any, sent: AsyncIterator[bytes]) -> AsyncIterator[Any]:
    async for each in sent:
        yield _read(kind, each)


def _answered(method: Callable[[Any], Any], read: Callable[[Any], Any], token: str) -> Callable[[Any, Any], Any]:
    async def answer(request: Any, context: Any) -> Any:
        await _check(context, token)
        try:
            return await method(read(request))
        except (Refusal, CollectionError) as error:
            await context.abort(_code_of(error), str(error))

    return answer


def _streamed(
    method: Callable[[Any], AsyncIterator[bytes]], read: Callable[[Any], Any], token: str
) -> Callable[[Any, Any], Any]:
    async def answer(request: Any, context: Any) -> AsyncIterator[bytes]:
        await _check(context, token)
        try:
            async for message in method(read(request)):
                yield message
        except (Refusal, CollectionError) as error:
            await context.abort(_code_of(error), str(error))

    return answer


async def _check(context: Any, token: str) -> None:
    """End a call without the token."""
    if not token:
        return
    sent = dict(context.invocation_metadata() or ()).get("authorization", "")
    if not hmac.compare_digest(str(sent).encode(), f"Bearer {token}".encode()):
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, "send the metadata authorization: Bearer TOKEN")


def _code_of(error: Exception) -> grpc.StatusCode:
    if isinstance(error, Unknown):
        return grpc.StatusCode.NOT_FOUND
    if isinstance(error, Closing | CollectionError):
        return grpc.StatusCode.UNAVAILABLE
    return grpc.StatusCode.INVALID_ARGUMENT
