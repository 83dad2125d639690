"""Counts of a page that say what kind of text it is, from what the one pass over it has found.

They are the content features of Ntoulas, Najork, Manasse & Fetterly ("Detecting spam web pages through content
analysis", 2006): how long a page, its title and its words are, how much of it is link text, how much of the HTML is
visible, how often its words repeat, how many are the commonest of their language, and how well it compresses.
`parts.spam` judges them.

Words are split at white space. The shape of words (length, repetition, common words) is that of the first `SHAPE_BYTES`
of the main text: shares of distinct words are comparable between texts of one length only. Deflating a text and looking
for hidden text cost ten times as much as all other counts together, so both are done for home pages and for one page in
`SAMPLED_OF`, chosen by the digest of its bytes. libdeflate's fastest level takes 40 % of the time of zlib's level 6 and
makes texts as short, within 1 % on average.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from deflate import zlib_compress

from periplus.model import PageStatistics, Url

from .common_words import COMMON_WORDS, is_known
from .scan import READER
from .scan.columns import TextCounts

COMPRESSED_BYTES: Final = 1 << 13
"""Bytes of visible text that are deflated, from its beginning: enough to show repetition, and cheap."""
LEAST_COMPRESSED: Final = 256
"""Bytes of text below which the ratio is 1: of a shorter text it measures the header of the format."""
SHAPE_BYTES: Final = 1 << 10
"""Bytes of main text whose words are compared: about 150 words. `scan/native/word_counts.h` has the same number."""
COUNTED_BYTES: Final = 1 << 11
"""Bytes of visible text whose words are counted; the number in a longer text is estimated from these."""
LEAST_WORDS: Final = 20
"""Words below which a text has no shape: any repetition would be a large share."""
LONGEST_MEAN: Final = 15.0
"""Mean bytes of a word above which a text is not written with spaces, as Chinese or Thai; its words are unknown."""
SAMPLED_OF: Final = 16
"""One page in this many is deflated and searched for hidden text: about 10 microseconds a page on average."""
_LEVEL: Final = 1
"""The fastest level of libdeflate. On documentation its ratio is 1 % below that of zlib's level 6."""
_STYLE: Final = re.compile(rb"""style=(["'])([^"'<>]{1,512})\1""")
_NAME: Final = re.compile(rb"<([a-zA-Z][a-zA-Z0-9]{0,15})")
_LONGEST_TAG: Final = 1024
"""Bytes before a style in which its element begins."""
_IS_HIDDEN: Final = re.compile(
    rb"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])", re.IGNORECASE
)
_COLOUR: Final = re.compile(rb"(?:^|[;\s])color\s*:\s*([#\w]+)", re.IGNORECASE)
_BACKGROUND: Final = re.compile(rb"background(?:-color)?\s*:\s*([#\w]+)", re.IGNORECASE)
_TAG: Final = re.compile(rb"<[^<>]*>")
_MAX_STYLED: Final = 256
"""Elements with a style that are looked at, at most."""
_LEAST_IN_URL: Final = 3
"""Letters of a title's word from which it is looked for in the URL: shorter ones are in any URL."""
_Shape = tuple[float | None, float | None, float | None, float | None]
_NO_SHAPE: Final[_Shape] = (None, None, None, None)


def statistics_of(
    body: bytes,
    text: bytes,
    main: bytes,
    title: str,
    anchor_words: int,
    url: Url,
    digest: int,
    language: str = "",
    counts: TextCounts | None = None,
) -> PageStatistics:
    """The counts of a page: its HTML, visible and main text in UTF-8, title, words of links, URL, and a digest of it.

    `language` is the one that the page declares; `counts` is a column of the scan, if it is there.
    """
    shaped = main or text
    spaces, count, distinct, top, common = counts or _text_counts(text, shaped)
    word_length, distinct_share, top_word_share, common_share = _shape(len(shaped), count, distinct, top, common)
    is_sampled = bool(text) and (digest % SAMPLED_OF == 0 or (url.endswith("/", 8) and url.count("/") == 3))
    title_words = title.lower().split()
    return PageStatistics(
        words=_word_count(text, spaces),
        title_words=len(title_words),
        anchor_words=anchor_words,
        visible_share=min(1.0, len(text) / len(body)) if body else 0.0,
        title_repeats=_repeats(title_words, url) if title_words else 0,
        word_length=word_length,
        distinct_share=distinct_share,
        top_word_share=top_word_share,
        compression=compression_ratio(text) if is_sampled else None,
        hidden_share=hidden_share(body, len(text)) if is_sampled else None,
        common_share=common_share if is_known(language) else None,
    )


