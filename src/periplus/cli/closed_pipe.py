"""Who reads what a command says may stop: `periplus query DIR "..." | head`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def unless_closed() -> Iterator[None]:
    """End in peace when whoever reads has seen enough; nothing is left that could complain at the exit."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit from None
