"""The life of one form: which submissions to make next, and what the answers say.

First the field with choices whose every value leads to other records is found, by a sample (informative templates,
Madhavan et al. 2008): its values are submitted, and where a result shows no more than a fixed number, together with
another field as well. Then words go to the text field that finds most (`words`), until few records are new. A prober
makes no request: `wanted` are URLs to be fetched, `learn` takes the links of a page of results. What it knows is
`ProberState`.

Records are the links of a page of results that pages without any result do not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Final

from msgspec import Struct, field
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from periplus.model import Form, Url

from .fields import Binding, Input, Use, inputs_of
from .submitting import submission
from .words import Words

MAX_RECORDS: Final = 200_000
"""Records that are remembered of a form, as hashes of 8 bytes."""
_NONSENSE: Final = 2
"""Submissions with words that do not exist: what their results show is not a record."""
_SAMPLE: Final = 20
"""Submissions after which a template may be judged: with at most `_FEW` different results it tells nothing apart, with
at least `_MANY` it does."""
_FEW, _MANY = 2, 16
_LEAST_SHARE: Final = 0.2
"""The share of different results of an informative template (Madhavan et al. 2008)."""
_MOST_EMPTY: Final = 0.8
"""The share of submissions of an informative template that may find nothing."""
_ROUND: Final = 15
"""Words that are issued before their worth is estimated again."""
_MAX_PAGES: Final = 50
"""Pages of one result."""
_MAX_DIMENSION: Final = 3


class ProbedPage(Struct, frozen=True):
    """A page of results: where its links lead and what they say, and the page after it."""

    url: Url
    links: tuple[tuple[Url, str], ...]
    next: Url | None = None


class Asked(Struct):
    """A submission whose pages are being read. `word` and `source`: of a query by a word."""

    template: str
    binding: Binding
    word: str = ""
    source: str = ""
    pages: int = 0
    shown: int = 0
    known: int = 0
    signature: int = 0


class Template(Struct):
    """A set of inputs that are bound together, and what submissions of it have shown."""

    names: tuple[str, ...]
    is_sample_over: bool = False
    is_informative: bool = False
    submitted: int = 0
    empty: int = 0
    found: int = 0
    capped: int = 0
    signatures: set[int] = field(default_factory=set)
    position: int = 0


class ProberState(Struct):
    """What is known of a form."""

    asked: dict[Url, Asked] = field(default_factory=dict)
    templates: dict[str, Template] = field(default_factory=dict)
    words: Words = field(default_factory=Words)
    chrome: set[int] = field(default_factory=set)
    records: set[int] = field(default_factory=set)
    text_fields: dict[str, int] = field(default_factory=dict)
    page_size: int = 0
    submitted: int = 0
    requests: int = 0
    nonsense: int = 0
    ended: str = ""


class Prober:
    """Chooses the submissions of a form. `year` is the present one; `encoding` that of the page."""

    def __init__(self, form: Form, year: int, state: ProberState | None = None, encoding: str = "utf-8") -> None:
        self.form = form
        self.state = state or ProberState()
        self._encoding = encoding
        self._inputs = {" ".join(each.names): each for each in inputs_of(form, year)}
        self._texts = [name for name, each in self._inputs.items() if each.use is Use.TEXT]

    def read_form_page(self, links: tuple[tuple[Url, str], ...], text: str) -> None:
        """What the page of the form says: words to begin with, and links that are not records."""
        self.state.chrome.update(_hash(url) for url, _ in links)
        self.state.words.add("page", [text])

    def read_record(self, text: str) -> None:
        """What the page of a record says: more words."""
        self.state.words.add("texts", [text])

    # which submissions

    def wanted(self, room: int) -> list[Url]:
        """The next URLs to fetch, at most `room` of them under way at a time; empty while answers are awaited."""
        state = self.state
        free = room - len(state.asked)
        if state.ended or free <= 0:
            return []
        found = []
        for asked in self._candidates():
            url = submission(self.form, dict(asked.binding), self._encoding)
            if url is not None and url not in state.asked:
                state.asked[url] = asked
                state.submitted += 1
                found.append(url)
            if len(found) >= free:
                break
        if not found and not state.asked:
            state.ended = "complete"
        return found

    def _candidates(self) -> Iterator[Asked]:
        state = self.state
        while state.nonsense < _NONSENSE and self._texts:
            state.nonsense += 1
            name = self._texts[0]
            yield Asked("nonsense", ((name, _nonsense(self.form.action, state.nonsense)),))
        if any(asked.template == "nonsense" for asked in state.asked.values()):
            return
        yield from self._of_templates()
        if not any(asked.template != "words" for asked in state.asked.values()):
            yield from self._of_words()

    def _of_templates(self) -> Iterator[Asked]:
        """Submissions of templates: first samples, then all of those that are informative."""
        for template in self._templates():
            bindings = self._bindings(template)
            limit = len(bindings) if template.is_informative else min(_SAMPLE, len(bindings))
            while template.position < limit:
                binding = bindings[template.position]
                template.position += 1
                yield Asked(" ".join(template.names), binding)

    def _templates(self) -> Iterator[Template]:
        """Templates in the order in which they are tried: one input, then two where results are capped."""
        state = self.state
        choices = [
            name
            for name, each in self._inputs.items()
            if each.use in (Use.CHOICE, Use.RANGE, Use.TYPED) and each.bindings
        ]
        for name in choices:
            yield state.templates.setdefault(name, Template((name,)))
        for template in list(state.templates.values()):
            if template.is_informative and template.capped and len(template.names) < _MAX_DIMENSION:
                for name in choices:
                    if name not in template.names:
                        names = tuple(sorted((*template.names, name)))
                        yield state.templates.setdefault(" ".join(names), Template(names))

    def _bindings(self, template: Template) -> list[Binding]:
        """All bindings of a template, in an order that is as good as random."""
        parts: list[Input] = [self._inputs[name] for name in template.names]
        bindings = [sum(each, ()) for each in product(*(part.bindings for part in parts))]
        return sorted(bindings, key=lambda binding: xxh3_64_intdigest(repr(binding).encode()))

    def _of_words(self) -> Iterator[Asked]:
        """Queries by words, to the text field that has found most; at first each is tried."""
        state = self.state
        if not self._texts or state.words.is_done:
            return
        if state.words.known == 0 and not state.words.counts:
            return
        tried = sum(asked.template == "words" for asked in state.asked.values())
        for word, source in state.words.best(_ROUND - tried, state.page_size or 10):
            state.words.issued.add(word)
            name = self._text_field()
            yield Asked("words", ((name, word),), word, source)

    def _text_field(self) -> str:
        """Every field in turn while none has found anything, then the one that found most."""
        found = self.state.text_fields
        untried = [name for name in self._texts if name not in found]
        if untried:
            found[untried[0]] = 0
            return untried[0]
        return max(self._texts, key=lambda name: found[name])

    # what answers say

    def learn(self, page: ProbedPage) -> Url | None:
        """Take a page of results; the next page of the same result, if that is to be fetched."""
        asked = self.state.asked.pop(page.url, None)
        if asked is None:
            return None
        state = self.state
        state.requests += 1
        asked.pages += 1
        links = [(url, text, _hash(url)) for url, text in page.links]
        if asked.template == "nonsense":
            state.chrome.update(key for _, _, key in links)
            return None
        records = {key: text for url, text, key in links if key not in state.chrome and url != page.next}
        new = [text for key, text in records.items() if key not in state.records]
        if len(state.records) < MAX_RECORDS:
            state.records.update(records)
        state.words.known = len(state.records)
        state.words.add("records", new)
        asked.shown += len(records)
        asked.known += len(records) - len(new)
        asked.signature ^= xxh3_64_intdigest(repr(sorted(records)).encode())
        state.page_size = max(state.page_size, len(records))
        is_worth_it = records and asked.pages < _MAX_PAGES
        if page.next is not None and is_worth_it and page.next not in state.asked:
            state.asked[page.next] = asked
            return page.next
        self._ended(asked)
        return None

    def missed(self, url: Url) -> None:
        """A submission brought no page."""
        asked = self.state.asked.pop(url, None)
        if asked is not None:
            self.state.requests += 1
            self._ended(asked)

    def _ended(self, asked: Asked) -> None:
        """All pages of a result are read, as far as they are wanted."""
        state = self.state
        is_capped = asked.shown > 0 and asked.shown == state.words.most_shown and asked.shown >= 2 * state.page_size
        new = asked.shown - asked.known
        if asked.template == "words":
            [(name, _)] = asked.binding
            state.text_fields[name] = state.text_fields.get(name, 0) + asked.shown
            state.words.ended(asked.source, asked.shown, asked.known, max(asked.pages, 1) + new)
            return
        state.words.most_shown = max(state.words.most_shown, asked.shown)
        template = state.templates.get(asked.template)
        if template is None:
            return
        template.submitted += 1
        template.empty += asked.shown == 0
        template.found += new
        template.capped += is_capped
        if asked.shown and len(template.signatures) < 1000:
            template.signatures.add(asked.signature)
        self._judge(template)

    def _judge(self, template: Template) -> None:
        """Whether a template tells results apart, when enough of its submissions have ended."""
        total = len(self._bindings(template))
        distinct = len(template.signatures)
        is_over = template.submitted >= min(_SAMPLE, total)
        if template.is_sample_over or not (is_over or distinct >= _MANY):
            return
        template.is_sample_over = True
        share, empty = distinct / template.submitted, template.empty / template.submitted
        tells = share >= _LEAST_SHARE and empty <= _MOST_EMPTY
        template.is_informative = tells and (distinct > _FEW or total <= _FEW)

    @property
    def size(self) -> float:
        """About how many records the form leads to."""
        return max(self.state.words.estimate, float(len(self.state.records)))


def _hash(url: Url) -> int:
    return xxh3_64_intdigest(url.encode())


def _nonsense(action: str, number: int) -> str:
    """A word of twelve letters that no language has; the same at every run."""
    digits = xxh3_64_hexdigest(f"{action} {number}".encode())[:12]
    return "".join("qxzjvkwybcdfghmp"[int(digit, 16)] for digit in digits)
