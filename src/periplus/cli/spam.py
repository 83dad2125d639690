"""`periplus spam`: judges a collection for spam, explains verdicts, proposes seeds of trust, and trains a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
import msgspec

from periplus.collection.collection import existing
from periplus.collection.crawl_parts import setup_of
from periplus.engine.part import Setup
from periplus.model import UsageError
from periplus.parts.spam.judging import judge_spam, labels_of, spam_job
from periplus.parts.spam.model import encoded, loudest, probability
from periplus.urls import canonical, site_of
from periplus.view.terminal import print_line, print_table
from periplus.view.values import Column, sheet_of

from . import options
from .commands import Argument, CommandGroup, Option
from .consoles import stdout_console

spam = CommandGroup(
    "spam",
    "Judge a collection for spam, and explain the verdicts.\n\nExample: periplus spam judge docs",
)
_SHOWN = 20
"""Rows that a terminal shows."""


def _setup(collection: Path) -> Setup:
    return setup_of(existing(collection), "spam.model")


@spam.verb
def judge(collection: options.Collected, json: options.Json = False) -> None:
    """Judge every host and domain of a collection. A crawl that runs follows the verdicts within seconds.

    Example: periplus spam judge docs
    """
    found = judge_spam(_setup(collection))
    if json:
        click.echo(msgspec.json.encode({"hosts": len(found.hosts), "verdicts": found.verdicts}))
        return
    console = stdout_console()
    console.print(f"{len(found.hosts):,} hosts judged, {len(found.verdicts):,} verdicts", soft_wrap=True)
    for verdict in sorted(found.verdicts, key=lambda each: -each.score)[:_SHOWN]:
        line = f"  {verdict.score:.2f}  {verdict.verdict:9} {verdict.subject}: {'; '.join(verdict.evidence)}"
        print_line(console, line)


@spam.verb
def explain(
    collection: options.Collected,
    what: Annotated[str, Argument(metavar="SITE|URL", help="A host, or a URL of it.")],
    json: options.Json = False,
) -> None:
    """Show how likely a host is spam, and how much each feature adds to that.

    Example: periplus spam explain docs cheap.example.org
    """
    url = canonical(what if "/" in what else f"http://{what}/")
    if url is None:
        raise UsageError(f"{what} is not a host or a URL", hint="example: periplus spam explain docs example.org")
    with spam_job(_setup(collection)) as job:
        explained = job.explain(site_of(url))
    if explained is None:
        raise UsageError(f"no page of {site_of(url)} was read", hint=f"periplus info {collection} lists the sites")
    facts, parts = explained
    score = probability(job.model.intercept + sum(part.weight for part in parts))
    if json:
        click.echo(msgspec.json.encode({"host": facts.host, "score": score, "pages": facts.page_count, "parts": parts}))
        return
    largest = sorted(parts, key=lambda each: -abs(each.weight))[:_SHOWN]
    rows = [(f"{part.weight:+.2f}", part.words) for part in largest]
    console = stdout_console()
    print_line(console, f"{facts.host}: probability of spam {score:.2f}, from {facts.page_count} pages")
    print_line(console, f"  raised most by: {'; '.join(loudest(parts))}")
    print_table(console, sheet_of("", (Column("weight"), Column("words")), rows), has_head=False, indent=2)


@spam.verb
def seeds(collection: options.Collected, json: options.Json = False) -> None:
    """List the domains from which most others are reached. Name the good ones in the setting spam.trusted.

    Example: periplus spam seeds docs
    """
    with spam_job(_setup(collection)) as job:
        found = job.seeds()
    for domain, rank in found:
        click.echo(msgspec.json.encode({"domain": domain, "rank": rank}) if json else f"{rank:.6f}  {domain}")


@spam.verb
def train(
    labels: Annotated[Path, Argument(metavar="LABELS.csv", help="A CSV file with the columns host and label.")],
    collection: Annotated[
        Path | None,
        Argument(metavar="DIR", help="A collection with pages of these hosts."),
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE", help="Write the model to this JSON file.")
    ] = None,
    folds: Annotated[
        int,
        Option("--folds", metavar="N", min=0, help="Measure the model by N-fold cross-validation; 0: do not."),
    ] = 10,
    json: options.Json = False,
) -> None:
    """Train a model from hosts labelled spam or nonspam. Without a collection, the file must have the features.

    Example: periplus spam train labels.csv docs -o docs/spam.json
    """
    from periplus.parts.spam.training import TrainingSettings, cross_validated
    from periplus.parts.spam.training import train as trained

    known, examples = labels_of(labels)
    if collection is not None:
        with spam_job(_setup(collection)) as job:
            examples = job.examples(known)
    settings = TrainingSettings(trained_on=f"{len(examples)} hosts of {labels.name}")
    model = trained(examples, settings)
    if output is not None:
        output.write_bytes(encoded(model) + b"\n")
    measured = cross_validated(examples, settings, folds=folds) if folds > 1 else None
    if json:
        click.echo(msgspec.json.encode({"hosts": len(examples), "measured": measured}))
        return
    click.echo(f"{len(examples):,} hosts, {sum(each.is_spam for each in examples):,} of them spam")
    if measured is not None:
        click.echo(
            f"{folds}-fold: AUC {measured.auc:.3f}, recall {measured.recall_at_1:.2f} at 1 % false positives, "
            f"{measured.recall_at_5:.2f} at 5 %"
        )
    if output is not None:
        click.echo(f"wrote {output}: name it in periplus.toml, [spam] model")
