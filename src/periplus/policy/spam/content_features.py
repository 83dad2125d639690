"""Features of a page's text and links (Ntoulas, Najork, Manasse & Fetterly 2006; Fetterly, Manasse & Najork 2004).

A feature is a number, or `None` where it is not known; `FEATURES` says each in words.
"""

from __future__ import annotations

from typing import Final

from ...model import PageStatistics

Features = dict[str, float | None]
"""Values by name."""

LEAST_WORDS: Final = 20
"""Words below which shares of a page's words are unknown: one link would be a large share of them."""
PROSE: Final = 0.2
"""Share of common words from which a text is prose: the word used most is then one of them, and says nothing."""

FEATURES: Final = {
    "words": "{:.0f} words on a page",
    "title_words": "{:.0f} words in the title",
    "word_length": "words of {:.1f} letters on average",
    "anchor_share": "{:.0%} of the words are link text",
    "visible_share": "{:.0%} of the HTML is visible text",
    "compression": "the text compresses {:.1f} times",
    "distinct_share": "{:.0%} of the words are different ones",
    "top_word_share": "one word makes up {:.0%} of the text",
    "common_share": "{:.0%} of the words are the commonest of a language",
    "stuffing": "one word makes up {:.0%} of a text that is not prose",
    "hidden_share": "{:.0%} of the text is hidden by its style",
    "link_density": "{:.0f} links for 100 words",
    "title_repeats": "{:.0%} of the title's words repeat or stand in the URL",
    "outgoing_domains": "links to {:.0f} other domains",
}
"""The features of a page, with the phrase that reports a value."""


def page_features(counts: PageStatistics, links: int, outgoing_domains: int | None = None) -> Features:
    """The features of a page, from its counts, the number of its links, and of other domains that they lead to."""
    words = counts.words
    is_text = words >= LEAST_WORDS
    top, common = counts.top_word_share, counts.common_share
    return {
        "words": float(words),
        "title_words": float(counts.title_words),
        "word_length": counts.word_length,
        "anchor_share": min(1.0, counts.anchor_words / words) if is_text else None,
        "visible_share": counts.visible_share,
        "compression": counts.compression,
        "distinct_share": counts.distinct_share,
        "top_word_share": counts.top_word_share,
        "common_share": common,
        "stuffing": None if top is None or common is None else top * max(0.0, 1.0 - common / PROSE),
        "hidden_share": counts.hidden_share,
        "link_density": 100.0 * links / words if is_text else None,
        "title_repeats": counts.title_repeats / counts.title_words if counts.title_words else None,
        "outgoing_domains": None if outgoing_domains is None else float(outgoing_domains),
    }
