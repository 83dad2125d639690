"""Rules for duplicate URLs: what each kind does, when it is accepted, and when it falls."""

from __future__ import annotations

import msgspec
import pytest
from tests.each_case import each_case

from periplus.model import ConfigError, Discovery, Rewrite, Source, Url
from periplus.parts.dust.discarder import from_discarder
from periplus.parts.dust.evidence import lower_quantile
from periplus.parts.dust.given import clean_params, priors_of, read_rule_file
from periplus.parts.dust.learning import (
    Observation,
    Pair,
    SiteDust,
    checked,
    count_pair,
    is_looked_up,
    learn,
    note_target,
    redirected_back,
    target_failed,
)
from periplus.parts.dust.renames import Renames
from periplus.parts.dust.renaming import is_probe, renamed
from periplus.parts.dust.rules import DustRule, UrlRenaming, apply, describe, operation_between, operations, parse_rule
from periplus.parts.dust.settings import DustSettings
from periplus.policy.filters import FilterStates, path_template_of

SITE = "http://a.net"
RULES = [
    (DustRule("drop-param", "ref"), "/a?ref=1&id=2", "/a?id=2"),
    (DustRule("drop-param-value", "view", "list"), "/a?view=list", "/a"),
    (DustRule("sort-query"), "/a?b=1&a=2", "/a?a=2&b=1"),
    (DustRule("drop-prefix", "/print"), "/print/a", "/a"),
    (DustRule("drop-segment", "/b/s-*"), "/b/s-3f9a60c1/a", "/b/a"),
    (DustRule("drop-suffix", "index.html"), "/a/index.html", "/a/"),
    (DustRule("replace-segment", "en-gb", "en"), "/en-gb/a", "/en/a"),
    (DustRule("lower-case"), "/About%C3%A9/Us", "/about%C3%A9/us"),
]


@each_case(
    ("equal", "unequal", "quantile"),
    [(3, 0, 0.473), (5, 0, 0.607), (8, 0, 0.717), (13, 0, 0.807), (28, 0, 0.902), (58, 0, 0.950), (19, 1, 0.793),
     (57, 1, 0.922)],
)  # fmt: skip
def test_quantile_of_the_posterior(equal: int, unequal: int, quantile: float) -> None:
    assert lower_quantile(equal, unequal) == pytest.approx(quantile, abs=6e-4)


@each_case(("rule", "url", "short"), RULES)
def test_each_kind_renames(rule: DustRule, url: str, short: str) -> None:
    assert apply(rule, SITE + url) == SITE + short
    assert apply(rule, SITE + short) is None
    assert parse_rule(describe(rule)) == rule


def test_host_and_scheme() -> None:
    assert apply(DustRule("host", "www.a.net", "a.net"), "http://www.a.net/b") == "http://a.net/b"
    assert apply(DustRule("host", "www.a.net", "a.net"), "http://www.a.network/b") is None
    assert apply(DustRule("scheme", "http", "https"), "http://a.net/") == "https://a.net/"


def test_rules_between_two_urls() -> None:
    found = operation_between(f"{SITE}/en-gb/a", f"{SITE}/en/a")
    assert found is not None
    assert found[1].rules == (DustRule("replace-segment", "en-gb", "en"),)
    assert operation_between(f"{SITE}/x/1", f"{SITE}/x/2") is None
    for one, other in (("latest/", "stable/"), ("latest/", ""), ("de/", ""), ("v1/", "v2/")):
        assert operation_between(f"{SITE}/{one}a", f"{SITE}/{other}a") is None, (
            "versions part, and pages are translated"
        )
    assert operation_between(f"{SITE}/docs/", f"{SITE}/") is None
    for one, other in (("en", "da"), ("pt-br", "en"), ("zh_CN", "fr")):
        assert operation_between(f"{SITE}/{one}/a", f"{SITE}/{other}/a") is None, "a translation is not a duplicate"


def observe(dust: SiteDust, url: str, *, is_equal: bool = True, settings: DustSettings | None = None) -> list[str]:
    """Read a page whose bases were all read."""
    found = [each for each in operations(url, path_template_of(Url(url))) if each.rules[0].kind == "drop-param"]
    page = Observation(url, 1, tuple(Pair(each, is_equal) for each in found))
    changes = learn(dust, page, settings or DustSettings())
    return [("+" if change.is_accepted else "-") + describe(change.rule) for change in changes]


