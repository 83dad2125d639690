"""Judges a collection for spam, with explanations and training; as a job while it is crawled."""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

from periplus.engine.part import JobDesk, Setup
from periplus.insight.views import Views
from periplus.model import UsageError
from periplus.store import LearntFiles
from periplus.store.durable import write_file
from periplus.store.tables.verdicts import write_verdicts

from .features import FEATURES
from .job import JUDGE, SpamJob, SpamJudgement
from .model import Model, decoded, shipped
from .settings import SpamTables
from .training import Example

_JUDGED_PAGES: Final = "spam-pages"
"""The file, beside other results, with the number of pages that the collection had when spam was last judged."""
_LABELS: Final = {"spam": True, "nonspam": False, "normal": False, "1": True, "0": False}
"""The words of a label; rows with another are left out."""
_LABEL_COLUMNS: Final = ("label", "class")


@contextmanager
def spam_job(setup: Setup, views: Views | None = None) -> Iterator[SpamJob]:
    """The job over a collection, with its settings and its model; over `views` of it, if there are some already."""
    settings, layout = setup.settings.some(SpamTables).spam, setup.layout
    model = model_of(settings.model, layout.folder)
    with nullcontext(views) if views else Views(layout.folder, spooled=layout.spooled) as opened:
        yield SpamJob(opened, model, settings, setup.settings.value("scope.suffixes"))


def model_of(name: str, folder: Path) -> Model:
    """The model of a file, which may be named from the collection's folder; without a name that of the package."""
    if not name:
        return shipped()
    path = folder / name
    try:
        return decoded(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="set `model` in [spam], or leave it empty") from error


def judge_spam(setup: Setup, views: Views | None = None) -> SpamJudgement:
    """Judge every host and domain; write the verdicts, and what a running or later crawl follows."""
    with spam_job(setup, views) as job:
        found = job.judge(time.time())
    write_verdicts(setup.layout.folder, JUDGE, found.verdicts)
    LearntFiles(setup.layout.learnt).write(JUDGE, found.learnt)
    return found


def labels_of(path: Path) -> tuple[dict[str, bool], list[Example]]:
    """The labels of a CSV file with the columns `host` and `label`; and its rows with features as examples.

    Columns named like features of a page are those of the host's home page.
    """
    labels: dict[str, bool] = {}
    examples = []
    for row in _rows(path):
        word = next((row[name] for name in _LABEL_COLUMNS if name in row), "")
        label = _LABELS.get(word.strip().lower())
        if label is None or not row.get("host"):
            continue
        labels[row["host"]] = label
        known = {name: _number(row[name]) for name in FEATURES if name in row}
        examples.append(Example(row["host"], label, (known,) if known else ()))
    return labels, examples


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read: {error}", hint="give a CSV file: host,label") from error
    if not rows or "host" not in rows[0] or not {*_LABEL_COLUMNS}.intersection(rows[0]):
        raise UsageError(f"{path} has no columns host and label", hint="its first line is: host,label")
    return rows


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def learn_spam(desk: JobDesk) -> None:
    """Judge the hosts of a collection, if it has twice the pages of the last time: all of them are judged each time."""
    path = desk.setup.layout.folder / "insight" / _JUDGED_PAGES
    with suppress(OSError, ValueError):
        if desk.pages < 2 * int(path.read_text()):
            return
    judge_spam(desk.setup, desk.views)
    path.parent.mkdir(exist_ok=True)
    write_file(path, str(desk.pages).encode())
