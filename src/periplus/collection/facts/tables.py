"""Tables about a collection and its sites, as `periplus info` prints them and web pages show them."""

from __future__ import annotations

from typing import Any, Final

from msgspec import structs

from periplus.insight.reasons import explained
from periplus.model import SignalFacts
from periplus.view.values import Column, Sheet, TableRow, counts
from periplus.view.wording import ranked

from .balance import BalanceFacts
from .freshness_words import TELLERS, trust
from .lines import MOVES_BY_WORD, reasons_of
from .lookup import CollectionFacts

_REASON_TITLES: Final = {
    "errors": "Errors",
    "excluded": "Excluded before the request",
    "filtered out": "Refused by a filter",
    "sites given up": "Sites given up",
}


def largest_sites(facts: CollectionFacts) -> Sheet:
    """The sites with the most requests."""
    return Sheet(
        name="largest",
        title="Largest sites",
        columns=(
            Column("site", "site", "site"),
            counts("pages", "requests"),
            counts("queued", "queue"),
            Column("bytes", "downloaded", "bytes"),
            counts("failures", "failures in a row"),
            Column("retired", "given up", "reason"),
        ),
        rows=[structs.asdict(each) for each in facts.largest],
        says="The sites with the most requests; the page Sites lists all.",
    )


def reason_tables(facts: CollectionFacts) -> list[Sheet]:
    """Why URLs failed, were excluded or refused and sites were given up, with what each reason means."""
    return [
        Sheet(
            name=title.replace(" ", "_"),
            title=_REASON_TITLES[title],
            columns=(Column("reason", "reason", "reason"), counts("number", "number"), Column("meaning")),
            rows=[
                {"reason": reason, "number": number, "meaning": explained(reason)} for reason, number in ranked(reasons)
            ],
        )
        for title, reasons in reasons_of(facts)
        if reasons
    ]


def signal_table(signals: tuple[SignalFacts, ...]) -> Sheet:
    """Whether the signals of a site proved true."""
    return Sheet(
        name="signals",
        title="Are its signals of change honest?",
        columns=(
            Column("signal", "signal"),
            Column("verdict", "verdict"),
            Column("precision", "right", "share"),
            Column("judged", "judged", "number"),
            Column("says", "why"),
        ),
        rows=[
            {
                "signal": TELLERS[each.kind],
                "verdict": each.verdict,
                "precision": each.precision if each.judged else None,
                "judged": each.judged,
                "says": trust(each),
            }
            for each in signals
        ],
        says="Whether what the site reports about its changes proved true when pages were visited again.",
    )


def balance_table(facts: BalanceFacts, *, is_counted: bool = False) -> Sheet:
    """How the budget moved, epoch by epoch, and why. `is_counted`: what pages were worth as 4 of 5, not as a share."""
    first = facts.epochs - len(facts.history) + 1
    rows: list[TableRow] = [
        {"epoch": number, **structs.asdict(each), "move": MOVES_BY_WORD[each.move]}
        for number, each in enumerate(facts.history, first)
    ]
    return Sheet(
        name="balance",
        title="How the budget moved between sitemaps and links",
        columns=(
            counts("epoch", "epoch"),
            counts("sitemaps", "to sitemaps"),
            Column("sitemaps_utility", "worth", "share"),
            counts("links", "to links"),
            Column("links_utility", "worth", "share"),
            Column("move", "then"),
        ),
        rows=[_counted(row) for row in rows] if is_counted else rows,
        says="Worth: of the lowest-scored pages of an epoch, the share that was unique and indexable.",
    )


def _counted(row: dict[str, Any]) -> TableRow:
    worth = {
        f"{source}_utility": f"{row[f'{source}_good']} of {row[f'{source}_known']}" if row[f"{source}_known"] else "-"
        for source in ("sitemaps", "links")
    }
    return row | worth
