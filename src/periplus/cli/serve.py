"""`periplus serve`: search pages, pages about collections and an API, in a browser."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text

from periplus.apps.serve.extra import check_installed
from periplus.apps.serve.served import DEFAULT_PORT, served_with
from periplus.model import UsageError
from periplus.view.terminal import print_line

from .app import INTERRUPTED
from .commands import Argument, Option
from .consoles import stderr_console
from .setting_options import takes_settings, typed_settings


@takes_settings("serve")
def serve(
    collections: Annotated[list[Path], Argument(metavar="DIR...", help="The folders of collections.")],
    port: Annotated[
        int, Option("--port", metavar="PORT", min=0, max=65535, help="Port to listen on; 0: any free port.")
    ] = DEFAULT_PORT,
    host: Annotated[
        str,
        Option("--host", metavar="ADDRESS", help="Address to listen on; others than this machine need a token."),
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        Option("--token-file", metavar="FILE", help="File with the token; if it does not exist, one is made."),
    ] = None,
    public_search: Annotated[
        bool, Option("--public-search", help="Let everyone search; the other pages need the token.")
    ] = False,
    public_url: Annotated[
        str, Option("--public-url", metavar="URL", help="Address behind a reverse proxy on this machine.")
    ] = "",
    receive: Annotated[
        bool, Option("--receive", help="Receive messages of sites: IndexNow, WebSub, sitemap pings.")
    ] = False,
    crawl: Annotated[bool, Option("--crawl", help="Run the crawl of each collection beside the server.")] = False,
    sql: Annotated[bool, Option("--sql", help="Let agents query the tables in SQL, at /mcp and /api.")] = False,
    watch: Annotated[bool, Option("--watch", help="Watch each collection beside the server.")] = False,
    **given: Any,
) -> None:
    """Serve collections in a browser: search, pages about a collection, an API. Ctrl-C stops.

    Example: periplus serve docs
    """
    check_installed()
    if crawl and watch:
        raise UsageError("--crawl and --watch exclude each other", hint="watch begins when the crawl is complete")
    if typed_settings("serve", given) and not (crawl or watch):
        raise UsageError("--set gives settings to a crawl", hint="use it with --crawl or --watch")
    from periplus.apps.serve.running import crawling
    from periplus.apps.serve.running import serve as run
    from periplus.bridges.agents.rest import AgentRoutes

    served, is_new = served_with(
        collections,
        host=host,
        port=port,
        token_file=token_file,
        public_search=public_search,
        public_url=public_url,
        receive=receive,
        additions=[AgentRoutes(allows_sql=sql)],
    )
    console = stderr_console()
    if is_new:
        print_line(console, f"A token was written to {token_file}; log in with it.")
    _show_requests()

    def started(url: str) -> None:
        print_line(console, f"Serving {', '.join(served.collections)} at {url}", "bold")
        console.print(Text("Ctrl-C stops.", style="dim"))

    def say(text: str) -> None:
        print_line(console, text, "bold red")

    asked = [f"--set={text}" for text in given["set_"] or ()]
    with crawling(collections if crawl or watch else (), "watch" if watch else "crawl", say, asked):
        run(served, started, lambda: os._exit(INTERRUPTED))


def _show_requests() -> None:
    """Print a line for each request on stderr."""
    log, lines = logging.getLogger("periplus.web.access"), logging.StreamHandler()
    lines.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    log.propagate = False
