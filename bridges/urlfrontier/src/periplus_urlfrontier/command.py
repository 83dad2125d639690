"""`periplus frontier`: a frontier for other crawlers, over gRPC."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from rich.text import Text

from periplus.cli.commands import Argument, Option
from periplus.cli.consoles import stderr_console
from periplus.model import UsageError
from periplus.view.terminal import print_line


def frontier(
    folder: Annotated[Path, Argument(metavar="DIR", help="The folder of the frontier; made if missing.")],
    address: Annotated[
        str,
        Option("--grpc", metavar="HOST:PORT", help="Address to listen on; other machines need --token-file."),
    ] = "127.0.0.1:7071",
    token_file: Annotated[
        Path | None,
        Option("--token-file", metavar="FILE", help="File with the token; if it does not exist, one is made."),
    ] = None,
    canonical: Annotated[
        bool, Option("--canonical", help="Treat spellings of one URL as one; return the first.")
    ] = False,
) -> None:
    """Serve a durable frontier to other crawlers, by the URLFrontier API. Ctrl-C stops.

    Example: periplus frontier queues --grpc 127.0.0.1:7071
    """
    _check_installed()
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # read when grpc is imported; errors are reported by the command
    from periplus.apps.serve.served import Tokens, read_tokens
    from periplus_urlfrontier.server import FrontierServerSettings, parsed_address, serve

    host, port = parsed_address(address)
    tokens = Tokens() if token_file is None else read_tokens(token_file)
    console = stderr_console()
    if tokens.is_new:
        print_line(console, f"A token was written to {token_file}; clients send it.")

    def started(where: str) -> None:
        print_line(console, f"Serving the frontier in {folder} at {where} (gRPC)", "bold")
        console.print(Text("robots.txt, DNS and filters are left to the clients. Ctrl-C stops.", style="dim"))

    serve(folder, FrontierServerSettings(host=host, port=port, token=tokens.operator, canonical=canonical), started)


def _check_installed() -> None:
    """Raise `UsageError` with the line to type if gRPC is missing."""
    from importlib.util import find_spec

    if find_spec("grpc") is None or find_spec("google") is None or find_spec("google.protobuf") is None:
        raise UsageError(
            "periplus frontier needs grpcio and protobuf, which are not installed",
            hint="Run pip install periplus-urlfrontier",
        )
