"""Seeds as they are typed: with and without a scheme, and what is a path instead."""

from __future__ import annotations

import pytest

from periplus.collection.seeds import seeds_from, split_userinfo
from periplus.model import ConfigError


@pytest.mark.parametrize(
    ("text", "seed"),
    [
        ("//example.org/", "https://example.org/"),
        (" //example.org/a?b", "https://example.org/a?b"),
        ("//localhost:8000/", "http://localhost:8000/"),
        ("example.org", "https://example.org/"),
    ],
)
def test_a_seed_without_a_scheme(text: str, seed: str) -> None:
    """Also as a page would link to it."""
    assert seeds_from([text]) == (seed,)


@pytest.mark.parametrize(
    "text",
    ["/etc/passwd", "///etc/passwd", "//", "~/list.txt", "~", "./a", "..", "\\\\server\\a", "c:\\a", "file:///a"],
)
def test_a_path_is_not_a_seed(text: str) -> None:
    """Its first folder would be the host."""
    with pytest.raises(ConfigError, match="is a path"):
        seeds_from([text])


def test_a_password_is_separated_whatever_the_scheme() -> None:
    for before in ("", "//", "https://"):
        assert split_userinfo(f"{before}me:secret@example.org/a") == (f"{before}example.org/a", ("me", "secret"))
