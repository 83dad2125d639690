"""Plots: small, searchable SVG that is the same every time, reads on any page, and survives any numbers and names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from itertools import pairwise
from math import inf, nan
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.each_case import each_case
from tests.hypothesis_depth import examples

from periplus.model import UsageError
from periplus.view.figures import COLOURS, DASHES, GROUND, Figure, FigureMark, PlotCurve, draw, sparkline

SVG = "{http://www.w3.org/2000/svg}"
MOST_BYTES = 60_000


def curve(name: str, x: object, y: object, width: float = 0.0) -> PlotCurve:
    across, up = np.asarray(x, float), np.asarray(y, float)
    return PlotCurve(name, across.tolist(), up.tolist(), (up - width).tolist(), (up + width).tolist())


def shares(names: list[str], points: int = 500) -> tuple[PlotCurve, ...]:
    x = np.linspace(0, 1, points)
    return tuple(curve(name, x, x ** (0.4 + 0.05 * number)) for number, name in enumerate(names))


def plot(curves: tuple[PlotCurve, ...], **fields: object) -> Figure:
    return Figure("A title", "pages", "PageRank", curves, **fields)  # type: ignore[arg-type]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def coordinates(svg: str) -> list[float]:
    paths = [element.get("d", "") for element in ElementTree.fromstring(svg).iter(f"{SVG}path")]
    return [float(number) for path in paths for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", path)]


def test_the_same_figure_gives_the_same_bytes_wherever_it_is_drawn() -> None:
    """A picture in a repository changes only when its data does: no date, no chance, no other process' hash seed."""
    code = (
        "from periplus.view.figures import PlotCurve, Figure, draw\n"
        "y = [0.0, 2.0, 1.0]\n"
        "print(draw(Figure('t', 'x', 'y', (PlotCurve('a', [1.0, 2.0, 3.0], y, y, y),))), end='')\n"
    )
    env = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    here = draw(Figure("t", "x", "y", (curve("a", [1, 2, 3], [0, 2, 1]),)))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == here


def test_words_are_text_and_the_picture_has_a_name() -> None:
    """What can be read can be searched; what cannot be seen is told: title, description, role."""
    svg = draw(plot(shares(["opic", "depth"]), x_as="share", y_as="share", caption="Five seeds."))
    root = ElementTree.fromstring(svg)
    assert {"A title", "pages", "PageRank", "opic", "depth", "Five seeds.", "100 %"} <= set(texts(svg))
    assert root.get("role") == "img"
    assert root[0].tag == f"{SVG}title"
    assert root[0].text == "A title"
    assert (
        root[1].text
        == "PageRank against pages. opic: 0 % at 0 %, 100 % at 100 %. depth: 0 % at 0 %, 100 % at 100 %. Five seeds."
    )


def test_it_brings_its_own_light_ground() -> None:
    """Dark ink needs a light ground on a dark page, and nothing but that ground is painted behind it."""
    svg = draw(plot(shares(["opic"])))
    assert f".ground{{fill:{GROUND}" in svg
    (ground,) = [each for each in ElementTree.fromstring(svg).iter(f"{SVG}rect") if each.get("class") == "ground"]
    assert (ground.get("width"), ground.get("rx")) == ("799", "10")


