"""`periplus search`: searches the index of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.text import Text

from periplus.apps.search.indexing import open_index
from periplus.apps.search.widget import write_widget
from periplus.collection.collection import existing
from periplus.collection.facts.site_list import is_collection
from periplus.view.terminal import print_line, print_table
from periplus.view.values import Column, counts, sheet_of
from periplus.view.wording import count, counted

from . import options
from .consoles import stdout_console

if TYPE_CHECKING:
    from periplus.apps.search import Results

NOTHING_FOUND = 1
_EVAL, _EXPORT = "eval", "export-widget"


def search(
    collection: options.Collected,
    words: Annotated[list[str], typer.Argument(metavar="WORDS...", help='As typed: words, "a phrase", -word, site:.')],
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=100, help="Results to show.")] = 10,
    skip: Annotated[int, typer.Option("--skip", metavar="N", min=0, max=100, help="Results to skip.")] = 0,
    newest: Annotated[bool, typer.Option("--newest", help="Show the newest pages first.")] = False,
    json: options.Json = False,
) -> None:
    """Search a collection. Make the index first: `periplus index DIR`.

    `periplus search eval DIR` measures how well its pages are found, with queries made from its links and titles.
    `periplus search export-widget OUT` writes the search box for other pages into a folder.

    Example: periplus search docs change rate site:docs.example.org
    """
    if str(collection) == _EVAL and not is_collection(_EVAL) and len(words) == 1:
        _evaluate(Path(words[0]), is_json=json)
        return
    if str(collection) == _EXPORT and not is_collection(_EXPORT) and len(words) == 1:
        for path in write_widget(Path(words[0])):
            print_line(stdout_console(), str(path))
        return
    with open_index(existing(collection)) as index:
        results = index.search(" ".join(words), limit, skip=skip, by_time=newest)
    if json:
        typer.echo(msgspec.json.encode(results))
    else:
        _show(results)
    if not results:
        raise typer.Exit(NOTHING_FOUND)


def _show(results: Results) -> None:
    console = stdout_console()
    for note in results.notes:
        print_line(console, note, "yellow")
    for hit in results:
        print_line(console, hit.title, "bold")
        print_line(console, hit.url, "cyan")
        snippet = Text(hit.snippet)
        for start, end in hit.marks:
            snippet.stylize("bold", start, end)
        console.print(snippet, soft_wrap=True)
        if hit.more_from_site:
            more = f"{count(hit.more_from_site)} more from {hit.site}: add site:{hit.site}"
            print_line(console, more, "dim")
        if hit is results[0]:
            for link in results.sitelinks:
                console.print(
                    Text("  ") + Text(link.title, style="bold") + Text(f"  {link.url}", style="cyan"),
                    soft_wrap=True,
                )
        console.print()
    if results.suggestion:
        print_line(console, f"Did you mean: {results.suggestion}", "bold")
    about = "" if results.is_exact else "about "
    print_line(console, f"{about}{counted(results.total, 'page')} with all words", "dim")


def _evaluate(folder: Path, *, is_json: bool) -> None:
    from periplus.apps.search.collection_evaluation import evaluate_search

    found = evaluate_search(existing(folder))
    if is_json:
        typer.echo(msgspec.json.encode(found))
        return
    console = stdout_console()
    facts = f"{counted(found.queries, 'query', 'queries')} made from links and titles of {counted(found.pages, 'page')}"
    print_line(console, facts)
    columns = (Column("ranking"), counts("MRR"), counts("success at 1"), counts("success at 10"))
    rows = [
        (name, *(f"{figure:.3f}" for figure in (each.reciprocal_rank, each.success_1, each.success_10)))
        for name, each in found.rankings.items()
    ]
    print_table(console, sheet_of("", columns, rows))
