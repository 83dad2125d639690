"""The next page of a list: by `rel`, by what a link says, and by how its URL resembles that of the page.

A link of a page declares it (`rel=next`), or says it in one of many languages or with an arrow; then its URL must be
like that of the page but for figures, or have one part more or fewer. Where no link says it, numbers may: if links with
the texts 1, 2, 3, ... have URLs that differ in one figure, the one after the number of this page is the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from periplus.model import Links, Url

MAX_CANDIDATES: Final = 2_000
"""Links of a page that are looked at."""
_LONGEST: Final = 40
"""Characters of a text that says "next page"; longer ones are titles."""
_WORDING: Final = """
    next | next page | next results | next result | next posts | next entries | next post | older | older posts |
    older entries | older stories | more results | forward | go to next page | nächste | nächste seite | naechste |
    naechste seite | weiter | vor | vorwärts | folgende | folgende seite | zur nächsten seite | suivant | suivante |
    suivants | suivantes | page suivante | siguiente | página siguiente | pagina siguiente | siguientes |
    siguiente página | sig | próxima | próximo | proxima | proximo | próxima página | próximos | seguinte |
    página seguinte | successiva | successivo | pagina successiva | avanti | prossima | prossimo | prossima pagina |
    volgende | volgende pagina | nästa | nästa sida | næste | næste side | neste | neste side | seuraava |
    seuraava sivu | następna | następny | następne | następna strona | dalej | další | dalsi | další stránka |
    následující | ďalšia | ďalšie | ďalej | következő | következo | következő oldal | следующая | следующий |
    следующая страница | следующие | далее | вперед | вперёд | след | дальше | наступна | наступна сторінка | напред |
    следваща | επόμενη | επόμενο | επόμενη σελίδα | sonraki | sonraki sayfa | ileri | 下一页 | 下一頁 | 下页 | 后页 |
    后一页 | 次へ | 次のページ | 次ページ | 次 | 다음 | 다음 페이지 | التالي | التالية | הבא | sau | trang sau |
    tiếp | tiếp theo | trang tiếp | berikutnya | selanjutnya | următoarea | următorul | urmatoarea | urmatorul |
    pagina următoare | sljedeća | sljedeca | naslednja | järgmine | kitas | nākamā
"""
_PHRASES: Final = frozenset(phrase.strip() for phrase in _WORDING.split("|"))
"""Texts of links to the next page, in 24 languages and more; arrows and digits are removed."""
_ARROWS: Final = frozenset({">", ">>", "»", "›", "→", "►", "▶", "⟩", "❯", "≫", "⇒", "＞", "▸", "❱", "➔", "->", "-->"})
_ORNAMENT: Final = "0123456789 \t\xa0<>«»‹›→←►▶◄|[](){}….:-–—&;\u2003\u276f\u276e"
_FIRST: Final = frozenset(
    "".join(phrase[0] + phrase[0].upper() for phrase in _PHRASES if phrase) + "".join(_ARROWS) + _ORNAMENT
)
"""Characters with which such a text, a number or an arrow begins."""
_SIGNS: Final = _ARROWS | {
    pattern.format(text)
    for phrase in _PHRASES
    for text in (phrase, phrase.capitalize(), phrase.title(), phrase.upper())
    for pattern in (
        "{}", "{} »", "{} >", "{} >>", "{} ›", "{} →", "{}»", "{}>", "{}›", "» {}", "› {}", "→ {}", "{}...", "{} ►",
        "[{}]", "{} ▶",
    )
} | {pattern.format(number) for number in (2, 3) for pattern in ("{}", "[{}]")}  # fmt: skip
"""Texts of which a page with a next page nearly always has one: looking for them is all that most pages cost."""
_FIGURES: Final = re.compile(r"\d+")
_DATE: Final = re.compile(r"(?:19|20)\d\d[-/]?[01]\d")
"""Days of a calendar are numbered, too."""
_NUMBER: Final = re.compile(r"\[?(\d{1,5})\]?")


def next_page(url: Url, links: Links) -> Url | None:
    """The page that follows the one at `url`, if a link leads there."""
    origin = url[: url.find("/", 8) + 1]
    if not origin:
        return None
    for position, rel in links.rels.items():
        target = links.urls[position]
        if "next" in rel.split() and target != url and target.startswith(origin):
            return target
    if _SIGNS.isdisjoint(links.anchors):
        return None
    numbers = []
    texts = links.anchors[:MAX_CANDIDATES]
    for position in [place for place, text in enumerate(texts) if len(text) <= _LONGEST and text[:1] in _FIRST]:
        target, text = links.urls[position], texts[position]
        if target == url or not target.startswith(origin):
            continue
        if _says_next(text):
            if _is_like(url, target):
                return target
        elif text.strip("[]").isdecimal():
            numbers.append((target, text))
    return _by_number(url, numbers) if len(numbers) > 1 else None


def _says_next(text: str) -> bool:
    return text in _ARROWS or text.strip(_ORNAMENT).lower() in _PHRASES


def _is_like(url: Url, target: Url) -> bool:
    """Whether two URLs are those of one list: the same but for figures, or for a part that says which page it is."""
    here, there = _path(url), _path(target)
    if _masked(here) == _masked(there):
        return True
    longer, shorter = sorted((_segments(here), _segments(there)), key=len, reverse=True)
    is_longer = shorter == longer[: len(shorter)] and len(longer) - len(shorter) <= 2
    return is_longer and _FIGURES.search(longer[-1]) is not None


def _path(url: Url) -> str:
    return url[url.index("/", 8) :].partition("?")[0]


def _masked(path: str) -> str:
    return _FIGURES.sub("0", path).rstrip("/")


def _segments(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]


def _by_number(url: Url, candidates: Iterable[tuple[Url, str]]) -> Url | None:
    """The link whose text is the number after that of this page, among numbered links that are alike."""
    numbered: dict[int, Url] = {}
    for target, text in candidates:
        match = _NUMBER.fullmatch(text.strip())
        if match is not None and _is_like(url, target) and not _DATE.search(target):
            numbered.setdefault(int(match[1]), target)
    if len(numbered) < 2:
        return None
    own = _own_number(sorted(numbered))
    return None if own is None else numbered.get(own + 1)


def _own_number(others: Sequence[int]) -> int | None:
    """The number of this page: the first that is missing among the links to the others."""
    if others[0] == 2:
        return 1
    return next((number + 1 for number, after in pairwise(others) if after == number + 2), None)