@pytest.mark.parametrize(("needed", "values", "unequal"), [(298, 1, 4), (28, 50, 1)])
def test_rule_for_a_parameter_needs_many_pairs_and_is_withdrawn_by_few(needed: int, values: int, unequal: int) -> None:
    """Fewer if it takes many values: then it does not choose one of a few views of a page."""
    dust = SiteDust()
    for number in range(needed - 1):
        assert not observe(dust, f"{SITE}/p/{number}?ref={number % values}")
    assert observe(dust, f"{SITE}/p/998?ref=1") == ["+drop-param ref on /p/#"]
    assert renamed(f"{SITE}/p/999?ref=5", dust, lambda url: path_template_of(Url(url))).url == f"{SITE}/p/999"  # type: ignore[union-attr]
    changed = [observe(dust, f"{SITE}/p/{1000 + number}?ref=1", is_equal=False) for number in range(unequal)]
    assert changed == [[]] * (unequal - 1) + [["-drop-param ref on /p/#"]]
    for number in range(2000, 2200):
        assert not observe(dust, f"{SITE}/p/{number}?ref=1"), "a pair is unequal"


def test_canonical_links_confirm_a_rule() -> None:
    dust, settings = SiteDust(), DustSettings()
    pairs = [Pair(operations(f"{SITE}/p/{number}?view=full", "/p/#")[0], True, vote=1) for number in range(28)]
    assert [bool(count_pair(dust, pair, settings)) for pair in pairs] == [False] * 27 + [True]


@each_case(("has_same_text", "has_same_links", "needed"), [(True, True, 18), (True, False, 28), (False, True, 298)])
def test_an_alias_needs_fewer_pairs_the_more_these_have_in_common(
    has_same_text: bool, has_same_links: bool, needed: int
) -> None:
    """And falls by one page that differs a little."""
    dust, rule = SiteDust(), DustRule("replace-segment", "manual", "docs")
    for number in range(needed):
        assert not dust.rules
        operation = UrlRenaming((rule,), f"{SITE}/docs/{number}")
        count_pair(
            dust,
            Pair(operation, True, has_same_text=has_same_text, has_same_links=has_same_links),
            DustSettings(),
        )
    assert list(dust.rules.values()) == [rule]
    near = Pair(UrlRenaming((rule,), f"{SITE}/docs/x"), None, has_same_text=False)
    changes = learn(dust, Observation(f"{SITE}/manual/x", 1, (near,)), DustSettings())
    assert [change.is_accepted for change in changes] == ([False] if needed == 18 else [])


@each_case(("sessions", "unequal", "learnt"), [(40, 0, True), (7, 0, False), (40, 1, False)])
def test_sessions_in_a_segment(sessions: int, unequal: int, learnt: bool) -> None:
    """18 pairs of pages with the very same text, of 8 sessions; one page that differs, and there is no rule."""
    dust = SiteDust()
    for visit in range(40):
        url = f"{SITE}/s-{1 + visit % sessions:08x}/p/{visit // 2}"
        text = visit // 2 if visit >= 2 * unequal else 1000 + visit
        found = tuple(each for each in operations(url, "") if each.rules[0].kind == "drop-segment")
        learn(dust, Observation(url, 7, (), found, text=text), DustSettings())
        for counts in dust.candidates.values():
            counts.is_anchored = True
    assert (list(dust.rules.values()) == [DustRule("drop-segment", "/s-*")]) is learnt


def test_a_page_counts_once_for_a_rule() -> None:
    dust = SiteDust()
    for number in range(200):
        assert not observe(dust, f"{SITE}/?ref={number}")


def test_familiar_parameter_and_index_names_need_fewer_pairs() -> None:
    pairs = [Pair(operations(f"{SITE}/p/{number}?ref=1", "/p/#")[0], True) for number in range(8)]
    names = [Pair(operations(f"{SITE}/d/{number}/index.html", "/d/#/")[0], True) for number in range(8)]
    familiar = {("drop-param", "ref", "")}
    for given, known, needed in ((pairs, familiar, 4), (names, set[tuple[str, str, str]](), 8)):
        dust = SiteDust()
        changed = [bool(count_pair(dust, pair, DustSettings(), known)) for pair in given]
        assert changed.index(True) == needed - 1


def test_rule_holds_for_the_whole_site_after_pairs_in_three_templates() -> None:
    dust = SiteDust()
    for number in range(60):
        observe(dust, f"{SITE}/p/{number}?ref={number}")
    assert observe(dust, f"{SITE}/q/1?ref=1") == []
    assert observe(dust, f"{SITE}/r/1?ref=1") == ["+drop-param ref"]


