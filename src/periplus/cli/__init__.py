"""The command line: one package or file per command, joined by `app` into one program.

A command parses options, calls the rooms below, and prints what they return: tables for people, JSON lines on stdout
for programs (`--json`), everything else on stderr. It makes no decision about the web. An error of the user ends as
one clear line with the next step and a documented exit code; `--debug` shows the traceback instead. Options that give
settings are declared with these, and added by `setting_options`.

`main` imports nothing until it runs, so that `--version` is immediate and Ctrl-C ends the program quietly at any time.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import app

__all__ = ["app", "main"]

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as in a shell."""
NOTHING_FETCHED = 1
"""Exit code of a crawl that could not fetch a page."""


def main() -> None:
    """Run the program and exit with its code."""
    try:
        if sys.argv[1:] == ["--version"]:
            from .version import version_line

            sys.stdout.write(f"{version_line()}\n")
            return
        if sys.argv[1:] in (["--help"], ["-h"]):
            from .verbs import overview

            sys.stdout.write(overview())
            return
        gc.disable()  # until all is loaded: modules are no garbage
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy would start a thread a core, which nothing here uses
        from .app import run

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def __getattr__(name: str) -> Any:
    """Load the commands on first use."""
    if name == "app":
        from .app import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
