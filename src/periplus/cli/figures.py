"""Whether figures can be drawn: matplotlib is an extra, `periplus[plots]`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from rich.text import Text

from .consoles import stderr_console

INSTALL = "pip install 'periplus[plots]'"


def can_draw() -> bool:
    """Whether matplotlib is installed. It is not imported."""
    return find_spec("matplotlib") is not None


def say_left_out() -> None:
    """Print that figures are left out, and how to get them."""
    line = f"figures are left out, because matplotlib is not installed: {INSTALL}"
    stderr_console().print(Text(line, style="yellow"), soft_wrap=True)


def checked_plot(path: Path | None) -> Path | None:
    """Refuse `--plot` before an experiment starts if its figure could not be drawn."""
    if path is not None and not can_draw():
        from periplus.model import UsageError

        raise UsageError("--plot: matplotlib is not installed", hint=f"{INSTALL}, or run without --plot")
    return path
