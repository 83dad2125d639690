"""The file of learnt rules: what verdicts say of each, and what a person wrote into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from periplus.collection.collection import CollectionSetup
from periplus.collection.config.settings import Config
from periplus.collection.judging import judge
from periplus.model import ConfigError, SubjectJudged
from periplus.parts.dust.given import GivenRule, RuleFile, read_rule_file, write_rule_file
from periplus.parts.dust.rules import DustRule, describe
from periplus.store import LearntFiles
from periplus.store.layout import Layout
from periplus.store.tables.verdicts import write_verdicts

REF = DustRule("drop-param", "ref")


def verdict(site: str, rule: DustRule, at: float, reason: str = "") -> SubjectJudged:
    evidence = (describe(rule), "9 pairs of pages were equal, 0 were not", *([reason] if reason else []))
    return SubjectJudged(site, "site", "dust", "withdrawn" if reason else "learnt", 0.7, evidence, at)


def written(folder: Path, *found: SubjectJudged) -> bytes:
    """The file after a judgement of a collection with these verdicts."""
    write_verdicts(folder, "dust", found)
    judge(CollectionSetup(folder, Config(), (), False), 0.0)
    return (folder / "insight" / "dust.json").read_bytes()


def test_the_last_verdict_on_each_rule_is_written(tmp_path: Path) -> None:
    index = DustRule("drop-suffix", "index.html")
    local = DustRule("drop-param", "sort", path="/p/#")
    data = written(
        tmp_path, verdict("a.net", REF, 1.0), verdict("a.net", index, 1.0), verdict("a.net", local, 1.0),
        verdict("a.net", index, 2.0, "pages differ"),
    )  # fmt: skip
    rules = read_rule_file(data)
    assert rules.applied("a.net") == [REF, local]
    assert LearntFiles(Layout(tmp_path).learnt).read("dust", 1) == data, "a crawl takes the same over"
    assert b'"state":"withdrawn","equal":9,"reason":"pages differ"' in data


def test_what_a_person_wrote_stays_and_wins(tmp_path: Path) -> None:
    written(tmp_path)
    mine = RuleFile((GivenRule("a.net", "drop-param", "ref", state="never"), GivenRule("*", "drop-param", "sid")))
    (tmp_path / "insight" / "dust.json").write_bytes(write_rule_file(mine))
    rules = read_rule_file(written(tmp_path, verdict("a.net", REF, 1.0), verdict("b.net", REF, 1.0)))
    assert rules.applied("a.net") == [DustRule("drop-param", "sid")]
    assert rules.refused("a.net") == {REF}
    assert rules.applied("b.net") == [REF, DustRule("drop-param", "sid")]


def test_names_that_held_on_many_domains_are_priors(tmp_path: Path) -> None:
    data = written(tmp_path, *(verdict(f"www.shop{number}.net", REF, 1.0) for number in range(20)))
    assert read_rule_file(data).familiar == {("drop-param", "ref", "")}


def test_a_file_that_cannot_be_read_is_not_overwritten(tmp_path: Path) -> None:
    written(tmp_path)
    place = tmp_path / "insight" / "dust.json"
    place.write_text('{"rules": [')
    with pytest.raises(ConfigError, match=r"dust\.json"):
        judge(CollectionSetup(tmp_path, Config(), (), False), 0.0)
    assert place.read_text() == '{"rules": ['
