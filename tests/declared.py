"""What follows from the declarations of settings and is kept as a file; `python -m tests.declared` writes it again.

These are the types of the library's keywords, `library/keywords.py`, and the tables of `docs/settings.md`.
"""

from __future__ import annotations

import re
from pathlib import Path

from periplus.collection.config.fields import settings_of
from periplus.collection.config.settings import Config
from periplus.collection.config.toml_files import written
from periplus.collection.options import SettingOption, options_of

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ROOT / "docs" / "settings.md"
KEYWORDS = ROOT / "src" / "periplus" / "library" / "keywords.py"
VERBS = ("crawl", "map")
"""The functions of the library that take flags as keywords."""
LONGEST_DEFAULT = 60
_TABLE = re.compile(r"\A## .*?^\|---.*?(?=^[^|]|\Z)", re.MULTILINE | re.DOTALL)
_HEAD = '''\
"""The keywords of the library's functions that settings declare, for type checkers.

Written from the declarations by `python -m tests.declared`.
"""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TypedDict
'''


def keywords_module() -> str:
    """The source of `library/keywords.py`."""
    text = _HEAD
    for verb in VERBS:
        text += (
            f'\n\nclass {verb.title()}Keywords(TypedDict, total=False):\n    """Keywords of `periplus.{verb}`."""\n\n'
        )
        text += "".join(f"    {option.keyword}: {_type(option)} | None\n" for option in options_of(verb))
    return text


def _type(option: SettingOption) -> str:
    name: str = getattr(option.type, "__name__", "")
    if option.is_switch:
        return "bool"
    if option.is_list:
        return "Iterable[str] | Mapping[str, str]" if name == "dict" else "str | Sequence[str]"
    if option.is_path:
        return "str | PathLike[str]"
    return f"str | {name}" if option.is_text else name


def settings_table(table: str) -> str:
    """The lines of `docs/settings.md` on a table, but for what is said below it."""
    room = settings_of(Config)[table]
    lines = [f"## [{table}]", "", room.doc, "", "| setting | default | what it is |", "|---|---|---|"]
    for name, field in settings_of(room.type).items():
        default = written(field.default, field)
        default = default if len(default) <= LONGEST_DEFAULT else default[: LONGEST_DEFAULT - 1] + "…"
        lines.append(f"| `{name}` | `{default}` | {field.doc} |".replace("``", ""))
    return "\n".join(lines) + "\n"


def settings_page() -> str:
    """`docs/settings.md` with its tables as the code has them."""
    head, *sections = re.split(r"^(?=## \[)", SETTINGS.read_text(), flags=re.MULTILINE)
    below = {section[4:].partition("]")[0]: _TABLE.sub("", section, count=1) for section in sections}
    tables = (settings_table(table) + below.get(table, "\n") for table in settings_of(Config))
    return (head + "".join(tables)).rstrip("\n") + "\n"


if __name__ == "__main__":
    KEYWORDS.write_text(keywords_module())
    SETTINGS.write_text(settings_page())