def test_general_rule_spares_a_template_with_an_unequal_pair() -> None:
    dust, settings = SiteDust(), DustSettings(max_unequal=0.2)
    for number in range(60):
        observe(dust, f"{SITE}/{'pqr'[number % 3]}/{number}?ref={number}", settings=settings)
    observe(dust, f"{SITE}/lab/1?ref=1", is_equal=False, settings=settings)
    template = lambda url: path_template_of(Url(url))  # noqa: E731
    assert renamed(f"{SITE}/other?ref=1", dust, template) is not None
    assert renamed(f"{SITE}/lab/2?ref=1", dust, template) is None


def test_pages_of_a_consent_wall_teach_nothing() -> None:
    dust = SiteDust()
    for number in range(30):
        url = f"{SITE}/p/{number}?ref=1"
        pairs = tuple(Pair(each, True) for each in operations(url, "/p/#") if each.rules[0].kind == "drop-param")
        assert not learn(dust, Observation(url, 1, pairs, is_countable=False), DustSettings())


def test_sorting_needs_three_pairs_also_where_the_base_is_linked_nowhere() -> None:
    dust, found = SiteDust(), []
    for number in range(6):
        for query in (f"c=1&a={number}&b=2", f"b=2&c=1&a={number}"):
            url = f"{SITE}/f?{query}"
            unread = tuple(each for each in operations(url, "/f") if each.rules[0].kind == "sort-query")
            found += learn(dust, Observation(url, number, unread=unread), DustSettings())
    assert [describe(change.rule) for change in found] == ["sort-query on /f", "sort-query"]


def test_error_behind_a_rename_withdraws_the_rule_for_good() -> None:
    dust = SiteDust()
    for number in range(180):
        observe(dust, f"{SITE}/{'pqr'[number % 3]}/{number}?ref={number}")
    assert len(dust.rules) == 4
    key = next(iter(dust.rules))
    note_target(dust, f"{SITE}/gone", f"{SITE}/gone?ref=1", key)
    assert target_failed(dust, f"{SITE}/gone") == f"{SITE}/gone?ref=1"
    assert [change.is_accepted for change in checked(dust, f"{SITE}/gone?ref=1", is_page=True)] == [False]
    assert redirected_back(dust, f"{SITE}/a", [(other, f"{SITE}/a") for other in dust.rules])
    assert not dust.rules
    for number in range(100, 200):
        assert not observe(dust, f"{SITE}/p/{number}?ref=1")


def test_state_is_bounded_and_survives_storing() -> None:
    dust = SiteDust()
    for number in range(1500):
        url = f"{SITE}/p{number}/x?n{number}=1&m{number}=2"
        found = operations(url, f"/p{number}/x")
        learn(
            dust, Observation(url, number, tuple(Pair(each, False) for each in found[:2]), tuple(found)), DustSettings()
        )
    assert len(dust.candidates) == 256
    assert len(dust.bases) <= 128
    stored = msgspec.msgpack.encode(dust)
    assert msgspec.msgpack.decode(stored, type=SiteDust) == dust
    assert len(msgspec.msgpack.encode(dust.candidates)) <= 256 * 28
    assert len(stored) < 20_000


def test_filter_renames_but_probes_and_seeds() -> None:
    states = FilterStates()
    dust = states.changing(Url(f"{SITE}/")).keep(SiteDust())
    for number in range(60):
        observe(dust, f"{SITE}/{'pqr'[number % 3]}/{number}?ref={number}")
    renames = Renames(states, DustSettings(enabled=True))
    urls = [Url(f"{SITE}/q/{number}?ref=1") for number in range(2000)]
    kept = [url for url in urls if not isinstance(renames.judge(Discovery(url, Source.LINK, 0.0)), Rewrite)]
    unpaired = [url for number, url in enumerate(urls) if number >= 60 or number % 3 != 1]
    assert kept == [url for url in unpaired if is_probe(url, 0.05)]
    assert 60 < len(kept) < 140
    changed = next(url for url in urls if url not in kept)
    verdict = renames.judge(Discovery(changed, Source.LINK, 0.0))
    assert isinstance(verdict, Rewrite)
    assert verdict.learnt_from == changed
    assert not isinstance(renames.judge(Discovery(urls[0], Source.SEED, 0.0)), Rewrite)


