"""A page as Markdown, or as text with its lines: headings, paragraphs, lists, links, code, quotes and simple tables.

For people and for language models, after CommonMark, with the tables of GitHub. What is there is taken in the order of
the document; nothing is guessed, scored or moved. The part taken is `<main>` (or `role=main`), else the only
`<article>`, else the body; navigation, asides, footers, scripts and the controls of forms are left out. Anything else,
a table for layout too, is what its tags say it is.

The tree is walked once with a stack of unfinished contents; when an element ends, its function of `marks` makes text of
its content. A page may nest as deep as it likes: the walk does not recurse, and beyond some depth an element is written
as its content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from .marks import CLEARED, MARKDOWN, PLAIN, Element, Write, escaped, finished, folded, hard

_LEFT_OUT: Final = frozenset(
    {
        "script",
        "style",
        "noscript",
        "template",
        "nav",
        "aside",
        "footer",
        "button",
        "input",
        "select",
        "textarea",
        "svg",
    }
    | {"iframe", "object", "head", "dialog"}
)
_BLOCKS: Final = frozenset(
    {"p", "div", "section", "article", "main", "header", "figure", "figcaption", "address", "details", "summary", "dl"}
    | {"dt", "dd", "form", "fieldset", "hgroup", "center", "table", "caption", "legend", "search", "body"}
)
_GROUPS: Final = frozenset({"ul", "ol", "menu", "table", "pre"})
"""What items and rows count in, and where text is left as it is."""
_ITEMS: Final = frozenset({"li", "tr"})
_DEEPEST: Final = 24


def to_markdown(html: bytes, base: str) -> str:
    """The page in Markdown, its links absolute. `html` is in UTF-8 and safe to parse."""
    return _Writing(MARKDOWN, escaped, base).write(html)


def to_text(html: bytes) -> str:
    """The page as text: a line for each item and row, an empty one between paragraphs."""
    return _Writing(PLAIN, folded, "").write(html)


class _Writing:
    """One page on its way to text."""

    def __init__(self, marks: Mapping[str, Write], escape: Callable[[str], str], base: str) -> None:
        self._marks = marks
        self._escape = escape
        self._base = base
        self._contents: list[list[str]] = [[]]
        self._groups: list[tuple[str, int]] = [("", 0)]
        self._codes = 0

    def write(self, html: bytes) -> str:
        """All of it."""
        root = _root(LexborHTMLParser(html))
        for node, is_end in _walk(root) if root is not None else ():
            if node.is_text_node:
                self._add(self._text((node.text_content or "").translate(CLEARED)))
            elif is_end:
                self._end(node, node.tag or "")
            else:
                self._begin(node.tag or "")
        return finished("".join(self._contents[0]))

    def _add(self, text: str) -> None:
        self._contents[-1].append(text)

    def _text(self, text: str) -> str:
        if self._groups[-1][0] == "pre":
            return hard(text)
        return folded(text) if self._codes else self._escape(text)

    def _begin(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._add("\n\n")
        if tag in _GROUPS:
            self._add("" if self._is_in_item() else "\n\n")
            self._groups.append((tag, 0))
        self._codes += tag == "code"
        if tag in _ITEMS:
            group, count = self._groups[-1]
            self._groups[-1] = (group, count + 1)
        if tag in self._marks:
            self._contents.append([])

    def _end(self, node: LexborNode, tag: str) -> None:
        if tag in self._marks:
            content = "".join(self._contents.pop())
            is_deep = len(self._contents) > _DEEPEST
            self._add(content if is_deep else self._marks[tag](content, Element(node, self._base, *self._groups[-1])))
        self._codes -= tag == "code"
        if tag in _GROUPS:
            self._groups.pop()
            self._add("\n" if self._is_in_item() else "\n\n")
        if tag in _BLOCKS:
            self._add("\n\n")

    def _is_in_item(self) -> bool:
        """A list in an item follows without an empty line."""
        return self._groups[-1][0] in ("ul", "ol", "menu")


def _root(tree: LexborHTMLParser) -> LexborNode | None:
    main = tree.css_first("main, [role=main]")
    if main is not None:
        return main
    articles = tree.css("article")
    return articles[0] if len(articles) == 1 else tree.body


def _walk(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Every element as it begins and as it ends (`True`), and every text once, in the order of the document."""
    waiting = [(root, False)]
    while waiting:
        node, is_end = waiting.pop()
        if is_end or node.is_text_node:
            yield node, is_end
        elif node.tag not in _LEFT_OUT:
            yield node, False
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(list(node.iter(include_text=True))))
