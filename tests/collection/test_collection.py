"""The folder of a collection: begun, continued, in use, or something else."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.each_case import each_case

from periplus.collection.collection import SEEDS_IN_SETTINGS, cores, existing, held, planned
from periplus.collection.config.settings import Config
from periplus.collection.seeds import read_seeds, with_scheme
from periplus.model import CollectionDamaged, CollectionInUse, ConfigError, UsageError
from periplus.store.durable import draft_of


@each_case(
    ("typed", "meant"),
    [
        ("example.org", "https://example.org"),
        (" example.org/a?b#c ", "https://example.org/a?b#c"),
        ("http://example.org", "http://example.org"),
        ("example.org:443/x", "https://example.org:443/x"),
        ("example.org:8080", "http://example.org:8080"),
        ("localhost:8000/docs", "http://localhost:8000/docs"),
        ("localhost", "http://localhost"),
        ("192.0.2.1/a", "http://192.0.2.1/a"),
        ("[::1]:80/", "http://[::1]:80/"),
        ("www.lab.test/a", "http://www.lab.test/a"),
        ("example.org/a:8080", "https://example.org/a:8080"),
    ],
)
def test_a_seed_without_a_scheme_is_what_was_meant(typed: str, meant: str) -> None:
    """https on the web; http on this machine, at a bare address and where a port was named."""
    assert with_scheme(typed) == meant


def test_a_new_collection_is_written_down_and_found_again(tmp_path: Path) -> None:
    """What was asked is in periplus.toml, seeds in their canonical form; planning writes nothing."""
    folder = tmp_path / "a" / "b"
    made = planned(folder, typed=["Example.org/%7Ex"], options={"crawl.limit": 7})
    assert made.is_new
    assert not folder.exists()
    made.save()
    found = existing(folder)
    assert found.seeds == made.seeds == ("https://example.org/~x",)
    assert found.config.crawl.limit == 7
    assert found.workers == cores()


def test_options_given_again_override_and_seeds_are_added(tmp_path: Path) -> None:
    """The same folder goes on with its settings; a seed that is known is not added twice."""
    planned(tmp_path, typed=["a.example"], options={"crawl.limit": 7, "politeness.delay": 3.0}).save()
    again = planned(tmp_path, typed=["https://a.example/", "b.example"], options={"crawl.limit": 9})
    again.save()
    found = existing(tmp_path)
    assert not again.is_new
    assert (found.config.crawl.limit, found.config.politeness.delay) == (9, 3.0)
    assert found.seeds == ("https://a.example/", "https://b.example/")


def test_a_file_that_says_the_same_is_left_alone(tmp_path: Path) -> None:
    """Comments of a person survive as long as no option changes anything."""
    planned(tmp_path, typed=["a.example"], options={}).save()
    path = tmp_path / "periplus.toml"
    path.write_text(path.read_text() + "# mine\n")
    planned(tmp_path, typed=[], options={}).save()
    assert path.read_text().endswith("# mine\n")


def test_settings_may_come_from_another_file(tmp_path: Path) -> None:
    """`--config` stands in for the settings of the collection, whose seeds stay; options go over it."""
    folder, other = tmp_path / "c", tmp_path / "mine.toml"
    planned(folder, typed=["a.example"], options={"crawl.limit": 7}).save()
    other.write_text('[crawl]\nseeds = ["b.example"]\nseed_file = "more.txt"\nrate = 5.0\n')
    (tmp_path / "more.txt").write_text("c.example\n")
    found = planned(folder, typed=[], settings=other, options={"crawl.limit": 8})
    assert (found.config.crawl.rate, found.config.crawl.limit) == (5.0, 8)
    assert found.seeds == ("https://a.example/", "https://b.example/", "https://c.example/")


def test_many_seeds_lie_in_a_file_of_their_own(tmp_path: Path) -> None:
    """Settings stay readable; every seed is found again."""
    lines = ["# for people", "", *(f"site{number}.example" for number in range(SEEDS_IN_SETTINGS + 1))]
    made = planned(tmp_path, typed=[], typed_lines=lines, options={})
    made.save()
    assert Config.load(tmp_path / "periplus.toml").crawl.seeds == ()
    assert len(existing(tmp_path).seeds) == SEEDS_IN_SETTINGS + 1
    more = planned(tmp_path, typed=["new.example"], options={})
    more.save()
    assert existing(tmp_path).seeds == (*made.seeds, "https://new.example/")


def test_a_folder_that_is_something_else_is_refused(tmp_path: Path) -> None:
    """Nothing is crawled among a person's files, nor over a file."""
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match=r"holds thesis\.tex"):
        planned(tmp_path, typed=["a.example"], options={})
    with pytest.raises(UsageError, match="is a file"):
        planned(tmp_path / "thesis.tex", typed=["a.example"], options={})
    with pytest.raises(UsageError, match="is not a collection"):
        existing(tmp_path)


def test_what_a_killed_beginning_leaves_is_not_a_stranger(tmp_path: Path) -> None:
    """Seeds and drafts are written before the settings: the same command must be able to begin again."""
    for path in (tmp_path / "crawl.lock", tmp_path / "seeds.txt", draft_of(tmp_path / "periplus.toml")):
        path.touch()
    assert planned(tmp_path, typed=["a.example"], options={}).is_new


def test_a_collection_without_its_settings_is_damaged(tmp_path: Path) -> None:
    """The state is there, what was asked is not: that is not a stranger's folder."""
    (tmp_path / "state").mkdir()
    with pytest.raises(CollectionDamaged, match=r"periplus\.toml"):
        planned(tmp_path, typed=["a.example"], options={})


def test_no_seed_and_no_url_are_mistakes(tmp_path: Path) -> None:
    """Both say what to type."""
    with pytest.raises(UsageError, match="no seeds") as nowhere:
        planned(tmp_path, typed=[], options={})
    assert "periplus crawl" in nowhere.value.hint
    with pytest.raises(ConfigError):
        planned(tmp_path, typed=["http://"], options={})
    with pytest.raises(UsageError, match="No such file"):
        read_seeds(tmp_path / "nothing.txt")


def test_two_cannot_crawl_into_one_folder(tmp_path: Path) -> None:
    """The second is told who has it; afterwards it is free."""
    with held(tmp_path), pytest.raises(CollectionInUse, match="in use by process"), held(tmp_path):
        pass
    with held(tmp_path):
        pass


def test_the_number_of_shards_is_settled_before_any_of_them_begins(tmp_path: Path) -> None:
    """A crawl that is killed while it starts is continued by as many."""
    planned(tmp_path, typed=["a.example"], options={"crawl.workers": 3}).save()
    assert existing(tmp_path).layout.shards == 3
    assert planned(tmp_path, typed=[], options={}).workers == 3
    assert Config.load(tmp_path / "periplus.toml").crawl.workers == 3
