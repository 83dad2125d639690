"""How elements are written: functions from the content of an element to its text, in Markdown or plain.

White space is soft until `tidy` folds it. What must stay (code, indentation) is held by control characters, which the
texts of pages are cleared of before (`CLEARED`) and which `finished` takes out again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from periplus.urls import canonical

_SPACE, _LINE, _CELL = "\x01", "\x02", "\x03"
CLEARED: Final = {code: " " for code in range(0x20) if chr(code) not in "\t\n\r"}
_WHITE: Final = re.compile(r"\s+")
_SPACES: Final = re.compile(r" {2,}")
_BROKEN: Final = re.compile(r" ?\n ?")
_GAPS: Final = re.compile(r"\n{3,}")
_BLANK: Final = re.compile(r" +$", re.MULTILINE)
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<])")
_AT_START: Final = re.compile(r"\s?(#{1,6}\s|[-+>]\s|\d{1,9}[.)]\s)")
_TICKS: Final = re.compile(r"`+")


class Element(NamedTuple):
    """What a function needs to know besides the content: its place counts from 1 in its list or table."""

    node: LexborNode
    base: str
    group: str
    place: int


Write = Callable[[str, Element], str]


def folded(text: str) -> str:
    """A text of the page, its white space folded."""
    return _WHITE.sub(" ", text)


def escaped(text: str) -> str:
    """A text of the page, folded, so that no character of it is taken for a mark of ours."""
    text = _SPECIAL.sub(r"\\\1", folded(text))
    start = _AT_START.match(text)
    return text if start is None else f"{text[: start.start(1)]}\\{text[start.start(1) :]}"


def hard(text: str) -> str:
    """A text of the page that stays as it is."""
    return text.replace("\t", "    ").replace("\r", "").replace(" ", _SPACE).replace("\n", _LINE)


def finished(text: str) -> str:
    """The whole, as a file has it."""
    text = tidy(text).replace(_SPACE, " ").replace(_LINE, "\n").replace(_CELL, " ")
    return _BLANK.sub("", text).strip("\n")


def tidy(text: str) -> str:
    """Soft white space as it should be: no two spaces, none beside a line break, at most one empty line."""
    return _GAPS.sub("\n\n", _BROKEN.sub("\n", _SPACES.sub(" ", text))).strip(" \n")


def _one_line(content: str) -> str:
    return " ".join(content.replace(_LINE, " ").replace(_SPACE, " ").split())


def _heading(content: str, element: Element) -> str:
    text = _one_line(content)
    return f"\n\n{'#' * int((element.node.tag or 'h1')[1])} {text}\n\n" if text else ""


def _plain_heading(content: str, _: Element) -> str:
    return f"\n\n{content}\n\n"


def _marked(mark: str) -> Write:
    """Marks go around the words; white space at their ends stays outside."""

    def write(content: str, _: Element) -> str:
        return _around(content, mark, mark)

    return write


def _around(content: str, before: str, after: str) -> str:
    inner = content.strip()
    if not inner or "\n\n" in inner:
        return content
    start = content.index(inner)
    return f"{content[:start]}{before}{inner}{after}{content[start + len(inner) :]}"


def _link(content: str, element: Element) -> str:
    url = _target(element, "href")
    return content if url is None else _around(content, "[", f"]({url})")


def _image(_: str, element: Element) -> str:
    alt = escaped(element.node.attributes.get("alt") or "").strip()
    url = _target(element, "src")
    return f" {alt} " if url is None else f"![{alt}]({url})"


def _plain_image(_: str, element: Element) -> str:
    return f" {folded(element.node.attributes.get('alt') or '')} "


def _target(element: Element, name: str) -> str | None:
    """Absolute, and without brackets, which would end it early."""
    written = element.node.attributes.get(name)
    url = canonical(written, element.base) if written else None
    return None if url is None else url.replace("(", "%28").replace(")", "%29")


def _code(content: str, element: Element) -> str:
    if element.group == "pre":
        return content
    text = _one_line(content)
    fence = _fence(text, 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def _fenced(content: str, _: Element) -> str:
    code = _code_lines(content)
    fence = _fence(code, 3)
    return f"\n\n{fence}{_LINE}{code}{_LINE}{fence}\n\n" if code else ""


def _plain_code(content: str, _: Element) -> str:
    return f"\n\n{_code_lines(content)}\n\n"


def _fence(code: str, least: int) -> str:
    """Longer than any run of the same character inside."""
    return "`" * max(least, 1 + max(map(len, _TICKS.findall(code)), default=0))


def _code_lines(content: str) -> str:
    return content.replace("\n", _LINE).strip(_LINE)


def _item(content: str, element: Element) -> str:
    marker = f"{element.place}.{_SPACE}" if element.group == "ol" else f"-{_SPACE}"
    return f"\n{marker}{_indented(content, _SPACE * len(marker))}"


def _quote(content: str, _: Element) -> str:
    prefix = f">{_SPACE}"
    return f"\n\n{prefix}{_indented(content, prefix)}\n\n"


def _plain_quote(content: str, _: Element) -> str:
    return f"\n\n{content}\n\n"


def _indented(content: str, indent: str) -> str:
    """Every line but the first begins with the indent."""
    return tidy(content).replace("\n", _LINE).replace(_LINE, _LINE + indent)


def _cell(content: str, _: Element) -> str:
    return _CELL + _one_line(content).replace("|", "\\|")


def _plain_cell(content: str, _: Element) -> str:
    return _CELL + _one_line(content)


def _row(content: str, element: Element) -> str:
    cells = [cell.strip() for cell in content.split(_CELL)[1:]]
    head = _LINE + "|---" * len(cells) + "|" if element.place == 1 else ""
    return f"\n| {' | '.join(cells)} |{head}" if cells else ""


def _plain_row(content: str, _: Element) -> str:
    return "\n" + " \u00b7 ".join(filter(None, (cell.strip() for cell in content.split(_CELL)[1:])))


def _line_break(_: str, __: Element) -> str:
    return "\n"


def _rule(_: str, __: Element) -> str:
    return "\n\n---\n\n"


_HEADINGS: Final = tuple(f"h{level}" for level in range(1, 7))

MARKDOWN: Final[Mapping[str, Write]] = {
    **dict.fromkeys(_HEADINGS, _heading),
    **dict.fromkeys(("em", "i"), _marked("*")),
    **dict.fromkeys(("strong", "b"), _marked("**")),
    **dict.fromkeys(("td", "th"), _cell),
    "a": _link,
    "blockquote": _quote,
    "br": _line_break,
    "code": _code,
    "hr": _rule,
    "img": _image,
    "li": _item,
    "pre": _fenced,
    "tr": _row,
}

PLAIN: Final[Mapping[str, Write]] = {
    **dict.fromkeys(_HEADINGS, _plain_heading),
    **dict.fromkeys(("td", "th"), _plain_cell),
    "blockquote": _plain_quote,
    "br": _line_break,
    "img": _plain_image,
    "li": _item,
    "pre": _plain_code,
    "tr": _plain_row,
}
