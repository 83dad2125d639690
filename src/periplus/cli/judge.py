"""`periplus judge`: mirrors and parked domains of a collection, for its next pages. The work is in `collection`."""

from __future__ import annotations

from itertools import chain
from time import time

import click
import msgspec

from periplus.collection.collection import existing
from periplus.collection.judging import judge as judge_collection
from periplus.model import SubjectJudged
from periplus.view.wording import count

from . import options
from .consoles import stdout_console

_NAMES = {"parked": "parked domains"}


def judge(collection: options.Collected, json: options.Json = False) -> None:
    """Find hosts that mirror others, and parked domains, by what was crawled. No request is made.

    A crawl of the collection then renames the URLs of mirrors, and fetches only the home pages of parked domains.
    The view `verdicts` has the evidence.

    Example: periplus judge docs
    """
    judged = judge_collection(existing(collection), time())
    if json:
        click.echo(msgspec.json.encode(judged))
        return
    console = stdout_console()
    for verdict in chain.from_iterable(judged.values()):
        console.print(_line(verdict), soft_wrap=True, markup=False, highlight=False)
    counts = (f"{_NAMES.get(kind, kind)}: {count(len(found))}" for kind, found in judged.items())
    console.print(", ".join(counts), markup=False)


def _line(verdict: SubjectJudged) -> str:
    return f"{verdict.subject}: {verdict.verdict}: {'; '.join(verdict.evidence)}"
