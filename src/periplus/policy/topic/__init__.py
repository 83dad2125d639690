"""Topics: what a focused crawl looks for, and how relevant a page is.

Read in this order: `words` finds the terms of a topic in a text and makes a relevance of them; `classifier` and
`examples` do it by example pages, and `classifier` measures how far a page is from the topic, for simulations; `topic`
combines them for a crawl, with the words of links; `learning` predicts the relevance of URLs from the pages read
before. `policy.settings` has the settings of a topic. Which URL is fetched next is decided in
`policy.ordering.focused`. Chakrabarti, van den Berg & Dom (1999) is the paper on crawls with a classifier, Hersovici et
al. (1998) the one on anchors.

Everything here is a function of its arguments and of a state that the crawl commits, so that a crawl can be replayed.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from ..settings import TopicSettings
    from .classifier import LAYERS, Judge, LayerClassifier, Vector, counts_of, distances, train, vector_of
    from .examples import MAX_EXAMPLES, Examples, TopicExamples, examples_of
    from .learning import LearnerState, LinkLearner, folder_of
    from .topic import Nearness, Relevance, Topic, TopicState, link_words, nearness
    from .words import TopicTerms, TopicWords, language_code, words_of
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "LAYERS",
    "MAX_EXAMPLES",
    "Examples",
    "Judge",
    "LayerClassifier",
    "LearnerState",
    "LinkLearner",
    "Nearness",
    "Relevance",
    "Topic",
    "TopicExamples",
    "TopicSettings",
    "TopicState",
    "TopicTerms",
    "TopicWords",
    "Vector",
    "counts_of",
    "distances",
    "examples_of",
    "folder_of",
    "language_code",
    "link_words",
    "nearness",
    "train",
    "vector_of",
    "words_of",
]
