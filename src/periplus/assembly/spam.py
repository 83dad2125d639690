"""Judges a collection for spam, explains a verdict, proposes seeds of trust, and trains a model from labels."""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from periplus.model import UsageError
from periplus.policy.spam import Model, decoded, shipped
from periplus.store import LearntFiles

from .collection import Collection

if TYPE_CHECKING:
    from periplus.insight.spam import SpamJob, SpamJudgement
    from periplus.policy.spam.training import Example

_LABELS: Final = {"spam": True, "nonspam": False, "normal": False, "1": True, "0": False}
"""The words of a label; rows with another are left out."""
_LABEL_COLUMNS: Final = ("label", "class")


@contextmanager
def spam_job(collection: Collection) -> Iterator[SpamJob]:
    """The job over a collection, with its settings and its model."""
    from periplus.insight.spam import SpamJob  # imports DuckDB: only where it is used
    from periplus.insight.views import Views

    config = collection.config
    with Views(collection.folder, spooled=collection.layout.spooled) as views:
        yield SpamJob(views, model_of(config.spam.model, collection.folder), config.spam, config.scope.suffixes)


def model_of(name: str, folder: Path) -> Model:
    """The model of a file, which may be named from the collection's folder; without a name that of the package."""
    if not name:
        return shipped()
    path = folder / name
    try:
        return decoded(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="set `model` in [spam], or leave it empty") from error


def judge_spam(collection: Collection) -> SpamJudgement:
    """Judge every host and domain; write the verdicts, and what a running or later crawl follows."""
    from periplus.insight.spam import JUDGE
    from periplus.insight.verdicts import write

    with spam_job(collection) as job:
        found = job.judge(time.time())
    write(collection.folder, JUDGE, found.verdicts)
    LearntFiles(collection.layout.learnt).write(JUDGE, found.learnt)
    return found


def labels_of(path: Path) -> tuple[dict[str, bool], list[Example]]:
    """The labels of a CSV file with the columns `host` and `label`; and its rows with features as examples.

    Columns named like features of a page are those of the host's home page.
    """
    from periplus.policy.spam.features import FEATURES
    from periplus.policy.spam.training import Example

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
