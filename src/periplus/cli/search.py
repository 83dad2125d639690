"""`periplus search`: searches the indexes of collections."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import msgspec
from click.exceptions import Exit
from rich.text import Text

from periplus.apps.search.indexing import open_index
from periplus.apps.search.widget import write_widget
from periplus.collection.collection import existing
from periplus.collection.facts.site_list import is_collection
from periplus.view.terminal import print_line, print_table
from periplus.view.values import Column, counts, sheet_of
from periplus.view.wording import count, counted

from . import options
from .commands import Argument, Command, Option, command_of
from .consoles import stdout_console

if TYPE_CHECKING:
    from periplus.apps.search import Hit, Results

NOTHING_FOUND = 1
_EVAL, _EXPORT = "eval", "export-widget"


class TypedWords(Command):
    """A command whose words may begin with a dash (`-m venv`, `--enable-shared`, `-word`): what is no option is one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the options first, and mark the rest as words."""
        known = {name: param for param in self.get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        chosen: list[str] = []
        words: list[str] = []
        rest = iter(args)
        for arg in rest:
            name, _, value = arg.partition("=")
            if arg == "--":
                words += rest
            elif not name.startswith("-") or (name not in known and not re.fullmatch(r"-n\d+", arg)):
                words.append(arg)
            else:
                chosen.append(arg)
                param = known.get(name)
                if param is not None and not value and not getattr(param, "is_flag", False):
                    chosen += [following for following in [next(rest, None)] if following is not None]
        return list(super().parse_args(ctx, [*chosen, "--", *words] if words else chosen))


def _search(
    collection: options.Collected,
    words: Annotated[list[str], Argument(metavar="WORDS...", help='As typed: words, "a phrase", -word, site:.')],
    limit: Annotated[int, Option("--limit", "-n", metavar="N", min=1, max=1000, help="Results to show.")] = 10,
    skip: Annotated[int, Option("--skip", metavar="N", min=0, max=1000, help="Results to skip.")] = 0,
    newest: Annotated[bool, Option("--newest", help="Show the newest pages first.")] = False,
    exact: Annotated[bool, Option("--exact", help="Correct no word.")] = False,
    expand: Annotated[bool, Option("--expand", help="Search again with words of the best pages.")] = False,
    also: Annotated[
        list[Path] | None, Option("--also", metavar="DIR", help="Search this collection, too. Repeatable.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Search a collection. Make the index first: `periplus index DIR`.

    `periplus search eval DIR` measures how well its pages are found, with queries made from its links and titles,
    and what people asked for (serve's query log) and did not find.
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
    from periplus.apps.search import search_many

    with ExitStack() as opened:
        indexes = {
            str(folder): opened.enter_context(open_index(existing(folder))) for folder in (collection, *(also or ()))
        }
        query = " ".join(words)
        if len(indexes) == 1:
            [index] = indexes.values()
            results = index.search(query, limit, skip=skip, by_time=newest, expand=expand, exact=exact)
        else:
            results = search_many(indexes, query, limit, skip=skip, by_time=newest, expand=expand, exact=exact)
    if json:
        click.echo(msgspec.json.encode(results))
    else:
        _show(results)
    if not results:
        raise Exit(NOTHING_FOUND)


search = command_of(_search, "search", TypedWords)


def _show(results: Results) -> None:
    console = stdout_console()
    for note in results.notes:
        print_line(console, note, "yellow")
    if results.showing:
        print_line(console, f"Showing results for: {results.showing}", "bold")
        print_line(console, f"For {results.query} as typed: add --exact", "dim")
        console.print()
    for hit in results:
        _show_hit(hit)
        if hit is results[0]:
            for link in results.sitelinks:
                console.print(
                    Text("  ") + Text(link.title, style="bold") + Text(f"  {link.url}", style="cyan"),
                    soft_wrap=True,
                )
        console.print()
    if results.suggestion and not results.showing:
        print_line(console, f"Did you mean: {results.suggestion}", "bold")
    about = "" if results.is_exact else "about "
    print_line(console, f"{about}{counted(results.total, 'page')} with all words", "dim")


def _show_hit(hit: Hit) -> None:
    console = stdout_console()
    leads_to = next((section for section in hit.sections if section.url == hit.link), None)
    print_line(console, hit.title if leads_to is None else f"{hit.title} > {leads_to.title}", "bold")
    print_line(console, hit.link, "cyan")
    _show_snippet(hit.snippet, hit.marks)
    if hit.missing:
        print_line(console, f"without: {', '.join(hit.missing)}", "dim")
    for section in hit.sections:
        if section is not leads_to:
            console.print(
                Text("  ") + Text(section.title, style="bold") + Text(f"  {section.url}", style="cyan"), soft_wrap=True
            )
    if hit.collection:
        print_line(console, f"in {hit.collection}", "dim")
    if hit.more_from_site:
        more = f"{count(hit.more_from_site)} more from {hit.site}: add site:{hit.site}"
        print_line(console, more, "dim")


def _show_snippet(text: str, marks: tuple[tuple[int, int], ...]) -> None:
    snippet = Text(text)
    for start, end in marks:
        snippet.stylize("bold", start, end)
    stdout_console().print(snippet, soft_wrap=True)


def _evaluate(folder: Path, *, is_json: bool) -> None:
    from periplus.apps.search.collection_evaluation import evaluate_search

    found = evaluate_search(existing(folder))
    if is_json:
        click.echo(msgspec.json.encode(found))
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
    if found.asked is not None:
        asked = found.asked
        print_line(
            console,
            f"{counted(asked.queries, 'logged query', 'logged queries')}: {count(asked.found)} found,"
            f" {count(asked.corrected)} corrected, {count(asked.partly)} found in part,"
            f" {count(asked.queries - asked.found - asked.corrected - asked.partly)} not found",
        )
        print_table(console, sheet_of("", (Column("not found"), counts("times")), asked.not_found))
