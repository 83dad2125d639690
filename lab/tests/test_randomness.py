"""Chance: the same everywhere, alone or in arrays, and as even as it claims."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from hashlib import sha256

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from periplus_lab import Request, World
from periplus_lab.randomness import at, at_all, key_of, skewed, skewed_all

WORDS = st.integers(0, 2**64 - 1)


@given(WORDS, st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=20))
def test_one_number_is_drawn_as_many_are(key: int, counters: list[int]) -> None:
    """What a page is alone, it is in its site's sitemap."""
    together = at_all(key, np.array(counters, dtype=np.int64)).tolist()
    assert together == [at(key, counter) for counter in counters]


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20), st.integers(1, 10**6))
def test_ranks_are_drawn_alone_as_together(bits: list[int], size: int) -> None:
    """A rank is below the size, and the same in both forms."""
    together = skewed_all(np.array(bits, dtype=np.uint64), size).tolist()
    assert together == [skewed(word, size) for word in bits]
    assert max(together) < size


def test_neighbouring_counters_have_nothing_in_common() -> None:
    """Each bit of a draw is set half of the time, and flips half of the time from one counter to the next."""
    draws = at_all(key_of(1, "test"), np.arange(20_000, dtype=np.int64))
    bits = (draws[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.02
    assert np.abs((bits[1:] != bits[:-1]).mean(axis=0) - 0.5).max() < 0.02


def test_keys_are_apart() -> None:
    """Names that run together when joined are still different names."""
    assert len({key_of(1, "a", "bc"), key_of(1, "ab", "c"), key_of(2, "a", "bc"), key_of(1, "abc")}) == 4


@cache
def digest_of_pages() -> str:
    """Every page of a small world, as one number."""
    world = World(seed=11, sites=12, pages=600)
    total = sha256()
    for site in world.sites():
        for url in world.urls(site.host, world.epoch):
            total.update(url.encode() + world.content(url, world.epoch + 3 * 86_400))
    return total.hexdigest()


@cache
def digest_of_voices() -> str:
    """Everything else that its hosts say at one moment, as one number."""
    world = World(seed=11, sites=12, pages=600)
    total = sha256()
    for host in world.hosts:
        for target in ("/", "/robots.txt", "/feed.xml", "/sitemap.xml", "/sitemap_index.xml", "/latest/0/", "/search"):
            body = world.answer(Request("GET", host, target, (), world.epoch + 86_400.5)).body
            total.update(body if isinstance(body, bytes) else b"".join(body))
    return total.hexdigest()


def test_the_same_seed_gives_the_same_bytes_in_another_process() -> None:
    """Nothing that differs from process to process (the seed of `hash`, for one) reaches a byte."""
    code = f"import runpy; m = runpy.run_path({__file__!r}); print(m['digest_of_pages'](), m['digest_of_voices']())"
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.split() == [digest_of_pages(), digest_of_voices()]


def test_the_same_seed_gives_the_same_bytes_as_ever() -> None:
    """A world is an instrument: if this digest changes, every measurement made with the seed is of another world.

    Change it only together with a line in the changelog that says so.
    """
    assert digest_of_pages()[:16] == GOLDEN


GOLDEN = "34b2e44b98b8a959"


def test_another_seed_gives_another_world() -> None:
    """The seed matters to names, sizes aside, and to every page."""
    first, second = World(seed=1, sites=5), World(seed=2, sites=5)
    assert not {site.host for site in first.sites()} & {site.host for site in second.sites()}


def test_answers_do_not_depend_on_what_was_asked_before() -> None:
    """A world remembers nothing: asked in reverse, with caches warm or cold, it says the same."""
    first, second = (World(seed=3, sites=6, pages=300) for _ in range(2))
    asked = [(url, first.epoch + day * 86_400) for site in first.sites() for url in first.urls(site.host, first.epoch)
             for day in (0, 9, 400)]  # fmt: skip
    forward = [sha256(first.content(url, at)).digest() for url, at in asked]
    backward = [sha256(second.content(url, at)).digest() for url, at in reversed(asked)]
    assert forward == backward[::-1]
