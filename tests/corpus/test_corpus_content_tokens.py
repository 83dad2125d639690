"""html5lib's cases for character references, by both scanners."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from periplus.content.forms import form_elements
from periplus.content.scan import Columns, EventKind

pytestmark = pytest.mark.corpus


def test_entities(scanner: Callable[..., Columns], corpus: Path) -> None:
    """Texts and values with references."""
    cases = json.loads((corpus / "html_encoding" / "tokenizer" / "entities.test").read_text())["tests"]
    assert cases
    assert [case["input"] for case in cases if _tokens(scanner, case["input"]) != case["output"]] == []


def _tokens(scanner: Callable[..., Columns], html: str) -> list[list[Any]]:
    """What html5lib expects: the text, or the one tag, which is a form so that its attributes are reported."""
    if html.startswith("<h "):
        (form,) = form_elements(scanner(html.replace("<h ", "<form ", 1).encode()).forms)
        return [["StartTag", "h", form.attributes]]
    page = scanner(html.encode(), wants_events=True)
    return [["Character", "".join(event.value for event in page.events if event.kind is EventKind.TEXT)]]
