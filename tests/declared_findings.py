"""What follows from the declarations of findings and is kept as a file: `docs/findings.md`, a table of `docs/audit.md`.

`python -m tests.declared_findings` writes them again. In the table, what is said of a finding stays.
"""

from __future__ import annotations

import re
from pathlib import Path

from periplus.apps.audit import KINDS, QUESTIONS, SiteFindingKind

ROOT = Path(__file__).resolve().parents[1]
FINDINGS = ROOT / "docs" / "findings.md"
AUDIT = ROOT / "docs" / "audit.md"
_ROW = re.compile(r"^\| \[?`([a-z0-9-]+)`(?:\]\([^)]*\))? \| \w+ \| (.*) \|$", re.MULTILINE)
_TABLE = re.compile(r"(^\| finding \| severity \| what is found \|\n\|---\|---\|---\|\n)(?:^\|.*\n)*", re.MULTILINE)
_HEAD = """# What does a finding of an audit mean?

Each finding of `periplus audit` ([audit.md](audit.md)) with why it matters, what to do, how sure it is, and an example
of the fault and of the fix.
`make findings` writes this page from the code.
"""


def short_title(kind: SiteFindingKind) -> str:
    """The title of a finding without its numbers."""
    title = re.sub(r"[:,]? ?(?:on |only )?\{count\}.*", "", kind.title)
    return re.sub(r"\{[a-z:]+\}", "…", title).strip()


def _code(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.split("\n"))


def finding_section(kind: SiteFindingKind) -> str:
    """The section of `docs/findings.md` on one kind."""
    why = re.sub(r"\{[a-z:]+\}", "...", kind.why)
    return (
        f"### {kind.name}\n\n**{short_title(kind)}** ({kind.severity.value}).\n{why}\n\n"
        f"*What to do:* {_escaped(kind.advice)}\n*How sure:* {kind.sure}.\n\n"
        f"Fault:\n\n{_code(kind.fault)}\nFix:\n\n{_code(kind.fix)}"
    )


def _escaped(text: str) -> str:
    return re.sub(r"(<[^>]+>)", r"`\1`", text)


def findings_page() -> str:
    """`docs/findings.md` as the code has it."""
    parts = [_HEAD]
    for area, question in QUESTIONS.items():
        parts.append(f"## {question}\n")
        parts += [finding_section(kind) for kind in KINDS.values() if kind.area is area]
    return "\n".join(parts)


def audit_page() -> str:
    """`docs/audit.md` with its table of findings as the code has it."""
    page = AUDIT.read_text()
    said = dict(_ROW.findall(page))
    rows = ""
    for kind in KINDS.values():
        what = said.get(kind.name) or _lower(short_title(kind))
        rows += f"| [`{kind.name}`](findings.md#{kind.name}) | {kind.severity.value} | {what} |\n"
    return _TABLE.sub(lambda found: found[1] + rows, page)


def _lower(title: str) -> str:
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


if __name__ == "__main__":
    FINDINGS.write_text(findings_page())
    AUDIT.write_text(audit_page())
