"""`periplus help`: explains a command, or a subject by the pages of docs/."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import click

from periplus.model import UsageError
from periplus.policy.settings import nearest

from .commands import Argument, whole_help
from .verbs import VERBS, overview

_PACKAGE = Path(__file__).resolve().parents[1]
PAGES = next((each for each in (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs") if each.is_dir()), _PACKAGE)
"""The pages of an installed package; those of the project where it runs from its sources."""


def help(  # noqa: A001 - the name of the command
    topic: Annotated[
        list[str] | None, Argument(metavar="TOPIC", help="A command, a page of the docs, or words of a title.")
    ] = None,
) -> None:
    """Explain a command with all its options, or a subject: a page of the docs, or a section of one.

    Example: periplus help exit codes
    """
    words = " ".join(topic or ()).lower()
    if not words:
        click.echo(overview(), nl=False)
    elif words in VERBS:
        from .app import app

        click.echo(whole_help(app, words))
    else:
        click.echo_via_pager(_text(words))


def _text(words: str) -> str:
    """The page of this name, or the sections whose titles have these words, the closest first."""
    sections = dict(_sections())
    asked = set(words.split())
    found = [title for title in sections if asked <= set(title.split())]
    if not found:
        likely = nearest(words, [*VERBS, *sections])
        raise UsageError(f"nothing is known of {words}", hint=f"did you mean periplus help {likely}? See {PAGES}")
    shortest = min(map(len, found))
    return "\n".join(sections[title] for title in found if len(title) == shortest)


def _sections() -> Iterator[tuple[str, str]]:
    """The pages by their names, and their sections by the words of their titles."""
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text("utf-8")
        yield page.stem.replace("_", " ").lower(), text
        for section in re.split(r"^(?=##+ )", text, flags=re.MULTILINE)[1:]:
            title = section.partition("\n")[0]
            yield " ".join(re.findall(r"[\w.]+", title.lower())), section
