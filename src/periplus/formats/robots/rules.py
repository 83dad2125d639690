"""Which of a crawler's rules decides about a URL: the longest matching pattern, and `Allow` of two equally long.

Sites write up to 150,000 rules, and a crawler asks about every URL it meets. Most URLs begin like no rule at all, and a
few characters tell. So patterns are kept in a tree by the characters they begin with, some at each step, and a URL only
meets the patterns that begin like it, besides those that begin with a star, or nearly so.
"""

from __future__ import annotations

from collections.abc import Iterable

from .patterns import Pattern, beyond, has_more_spellings, path_of, patterns_of
from .values import Rule

_STEP = 4
"""Characters that are compared in one step: most paths differ from most patterns in their first four."""

_FEW = 8
"""Patterns that are tried one after the other, at most; more are put into branches."""


class RuleSet:
    """The rules for one crawler on one site, made ready to decide about its URLs.

    Loose patterns, those with a star in the first step or shorter than it, have no place in the tree: they are looked
    for in a path by a text that it must hold. One that matches every path is none of them; it holds where no other
    does. What stands before the path is the same in all URLs of a site, and is looked for only once.
    """

    __slots__ = ("_default", "_loose", "_loose_without_query", "_origin", "_origin_end", "_path", "_step", "_tree")

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._tree: dict[str, _Branch] = {}
        self._default: tuple[int, Rule | None] = (0, None)
        self._origin = self._origin_end = ""
        self._step = self._path = slice(0)
        loose: list[Pattern] = []
        for rule in rules:
            step = rule.pattern[:_STEP]
            if len(step) == _STEP and "*" not in step and "$" not in step and not has_more_spellings(rule):
                self._branch(step).rules.append(rule)
            else:
                self._place(rule, loose)
        loose.sort(key=_rank, reverse=True)
        self._loose = tuple(loose)
        self._loose_without_query = tuple(pattern for pattern in loose if not pattern.needs_query)

    def _branch(self, step: str) -> _Branch:
        branch = self._tree.get(step)
        if branch is None:
            branch = self._tree[step] = _Branch()
        return branch

    def _place(self, rule: Rule, loose: list[Pattern]) -> None:
        for pattern in patterns_of(rule):
            if len(pattern.start) >= _STEP:
                self._branch(pattern.start[:_STEP]).patterns.append(pattern)
            elif not pattern.is_plain or pattern.start not in ("", "/"):
                loose.append(pattern)
            elif pattern.rank > self._default[0]:
                self._default = (pattern.rank, rule)

    def rule_for(self, url: str) -> Rule | None:
        """The rule that decides about a URL; `None` if none matches."""
        if self._origin <= url < self._origin_end:
            branch = self._tree.get(url[self._step])
            if branch is None and not self._loose:
                return self._default[1]
            path = path_of(url) if "#" in url else url[self._path]
        else:
            path = self._cut(url)
            branch = self._tree.get(path[:_STEP])
        rank, rule = self._default
        while branch is not None:
            for pattern in branch.here or branch.put_in_order():
                if pattern.start <= path < pattern.beyond and (pattern.is_plain or pattern.matches(path)):
                    if pattern.rank > rank:
                        rank, rule = pattern.rank, pattern.rule
                    break
            branch = branch.further.get(path[branch.start : branch.end]) if branch.further else None
        for pattern in self._loose if "?" in path else self._loose_without_query:
            if pattern.needle in path and pattern.matches(path):
                return pattern.rule if pattern.rank > rank else rule
        return rule

    def _cut(self, url: str) -> str:
        """The path; and remember what stands before it."""
        path = path_of(url)
        if "#" not in url and url.startswith(("http://", "https://")) and url.endswith(path):
            at = len(url) - len(path)
            self._step, self._path = slice(at, at + _STEP), slice(at, None)
            self._origin = url[: at + 1]
            self._origin_end = beyond(self._origin)
        return path


class _Branch:
    """Patterns that begin alike, the best first. If they are many, most are parted by where they differ.

    `rules` and `patterns` are what was put here; `rules` are those whose pattern was not needed yet, since most
    branches are never met. When one is met for the first time, `here` becomes what is to be tried at this place, and
    `further` the branches beyond it, if any, by the characters of a path from `start` to `end`.
    """

    __slots__ = ("end", "further", "here", "patterns", "rules", "start")

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.patterns: list[Pattern] = []
        self.here: tuple[Pattern, ...] | None = None
        self.further: dict[str, _Branch] | None = None
        self.start = self.end = 0

    def put_in_order(self) -> tuple[Pattern, ...]:
        """What is to be tried here."""
        if self.here is None:
            for rule in self.rules:
                self.patterns += patterns_of(rule)
            if len(self.patterns) > _FEW:
                self._part()
            self.here = tuple(sorted(self.patterns, key=_rank, reverse=True))
            self.rules, self.patterns = [], []
        return self.here

    def _part(self) -> None:
        """A pattern that ends before the next step stays here, so that every step leaves fewer patterns."""
        self.start = _common_length([pattern.start for pattern in self.patterns])
        self.end = self.start + _STEP
        self.further = {}
        staying = []
        for pattern in self.patterns:
            if len(pattern.start) < self.end:
                staying.append(pattern)
                continue
            step = pattern.start[self.start : self.end]
            if step not in self.further:
                self.further[step] = _Branch()
            self.further[step].patterns.append(pattern)
        self.patterns = staying


def _rank(pattern: Pattern) -> int:
    return pattern.rank


def _common_length(starts: list[str]) -> int:
    """How many characters all have in common: as many as the first and the last in order."""
    first, last = min(starts), max(starts)
    return next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