def test_clean_param() -> None:
    dust = SiteDust(cleaned=((("sid", "ref"), "/shop/"),))
    states = FilterStates()
    states.changing(Url(f"{SITE}/")).keep(dust)
    judge = Renames(states).judge
    assert judge(Discovery(Url(f"{SITE}/shop/a?ref=1&x=2"), Source.LINK, 0.0)) == Rewrite(
        Url(f"{SITE}/shop/a?x=2"), "drop-param ref"
    )
    assert not clean_params(("ref",), "/shop/", f"{SITE}/a?ref=1")


def test_priors_need_twenty_domains() -> None:
    rules = [(f"d{number}.net", DustRule("drop-param", "ref"), False) for number in range(20)]
    assert [(prior.name, prior.domains) for prior in priors_of(rules)] == [("ref", 20)]
    assert not priors_of(rules[:19])
    assert not priors_of([*rules, ("d1.net", DustRule("drop-param", "ref"), True)])


def test_file_of_rules() -> None:
    given = read_rule_file(b'{"rules": [{"site": "*", "kind": "drop-param", "name": "ref", "state": "never"}]}')
    assert given.refused("a.net") == {DustRule("drop-param", "ref")}
    with pytest.raises(ConfigError, match="unknown kind"):
        read_rule_file(b'{"rules": [{"site": "*", "kind": "drop"}]}')


def test_rules_of_duplicate_url_discarder() -> None:
    rows = [
        {"args": ["a", "b"], "order": 0, "processor": "queryRemoval", "urlPattern": {"include": ["a.net"]}},
        {"args": [0], "order": 1, "processor": "subpathRemoval", "urlPattern": {"include": ["b.net/*/dp"]}},
        {"args": ["id"], "order": 2, "processor": "queryRemovalExcept", "urlPattern": {"include": ["c.net"]}},
        {"args": [], "order": 3, "processor": "normalizer", "urlPattern": {"include": [""]}},
    ]
    rename = from_discarder(rows).renamed
    assert rename("https://www.a.net?a=1&c=2&b#f") == "https://www.a.net?c=2#f"
    assert rename("https://b.net/x/dp/1") == "https://b.net/dp/1"
    assert rename("https://s.c.net/?x=1&id=2") == "https://s.c.net/?id=2"
    assert rename("https://www2.d.net/x/") == "https://d.net/x"
    paths = ["f.net/A/*.HTM|", "f.net/?v=x*z", "f.net/#!*"]
    rename = from_discarder([{**rows[0], "urlPattern": {"include": paths}}]).renamed
    shorter = {"/a/1.htm?a=1": "/a/1.htm", "/b?V=xyZ&a=1": "/b?V=xyZ", "/b?a=1#!c": "/b#!c"}
    assert {path: rename(f"https://f.net{path}") for path in shorter} == {
        path: f"https://f.net{short}" for path, short in shorter.items()
    }
    for elsewhere in ("/a/1.html?a=1", "/b?v=yz&a=1", "/b?a=1#c"):
        assert rename(f"https://f.net{elsewhere}") == f"https://f.net{elsewhere}"
    hostile = from_discarder([{**rows[0], "urlPattern": {"include": ["a.net/" + "*a" * 30 + "*b|"]}}]).renamed
    assert hostile("https://a.net/" + "a" * 200) == "https://a.net/" + "a" * 200, "in linear time"
    with pytest.raises(ValueError, match="unknown processor"):
        from_discarder([{"order": 0, "processor": "other", "urlPattern": {"include": ["a.net"]}}])


def test_spelling_is_tried_on_a_sample_where_no_page_had_a_pair() -> None:
    """Until one has: then every page counts again. Parameters are always tried."""
    dust = SiteDust()
    capitals = [operations(f"{SITE}/A{number}", "") for number in range(400)]
    for number, found in enumerate(capitals[:24]):
        assert all(is_looked_up(dust, each) for each in found)
        learn(dust, Observation(f"{SITE}/A{number}", number, unread=tuple(found)), DustSettings())
    lower = [each for found in capitals for each in found if each.rules[0].kind == "lower-case"]
    looked_up = [each for each in lower if is_looked_up(dust, each)]
    assert len(lower) == 400
    assert 20 <= len(looked_up) <= 90
    assert all(is_looked_up(dust, each) for each in operations(f"{SITE}/A?b=1", "/A") if each.base == f"{SITE}/A")
    count_pair(dust, Pair(looked_up[0], is_equal=True), DustSettings())
    assert all(is_looked_up(dust, each) for each in lower)


def test_the_scheme_is_compared_only_where_pages_were_read_by_https() -> None:
    kinds = [[each.rules[0].kind for each in operations(f"{SITE}/a", "", has_secure=has)] for has in (True, False)]
    assert kinds == [["scheme"], []]
