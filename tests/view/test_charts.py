"""Charts: every value has its place, and no word lies on another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.markup import elements

from periplus.view.charts import LETTER, TITLE, ChartLine, Scale, line_plot, linear, logarithmic


@given(st.lists(st.floats(0, 1e12), max_size=20))
def test_axes_hold_all_values(values: list[float]) -> None:
    """Every value has its place, and there are some ticks, not many."""
    for scale in (linear(values), linear(values, whole=True), logarithmic(values)):
        assert all(0 <= scale.place(value) <= 1 for value in values)
        assert scale.high >= max(values, default=0) * (1 - 1e-9)
        ticks = scale.ticks()
        assert 2 <= len(ticks) <= 6
        assert all(scale.low <= tick <= scale.high * (1 + 1e-9) for tick in ticks)
        assert ticks == sorted(set(ticks))


@given(st.floats(-1e9, 1e9), st.floats(0.001, 1e6))
def test_axes_may_begin_anywhere(low: float, span: float) -> None:
    """Ticks of a span of time lie in it."""
    scale = Scale(low, low + span)
    assert all(low - span * 1e-6 <= tick <= low + span * (1 + 1e-6) for tick in scale.ticks())
    times = Scale(low, low + span, is_time=True).ticks()
    assert 1 <= len(times) <= 5
    assert all(low - span * 1e-6 <= tick <= low + span * (1 + 1e-6) for tick in times)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8), st.integers(0, 40))
def test_the_name_of_a_curve_lies_on_no_other_words(points: list[tuple[float, float]], length: int) -> None:
    """Wherever its highest point is: not on the title of the axis, nor on another name."""
    whole = Scale(0.0, 1.0, str)
    drawn = (ChartLine("Sitemaps", "sitemaps", tuple(points)), ChartLine("links", "links", tuple(points)))
    parts = elements(line_plot(drawn, whole, whole, ("x", "y" * length), "label"), "//text")
    names = [(float(each.get("x", 0)), float(each.get("y", 0)), each.text_content()) for each in parts]
    boxes = [(x - LETTER * len(word) / 2, x + LETTER * len(word) / 2, y) for x, y, word in names if len(word) > 4]
    boxes = [box for box in boxes if box[2] != TITLE] + [(0.0, LETTER * length, TITLE)]
    assert len(boxes) == 3
    for place, (start, end, y) in enumerate(boxes):
        for other_start, other_end, other_y in boxes[:place]:
            assert abs(y - other_y) >= 12 or start >= other_end or other_start >= end
