"""`periplus mcp`: a collection for agents over the Model Context Protocol, on standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from periplus.bridges.agents.mcp_server import check_installed
from periplus.view.terminal import print_line

from .commands import Argument, Option
from .consoles import stderr_console


def mcp(
    collections: Annotated[list[Path], Argument(metavar="DIR...", help="The folders of collections.")],
    sql: Annotated[bool, Option("--sql", help="Let agents query the tables in SQL.")] = False,
) -> None:
    """Offer collections to an agent: search, read, map, crawl, changes. The agent's program starts this.

    Example: periplus mcp docs
    """
    check_installed()
    from periplus.apps.serve.served import Served
    from periplus.bridges.agents.mcp_server import serve_stdio
    from periplus.bridges.agents.verbs import AgentVerbs

    served = Served(collections)
    obeying = [name for name, each in served.collections.items() if each.collection.config.agents.obey]
    withheld = ", ".join(obeying) or "none"
    print_line(
        stderr_console(),
        f"Serving {', '.join(served.collections)} on stdin and stdout; ai-input preferences obeyed: {withheld}",
    )
    verbs = AgentVerbs(served, allows_sql=sql)
    try:
        serve_stdio(verbs)
    finally:
        verbs.close()
        served.close()
