"""All filters as one: order, rewrites, budgets, and the list of reasons."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.each_case import each_case

from periplus.model import Accept, Discovery, Filter, Reject, Rewrite, Source, Url, Verdict
from periplus.policy import filters
from periplus.policy.filters import (
    REASONS,
    Budgets,
    BudgetSettings,
    Chain,
    FilterSettings,
    FilterStates,
    Guard,
    PatternSettings,
    ScopeSettings,
    standard_chain,
)
from periplus.policy.ordering import orderings

ROOT = Path(__file__).resolve().parents[3]
SEED = Url("https://example.org/")


def link(url: str, source: Source = Source.LINK, depth: int = 1, redirects: int = 0) -> Discovery:
    return Discovery(Url(url), source, 0.0, depth, SEED, redirects=redirects)


class Renames:
    """A filter that knows everything by another name."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def judge(self, discovery: Discovery) -> Verdict:
        url = discovery.url.replace(self.old, self.new)
        return Accept() if url == discovery.url else Rewrite(Url(url), f"{self.old} to {self.new}")


class Refuses:
    """A filter with one word."""

    def __init__(self, word: str) -> None:
        self.word = word

    def judge(self, discovery: Discovery) -> Verdict:
        return Reject("word", self.word) if self.word in discovery.url else Accept()


def test_the_first_refusal_wins() -> None:
    """Later filters are not asked."""
    assert Chain([Refuses("a"), Refuses("b")]).judge(link("http://h.net/ba")) == Reject("word", "a")
    assert Chain([]).judge(link("http://h.net/")) == Accept()


def test_a_new_name_is_judged_by_all_filters_from_the_first() -> None:
    """Who was content with the old name has not been asked about the new one."""
    chain = Chain([Refuses("evil"), Renames("x", "y"), Renames("y", "z")])
    assert chain.judge(link("http://h.net/x")) == Rewrite(Url("http://h.net/z"), "x to y, y to z")
    assert Chain([Refuses("y"), Renames("x", "y")]).judge(link("http://h.net/x")) == Reject("word", "y")


def test_endless_renaming_is_refused() -> None:
    """Two filters that undo each other's work do not hold the crawl."""
    verdict = Chain([Renames("x", "yy"), Renames("y", "xx")]).judge(link("http://h.net/x"))
    assert isinstance(verdict, Reject)
    assert verdict.reason == "rewrite-loop"


@each_case(
    ("discovery", "reason"),
    [
        (link("ftp://example.org/"), "scheme"),
        (link("https://example.org/" + "a" * 2000), "too-long"),
        (link("https://example.org" + "/a" * 17), "path-depth"),
        (link("https://example.org/a/a/a"), "repeated-segment"),
        (link("https://example.org/a.jpg"), "extension"),
        (link("https://other.org/"), "out-of-scope"),
        (link("https://example.org/private/"), "excluded"),
        (link("https://example.org/x"), "not-included"),
        (link("https://example.org/a", depth=4), "link-depth"),
        (link("https://example.org/a", redirects=11), "redirect-chain"),
        (link("https://example.org/a", depth=3, redirects=10), None),
        (link("https://other.org/a", Source.SEED, 0), None),
    ],
)
def test_the_standard_chain_gives_each_reason(discovery: Discovery, reason: str | None) -> None:
    """What a table will show."""
    settings = FilterSettings(
        patterns=PatternSettings(include=("*/a*", "*/private/"), exclude=("/private/*",)),
        budgets=BudgetSettings(max_depth=3),
    )
    chain = standard_chain([SEED], settings)
    verdict = chain.judge(discovery)
    assert (verdict.reason if isinstance(verdict, Reject) else None) == reason
    assert chain.judge_all([discovery]) == [verdict]


def test_a_session_that_leaves_the_scope_is_refused_by_its_new_name() -> None:
    """The chain starts again behind a rewrite."""
    chain = standard_chain([SEED])
    assert chain.judge(link("https://example.org/a?utm_source=x")) == Rewrite(
        Url("https://example.org/a"), "utm_source"
    )
    assert isinstance(chain.judge(link("https://other.org/a?utm_source=x")), Reject)
    assert chain.judge(link("https://example.org/a.jpg;jsessionid=1")) == Reject("extension", "jpg")


def test_a_site_gets_exactly_its_budget() -> None:
    """Judged as one batch or one by one; links found again do not count; other sites are not concerned."""
    chain = standard_chain([SEED], FilterSettings(budgets=BudgetSettings(max_pages_per_site=3)))
    batch = [link(f"https://example.org/{number}") for number in range(5)]
    assert [chain.judge(each) for each in batch * 2] == [Accept()] * 10
    assert [isinstance(chain.admit(each), Accept) for each in batch] == [True] * 3 + [False] * 2
    assert chain.judge(batch[0]) == Reject("site-budget", "max_pages_per_site = 3")
    assert chain.judge(link("https://www.example.org/")) == Accept()
    assert chain.reconsider(batch[0]) == Accept()


def test_a_budget_survives_what_is_kept() -> None:
    """A killed crawl does not get a second budget."""
    settings = BudgetSettings(max_pages_per_site=2)
    before = FilterStates()
    for number in range(2):
        Budgets(before, settings).admit(link(f"https://example.org/{number}"))
    after = FilterStates(dict(before.changed()).get)
    assert isinstance(Budgets(after, settings).judge(link("https://example.org/9")), Reject)


def test_user_names_do_not_make_other_sites() -> None:
    """`user@host` is judged by what is known of `host`."""
    chain = standard_chain([SEED], FilterSettings(budgets=BudgetSettings(max_pages_per_site=1)))
    chain.admit(link("https://user@example.org/1"))
    for url in ("https://example.org/2", "https://other@example.org/3"):
        assert isinstance(chain.judge(link(url)), Reject)


def test_the_chain_is_a_guard() -> None:
    """What the frontier asks of its guard, and what filters of others can stand in."""
    chain = standard_chain([SEED], FilterSettings(scope=ScopeSettings("any")))
    guard: Guard = chain
    one: Filter = Refuses("a")
    guard.observe(Url("https://example.org/1"), True)
    assert [site for site, _ in guard.changed()] == ["example.org"]
    assert isinstance(Chain([one]).judge(link("http://a.net/")), Reject)
    chain.check_invariants()


def reasons_in_code() -> set[str]:
    found = set()
    folder = Path(filters.__file__).parent
    for path in (*folder.glob("*.py"), ROOT / "src" / "periplus" / "parts" / "mirrors" / "policy.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Reject":
                assert isinstance(node.args[0], ast.Constant), f"{path.name}:{node.lineno}: a reason is a plain word"
                found.add(str(node.args[0].value))
    return found


def test_every_reason_is_listed_and_documented() -> None:
    """A reason is a column of a table that people will read: docs/policies.md says what it means."""
    text = (ROOT / "docs" / "policies.md").read_text()
    assert reasons_in_code() == set(REASONS)
    assert [reason for reason in REASONS if f"`{reason}`" not in text] == []


def test_every_ordering_and_filter_is_documented() -> None:
    """docs/policies.md names each ordering and each table of filter settings; docs/settings.md has the settings."""
    text = (ROOT / "docs" / "policies.md").read_text()
    assert [name for name in orderings() if f"`{name}`" not in text] == []
    assert [group for group in FilterSettings().__struct_fields__ if not re.search(rf"\b{group}\b", text)] == []