def test_names_stand_at_the_ends_of_curves_that_end_apart_and_else_from_the_top_down() -> None:
    """A name points at its curve, or the key lists curves in the order in which they lie."""
    apart = (curve("low", [0, 1], [0, 1]), curve("high", [0, 1], [0, 9]))
    assert [text for text in texts(draw(plot(apart))) if text in {"low", "high"}] == ["high", "low"]
    svg = draw(plot(shares(["best", "good", "fair", "poor"][::-1])))  # all end at one point
    assert [text for text in texts(svg) if text in {"best", "good", "fair", "poor"}] == ["poor", "fair", "good", "best"]
    heights = {e.text: float(e.get("y", "0")) for e in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert heights["poor"] < heights["fair"] < heights["good"] < heights["best"]


def test_values_beside_names_tell_equal_curves_apart() -> None:
    """Where lines nearly touch, the key gives their values at one place, the highest first."""
    x = [0.0, 0.5, 1.0]
    curves = (curve("b", x, [0, 0.60, 1]), curve("a", x, [0, 0.61, 1]), curve("short", [0, 0.2], [0, 0.3]))
    words = texts(draw(plot(curves, values_at=0.5, x_as="share", y_as="share")))
    assert "at 50 %" in words
    assert words.index("61.0 %") < words.index("60.0 %")
    assert [word for word in words if word in {"a", "b", "short"}] == ["a", "b", "short"]
    steps = plot((curve("s", [0, 10, 20], [1, 2, 3]), curve("t", [0, 10, 20], [5, 6, 7])), kind="steps", values_at=19.0)
    assert {"2", "6"} <= set(texts(draw(steps)))


def test_pens_differ_in_colour_or_dashes() -> None:
    """Every curve that a figure may hold has a pen of its own, and neighbours differ in both colour and dashes."""
    styles = draw(plot(tuple(curve(str(n), [0, 1], [n, n]) for n in range(28))))
    pens = re.findall(r"\.p\d+\{stroke:(#\w+)(?:;stroke-dasharray:([^}]*))?\}", styles)
    assert len(set(pens)) == 28 == len(COLOURS) * len(DASHES)
    assert all(a[0] != b[0] and a[1] != b[1] for a, b in pairwise(pens))


def test_colours_can_be_seen_on_their_ground() -> None:
    """Graphics want a contrast of their own (WCAG 2.2, 1.4.11): the palest line is still two to one, most are three."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    contrast = [(luminance(GROUND) + 0.05) / (luminance(colour) + 0.05) for colour in COLOURS]
    assert min(contrast) > 2.0
    assert sum(one > 3.0 for one in contrast) >= 4


@pytest.mark.parametrize("kind", ["line", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("steps", "bars"))])
def test_a_crowd_of_noise_stays_small(kind: str) -> None:
    """No data makes a plot too large for a page: 28 noisy curves of 2,000 points with intervals."""
    noise = np.random.default_rng(3)
    x = np.arange(2_000.0)
    curves = tuple(curve(f"curve {n}", x, noise.normal(n, 5, len(x)), 1.0) for n in range(28))
    assert len(draw(plot(curves, kind=kind))) <= MOST_BYTES


def test_many_points_stay_small_and_keep_their_extremes() -> None:
    """Thinning leaves out what the eye cannot see, not the one spike that matters."""
    y = np.zeros(50_000)
    y[34_321] = 1.0
    svg = draw(plot((curve("spike", np.arange(len(y)), y),)))
    assert len(svg) < 20_000
    (line,) = [path for path in ElementTree.fromstring(svg).iter(f"{SVG}path") if path.get("class") == "curve p0"]
    heights = [float(number) for number in re.findall(r"[ML][\d.]+ ([\d.]+)", line.get("d", ""))]
    assert len(heights) < 20
    assert max(heights) - min(heights) > 250


def test_bars_are_drawn_from_zero_with_a_name_for_each_place() -> None:
    """Heights of bars are to be compared: the axis holds zero even if no value is near."""
    words = texts(draw(plot((curve("a", [0, 1, 2], [5, 6, 7], 0.5), curve("b", [1, 2], [6, 6])), kind="bars")))
    assert {"0", "1", "2", "a", "b"} <= set(words)
    assert words.count("0") == 2


def test_few_measurements_get_their_own_ticks() -> None:
    """A reader looks for the values that were measured, not for round ones between them."""
    assert {"1", "4", "16", "64", "256"} <= set(
        texts(draw(plot((curve("r", [1, 4, 16, 64, 256], range(5)),), log_x=True)))
    )


def test_marks_name_points_and_lines() -> None:
    """A mark says its text once, inside the picture, whatever it marks; one that marks nothing says nothing."""
    marks = (
        FigureMark("here", 0.5, 0.7),
        FigureMark("half", x=0.5),
        FigureMark("goal", y=0.8),
        FigureMark("nowhere"),
        FigureMark("lost", nan, 1.0),
    )
    for kind in ("line", "steps", "bars"):
        svg = draw(plot(shares(["a", "b"], 20), marks=marks, kind=kind))
        found = {
            e.text: (float(e.get("x", "-1")), float(e.get("y", "-1")))
            for e in ElementTree.fromstring(svg).iter(f"{SVG}text")
        }
        assert {"here", "half", "goal"} <= set(found)
        assert not {"nowhere", "lost"} & set(found)
        assert all(0 <= found[word][0] <= 800 and 0 <= found[word][1] <= 500 for word in ("here", "half", "goal"))


KINDS = [("line", False), ("line", True), ("steps", False), ("bars", True)]
EXTREMES: list[list[float]] = [
    [1.0, nan, 3.0],
    [inf, -inf, 2.0],
    [0.0, 0.0, 0.0],
    [5.0],
    [1e308, -1e308, 1.0],
    [1e-320, 1e-12, 1.0],
    [1e149, -1e149, 0.0],
    [1.0, 1.0 + 1e-15, 1.0],
    [1e-140, 2e-140, 3e-140],
]
"""Values that some kind of plot meets, and the next kind in `make soak`."""
NO_VALUES: list[list[float]] = [[], [nan, nan, nan], [-1.0, 0.0, -3.0]]
"""Values of which a logarithmic axis shows nothing: for kinds with such an axis, and in `make soak` for the others."""


@pytest.mark.parametrize(
    ("kind", "log", "y"),
    [
        *((*KINDS[number % 4], y) for number, y in enumerate(EXTREMES)),
        *(pytest.param(*KINDS[(number + 1) % 4], y, marks=pytest.mark.slow) for number, y in enumerate(EXTREMES)),
        *((*kind, y) for y in NO_VALUES for kind in KINDS[1::2]),
        *(pytest.param(*kind, y, marks=pytest.mark.slow) for y in NO_VALUES for kind in KINDS[::2]),
    ],
    ids=str,
)
def test_any_numbers_make_a_picture(kind: str, log: bool, y: list[float]) -> None:
    """Experiments end in zeros, gaps and infinities too: still a picture, with numbers only in its paths."""
    curves = (curve("a", range(len(y)), y, 0.1), curve("b", y, range(len(y))))
    svg = draw(plot(curves, kind=kind, log_x=log, log_y=log, values_at=1.0, marks=(FigureMark("m", 1.0, 1.0),)))
    assert "A title" in texts(svg)
    assert np.isfinite(coordinates(svg)).all()
    assert not re.search(r"\b(nan|inf)\b", svg)


def test_nothing_to_draw_is_an_empty_picture() -> None:
    """A run that fetched nothing has a plot too."""
    assert "A title" in texts(draw(plot(())))


@settings(max_examples=examples(3))
@given(st.text(max_size=80), st.text(max_size=40))
def test_any_names_make_wellformed_xml(title: str, name: str) -> None:
    """Names come from the web: markup, formulas, control characters and every script are text like any other."""
    one = Figure(title, name, title, (curve(name, [0, 1], [0, 1]),), caption=title, marks=(FigureMark(name, 0.5, 0.5),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ElementTree.fromstring(draw(one))


def test_names_are_never_formulas_or_markup() -> None:
    """`$` is a price here, and `<b>` is shown as it is."""
    assert {"$x^2$ <b>&amp;", "3.14159265 a page", "網站"} <= set(
        texts(draw(plot(tuple(curve(n, [0, 1], [0, 1]) for n in ("$x^2$ <b>&amp;", "3.14159265 a page", "網站")))))
    )


def test_long_words_stay_on_the_page() -> None:
    """A title or name of any length leaves room for the curves."""
    one = Figure("long " * 200, "x", "y", (curve("n" * 5_000, [0, 1], [0, 1]),), caption="word " * 3_000)
    assert max(len(text) for text in texts(draw(one))) < 200


@each_case(
    "wrong",
    [
        plot(tuple(curve(str(n), [0], [0]) for n in range(29))),
        plot((), marks=tuple(FigureMark("m", 0, 0) for _ in range(25))),
        plot((PlotCurve("a", [1.0, 2.0], [1.0], [1.0], [1.0]),)),
    ],
)
def test_what_cannot_be_read_is_refused(wrong: Figure) -> None:
    """Too many curves or marks, and columns of different lengths, are our own mistake: the hint says what to do."""
    with pytest.raises(UsageError) as error:
        draw(wrong)
    assert error.value.hint


def test_sparkline_shows_the_shape() -> None:
    """Low is low and high is high; a table's rows share a scale where they are given one; gaps are blank."""
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([0, 0, 10, 10], 2) == "▁█"
    assert sparkline([1, 1, 1], 9, low=0, high=2) == "▅▅▅"
    assert sparkline([1, nan, 8], 3) == "▁ █"
    assert sparkline([5, 5], 2) == "▁▁"
    assert sparkline([], 5) == ""
    assert sparkline([nan, inf], 5) == "  "
    assert sparkline([-1.7e308, -1.7e308, 1.7e308, 1.7e308], 2) == "▁█"


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=50), st.integers(-3, 60))
def test_sparkline_never_exceeds_its_cell(y: list[float], width: int) -> None:
    """Whatever the values, a cell stays a cell."""
    line = sparkline(y, width)
    assert len(line) <= max(width, 1)
    assert set(line) <= set(" ▁▂▃▄▅▆▇█")
