"""What a page is that was read from a browser's document, or with the data for its scripts."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ...content import RawPage, read_pages, sniff_charset
from ...formats.encodings import decode
from ...model import Fetched, Links, Page, Problem, ReadFrom, Render, Rendering
from .needs import LEAST_NEEDED_SCORE, LONGEST_SHELL, script_need
from .routes import hash_routes
from .script_data import script_data, with_data

DOCUMENT_TYPE: Final = "text/html; charset=utf-8"
"""The type of a document that was taken from a browser."""


def completed(page: Page, raw: RawPage, answer: Fetched) -> Page:
    """A page with what only its rendering, or the data for its scripts, can tell of it."""
    rendering = answer.rendering
    if rendering is not None and rendering.is_rendered:
        return _rendered(page, raw, rendering)
    if rendering is not None and rendering.reason:
        page = replace(page, problems=(*page.problems, Problem(rendering.reason)))
    if answer.task.render is Render.NEVER or answer.task.render is Render.ALWAYS:
        return page
    return _with_data(page, raw, answer.task.render)


def _rendered(page: Page, raw: RawPage, rendering: Rendering) -> Page:
    problems = (*page.problems, Problem(rendering.reason)) if rendering.reason else page.problems
    routes = hash_routes(raw.body.decode("utf-8", "replace"), page.base)
    known = {*page.links.urls}
    more = [url for url in routes if url not in known]
    links = page.links
    if more:
        links = Links([*links.urls, *more], [*links.anchors, *[""] * len(more)], links.rels, links.kinds, links.own)
    return replace(
        page,
        links=links,
        problems=problems,
        script_redirect=page.script_redirect or rendering.target,
        read_from=ReadFrom.BROWSER,
    )


def _with_data(page: Page, raw: RawPage, render: Render) -> Page:
    """A page that needs its scripts, read with the data that it has for them; the page itself otherwise."""
    if len(page.text) >= LONGEST_SHELL or b"<script" not in raw.body:
        return page
    html = decode(raw.body, sniff_charset(raw.body, raw.content_type).encoding)
    if script_need(page, html).score < LEAST_NEEDED_SCORE[render]:
        return page
    data = script_data(html)
    if not data.is_enough:
        return page
    (read,) = read_pages([replace(raw, body=with_data(html, data), content_type=DOCUMENT_TYPE)])
    return replace(read, problems=page.problems, read_from=ReadFrom.DATA)
