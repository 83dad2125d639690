"""The life of one form: which submissions to make next, and what the answers say.

First a sample finds the field with choices whose values each return different records (informative templates,
Madhavan et al. 2008): its values are submitted, and where a result shows no more than a fixed number, together with
another field as well. Then words go to the text field that finds most (`words`), until few records are new. A prober
makes no request: `wanted` are URLs to be fetched, `learn` takes the links of a page of results; its next page is wanted
before anything else. What it knows is `ProberState`.

Records are the links of a page of results that pages without any result do not have, and that are not queries.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import count
from math import gcd, prod
from typing import Final, NamedTuple

from msgspec import Struct, field
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from periplus.model import Form, Url

from .kinds import Binding, Use, inputs_of
from .submitting import codec_of, is_query, submission
from .words import Words

MAX_RECORDS: Final = 200_000
"""Records that are remembered of a form, as hashes of 8 bytes."""
_NONSENSE: Final = 2
"""Submissions with words that do not exist: what their results show is not a record."""
_SAMPLE: Final = 20
"""Submissions after which a template may be judged: with at most `_FEW` different results it is not informative, with
at least `_MANY` it is."""
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
"""Inputs that are bound together, at most."""
_MAX_BINDINGS: Final = 2_000
"""Bindings of a template that are used: as many as the requests of a form."""
_CAPPED: Final = 2
"""Results of the same largest size, all of full pages, from which on a template counts as capped."""
_CONTROL: Final = 5
"""Words after which nothing new is expected, if an informative template was submitted completely and not capped."""
_STRIDE: Final = 0x9E3779B97F4A7C15
"""A step that visits a long list in a pseudo-random order."""


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
    """A set of inputs that are bound together, and what submissions of it have shown.

    `most` is the largest number of records that a submission showed, and `at_most` how many showed that number.
    """

    names: tuple[str, ...]
    is_sample_over: bool = False
    is_informative: bool = False
    submitted: int = 0
    empty: int = 0
    found: int = 0
    most: int = 0
    at_most: int = 0
    signatures: set[int] = field(default_factory=set)
    position: int = 0

    def is_capped(self, page: int) -> bool:
        """Whether results end at a fixed number, given how many records a page shows."""
        return self.at_most >= _CAPPED and self.most >= 2 * page > 0 and self.most % page == 0


class ProberState(Struct):
    """What is known of a form. `following` are next pages that are not asked for yet, `round` the next words."""

    asked: dict[Url, Asked] = field(default_factory=dict)
    following: dict[Url, Asked] = field(default_factory=dict)
    templates: dict[str, Template] = field(default_factory=dict)
    words: Words = field(default_factory=Words)
    round: list[tuple[str, str]] = field(default_factory=list)
    chrome: set[int] = field(default_factory=set)
    records: set[int] = field(default_factory=set)
    text_fields: dict[str, int] = field(default_factory=dict)
    page_size: int = 0
    submitted: int = 0
    requests: int = 0
    nonsense: int = 0
    ended: str = ""


class ResultRecords(NamedTuple):
    """The records on a page of results: all of them, and those that the form had not returned before."""

    records: tuple[Url, ...] = ()
    new: tuple[Url, ...] = ()


class Prober:
    """Chooses the submissions of a form. `year` is the present one; `encoding` that of the page."""

    def __init__(self, form: Form, year: int, state: ProberState | None = None, encoding: str = "utf-8") -> None:
        self.form = form
        self._year = year
        self.state = state or ProberState()
        self._encoding = codec_of(encoding)
        self._inputs = {" ".join(each.names): each for each in inputs_of(form, year)}
        self._texts = [name for name, each in self._inputs.items() if each.use is Use.TEXT]
        self._known_bindings: dict[tuple[str, ...], list[Binding]] = {}

    def read_form_page(self, links: tuple[tuple[Url, str], ...], text: str) -> None:
        """Learn from the page of the form: words to begin with, and links that are not records."""
        self.state.chrome.update(_hash(url) for url, _ in links)
        self.state.words.add("page", [text])

    def read_record(self, text: str) -> None:
        """Learn more words from the page of a record."""
        self.state.words.add("texts", [text])

    # which submissions

    def wanted(self, room: int) -> list[Url]:
        """The next URLs to fetch, at most `room` of them under way at a time; empty while answers are awaited."""
        state = self.state
        free = room - len(state.asked)
        if state.ended or free <= 0:
            return []
        found = list(state.following)[:free]
        for url in found:
            state.asked[url] = state.following.pop(url)
        if len(found) < free:
            found += self._submitted(free - len(found))
        if not found and not state.asked:
            state.ended = "complete"
        return found

    def _submitted(self, number: int) -> list[Url]:
        found = []
        for asked in self._candidates():
            url = submission(self.form, dict(asked.binding), self._encoding)
            if url is not None and url not in self.state.asked:
                self.state.asked[url] = asked
                self.state.submitted += 1
                found.append(url)
            if len(found) >= number:
                break
        return found

    def preview(self, number: int) -> list[tuple[str, Url]]:
        """The next submissions, as they would be made now: the fields with their values, and the URL."""
        other = Prober(self.form, self._year, copy.deepcopy(self.state), self._encoding)
        other.state.asked.clear()
        other.state.nonsense, other.state.ended = _NONSENSE, ""
        found = []
        for url in other.wanted(number):
            binding = other.state.asked[url].binding
            found.append((", ".join(f"{name} = {value}" for name, value in binding), url))
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
            is_open = template.is_informative and template.is_capped(state.page_size)
            if is_open and len(template.names) < _MAX_DIMENSION:
                for name in choices:
                    if name not in template.names:
                        names = tuple(sorted((*template.names, name)))
                        yield state.templates.setdefault(" ".join(names), Template(names))

    def _bindings(self, template: Template) -> list[Binding]:
        """The bindings of a template, at most `_MAX_BINDINGS`, in a pseudo-random order."""
        known = self._known_bindings.get(template.names)
        if known is None:
            parts = [self._inputs[name].bindings for name in template.names]
            total = prod(map(len, parts))
            step = next(each for each in count(_STRIDE % total or 1) if gcd(each, total) == 1)
            places = (place * step % total for place in range(min(total, _MAX_BINDINGS)))
            known = self._known_bindings[template.names] = [_binding_at(parts, place) for place in places]
        return known

    def _of_words(self) -> Iterator[Asked]:
        """Queries by words, to the text field that has found most; at first each is tried."""
        state = self.state
        if not self._texts or state.words.is_done(_CONTROL if self._is_covered else None):
            return
        if not state.round:
            state.round = state.words.next_round(_ROUND, state.page_size or 10)
        while state.round:
            word, source = state.round.pop(0)
            if word not in state.words.issued:
                state.words.issued.add(word)
                yield Asked("words", ((self._text_field(), word),), word, source)

    @property
    def _is_covered(self) -> bool:
        """Whether an informative template was submitted completely, and no result of it was cut off."""
        return any(
            template.is_informative
            and template.position >= len(self._bindings(template))
            and not template.is_capped(self.state.page_size)
            for template in self.state.templates.values()
        )

    def _text_field(self) -> str:
        """Every field in turn while none has found anything, then the one that found most."""
        found = self.state.text_fields
        untried = [name for name in self._texts if name not in found]
        if untried:
            found[untried[0]] = 0
            return untried[0]
        return max(self._texts, key=lambda name: found[name])

    # what answers say

    def learn(self, page: ProbedPage) -> ResultRecords:
        """Learn from a page of results."""
        asked = self.state.asked.pop(page.url, None)
        if asked is None:
            return ResultRecords()
        state = self.state
        state.requests += 1
        asked.pages += 1
        links = [(url, text, _hash(url)) for url, text in page.links]
        if asked.template == "nonsense":
            state.chrome.update(key for _, _, key in links)
            return ResultRecords()
        records = {
            key: (url, text)
            for url, text, key in links
            if key not in state.chrome and url != page.next and not is_query(self.form, url)
        }
        new = {key: each for key, each in records.items() if key not in state.records}
        if len(state.records) < MAX_RECORDS:
            state.records.update(records)
        state.words.known = len(state.records)
        state.words.add("records", [text for _, text in new.values()])
        asked.shown += len(records)
        asked.known += len(records) - len(new)
        asked.signature ^= xxh3_64_intdigest(repr(sorted(records)).encode())
        state.page_size = max(state.page_size, len(records))
        is_worth_it = records and asked.pages < _MAX_PAGES
        if page.next is not None and is_worth_it and page.next not in state.asked:
            state.following[page.next] = asked
        else:
            self._ended(asked)
        return ResultRecords(*(tuple(url for url, _ in each.values()) for each in (records, new)))

    def is_record(self, url: Url) -> bool:
        """Whether a URL is a record seen on a page of results."""
        return _hash(url) in self.state.records

    def moved(self, url: Url, target: Url) -> bool:
        """Record that a submission was redirected; whether its result is now awaited at the target."""
        asked = self.state.asked.pop(url)
        if target in self.state.asked or target in self.state.following:
            self.state.requests += 1
            self._ended(asked)
            return False
        self.state.asked[target] = asked
        return True

    def missed(self, url: Url) -> None:
        """Record that a submission returned no page."""
        asked = self.state.asked.pop(url, None)
        if asked is not None:
            self.state.requests += 1
            self._ended(asked)

    def _ended(self, asked: Asked) -> None:
        """Record that all wanted pages of a result were read."""
        state = self.state
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
        if asked.shown > template.most:
            template.most, template.at_most = asked.shown, 0
        template.at_most += asked.shown == template.most
        if asked.shown and len(template.signatures) < 1000:
            template.signatures.add(asked.signature)
        self._judge(template)

    def _judge(self, template: Template) -> None:
        """Decide whether a template is informative, once enough of its submissions have ended."""
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
        """The estimated number of records that the form can return."""
        if self._is_covered and not any(query.known for query in self.state.words.queries):
            return float(len(self.state.records))
        return max(self.state.words.estimate, float(len(self.state.records)))

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which numbers that is, with a probability of about 95 %."""
        known = float(len(self.state.records))
        low, high = self.state.words.bounds
        return max(low, known), max(min(high, 2 * self.size), known)

    @property
    def templates(self) -> tuple[str, ...]:
        """The result of each template, in words."""
        return tuple(
            f"{name}: {each.submitted} submitted, {len(each.signatures)} different results, {each.found} new records, "
            + ("informative" if each.is_informative else "not informative" if each.is_sample_over else "not decided")
            for name, each in self.state.templates.items()
        )


def _binding_at(parts: Sequence[tuple[Binding, ...]], place: int) -> Binding:
    """The binding at a place of the product of all parts."""
    found: Binding = ()
    for part in parts:
        place, index = divmod(place, len(part))
        found += part[index]
    return found


def _hash(url: Url) -> int:
    return xxh3_64_intdigest(url.encode())


def _nonsense(action: str, number: int) -> str:
    """A word of twelve letters that no language has; the same at every run."""
    digits = xxh3_64_hexdigest(f"{action} {number}".encode())[:12]
    return "".join("qxzjvkwybcdfghmp"[int(digit, 16)] for digit in digits)
