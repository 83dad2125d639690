"""Politeness and exactly once, over worlds of chance in virtual time: the watchman of `simulated_web` breaks off."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.simulated_web import Crawl, World

worlds = st.builds(World, st.integers(0, 2**32), st.integers(1, 7), st.integers(1, 8), addresses=st.integers(1, 4))


@settings(max_examples=150)
@given(worlds)
def test_one_page_a_visit(world: World) -> None:
    """A site is asked one thing at a time, and rests between; every URL comes to one end."""
    crawl = Crawl(world)
    crawl.seed()
    crawl.run()
    crawl.check_end()
