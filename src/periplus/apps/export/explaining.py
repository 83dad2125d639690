"""Why a page may be used for something, or not: `export --explain URL`, and the same for programs and on web pages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from periplus.collection.collection import CollectionSetup
from periplus.model import Url, UsageError
from periplus.parts.permissions.exports import page_refusals, statements_of
from periplus.policy.permissions import USES, Statement, combine
from periplus.store.export import Committed, Selection
from periplus.urls import canonical
from periplus.view.notebook import Displayed

if TYPE_CHECKING:
    from periplus.insight.views import Views
    from periplus.store.export.exporting import RefusesUse


class UseAnswer(Struct, frozen=True):
    """What all sources together say of one use (`policy.permissions`)."""

    use: str
    answer: str
    decided_by: tuple[str, ...]
    conditions: tuple[str, ...]
    conflict: bool
    explained: bool


class PagePermissions(Displayed, frozen=True):
    """What a page may be used for: an answer for each use, and all statements with their proof.

    `fetched_at` is when the page was fetched last, `None` if the ledger has nothing of it.
    """

    url: Url
    fetched_at: datetime | None
    answers: tuple[UseAnswer, ...]
    statements: tuple[Statement, ...]


def page_permissions(views: Views, url: str) -> PagePermissions:
    """The permissions of a page of a collection that is open."""
    own = canonical(url)
    if own is None:
        raise UsageError(f"--explain: {url!r} is not a URL", hint="write a URL like https://example.org/page")
    at, statements = statements_of(views, own)
    combined = combine(statements)
    answers = tuple(
        UseAnswer(use, said.answer, said.decided_by, said.conditions, said.conflict, said.explained)
        for use in USES
        for said in (combined[use],)
    )
    return PagePermissions(own, None if at is None else datetime.fromtimestamp(at, UTC), answers, statements)


def explain(found: CollectionSetup, url: str) -> PagePermissions:
    """The permissions of a page of a collection."""
    from periplus.insight.views import Views  # loads DuckDB, which takes a moment

    with Views(found.folder, spooled=found.layout.spooled) as views:
        return page_permissions(views, url)


def refusals(found: CollectionSetup, committed: Committed, selection: Selection) -> RefusesUse | None:
    """What tells why a page is left out of an export for a use; `None` if it is for none, or nothing is recorded."""
    if not selection.purpose:
        return None
    return page_refusals(
        found.layout.tables,
        committed.spooled,
        selection.purpose,
        drops_unknown=selection.unknown == "drop",
        accepted=found.config.permissions.accept,
    )