def compression_ratio(text: bytes) -> float:
    """Bytes of a text per byte of its deflated form, of at most `COMPRESSED_BYTES`; 1 for a short text."""
    if len(text) < LEAST_COMPRESSED:
        return 1.0
    some = text[:COMPRESSED_BYTES]
    return len(some) / len(zlib_compress(some, _LEVEL))


def hidden_share(html: bytes, visible: int) -> float:
    """Share of text in elements that an inline style hides: not displayed, of size 0, or in its background's colour."""
    hidden = sum(len(b" ".join(_TAG.sub(b" ", html[start:end]).split())) for start, end in _hidden_spans(html))
    return hidden / max(hidden, visible, 1)


def _hidden_spans(html: bytes) -> Iterator[tuple[int, int]]:
    """Where the contents of elements begin and end that an inline style hides."""
    end = 0
    for found in islice(_STYLE.finditer(html), _MAX_STYLED):
        if found.start() < end or not _hides(found[2]):
            continue
        opened = html.rfind(b"<", max(0, found.start() - _LONGEST_TAG), found.start())
        named = _NAME.match(html, opened) if opened >= 0 else None
        start = html.find(b">", found.end()) + 1
        if named is not None and start:
            end = _end_of(html, named[1], start)
            yield start, end


def _hides(style: bytes) -> bool:
    if _IS_HIDDEN.search(style):
        return True
    colour, background = _COLOUR.search(style), _BACKGROUND.search(style)
    return bool(colour and background and colour[1].lower() == background[1].lower())


def _end_of(html: bytes, tag: bytes, start: int) -> int:
    """Where an element ends, by counting its namesakes; the end of the page if it is not closed."""
    depth = 1
    for found in re.finditer(rb"<(/?)" + re.escape(tag) + rb"\b", html[start:], re.IGNORECASE):
        depth += -1 if found[1] else 1
        if not depth:
            return start + found.start()
    return len(html)


def _word_count(text: bytes, spaces: int) -> int:
    """Words of a text, by the spaces of its beginning; estimated if it is longer than that."""
    if len(text) <= COUNTED_BYTES:
        return spaces + 1 if text else 0
    return (spaces + 1) * len(text) // COUNTED_BYTES


def _shape(size: int, count: int, distinct: int, top: int, common: int) -> _Shape:
    """Mean bytes of a word, and shares of distinct words, the word used most, and common words.

    Of a text with this number of bytes, words, distinct words, uses of one word, and common words.
    """
    if count < LEAST_WORDS:
        return _NO_SHAPE
    mean = (min(size, SHAPE_BYTES) - count + 1) / count
    return (mean, distinct / count, top / count, common / count) if mean <= LONGEST_MEAN else _NO_SHAPE


def text_counts_in_python(text: bytes, main: bytes) -> TextCounts:
    """Spaces of the text; words, distinct words, most uses of one word and common words of the main text.

    Only the first `COUNTED_BYTES` and `SHAPE_BYTES` count. The native scanner has the same.
    """
    spaces = text.count(b" ", 0, COUNTED_BYTES)
    words = main[:SHAPE_BYTES].lower().split()
    counted = Counter(words)
    common = sum(map(counted.__getitem__, COMMON_WORDS & counted.keys()))
    return spaces, len(words), len(counted), max(counted.values(), default=0), common


def _repeats(words: Sequence[str], url: Url) -> int:
    """How many words of a title the title has already had, or the URL has too."""
    address = url.lower()
    return len(words) - len([word for word in {*words} if len(word) < _LEAST_IN_URL or word not in address])


def _choose() -> Callable[[bytes, bytes], TextCounts]:
    if READER == "python":
        return text_counts_in_python
    from .scan import _native

    # a module that was built from older sources does not have it
    return getattr(_native, "text_counts", text_counts_in_python)


_text_counts: Final = _choose()
