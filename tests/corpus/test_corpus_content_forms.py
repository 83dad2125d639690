"""Forms of real pages, against the fields that people have annotated (Formasaurus)."""

from __future__ import annotations

import json
import tarfile
from collections import defaultdict
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from periplus.content import read_page
from periplus.model import Form
from periplus.parts.forms.kinds import FormKind, kind_of

pytestmark = pytest.mark.corpus


STEPS = [pytest.param(3, id="some pages"), pytest.param(1, id="all pages", marks=pytest.mark.slow)]


@cache
def annotated_forms(folder: Path, step: int) -> list[tuple[dict[str, Any], Form]]:
    """Each annotated form with ours, of the pages on which both count the same number of forms; one page in `step`."""
    by_page = defaultdict(list)
    for form in json.loads((folder / "annotations.json").read_text()):
        by_page[form["page"]].append(form)
    found = []
    comparable = 0
    with tarfile.open(folder / "pages.tar.gz") as pages:
        for name, annotated in islice(by_page.items(), 0, None, step):
            file = pages.extractfile(name)
            assert file is not None
            forms = read_page(file.read(), annotated[0]["url"], "text/html").forms
            if len(forms) == annotated[0]["forms_on_page"]:
                comparable += 1
                found += [(form, forms[form["form"]]) for form in annotated]
    assert comparable >= 461 // step
    return found


@pytest.mark.parametrize("step", STEPS)
def test_fields_of_forms_are_kept(corpus: Path, step: int) -> None:
    """Of the annotated fields of 461 pages hardly one is missing, and hardly a form loses any."""
    forms = annotated_forms(corpus / "forms_formasaurus", step)
    wanted = [(set(annotated["fields"]), {field.name for field in ours.fields}) for annotated, ours in forms]
    with_fields = [(names, ours) for names, ours in wanted if names]
    losing = [names - ours for names, ours in with_fields if names - ours]
    assert len(with_fields) > 700 / step
    assert len(losing) / len(with_fields) <= 0.01, losing


@pytest.mark.parametrize("step", STEPS)
def test_search_forms_are_recognised(corpus: Path, step: int) -> None:
    """Of the forms that may be submitted at all (GET), hardly one is taken for a search that is not, or missed."""
    forms = [
        (form["type"] == "search", kind_of(ours) is FormKind.SEARCH)
        for form, ours in annotated_forms(corpus / "forms_formasaurus", step)
        if ours.method == "GET" and form["type"] not in ("skip", "not annotated")
    ]
    right = sum(is_search and is_found for is_search, is_found in forms)
    assert right / sum(is_found for _, is_found in forms) >= 0.97
    assert right / sum(is_search for is_search, _ in forms) >= 0.96
