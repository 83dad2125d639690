"""Compression dictionaries (RFC 9842): bodies that were coded with one, and when a page is offered as one."""

from __future__ import annotations

import json
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from periplus.formats.compression_dictionary import (
    CODING,
    available,
    read_available,
    read_dcz,
    read_use_as_dictionary,
    written_id,
)
from periplus.model import Problem

pytestmark = pytest.mark.corpus

MAX_BODY = 10 << 20


def cases(corpus: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((corpus / "identity" / "http" / name).read_text())
    assert found
    return found


def test_every_file_is_checked(corpus: Path) -> None:
    """A new file must not go unread."""
    assert {path.name for path in (corpus / "identity" / "http").iterdir()} == {"dcz.json", "dictionaries.json"}


def test_bodies_are_decoded(corpus: Path) -> None:
    """Or refused, by the same name."""
    for case in cases(corpus, "dcz.json"):
        dictionary = b64decode(case["dictionary"])
        digest = sha256(dictionary).digest()
        assert case["coding"] == CODING, case["id"]
        assert case["available_dictionary"] == available(digest), case["id"]
        assert read_available(case["available_dictionary"]) == digest
        body = read_dcz(b64decode(case["coded"]), dictionary, MAX_BODY)
        if isinstance(body, Problem):
            assert body.reason == case["expected"], case["id"]
        else:
            assert case["expected"] == "ok", case["id"]
            assert (len(body), sha256(body).hexdigest()) == (case["body_bytes"], case["body_sha256"]), case["id"]


def test_pages_are_offered_as_dictionaries(corpus: Path) -> None:
    """To URLs of the same https origin that fit, with the identifier that was given."""
    for case in cases(corpus, "dictionaries.json"):
        use = read_use_as_dictionary(case["use_as_dictionary"])
        is_offered = use is not None and use.applies(case["dictionary_url"], case["url"])
        assert is_offered is case["offer"], case["id"]
        if use is not None and "dictionary_id" in case:
            assert written_id(use.id) == case["dictionary_id"], case["id"]
