"""Judges a collection: for spam, with explanations and training; for mirrors, parked domains and duplicate URLs."""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from periplus.model import ConfigError, UsageError
from periplus.parts.dust.given import RuleFile, write_rule_file
from periplus.parts.mirrors.policy import encode_hosts
from periplus.parts.spam.model import Model, decoded, shipped
from periplus.store import LearntFiles
from periplus.store.durable import write_file

from . import trust
from .collection import Collection

if TYPE_CHECKING:
    from periplus.insight.views import Views
    from periplus.parts.mirrors.job import JudgedHosts
    from periplus.parts.spam.job import SpamJob, SpamJudgement
    from periplus.parts.spam.training import Example


_LABELS: Final = {"spam": True, "nonspam": False, "normal": False, "1": True, "0": False}
"""The words of a label; rows with another are left out."""
_LABEL_COLUMNS: Final = ("label", "class")


@contextmanager
def spam_job(collection: Collection, views: Views | None = None) -> Iterator[SpamJob]:
    """The job over a collection, with its settings and its model; over `views` of it, if there are some already."""
    from periplus.insight.views import Views
    from periplus.parts.spam.job import SpamJob  # imports DuckDB: only where it is used

    config = collection.config
    trust.check([name for name in collection.untrusted if name == "spam.model"], collection.folder)
    model = model_of(config.spam.model, collection.folder)
    with nullcontext(views) if views else Views(collection.folder, spooled=collection.layout.spooled) as opened:
        yield SpamJob(opened, model, config.spam, config.scope.suffixes)


def model_of(name: str, folder: Path) -> Model:
    """The model of a file, which may be named from the collection's folder; without a name that of the package."""
    if not name:
        return shipped()
    path = folder / name
    try:
        return decoded(path.read_bytes(), str(path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="set `model` in [spam], or leave it empty") from error


def judge_spam(collection: Collection, views: Views | None = None) -> SpamJudgement:
    """Judge every host and domain; write the verdicts, and what a running or later crawl follows."""
    from periplus.parts.spam.job import JUDGE
    from periplus.store.tables.verdicts import write_verdicts

    with spam_job(collection, views) as job:
        found = job.judge(time.time())
    write_verdicts(collection.folder, JUDGE, found.verdicts)
    LearntFiles(collection.layout.learnt).write(JUDGE, found.learnt)
    return found


def labels_of(path: Path) -> tuple[dict[str, bool], list[Example]]:
    """The labels of a CSV file with the columns `host` and `label`; and its rows with features as examples.

    Columns named like features of a page are those of the host's home page.
    """
    from periplus.parts.spam.features import FEATURES
    from periplus.parts.spam.training import Example

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


KIND = "mirrors"
"""The kind of the learnt file of hosts."""
DUST = "dust"
"""The kind of the learnt file of rules for duplicate URLs: the same as `insight/dust.json`."""


def judge(found: Collection, now: float) -> JudgedHosts:
    """Judge the hosts of a collection: its view `verdicts` has the results, and a crawl that runs takes them over.

    The rules for duplicate URLs that the crawl learnt are written to `insight/dust.json`, beside those that a person
    added to it, and the crawl takes that file over as well. Raises `ConfigError` if that file cannot be read.
    """
    from periplus.insight.views import Views
    from periplus.parts.dust.found_rules import FILE, learnt_rules
    from periplus.parts.mirrors.job import JUDGE, PARKED, judge_hosts
    from periplus.store.tables.verdicts import write_verdicts

    config, layout = found.config, found.layout
    place = found.folder / "insight" / FILE
    edited = _edited_rules(place)
    with Views(found.folder, spooled=layout.spooled) as views:
        judged = judge_hosts(
            views, now, settings=config.mirrors, parked_settings=config.parked, suffixes=config.scope.suffixes
        )
        rules = learnt_rules(views, edited, config.scope.suffixes)
    write_verdicts(found.folder, JUDGE, judged.mirrors)
    write_verdicts(found.folder, PARKED, judged.parked)
    learnt = LearntFiles(layout.learnt)
    learnt.write(KIND, encode_hosts(judged.learnt))
    learnt.write(DUST, write_rule_file(rules))
    write_file(place, write_rule_file(rules))
    return judged


def _edited_rules(place: Path) -> RuleFile | None:
    try:
        return msgspec.json.decode(place.read_bytes(), type=RuleFile)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, ValueError) as error:
        raise ConfigError(f"{place} cannot be read: {error}", hint="compare it with docs/hostile.md#dust") from error
