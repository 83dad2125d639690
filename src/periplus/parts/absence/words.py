"""What "not found" is in 40 languages: whether a title or heading says that a page is missing.

The words only raise a suspicion, which a probe confirms or refutes: an article about the status code 404 has them too.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import groupby
from typing import Final

LONGEST: Final = 200
"""Characters of a title or heading that are searched: an error page says early that it is one."""

_PHRASES: Final = {
    "en": ("not found", "page is not here", "does not exist", "doesn't exist", "no longer exists", "cannot be found",
           "can't be found", "could not be found", "couldn't find", "can't find", "no longer available", "page missing",
           "nothing here", "page unavailable", "no such page", "has been removed", "been deleted"),
    "de": ("nicht gefunden", "existiert nicht", "nicht vorhanden", "nicht verfügbar", "nicht mehr verfügbar"),
    "fr": ("introuvable", "pas été trouvée", "non trouvée", "n'existe pas", "n'existe plus", "n’existe pas"),
    "es": ("no encontrada", "no encontrado", "no existe", "no se encuentra", "no se ha encontrado", "no se encontró"),
    "pt": ("não encontrada", "não encontrado", "não existe", "não foi encontrada"),
    "it": ("non trovata", "non trovato", "non esiste", "non è stata trovata"),
    "nl": ("niet gevonden", "bestaat niet", "niet beschikbaar"),
    "sv": ("hittades inte", "finns inte", "kunde inte hittas", "hittas inte"),
    "da": ("ikke fundet", "findes ikke", "blev ikke fundet"),
    "nb": ("ikke funnet", "finnes ikke", "fant ikke"),
    "fi": ("ei löytynyt", "ei löydy", "ei ole olemassa"),
    "is": ("fannst ekki", "finnst ekki"),
    "pl": ("nie znaleziono", "nie istnieje", "nie została znaleziona"),
    "cs": ("nenalezena", "nenalezeno", "neexistuje", "nebyla nalezena"),
    "sk": ("nenájdená", "nenájdené", "neexistuje", "nebola nájdená"),
    "sl": ("ni mogoče najti", "ni najdena", "ne obstaja"),
    "hr": ("nije pronađena", "nije pronađen", "ne postoji"),
    "sr": ("није пронађена", "не постоји", "nije pronađena"),
    "bg": ("не е намерена", "не съществува", "не беше намерена"),
    "ru": ("не найдена", "не найдено", "не существует", "не найден"),
    "uk": ("не знайдено", "не знайдена", "не існує"),
    "be": ("не знойдзена", "не існуе"),
    "ro": ("nu a fost găsită", "negăsită", "nu există"),
    "hu": ("nem található", "nem létezik"),
    "el": ("δεν βρέθηκε", "δεν υπάρχει"),
    "tr": ("bulunamadı", "mevcut değil"),
    "et": ("ei leitud", "ei leia"),
    "lv": ("nav atrasta", "neeksistē"),
    "lt": ("nerastas", "nerasta", "neegzistuoja"),
    "ca": ("no s'ha trobat", "no trobada", "no existeix"),
    "eu": ("ez da aurkitu", "ez da existitzen"),
    "ga": ("níor aimsíodh", "gan aimsiú"),
    "he": ("לא נמצא", "לא נמצאה", "לא קיים"),
    "ar": ("غير موجودة", "غير موجود", "لم يتم العثور"),
    "fa": ("یافت نشد", "پیدا نشد", "وجود ندارد"),
    "hi": ("नहीं मिला", "नहीं मिली", "मौजूद नहीं"),
    "th": ("ไม่พบหน้า", "ไม่พบ"),
    "vi": ("không tìm thấy", "không tồn tại"),
    "id": ("tidak ditemukan", "tidak tersedia"),
    "ja": ("見つかりません", "見つかりませんでした", "存在しません", "ページがありません"),
    "ko": ("찾을 수 없", "존재하지 않"),
    "zh": ("找不到", "未找到", "不存在", "頁面不存在"),
}  # fmt: skip
"""Phrases by language, in lower case."""

LANGUAGES: Final = tuple(sorted(_PHRASES))
"""The languages whose words are known."""

_STATUS: Final = re.compile(r"(?<![\d.])(?:404|410)(?![\d.])")


def _any_of(phrases: Collection[str]) -> str:
    """A pattern for any of these that compares common beginnings once: a tree of letters."""
    if "" in phrases:
        return ""
    by_letter = groupby(sorted(phrases), lambda phrase: phrase[0])
    branches = [re.escape(letter) + _any_of([each[1:] for each in some]) for letter, some in by_letter]
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


_ABSENT: Final = re.compile(_any_of({each for some in _PHRASES.values() for each in some}))


def says_not_found(heading: str) -> bool:
    """Whether a title or heading says that the page is missing."""
    heading = heading[:LONGEST].lower()
    return _ABSENT.search(heading) is not None or ("4" in heading and _STATUS.search(heading) is not None)
