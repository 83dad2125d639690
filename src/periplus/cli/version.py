"""The line that `periplus --version` prints. Imports little, because it should appear at once."""

from __future__ import annotations

import os
from importlib.machinery import PathFinder

from periplus import __version__


def version_line() -> str:
    """Return the version and which page scanner is used."""
    return f"periplus {__version__}, pages read by the {_scanner()} scanner"


def _scanner() -> str:
    """Return what `content.scan.READER` would be, without the imports that reading pages needs."""
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "content", "scan")  # noqa: PTH118, PTH120 - pathlib is slow to import
    is_built = PathFinder.find_spec("_native", [folder]) is not None
    return "native" if is_built and os.environ.get("PERIPLUS_PURE") != "1" else "python"
