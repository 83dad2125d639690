"""The next page of a list: by `rel`, by what links and their markup say, and by how their URLs differ from the page's.

A link may declare it (`rel=next`). Otherwise each page of the same host that a link leads to is judged by all links to
it: whether one says "next" in one of many languages or is an arrow, whether markup calls one so (`class`, `title`), or
is the number after that of this page, and whether the URL is one step on. Each counts by a weight that was learnt from
pages on which people marked the next one (`tests/corpus/list_pages.py`). The next post of a blog is not the next page
of a list: where the URLs are not alike, some link to the page has to be a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from periplus.model import Url

from .scan.columns import IN_NEXT, IN_PREVIOUS, MARKED_NEXT

MAX_CANDIDATES: Final = 2_000
"""Links of a page that are looked at."""
_LONGEST: Final = 40
"""Characters of a text that says "next page"; longer ones are titles."""
_WORDING: Final = """
    next | next page | next results | next result | next posts | next entries | next post | older | older posts |
    older entries | older articles | older stories | more results | more posts | more stories | more articles |
    show more | load more | see more | view more | show more results | load more results | forward | go to next page |
    nächste | nächste seite | naechste | naechste seite | weiter | vor | vorwärts | folgende | folgende seite |
    zur nächsten seite | mehr laden | mehr anzeigen | ältere beiträge | ältere artikel | ältere einträge | suivant |
    suivante | suivants | suivantes | page suivante | articles plus anciens | voir plus | siguiente | página siguiente |
    pagina siguiente | siguientes | siguiente página | sig | entradas antiguas | entradas anteriores | cargar más |
    ver más | próxima | próximo | proxima | proximo | próxima página | próximos | seguinte | página seguinte |
    postagens mais antigas | successiva | successivo | pagina successiva | avanti | prossima | prossimo |
    prossima pagina | post più vecchi | articoli meno recenti | volgende | volgende pagina | oudere berichten | nästa |
    nästa sida | næste | næste side | neste | neste side | seuraava | seuraava sivu | następna | następny | następne |
    następna strona | starsze wpisy | dalej | další | dalsi | další stránka | následující | starší příspěvky | ďalšia |
    ďalšie | ďalej | következő | következo | következő oldal | régebbi bejegyzések | следующая | следующий |
    следующая страница | следующие | далее | вперед | вперёд | след | дальше | показать еще | показать ещё | наступна |
    наступна сторінка | напред | следваща | επόμενη | επόμενο | επόμενα | επόμενη σελίδα | sonraki | sonraki sayfa |
    ileri | önceki yazılar | 下一页 | 下一頁 | 下页 | 后页 | 后一页 | 次へ | 次のページ | 次ページ | 次 | 次の記事 |
    다음 | 다음 페이지 | التالي | التالية | الصفحة التالية | הבא | הדף הבא | sau | trang sau | tiếp | tiếp theo |
    trang tiếp | berikutnya | selanjutnya | halaman berikutnya | următoarea | următorul | urmatoarea | urmatorul |
    pagina următoare | sljedeća | sljedeca | следећа | naslednja | järgmine | kitas | nākamā | ถัดไป | หน้าถัดไป |
    अगला | بعدی | صفحه بعد
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
} | {pattern.format(number) for number in (2, 3) for pattern in ("{}", "[{}]")} | {
    f"{text} {items}{arrow}"
    for text in ("next", "Next", "NEXT")
    for items in (5, 10, 12, 15, 20, 24, 25, 30, 40, 50, 100)
    for arrow in ("", " »", " >", " ›", " →")
}  # fmt: skip
"""Texts of which a page with a next page nearly always has one: looking for them is all that most pages cost."""
_FIGURES: Final = re.compile(r"\d+")
_DATE: Final = re.compile(r"(?:19|20)\d\d[-/]?[01]\d")
"""Days of a calendar are numbered, too."""
_NUMBER: Final = re.compile(r"\[?(\d{1,5})\]?")
_INDEX: Final = re.compile(r"(?:/(?:index|default))?(?:\.[a-z]{2,5})?/?$", re.IGNORECASE)
"""What the path of a first page may end with where those of later pages go on."""
_PAGE_NAME: Final = re.compile(r"\bp(?:g|ages?)?(?:\b|[_\d])|page|seite|start|offset|from|skip", re.IGNORECASE)
"""Names of parameters that say with which page or item of a list to begin."""
_ITEMS: Final = range(5, 201)
"""Items of a page, where URLs count items and not pages."""
_ADDED: Final = re.compile(r"[\W_]*(?:index\.\w+/)?(?:[^\W\d_]{1,12}[\W_]?)?(\d+)[\W_]*")
"""What the path of a later page has more than that of the first: "/page/2", "-2", "p2", "or10-"."""


