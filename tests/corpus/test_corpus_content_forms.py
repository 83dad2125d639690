"""Forms of real pages, against the fields that people have annotated (Formasaurus)."""

from __future__ import annotations

import json
import tarfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from periplus.content import read_page
from periplus.model import Form

pytestmark = pytest.mark.corpus


def annotated_forms(folder: Path) -> list[tuple[dict[str, Any], Form]]:
    """Each annotated form with ours, of the pages on which both count the same number of forms."""
    by_page = defaultdict(list)
    for form in json.loads((folder / "annotations.json").read_text()):
        by_page[form["page"]].append(form)
    found = []
    comparable = 0
    with tarfile.open(folder / "pages.tar.gz") as pages:
        for name, annotated in by_page.items():
            file = pages.extractfile(name)
            assert file is not None
            forms = read_page(file.read(), annotated[0]["url"], "text/html").forms
            if len(forms) == annotated[0]["forms_on_page"]:
                comparable += 1
                found += [(form, forms[form["form"]]) for form in annotated]
    assert comparable >= 461
    return found


def test_fields_of_forms_are_kept(corpus: Path) -> None:
    """Of the annotated fields of 461 pages hardly one is missing, and hardly a form loses any."""
    forms = annotated_forms(corpus / "forms_formasaurus")
    wanted = [(set(annotated["fields"]), {field.name for field in ours.fields}) for annotated, ours in forms]
    with_fields = [(names, ours) for names, ours in wanted if names]
    losing = [names - ours for names, ours in with_fields if names - ours]
    assert len(with_fields) > 700
    assert len(losing) / len(with_fields) <= 0.01, losing
