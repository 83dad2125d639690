"""`periplus settings`: lists settings with their defaults, their values in a collection, and what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
import msgspec

from periplus.collection.collection import existing
from periplus.collection.config.fields import all_settings, settings_of
from periplus.collection.config.settings import Config
from periplus.collection.config.toml_files import written
from periplus.model import UsageError
from periplus.policy.settings import nearest
from periplus.view.terminal import print_line, print_table
from periplus.view.values import Column, sheet_of

from . import options
from .commands import Argument
from .consoles import stdout_console


def settings(
    table: Annotated[
        str | None,
        Argument(metavar="TABLE", help="Only a table, or one setting as TABLE.KEY."),
    ] = None,
    collection: Annotated[Path | None, Argument(metavar="DIR", help="A collection: its values, too.")] = None,
    json: options.Json = False,
) -> None:
    """List every setting with its default and what it is; of a collection, with its value there.

    Example: periplus settings politeness docs
    """
    names, tables = all_settings(Config), settings_of(Config)
    if table is not None and collection is None and table not in names and table not in tables and Path(table).is_dir():
        collection, table = Path(table), None
    shown = {name: field for name, field in names.items() if table in (None, name, name.partition(".")[0])}
    if not shown:
        likely = nearest(table or "", (*tables, *names))
        raise UsageError(f"no settings {table}", hint=f"did you mean {likely}? periplus settings lists all")
    config = Config() if collection is None else existing(collection).config
    if json:
        for name, field in shown.items():
            row = {"setting": name, "value": config.value(name), "default": field.default, "meaning": field.doc}
            click.echo(msgspec.json.encode(row))
        return
    console = stdout_console()
    columns = [Column("setting", kind="code"), *([Column("value")] if collection else []), Column("default")]
    for title in dict.fromkeys(name.partition(".")[0] for name in shown):
        rows = [
            (
                field.name,
                *([written(config.value(name), field)] if collection else []),
                written(field.default, field),
                field.doc,
            )
            for name, field in shown.items()
            if name.startswith(f"{title}.")
        ]
        print_line(console, f"[{title}]", "bold")
        print_table(console, sheet_of("", [*columns, Column("what it is")], rows, ["\n"]))
