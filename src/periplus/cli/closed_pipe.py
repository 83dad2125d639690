"""Ends a command quietly when the program that reads its output has ended: `periplus query DIR "..." | head`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from click.exceptions import Exit


@contextmanager
def unless_closed() -> Iterator[None]:
    """Exit with code 0 on a broken pipe; what is still buffered is discarded."""
    try:
        yield
    except BrokenPipeError:
        discard(sys.stdout.fileno())
        raise Exit from None


def discard(descriptor: int) -> None:
    """Send everything written to a file descriptor from now on to the null device."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
