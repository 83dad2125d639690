"""Topics: which words count, how relevance is calibrated, and what classifiers and folders learn."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from random import Random

import msgspec
import pytest
from tests.each_case import each_case

from periplus.content import read_page
from periplus.model import ConfigError, ParsedPage, UsageError
from periplus.parts.focus.classifier import (
    LAYERS,
    Judge,
    LayerClassifier,
    Vector,
    counts_of,
    distances,
    train,
    vector_of,
)
from periplus.parts.focus.examples import Examples, TopicExamples, examples_of
from periplus.parts.focus.learning import LearnerState, LinkLearner
from periplus.parts.focus.topic import Topic, TopicState, link_words, nearness
from periplus.parts.focus.words import CALIBRATED, DEFAULT_C, TopicTerms, TopicWords, words_of

SPIDERS = "Spiders crawl the web. A spider trap is a set of pages that a crawler never leaves."
COOKING = "Cut the onions and cook them in butter. Add salt, pepper and a glass of wine, and let it rest."


def page(text: str, links: str = "") -> ParsedPage:
    body = f"<html lang=en><title>A page</title><body><main><p>{text}</p>{links}</main></body></html>"
    return read_page(body.encode(), "http://a.test/p", "text/html")


# words


def test_terms_are_words_and_phrases() -> None:
    terms = TopicTerms.parse('Spider traps, "crawl budget" of a')
    assert terms.texts == ("spider", "traps", "crawl budget")
    assert terms.weights == (1.0, 1.0, 2.0)


@each_case("text", ["", " , ", '""'])
def test_topic_without_words_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="at least one word"):
        TopicTerms.parse(text)


def test_terms_are_found_by_their_stems() -> None:
    terms = TopicTerms.parse('crawling, "spider trap"')
    words = words_of("Crawlers crawl; spiders trap, a spider sees the spider traps")
    assert terms.places(words, "en") == [(1, 0), (2, 1), (8, 1)]


def test_stems_follow_the_language_of_the_page() -> None:
    terms = TopicTerms.parse("Häuser")
    assert terms.places(["haus"], "de") == [(0, 0)]
    assert terms.places(["haus"], "en") == []


def test_relevance_grows_with_the_terms_and_shrinks_with_the_length() -> None:
    topic = TopicWords(TopicTerms.parse("spider, trap"))
    one, both, long = (
        topic.relevance(words_of(text), "en")
        for text in ("the spider sleeps", "the spider trap sleeps", "the spider sleeps " + "on and on " * 200)
    )
    assert 0.0 < long < one < both < 1.0
    assert topic.relevance(words_of(COOKING), "en") == 0.0


def test_weights_are_fixed_after_the_first_pages() -> None:
    """A word that every page has weighs less than a rare one; and then nothing changes any more."""
    topic = TopicWords(TopicTerms.parse("page, spider"))
    for number in range(CALIBRATED):
        topic.relevance(words_of("a page " + ("about a spider" if number % 20 == 0 else "about cooking")), "en")
    common, rare = topic.learnt.idf
    assert rare > 10 * common
    assert DEFAULT_C / 2 <= topic.learnt.c <= 2 * DEFAULT_C
    before = msgspec.msgpack.encode(topic.learnt)
    topic.relevance(words_of(SPIDERS), "en")
    assert msgspec.msgpack.encode(topic.learnt) == before


def test_what_was_learnt_of_other_words_is_dropped() -> None:
    first = TopicWords(TopicTerms.parse("one, two"))
    first.relevance(["one"], "en")
    assert TopicWords(TopicTerms.parse("three"), first.learnt).learnt.pages == 0


# links


def test_words_of_links_are_found_in_document_order() -> None:
    text = "Home News Read about spider traps here and more News at the end"
    found = link_words(text, ["News", "spider traps", "absent", "News"])
    assert [found.words[span.start : span.end] for span in found.spans] == [
        ["news"],
        ["spider", "traps"],
        [],
        ["news"],
    ]
    assert found.words == words_of(text)


def test_nearness_of_anchor_and_context() -> None:
    text = "spider " + "word " * 60 + "far " + "a trap for link one"
    found = link_words(text, ["far", "link one"])
    places = [at for at, word in enumerate(found.words) if word in ("spider", "trap")]
    far, near = nearness(found.spans, len(found.words), places)
    assert far.anchor == near.anchor == 0.0
    assert far.context == pytest.approx(1 / (40 + 5 + 1))
    own = nearness(found.spans, len(found.words), [found.spans[1].start])[1]
    assert own.anchor == pytest.approx(1 / 3)
    assert own.context == 1.0


# examples


def vectors(seed: int, count: int, own: str) -> list[Vector]:
    random = Random(seed)
    common = [f"word{number}" for number in range(300)]
    topical = [f"{own}{number}" for number in range(40)]
    return [vector_of(random.choices(common, k=150) + random.choices(topical, k=25)) for _ in range(count)]


def test_classifier_tells_the_sides_apart_and_is_calibrated() -> None:
    classifier = train(vectors(1, 30, "spider"), vectors(2, 60, "cook"))
    judge = Judge(classifier)
    right = [judge.probability(each) for each in vectors(3, 20, "spider")]
    wrong = [judge.probability(each) for each in vectors(4, 20, "cook")]
    assert min(right) > 0.5 > max(wrong)
    assert train(vectors(1, 30, "spider"), vectors(2, 60, "cook")) == classifier


def test_classifier_needs_both_sides() -> None:
    with pytest.raises(ConfigError, match="each side"):
        train(vectors(1, 3, "spider"), [])


def test_pages_of_the_crawl_stand_for_what_the_topic_is_not_like() -> None:
    """Without pages that are unlike the topic, those that the crawl reads are used; the state has all of it."""
    examples = Examples(vectors(1, 8, "spider"), [], ["en"], ["spider"])
    topic = TopicExamples(examples)
    random = Random(5)
    texts = [[f"word{random.randrange(300)}" for _ in range(150)] for _ in range(60)]
    for words in texts:
        topic.relevance([*words, *(f"cook{number}" for number in range(20))], "en")
    assert topic.state.classifier is not None
    again = TopicExamples(examples, msgspec.msgpack.decode(msgspec.msgpack.encode(topic.state), type=type(topic.state)))
    like = [*texts[0], *(f"spider{number}" for number in range(25))]
    assert topic.relevance(like, "en") == again.relevance(like, "en") > 0.5
    assert topic.relevance([*texts[1], *(f"cook{number}" for number in range(20))], "en") < 0.5


def test_another_language_is_not_quite_irrelevant() -> None:
    topic = TopicExamples(Examples(vectors(1, 3, "spider"), vectors(2, 3, "cook"), ["en"], []))
    assert topic.relevance(["wort"], "de") == 0.1


def test_topic_words_of_examples_are_those_that_others_lack() -> None:
    examples = examples_of([words_of(SPIDERS)] * 2, [words_of(COOKING)], ["en", "en"])
    assert {"spiders", "crawler"} <= {*examples.words}
    assert Examples.decode(examples.encode()) == examples


def test_program_decides_and_its_errors_are_named() -> None:
    topic = Topic(program=lambda each: 7.0 if "web" in each.text else 0.25)
    assert [topic.relevance(page(SPIDERS)), topic.relevance(page(COOKING))] == [1.0, 0.25]
    with pytest.raises(UsageError, match=r"ZeroDivisionError for http://a\.test/p"):
        Topic(program=lambda _page: 1 / 0).relevance(page(SPIDERS))


def test_topic_continues_from_its_state() -> None:
    terms = TopicTerms.parse("spider trap")
    first = Topic(terms)
    first.relevance(page(SPIDERS))
    state = msgspec.msgpack.decode(msgspec.msgpack.encode(first.state), type=TopicState)
    again = Topic(terms, state=state)
    for text in (COOKING, SPIDERS) * 10:
        assert first.relevance(page(text)) == again.relevance(page(text))


# layers


def test_layers_are_links_back_from_the_topic() -> None:
    sources = [[1], [2, 3], [0], [4], [5], [6], [7], []]
    assert distances([0], sources) == [0, 1, 2, 2, 3, 4, LAYERS, LAYERS]


def test_layers_are_told_apart_by_words() -> None:
    layers = [[counts_of(words_of(text * 3))] for text in (SPIDERS, "An index of all subjects, from a to z. ", COOKING)]
    judge = LayerClassifier([layers[0], layers[1], [], layers[2]])
    assert judge.layer(counts_of(words_of("a spider and its traps"))) == 0
    assert judge.layer(counts_of(words_of("index of subjects"))) == 1
    assert judge.layer(counts_of(words_of("butter and onions"))) == 3
    assert judge.layer(counts_of([])) == 3


# folders


def test_folders_promise_what_their_pages_had() -> None:
    learner = LinkLearner()
    assert learner.promise("http://a.test/good/x") == 1.0
    for number in range(20):
        learner.learn(f"http://a.test/good/{number}", 1.0)
        learner.learn(f"http://a.test/bad/{number}", 0.0)
    good, bad, unknown = (learner.promise(f"http://{path}/x") for path in ("a.test/good", "a.test/bad", "b.test/good"))
    assert bad < 0.4 < unknown < 1.4 < good
    state = msgspec.msgpack.decode(msgspec.msgpack.encode(learner.state), type=LearnerState)
    assert LinkLearner(state).promise("http://a.test/good/x") == good


@pytest.mark.slow
@pytest.mark.corpus
def test_classifier_on_labelled_pages(corpus: Path) -> None:
    """Ebola against other diseases and crimes: trained on four fifths, and on five pages, it ranks the rest."""
    sides: tuple[list[Vector], list[Vector]] = ([], [])
    folder = corpus / "topic_ache"
    with tarfile.open(folder / "pages.tar.gz") as archive:
        for each in json.loads((folder / "annotations.json").read_text()):
            file = archive.extractfile(each["page"])
            assert file is not None
            read = read_page(file.read(), each["url"], "text/html")
            sides[each["label"] != "positive"].append(vector_of(words_of(f"{read.title}\n{read.main_text}")))
    held = [side[::5] for side in sides]
    rest = [[each for number, each in enumerate(side) if number % 5] for side in sides]
    for judge, least in ((Judge(train(rest[0], rest[1])), 0.99), (Judge(train(rest[0][:5], rest[1][:50])), 0.93)):
        right, wrong = ([judge.margin(each) for each in side] for side in held)
        pairs = [(one > other) + 0.5 * (one == other) for one in right for other in wrong]
        assert sum(pairs) / len(pairs) >= least
