"""A plot as the text of an SVG: small, searchable, the same bytes every time, and fit to stand inside a page.

matplotlib writes more than a viewer needs: six decimals of a pixel, an id for every group, the date. What a person or
a screen reader needs it leaves out: a title and a description. Both are set right here.
"""

from __future__ import annotations

import io
import logging
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

from msgspec.structs import replace

from periplus.model import UsageError

from .figure import figure_of
from .plot import Plot
from .style import DRAWING
from .ticks import value_text
from .traces import traces_of

_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
_TAG = re.compile(r"<[^<>]*>")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")
_NEEDLESS = re.compile(
    r' id="(?![pm][0-9a-f]{10}")[^"]*"'  # names without a reference
    r'| transform="rotate\(-?0 [^"]*\)"'
    r"|font-family: [^;\"]*; |text-anchor: start; |stroke-dashoffset: 0; "
    r'|(?<=\d)pt(?=")'  # pixels, not points
)
_UNWRITABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (section 2.2) cannot hold, not even escaped."""


def draw(plot: Plot) -> str:
    """The plot as SVG. The same plot gives the same text."""
    plot.check()
    plot = _writable(plot)
    with _quiet():
        try:
            import matplotlib
        except ImportError as error:
            raise UsageError(
                "figures need matplotlib, which is not installed", hint="pip install 'periplus[plots]'"
            ) from error
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(DRAWING)
            buffer = io.StringIO()
            figure_of(plot).savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return _tidy(buffer.getvalue(), plot)


def save(plot: Plot, path: Path) -> Path:
    """Write the SVG atomically."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(draw(plot), encoding="utf-8", newline="\n")
        return part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _quiet() -> Iterator[None]:
    """Neither a folder for settings that cannot be written nor a script without a glyph is news to our reader."""
    log = logging.getLogger("matplotlib")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="(?s)Glyph .* missing from")
            warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
            yield
    finally:
        log.setLevel(before)


def _writable(plot: Plot) -> Plot:
    """The plot with each text on one line and without the characters that no XML can hold."""

    def clean(text: str) -> str:
        return _UNWRITABLE.sub("\ufffd", " ".join(text.split()))

    return replace(
        plot,
        title=clean(plot.title),
        x_label=clean(plot.x_label),
        y_label=clean(plot.y_label),
        caption=clean(plot.caption),
        curves=tuple(replace(curve, name=clean(curve.name)) for curve in plot.curves),
        marks=tuple(replace(mark, text=clean(mark.text)) for mark in plot.marks),
    )


def _tidy(text: str, plot: Plot) -> str:
    """Two decimals, only the ids that are referred to, viewers' own fonts, and a title to begin with."""
    text = _TAG.sub(lambda found: _tidy_tag(found[0]), text[text.index("<svg") :])
    opened = text.index(">") + 1
    head = f'{text[: opened - 1]} role="img" font-family="{_FONTS}">'
    words = f"\n <title>{escape(plot.title)}</title>\n <desc>{escape(described(plot))}</desc>"
    return head + words + text[opened:].rstrip() + "\n"


def _tidy_tag(tag: str) -> str:
    tag = _DECIMALS.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), tag)
    return _NEEDLESS.sub("", tag)


def described(plot: Plot) -> str:
    """A description of the plot for screen readers: axes, the range of each curve, and the caption."""
    lines = [f"{plot.y_label} against {plot.x_label}."]
    for trace in traces_of(plot):
        x, y = trace.x[trace.known], trace.y[trace.known]
        first, last = value_text(float(y[0]), plot.y_as), value_text(float(y[-1]), plot.y_as)
        at, to = value_text(float(x[0]), plot.x_as), value_text(float(x[-1]), plot.x_as)
        lines.append(f"{trace.name}: {first} at {at}, {last} at {to}.")
    return " ".join([*lines, plot.caption]).strip()