class Evidence(NamedTuple):
    """What speaks for a page to be the next one."""

    says_next: bool = False
    """The text of a link says so in words."""
    is_arrow: bool = False
    is_marked: bool = False
    """The markup of a link says so: `MARKED_NEXT`."""
    is_in_next: bool = False
    """The element around a link says so."""
    is_number: bool = False
    """The text of a link is the number after that of this page."""
    is_step: bool = False
    """The URL is one page on."""


WEIGHTS: Final = (4.21, 4.28, 2.89, 3.98, 2.21, 1.7)
"""How much each part of the evidence counts."""
LEAST: Final = 3.73
"""What the evidence for the next page has to exceed. Both are printed by `python -m tests.corpus.list_pages`."""


def next_page(
    url: Url, urls: Sequence[Url | None], anchors: Sequence[str], rels: Mapping[int, str], marks: Mapping[int, int]
) -> Url | None:
    """The page that follows the one at `url`, given the columns of its links (see `Columns`)."""
    for position, rel in rels.items():
        if "next" in rel.lower().split():
            target = urls[position]
            if target is not None and target != url and _is_same_host(target, url):
                return target
    if not marks and _SIGNS.isdisjoint(anchors):
        return None
    found = evidence_of(url, urls, anchors, marks)
    best = max(found, key=lambda target: weight_of(found[target], WEIGHTS), default=None)
    return best if best is not None and weight_of(found[best], WEIGHTS) > LEAST else None


def weight_of(evidence: Evidence, weights: Sequence[float]) -> float:
    """The weight of all evidence for a page."""
    return sum(weight for weight, holds in zip(weights, evidence, strict=True) if holds)


def evidence_of(
    url: Url, urls: Sequence[Url | None], anchors: Sequence[str], marks: Mapping[int, int]
) -> dict[Url, Evidence]:
    """The evidence for each page that may be the next one, in the order of their first links."""
    origins, own = _origins(url), _bare(url)
    links: dict[Url, list[int]] = {}
    for position, text in enumerate(anchors[:MAX_CANDIDATES]):
        if (len(text) <= _LONGEST and text[:1] in _FIRST) or position in marks:
            target = urls[position]
            if target is not None and target.startswith(origins) and _bare(target) != own:
                links.setdefault(target, []).append(position)
    likeness = {target: _likeness(url, target) for target in links}
    numbers = {target: _numbers([anchors[position] for position in places]) for target, places in links.items()}
    after = _after_own(
        {
            number: target
            for target in reversed(links)
            if likeness[target] and not _DATE.search(target)
            for number in numbers[target]
        }
    )
    return {
        target: _evidence(
            [anchors[position] for position in places],
            [marks.get(position, 0) for position in places],
            is_number=target == after,
            is_step=likeness[target] == _STEP,
        )
        for target, places in links.items()
        if (likeness[target] or numbers[target]) and not _is_previous([marks.get(position, 0) for position in places])
    }


def _evidence(texts: Sequence[str], marks: Sequence[int], *, is_number: bool, is_step: bool) -> Evidence:
    return Evidence(
        says_next=any(len(text) <= _LONGEST and text.strip(_ORNAMENT).lower() in _PHRASES for text in texts),
        is_arrow=any(text in _ARROWS for text in texts),
        is_marked=any(mark & MARKED_NEXT for mark in marks),
        is_in_next=any(mark & IN_NEXT for mark in marks),
        is_number=is_number,
        is_step=is_step,
    )


def _is_previous(marks: Sequence[int]) -> bool:
    """Whether a link is in an element that is called previous, and nothing is called next: "Older posts" of a blog."""
    return any(mark & IN_PREVIOUS for mark in marks) and not any(mark & (MARKED_NEXT | IN_NEXT) for mark in marks)


