"""Changes on a terminal: by site, the newest first, each with a short piece of what differs.

What pages say is shown without what a terminal would obey. Where there are no colours, removed words stand in `[-` and
`-]`, added ones in `{+` and `+}`, as wdiff writes them.

A change in a few words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from periplus.apps.changes import Change, ChangeKind, Detail, Difference, Passage, RunStatus
from periplus.insight.reasons import explained
from periplus.view.terminal import print_line
from periplus.view.wording import count, counted, moment, one_line

_PROBLEMS = {
    "not-kept": "its bytes were not kept",
    "damaged": "the archive does not hold it any more",
    "no-original": "it refers to an earlier version that is not in the collection",
}


def percent(share: float) -> str:
    """12 %; what is more than nothing is not 0 %."""
    return "under 1 %" if 0 < share < 0.01 else f"{share:.0%}".replace("%", " %")


def about(change: Change, detail: Detail) -> str:
    """What happened, in one line."""
    match change.kind:
        case ChangeKind.APPEARED:
            return "is back" if change.is_back else "is new"
        case ChangeKind.VANISHED:
            return why_vanished(change)
        case _:
            return what_changed(change, detail)


def why_vanished(change: Change) -> str:
    """Why a page is held to be gone."""
    if change.reason == "redirected":
        return f"leads to {change.target} now"
    return explained(change.reason) or change.reason


def what_changed(change: Change, detail: Detail) -> str:
    """Words for how much of the text changed, and what else."""
    if detail.problem:
        return f"{change.level}; {_PROBLEMS.get(detail.problem, detail.problem)}"
    parts = []
    if detail.difference is not None:
        which = "all text" if change.kind is ChangeKind.ELSEWHERE else "the text"
        parts.append(f"{percent(detail.difference.size)} of {which}" if detail.difference.size else "not the text")
    if detail.title_before:
        parts.append("another title")
    if detail.canonical or detail.canonical_before:
        parts.append("another canonical URL")
    if links := counted_links(detail):
        parts.append(links)
    return ", ".join(parts) or change.level


def counted_links(detail: Detail) -> str:
    """How many links came and went."""
    added, removed = detail.links.added, detail.links.removed
    parts = [f"+{added:,}"] if added else []
    parts += [f"-{removed:,}"] if removed else []
    return f"links {' '.join(parts)}" if parts else ""


_STYLES: Final = {RunStatus.KEPT: "dim", RunStatus.REMOVED: "red strike", RunStatus.ADDED: "green"}
_SIGNS: Final = {RunStatus.KEPT: ("", ""), RunStatus.REMOVED: ("[-", "-]"), RunStatus.ADDED: ("{+", "+}")}
_COMPARED: Final = (ChangeKind.CHANGED, ChangeKind.ELSEWHERE)
_KIND_STYLES: Final = {
    ChangeKind.APPEARED: "green",
    ChangeKind.CHANGED: "yellow",
    ChangeKind.VANISHED: "red",
    ChangeKind.ELSEWHERE: "dim",
}
_PASSAGES: Final = 4
_LONGEST: Final = 240
_AROUND: Final = 48
"""Characters of what is the same that are shown on either side of what is not."""
_WHY: Final = {
    "first-run": "when the first crawl began",
    "run": "when the last run that found something began",
    "day-of-run": "a day before something was last found",
    "day": "a day ago",
}


def print_first(console: Console, pages: int, sites: int, folder: str, asked_at: float | None = None) -> None:
    """What a first crawl found: there is nothing to compare it with. `asked_at`: when later runs found no change."""
    where = f" on {count(sites)} sites" if sites > 1 else ""
    begun = f"first crawl: {counted(pages, 'page')}{where}, "
    if asked_at is not None:
        print_line(console, f"{begun}no change found until {moment(asked_at)} UTC", "bold")
        return
    print_line(console, f"{begun}no earlier versions to compare with", "bold")
    print_line(console, f"  periplus refresh {folder} asks them again, periplus watch {folder} keeps doing so")


def print_since(console: Console, since: float, why: str) -> None:
    """Print since when changes are shown, and why if it was not given."""
    text = f"since {moment(since)} UTC" + (f", {_WHY[why]}; --since TIME asks for another" if why else "")
    print_line(console, text, "dim")


def print_changes(
    console: Console,
    shown: Sequence[tuple[Change, Detail | None]],
    kinds: Mapping[ChangeKind, int],
    sites: Mapping[str, int],
    *,
    nothing: str = "nothing",
    is_diff: bool,
) -> None:
    """Print the shown changes by site, and how many more there are. `nothing` is printed if there are none."""
    by_site: defaultdict[str, list[tuple[Change, Detail | None]]] = defaultdict(list)
    for change, detail in reversed(shown):
        by_site[change.site].append((change, detail))
    for site, changes in by_site.items():
        console.print(Text().append(site, style="bold").append(f"  {count(sites[site])}", style="dim"), soft_wrap=True)
        for change, detail in changes:
            console.print(line_of(change, detail), soft_wrap=True)
            if is_diff and detail is not None:
                print_detail(console, detail)
    if sites:
        _print_counts(console, len(shown), kinds, len(sites))
    else:
        console.print(Text(nothing, style="bold"))


def _print_counts(console: Console, shown: int, kinds: Mapping[ChangeKind, int], sites: int) -> None:
    total = sum(kinds.values())
    text = ", ".join(f"{count(kinds[kind])} {kind.value}" for kind in ChangeKind if kinds.get(kind))
    where = f" on {counted(sites, 'site')}" if sites > 1 else ""
    console.print(Text(f"{text}{where}", style="bold"))
    if total > shown:
        console.print(Text(f"the newest {count(shown)} are shown: --limit N shows more, --json all", style="dim"))


def line_of(change: Change, detail: Detail | None) -> Text:
    """What happened, when, how much of it, and where."""
    known = detail or Detail()
    text = "" if detail is None and change.kind in _COMPARED else about(change, known)
    line = Text().append(f"  {change.kind.value:9}", style=_KIND_STYLES[change.kind])
    line.append(f"  {moment(change.seen_at)}  ", style="dim")
    line.append(one_line(change.url))
    line.append(f"  {one_line(text or change.level)}", style="dim")
    return line


def print_detail(console: Console, detail: Detail) -> None:
    """What it is about, in a few lines."""
    if detail.title_before:
        runs = Text("    title: ")
        _append(runs, RunStatus.REMOVED, f"{detail.title_before} ", has_colours(console))
        _append(runs, RunStatus.ADDED, detail.title, has_colours(console))
        console.print(runs, soft_wrap=True)
    elif detail.title and detail.difference is None:
        print_line(console, f"    {one_line(detail.title)}")
    if detail.excerpt:
        print_line(console, f"    {one_line(_cut(detail.excerpt, _LONGEST))}", "dim")
    if detail.difference is not None:
        print_difference(console, detail.difference, most=_PASSAGES)


def print_difference(console: Console, difference: Difference, *, most: int | None) -> None:
    """Passages that changed, words marked, what is the same cut short."""
    changed = [passage for passage in difference.passages if passage.is_changed]
    for passage in changed[:most]:
        console.print(passage_text(passage, is_coloured=has_colours(console)), soft_wrap=True)
    if most is not None and len(changed) > most:
        console.print(Text(f"    and {count(len(changed) - most)} more places", style="dim"))
    if difference.is_cut:
        console.print(Text("    the text is longer than what was compared", style="dim"))


def has_colours(console: Console) -> bool:
    """Whether colours are enough."""
    return console.is_terminal and console.color_system is not None and not console.no_color


def passage_text(passage: Passage, *, is_coloured: bool) -> Text:
    """A passage on a line of its own."""
    line = Text("    ")
    for mark, words in _shortened(passage):
        _append(line, mark, words, is_coloured)
    return line


def _shortened(passage: Passage) -> Iterator[tuple[RunStatus, str]]:
    last = len(passage.runs) - 1
    for number, run in enumerate(passage.runs):
        if run.mark is not RunStatus.KEPT:
            yield run.mark, _cut(run.text, _LONGEST)
        elif len(run.text) <= 2 * _AROUND:
            yield run.mark, run.text
        else:
            head = run.text[:_AROUND] if number else ""
            tail = run.text[-_AROUND:] if number < last else ""
            yield run.mark, f"{head}…{tail}"


def _append(line: Text, mark: RunStatus, words: str, is_coloured: bool) -> None:
    before, after = ("", "") if is_coloured else _SIGNS[mark]
    bare = words.rstrip()
    line.append(f"{before}{one_line(bare)}{after}{' ' * (len(bare) < len(words))}", style=_STYLES[mark])


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
