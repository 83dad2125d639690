"""`periplus search`: searches the index of a collection."""

from __future__ import annotations

from typing import Annotated

import msgspec
import typer
from rich.text import Text

from periplus.assembly.collection import existing
from periplus.assembly.indexing import open_index

from . import options
from .consoles import stdout_console
from .crawl.live import count, counted

NOTHING_FOUND = 1


def search(
    collection: options.Collected,
    words: Annotated[list[str], typer.Argument(metavar="WORDS...", help='As typed: words, "a phrase", -word, site:.')],
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=100, help="Results to show.")] = 10,
    skip: Annotated[int, typer.Option("--skip", metavar="N", min=0, max=100, help="Results to skip.")] = 0,
    newest: Annotated[bool, typer.Option("--newest", help="Show the newest pages first.")] = False,
    json: options.Json = False,
) -> None:
    """Search a collection. Make the index first: `periplus index DIR`.

    Example: periplus search docs change rate site:docs.example.org
    """
    with open_index(existing(collection)) as index:
        results = index.search(" ".join(words), limit, skip=skip, by_time=newest)
    if json:
        typer.echo(msgspec.json.encode(results))
    else:
        console = stdout_console()
        for note in results.notes:
            console.print(Text(note, style="yellow"), soft_wrap=True)
        for hit in results:
            console.print(Text(hit.title, style="bold"), soft_wrap=True)
            console.print(Text(hit.url, style="cyan"), soft_wrap=True)
            snippet = Text(hit.snippet)
            for start, end in hit.marks:
                snippet.stylize("bold", start, end)
            console.print(snippet, soft_wrap=True)
            if hit.more_from_site:
                more = f"{count(hit.more_from_site)} more from {hit.site}: add site:{hit.site}"
                console.print(Text(more, style="dim"), soft_wrap=True)
            if hit is results[0]:
                for link in results.sitelinks:
                    console.print(
                        Text("  ") + Text(link.title, style="bold") + Text(f"  {link.url}", style="cyan"),
                        soft_wrap=True,
                    )
            console.print()
        if results.suggestion:
            console.print(Text(f"Did you mean: {results.suggestion}", style="bold"), soft_wrap=True)
        about = "" if results.is_exact else "about "
        console.print(Text(f"{about}{counted(results.total, 'page')} with all words", style="dim"), soft_wrap=True)
    if not results:
        raise typer.Exit(NOTHING_FOUND)
