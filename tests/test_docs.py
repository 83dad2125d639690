"""The docs say what is there: links resolve, files named exist, every command, target and reason has its line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "periplus"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_between_our_pages_resolve(page: Path) -> None:
    """A relative link leads to a file of the project."""
    targets = [
        target for target in LINK.findall(page.read_text()) if "://" not in target and not target.startswith("#")
    ]
    missing = [target for target in targets if not (page.parent / target.partition("#")[0]).exists()]
    assert missing == []


def headings(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).strip() for title in HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.proof
@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_to_headings_resolve(page: Path) -> None:
    """`page.md#heading` names a heading that is on that page."""
    missing = []
    for target in LINK.findall(page.read_text()):
        file, _, anchor = target.partition("#")
        linked = page.parent / file if file else page
        if anchor and linked.suffix == ".md" and linked.exists() and anchor not in headings(linked):
            missing.append(target)
    assert missing == []


def test_tests_named_in_the_docs_exist() -> None:
    """A promise names the test that would break with it: the file is there, and so is the function."""
    named_tests = {
        found for page in PAGES for found in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?", page.read_text())
    }
    assert len(named_tests) > 20
    missing = [
        (file, function)
        for file, function in sorted(named_tests)
        if not (ROOT / file).exists() or f"def {function}" not in (ROOT / file).read_text()
    ]
    assert missing == []


def test_the_map_of_the_house_names_files_that_exist() -> None:
    """Every `room/file.py` that docs/architecture.md names is there, so that a newcomer finds it."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    files = set(
        re.findall(
            r"`((?:model|urls|formats|content|policy|engine|parts|apps|store|collection|cli)/[\w/]+(?:\.py|/))`", text
        )
    )
    assert len(files) >= 4
    assert [file for file in sorted(files) if not (SOURCE / file).exists()] == []


def test_every_room_has_its_place_on_the_map() -> None:
    """Every package of the house is named in docs/architecture.md, and every app."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    apps = {path.parent.name for path in SOURCE.glob("apps/*/__init__.py")}
    assert [room for room in sorted(rooms | apps) if f"`{room}`" not in text] == []


def test_every_make_target_is_in_the_page_for_contributors() -> None:
    """With what it is for."""
    targets = re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    page = (ROOT / "CONTRIBUTING.md").read_text()
    assert {"demo", "test", "check", "bench"} <= set(targets)
    assert [target for target in targets if f"make {target}" not in page] == []


TELLERS = {"Problem", "complain", "note", "tell", "_tell", "problem"}
"""What the readers call, under these names, to say what is wrong; the reason comes first."""


def problem_reasons() -> set[str]:
    """Every reason that the code of the readers can give, as far as it is written where it is given."""
    reasons = set()
    for path in [*(SOURCE / "formats").rglob("*.py"), *(SOURCE / "content").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in TELLERS:
                    inside = [leaf.value for leaf in ast.walk(node.args[0]) if isinstance(leaf, ast.Constant)]
                    reasons |= {value for value in inside if isinstance(value, str)}
    return reasons


def test_every_reason_of_a_problem_is_documented() -> None:
    """A reason is a column of a table that people will read: docs/problems.md says what it means."""
    text = (ROOT / "docs" / "problems.md").read_text()
    reasons = problem_reasons()
    assert len(reasons) > 60
    assert sorted(reason for reason in reasons if f"`{reason}`" not in text) == []


def test_the_docs_speak_of_the_product_alone() -> None:
    """No path of the machine that a page was written on."""
    pattern = re.compile(r"/(?:root|home|work|tmp)/")
    assert [named(page) for page in PAGES if pattern.search(page.read_text())] == []
