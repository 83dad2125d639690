"""`periplus forms`: lists the forms of a collection, what they yielded, and which queries come next."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Annotated

import click
import msgspec

from periplus.collection.collection import existing, states
from periplus.model import UsageError
from periplus.parts.forms.show import FormFacts, form_facts, form_lines
from periplus.view.terminal import print_facts, print_line
from periplus.view.values import FactSheet
from periplus.view.wording import counted

from . import options
from .commands import Argument
from .consoles import stdout_console

_SHOWN = 20
"""Forms that a terminal shows in full without a site."""


def forms(
    collection: options.Collected,
    site: Annotated[str | None, Argument(metavar="SITE", help="A site of it.")] = None,
    json: options.Json = False,
) -> None:
    """List the forms of a collection: what each is for, what its queries found, and which come next.

    Example: periplus forms docs docs.example.org
    """
    with states(existing(collection).layout) as opened:
        found = form_facts(opened.values(), site)
    if site is not None and not found:
        raise UsageError(f"{collection} has no form of {site}", hint=f"periplus forms {collection} lists all forms")
    if json:
        for each in found:
            click.echo(msgspec.json.encode(each))
        return
    console = stdout_console()
    print_line(console, _summary(found), "bold")
    for each in found[: None if site else _SHOWN]:
        print_facts(console, FactSheet(f"\n{each.site}", form_lines(each)))
    folder = shlex.quote(str(collection))
    if not site and len(found) > _SHOWN:
        print_line(console, f"\nperiplus forms {folder} SITE shows the others", "dim")
    if any(each.status == "found" for each in found):
        print_line(console, f"\nperiplus crawl -o {folder} --forms submits search forms", "dim")


def _summary(found: list[FormFacts]) -> str:
    if not found:
        return "no forms were found"
    sites = counted(len({each.site for each in found}), "site")
    statuses = Counter(each.status for each in found)
    parts = ", ".join(f"{number} {status}" for status, number in statuses.items())
    return f"{counted(len(found), 'form')} of {sites}: {parts}"
