"""What a page may be used for: the statements of all sources about one page, combined.

    combined = combine(statements)           # {"search": Permitted(...), "train": ..., "ai_input": ..., "archive": ...}
    refusal(combined["train"], "training")   # "" or the reason why an export for training leaves the page out

The strictest answer counts: disallow, conditional, allow, unknown. Only TDMRep has an order of its own: what a page
says replaces what its headers say, and that the file of its site; what is left counts like any other statement. An
answer is `explained` if every source that can state a preference was read. The view `permitted` computes the same in
SQL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from msgspec import Struct

USES: Final = ("search", "train", "ai_input", "archive")
"""An index and its results; the training of models; texts given to a model with a question; copies for readers."""
PURPOSES: Final = {"search": "search", "training": "train", "retrieval": "ai_input", "archive": "archive"}
"""What an export may be for, and the use that this is."""
ALLOW, DISALLOW, CONDITIONAL, UNKNOWN = "allow", "disallow", "conditional", "unknown"
READ, ABSENT, UNREADABLE, UNREACHABLE = "read", "absent", "unreadable", "unreachable"
NOT_LICENSED, UNEXPLAINED, UNSTATED = "not-licensed", "unexplained", "unstated"
STRICTEST_FIRST: Final = (DISALLOW, CONDITIONAL, ALLOW)
TDM_SOURCES: Final = ("meta-tdm", "header-tdm", "tdmrep-json")
"""The sources of TDMRep, those that replace others first."""
MAX_STATEMENT: Final = 200
"""Characters of a statement that are kept."""


class Statement(Struct, frozen=True, gc=False):
    """What one source says of one use of a page; an empty `use` is about all of them.

    `status` is `read`, `absent`, `unreadable` or `unreachable`. `place` is the URL of the file or page, `line` and
    `rule` where in it, `text` what is written there. `digest` is the SHA-256 of that file, or of the headers, in
    hexadecimal digits; `record` is where the archive has it, as file and offset.
    """

    source: str
    use: str = ""
    answer: str = UNKNOWN
    conditions: tuple[str, ...] = ()
    status: str = READ
    place: str = ""
    line: int = 0
    rule: str = ""
    text: str = ""
    digest: str = ""
    record: str = ""


class Permitted(Struct, frozen=True):
    """What all sources together say of one use of a page.

    `decided_by` are the sources whose answer counts, `evidence` their statements. `conflict`: others say otherwise.
    """

    answer: str = UNKNOWN
    conditions: tuple[str, ...] = ()
    decided_by: tuple[str, ...] = ()
    conflict: bool = False
    explained: bool = False
    evidence: tuple[Statement, ...] = ()


def combine(statements: Collection[Statement]) -> dict[str, Permitted]:
    """The combined answer for each use; without any statement nothing is explained."""
    is_recorded = bool(statements)
    return {
        use: _combined([each for each in statements if each.use in ("", use)], is_recorded=is_recorded) for use in USES
    }


def _combined(statements: list[Statement], *, is_recorded: bool) -> Permitted:
    is_explained = is_recorded and not any(_is_unasked(each) for each in statements)
    spoken = _after_tdm_order([each for each in statements if each.answer != UNKNOWN])
    answers = {each.answer for each in spoken}
    answer = next((each for each in STRICTEST_FIRST if each in answers), UNKNOWN)
    evidence = tuple(each for each in spoken if each.answer == answer)
    conditions = dict.fromkeys(condition for each in evidence for condition in each.conditions)
    deciding = dict.fromkeys(each.source for each in evidence)
    return Permitted(answer, tuple(conditions), tuple(deciding), len(answers) > 1, is_explained, evidence)


def _is_unasked(statement: Statement) -> bool:
    return statement.status == UNREACHABLE and statement.answer == UNKNOWN


def _after_tdm_order(spoken: list[Statement]) -> list[Statement]:
    """The statements without those of TDMRep that another one replaces."""
    sources = {each.source for each in spoken}
    replaced = [source for source in TDM_SOURCES if source in sources][1:]
    return [each for each in spoken if each.source not in replaced] if replaced else spoken


def refusal(permitted: Permitted, purpose: str, *, drops_unknown: bool = False, accepted: Iterable[str] = ()) -> str:
    """Why an export for a purpose leaves a page out; empty if it does not. `accepted` are conditions that are met."""
    answer = permitted.answer
    if answer == DISALLOW:
        return f"not-for-{purpose}"
    if answer == CONDITIONAL:
        if not set(permitted.conditions) <= set(accepted):
            return NOT_LICENSED
        answer = ALLOW
    if not permitted.explained:
        return UNEXPLAINED
    return UNSTATED if drops_unknown and answer == UNKNOWN else ""
