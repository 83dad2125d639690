"""Whether a folder is a collection: all that commands need to know that read its tables, and none of its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from periplus.model import UsageError
from periplus.store.folders import check_contents
from periplus.store.layout import Layout

SOCKET: Final = "control.sock"
"""Where a crawl that runs listens for commands."""


def layout_of(folder: Path) -> Layout:
    """The paths in the folder of an existing collection."""
    layout = Layout(folder)
    if not layout.settings.is_file():
        hint = "give the folder of a collection" if folder.is_dir() else f"periplus crawl SEED -o {folder} creates one"
        raise UsageError(f"{folder} is not a collection: it has no {layout.settings.name}", hint=hint)
    check_contents(folder, except_for=(SOCKET,))
    return layout
