"""Keywords of the library become settings as options of the command line do."""

from __future__ import annotations

from typing import Any

import pytest

from periplus.collection.options import crawl_settings, wire_settings
from periplus.model import UsageError


def test_one_text_is_one_value() -> None:
    """`include="/docs/*"` is one pattern, not seven."""
    settings = crawl_settings(include="/docs/*", exclude=["/a", "/b"], sitemap="https://a.example/s.xml", like=())
    assert settings["patterns.include"] == ["/docs/*"]
    assert settings["patterns.exclude"] == ["/a", "/b"]
    assert settings["sitemaps.submitted"] == ["https://a.example/s.xml"]
    assert settings["topic.like"] is None
    assert wire_settings(allow_private="10.0.0.0/8")["wire.allow_private"] == ["10.0.0.0/8"]


def test_what_is_not_a_list_of_texts_is_named() -> None:
    wrong: Any = True
    with pytest.raises(UsageError, match=r"--allow-private: expected a text or a list of texts, got True"):
        wire_settings(allow_private=wrong)
