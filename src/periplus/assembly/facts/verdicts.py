"""What judges have concluded about a site and its domain, in words."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from periplus.urls import domain_of

from ..collection import Collection

_COLUMNS = ("subject", "judge", "verdict", "score", "evidence", "judged_at")


class VerdictFacts(Struct, frozen=True):
    """The last verdict of a judge on a site, or on its domain."""

    subject: str
    judge: str
    verdict: str
    score: float
    evidence: tuple[str, ...]


def verdicts_on(collection: Collection, site: str) -> tuple[VerdictFacts, ...]:
    """The last verdict of each judge on a site, on its templates of URLs, and on its domain."""
    import pyarrow as pa  # a third of the start of `periplus info`, which needs it for single sites only
    import pyarrow.compute as pc
    from pyarrow import parquet

    from periplus.insight.verdicts import files_of_judges
    from periplus.store.tables import scan

    layout = collection.layout
    subjects = [site, domain_of(site, tuple(collection.config.scope.suffixes)) or site]
    batches = list(scan(layout.tables, "verdicts", spooled=layout.spooled, columns=_COLUMNS))
    for path in files_of_judges(collection.folder):
        batches += parquet.read_table(path, columns=list(_COLUMNS)).to_batches()
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for batch in batches:
        named = batch["subject"].cast(pa.string())
        of_templates = pc.starts_with(named, pattern=f"{site}/")
        chosen = pc.or_(pc.is_in(named, value_set=pa.array(subjects)), of_templates)
        for row in batch.filter(chosen).to_pylist():
            key = (str(row["subject"]), str(row["judge"]))
            if key not in last or row["judged_at"] >= last[key]["judged_at"]:
                last[key] = row
    return tuple(
        VerdictFacts(*key, row["verdict"], row["score"], tuple(row["evidence"] or ()))
        for key, row in sorted(last.items())
    )


def verdict_lines(verdicts: tuple[VerdictFacts, ...]) -> list[tuple[str, str]]:
    """A line for each verdict, with its reasons."""
    return [
        (each.judge, f"{each.subject} is judged {each.verdict} ({each.score:.2f}): {'; '.join(each.evidence)}")
        for each in verdicts
    ]