def _numbers(texts: Sequence[str]) -> list[int]:
    return [int(match[1]) for text in texts if (match := _NUMBER.fullmatch(text))]


def _after_own(numbered: Mapping[int, Url]) -> Url | None:
    """The page with the number after that of this page: the first that is missing among the links to the others."""
    others = sorted(numbered)
    if len(others) < 2:
        return None
    missing = [number + 1 for number, after in pairwise(others) if after == number + 2]
    own = 1 if others[0] == 2 else missing[0] if missing else None
    return None if own is None else numbered.get(own + 1)


# ---- URLs

_UNLIKE, _ALIKE, _STEP = range(3)
"""Of another list or none; of the same, perhaps; and the one after it."""


def _bare(url: Url) -> str:
    """A URL without its scheme and "www."."""
    return url.partition("://")[2].removeprefix("www.")


def _is_same_host(target: Url, url: Url) -> bool:
    """Whether two URLs have the same host, with or without "www."; nearly always they have the same origin."""
    return target[: url.find("/", 8) + 1] == url[: url.find("/", 8) + 1] or target.startswith(_origins(url))


def _origins(url: Url) -> tuple[str, ...]:
    """How URLs of the same host begin."""
    host = _bare(url).partition("/")[0]
    return tuple(f"{scheme}://{www}{host}/" for scheme in ("http", "https") for www in ("", "www."))


def _likeness(url: Url, target: Url) -> int:
    (here, query), (there, target_query) = _path_and_query(url), _path_and_query(target)
    if _INDEX.sub("", here) == _INDEX.sub("", there):
        return _likeness_of_parameters(_parameters(query), _parameters(target_query))
    return _likeness_of_paths(here, there)


def _path_and_query(url: Url) -> tuple[str, str]:
    path, _, query = url[url.index("/", 8) :].partition("?")
    return path, query


def _parameters(query: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in query.split("&") if part]
    return {name: value for name, _, value in pairs}


def _likeness_of_parameters(here: Mapping[str, str], there: Mapping[str, str]) -> int:
    """The likeness of two URLs of the same path: by the parameter that has changed, or by those that are new."""
    changed = [(here[name], value) for name, value in there.items() if name in here and here[name] != value]
    if changed:
        is_step = len(changed) == 1 and _is_one_on(*changed[0])
        return _STEP if is_step else _ALIKE
    new = {name: value for name, value in there.items() if name not in here and value.isdecimal()}
    named = [value for name, value in new.items() if _PAGE_NAME.search(name)] or new.values()
    return _STEP if any(_is_second(int(value[:9])) for value in named) else _ALIKE


def _likeness_of_paths(here: str, there: str) -> int:
    """The likeness of two URLs of different paths: by the figures in which they differ, or by what one has more."""
    if _FIGURES.sub("0", here).rstrip("/") == _FIGURES.sub("0", there).rstrip("/"):
        pairs = zip(_FIGURES.findall(here), _FIGURES.findall(there), strict=True)
        changed = [(before, after) for before, after in pairs if before != after]
        return _STEP if len(changed) == 1 and _is_one_on(*changed[0]) else _ALIKE
    here, there = _INDEX.sub("", here), _INDEX.sub("", there)
    shorter, longer = sorted((here, there), key=len)
    start = next((at for at, pair in enumerate(zip(shorter, longer, strict=False)) if pair[0] != pair[1]), len(shorter))
    rest = len(shorter) - start
    added = _ADDED.fullmatch(longer[start : len(longer) - rest])
    if added is None or not longer.endswith(shorter[start:]):
        return _UNLIKE
    return _STEP if shorter == here and _is_second(int(added[1][:9])) else _ALIKE


def _is_one_on(here: str, there: str) -> bool:
    """Whether a figure is that of the next page: one more, or as many items more as stand on each page."""
    if not (here.isdecimal() and there.isdecimal()):
        return False
    step = int(there[:18]) - int(here[:18])
    return step == 1 or (step in _ITEMS and int(here[:18]) % step == 0)


def _is_second(figure: int) -> bool:
    """Whether a figure is that of the second page, the first having none: pages from 0 or 1, or items."""
    return figure in (1, 2) or (figure in _ITEMS and (figure % 5 == 0 or figure % 4 == 0))
