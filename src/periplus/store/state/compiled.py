"""Functions of the compiled module, where there is one."""

from __future__ import annotations

import os
import sys
from typing import Any


def compiled(name: str) -> Any:
    """The function of this name in C; `None` where it was not compiled, or is not wanted."""
    if os.environ.get("PERIPLUS_PURE") == "1" or sys.byteorder != "little":
        return None
    try:
        from . import _find
    except ImportError:
        if os.environ.get("PERIPLUS_NATIVE") == "1":
            raise
        return None
    return getattr(_find, name, None)  # an earlier build has fewer
