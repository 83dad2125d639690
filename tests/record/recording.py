"""Every subject of the record: the name of its file in `recorded`, and what computes it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.record import replaying, surface
from tests.record.answers import small_collection

RECORDED: Final = Path(__file__).resolve().parent / "recorded"
OF_CODE: Final[dict[str, Callable[[], str]]] = {
    "help.txt": surface.help_texts,
    "exit_codes.txt": surface.exit_codes,
    "settings.txt": surface.settings,
    "tables.txt": surface.tables,
    "names.txt": surface.names,
    "mcp_tools.json": surface.tools,
    "api.txt": surface.api,
}
"""Subjects that the code alone says."""
OF_COLLECTION: Final[dict[str, Callable[[Path], str]]] = {
    "views.txt": surface.views,
    "routes.txt": surface.routes,
    "metrics.txt": surface.metrics,
}
"""Subjects that need a collection."""
JSON_KEYS: Final = "json_keys.txt"


def write() -> None:
    """Record everything as it is now; the inputs of the replayed crawls stay as they are."""
    with tempfile.TemporaryDirectory(prefix="periplus-record-") as home:
        os.environ["XDG_STATE_HOME"] = home  # the key that signs settings is not the user's
        asked = small_collection(Path(home))
        texts = {name: compute() for name, compute in OF_CODE.items()}
        texts |= {name: compute(Path(home) / "small") for name, compute in OF_COLLECTION.items()}
        texts[JSON_KEYS] = asked.text()
        texts |= {f"replay_{name}.txt": replaying.replayed(name, Path(home) / name) for name in replaying.CASES}
    for name, text in texts.items():
        (RECORDED / name).write_text(text)
