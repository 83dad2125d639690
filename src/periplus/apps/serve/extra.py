"""Whether the extra `web` is installed."""

from __future__ import annotations

from importlib.util import find_spec

from periplus.model import UsageError

PACKAGES = ("jinja2", "starlette", "uvicorn")
"""What the server imports of the extra."""


def check_installed() -> None:
    """Raise `UsageError` with the line to type if a package of the extra is missing."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"periplus serve needs {', '.join(missing)}, which {'are' if len(missing) > 1 else 'is'} not installed",
            hint="Install the extra: pip install 'periplus[web]'",
        )
