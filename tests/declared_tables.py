"""What follows from the declarations of tables, views and questions and is kept as a file.

These are the sections of `docs/tables.md`, and two tables of `docs/measures.md`; `python -m tests.declared_tables`
writes them again. What is said below a table stays.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path

from periplus.collection.config.fields import field_docs
from periplus.insight.entity_rows import EntityRow
from periplus.insight.views import QUESTIONS, VIEWS
from periplus.model.rows import TableQuestion, TableRow, TableView, columns_of
from periplus.store.tables.declared import ROWS

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "docs" / "tables.md"
MEASURES = ROOT / "docs" / "measures.md"
_DECLARED = re.compile(r"\A## .*?^\|---.*?(?=^[^|]|\Z)", re.MULTILINE | re.DOTALL)


def table_section(row: type[TableRow]) -> str:
    """The section of `docs/tables.md` on a table, but for what is said below it."""
    docs = field_docs(row)
    lines = [
        f"## {row.table}",
        "",
        " ".join((inspect.getdoc(row) or "").split()),
        "",
        "| column | type | meaning |",
        "|---|---|---|",
    ]
    lines += [f"| `{name}` | {kind.value} | {' '.join(docs[name].split())} |" for name, kind in columns_of(row).items()]
    return "\n".join(lines) + "\n"


def tables_page() -> str:
    """`docs/tables.md` with its sections as the code has them."""
    head, *sections = re.split(r"^(?=## )", TABLES.read_text(), flags=re.MULTILINE)
    below = {section[3:].partition("\n")[0]: _DECLARED.sub("", section, count=1) for section in sections}
    rows: list[type[TableRow]] = [*ROWS.values(), EntityRow]
    tables = (table_section(row) + below.get(row.table, "\n") for row in rows)
    return (head + "".join(tables)).rstrip("\n") + "\n"


def measures_page() -> str:
    """`docs/measures.md` with its tables of views and of questions as the code has them."""
    page = _replaced(MEASURES.read_text(), "| name | a row is |", VIEWS.values())
    return _replaced(page, "| question | shows |", QUESTIONS.values())


def _replaced(page: str, head: str, named: Iterable[TableView | TableQuestion]) -> str:
    rows = "".join(f"| `{each.name}` | {each.says} |\n" for each in named)
    table = re.compile(rf"(^{re.escape(head)}\n\|---\|---\|\n)(?:^\|.*\n)*", re.MULTILINE)
    return table.sub(lambda found: found[1] + rows, page)


if __name__ == "__main__":
    TABLES.write_text(tables_page())
    MEASURES.write_text(measures_page())
