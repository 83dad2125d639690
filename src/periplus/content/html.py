"""From the bytes of pages to `Page`s: what each has written, and what is made of the texts of several at once.

Tags are looked at and texts are folded and sketched on arrays. An operation on an array costs about as much to begin as
to do for a small page, and as much again to come back to after a parse. So several pages go through each step together,
and a reader of pages does well to hand over several.

Reasons of the problems, beside those of `draft`, `links`, `forms` and `nesting`:

- `text-cut`: more text than `text.MAX_TEXT`; the rest was not kept.
- `bad-characters`: bytes that mean nothing in the page's encoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Final

from ..model import Page, Problem, Url
from ..urls import canonical, resolve_all
from .digests import digests_of
from .draft import Draft, RawPage, draft_of, prepare
from .forms import forms_of
from .links import Urls, read_links, read_resources
from .redirects import redirects_of
from .relations import read_relations
from .sketch import sketches_of
from .text import MAX_TEXT, Texts, texts_of

_REPLACEMENT: Final = "\ufffd".encode()
_GROUP_PAGES: Final = 32
_GROUP_BYTES: Final = 1 << 20
"""Pages are read together up to these bounds: beyond them nothing is gained, and memory is."""


def read_page(
    body: bytes,
    url: str,
    content_type: str | None = None,
    *,
    robots_tags: Sequence[str] = (),
    link_headers: Sequence[str] = (),
) -> Page:
    """Everything a page says. `body` is without content codings (see `decode_body`); the rest is from its headers.

    Never raises for what the body holds: what is wrong with it is in `problems`.
    """
    return read_pages([RawPage(body, url, content_type, robots_tags, link_headers)])[0]


def read_pages(pages: Iterable[RawPage]) -> list[Page]:
    """The same of several pages, in order: each as if it were read alone, but sooner."""
    return [page for group in _groups(pages) for page in _read_group(group)]


def _groups(pages: Iterable[RawPage]) -> Iterator[list[RawPage]]:
    group: list[RawPage] = []
    size = 0
    for page in pages:
        if group and (len(group) == _GROUP_PAGES or size + len(page.body) > _GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(page)
        size += len(page.body)
    if group:
        yield group


def _read_group(pages: list[RawPage]) -> list[Page]:
    prepared = [prepare(page) for page in pages]
    drafts = [draft_of(*both) for both in zip(pages, prepared, strict=True)]
    texts = texts_of([draft.text for draft in drafts])
    sketches = sketches_of([text.main for text in texts])
    urls = [_resolved(draft) for draft in drafts]
    return [_page(*parts) for parts in zip(pages, drafts, urls, texts, sketches, strict=True)]


def _page(raw: RawPage, draft: Draft, urls: list[Urls], texts: Texts, sketch: bytes) -> Page:
    link_urls, source_urls, relative_urls, form_urls, next_urls = urls
    links, link_problems = read_links(draft.anchors, link_urls)
    resources, resource_problems = read_resources(draft.sources, source_urls)
    forms, form_problems = forms_of(draft.forms, form_urls)
    refresh, script_target = redirects_of(draft.onward, next_urls)
    facts = draft.facts
    own = canonical(raw.url) or Url(raw.url)
    return Page(
        url=own,
        base=own if draft.base == raw.url else canonical(draft.base) or own,
        charset=draft.charset,
        mime=draft.mime,
        title=facts.title,
        description=facts.description,
        language=facts.language,
        text=texts.text.decode(),
        main_text=texts.main.decode(),
        links=links,
        resources=resources,
        relations=read_relations(draft.relatives, relative_urls, raw.link_headers, raw.url),
        directives=facts.directives,
        refresh=refresh,
        script_redirect=script_target,
        forms=forms,
        sketch=sketch,
        digests=digests_of(raw.body, texts.text, texts.main, [link.url for link in links]),
        problems=(
            *draft.problems,
            *link_problems,
            *resource_problems,
            *form_problems,
            *_text_problems(texts, draft.charset),
        ),
        blocks=draft.blocks,
    )


def _resolved(draft: Draft) -> list[Urls]:
    """The links of several readers, resolved all at once: every call has a cost of its own, and sites repeat them."""
    columns = (
        draft.anchors.hrefs,
        draft.sources.hrefs,
        [relative.href for relative in draft.relatives],
        [form.action for form in draft.forms],
        draft.onward.hrefs,
    )
    urls = resolve_all(list(chain.from_iterable(columns)), draft.base, draft.charset)
    ends = accumulate(map(len, columns))
    return [urls[end - len(column) : end] for column, end in zip(columns, ends, strict=True)]


def _text_problems(texts: Texts, charset: str) -> list[Problem]:
    problems = [Problem("text-cut", at=MAX_TEXT)] if texts.is_cut else []
    if _REPLACEMENT in texts.text:
        problems.append(Problem("bad-characters", charset))
    return problems
