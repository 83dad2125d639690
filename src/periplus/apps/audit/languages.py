"""Languages: which codes there are, and whether a text can be in the language that a page declares.

Codes are those of ISO 639-1 and ISO 3166-1 alpha-2, with older ones that are still in use. A text is only said to be in
another language where that is certain: its words are those of another language, or it is in another script.
"""

# ruff: noqa: SIM905 - words are easier to read than a list of strings
from __future__ import annotations

import re
from typing import Final

from periplus.content.common_words import language_shares

LANGUAGES: Final = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee
    el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is
    it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms
    mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk
    sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi
    yo za zh zu in iw ji jw mo sh
    """.split()
)
REGIONS: Final = frozenset(
    """
    ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl bm bn bo bq br bs bt bv bw by
    bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg eh er es et fi fj fk
    fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir
    is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mf mg mh mk
    ml mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm
    pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx sy sz tc td tf
    tg th tj tk tl tm tn to tr tt tv tw tz ua ug um us uy uz va vc ve vg vi vn vu wf ws xk ye yt za zm zw
    """.split()
)
_CODE: Final = re.compile(r"([a-z]{2,3})(?:-([a-z]{4}))?(?:-([a-z]{2}|\d{3}))?", re.IGNORECASE)
_TAG: Final = re.compile(r"([a-z]{2,3}|[a-z]{5,8}|x|i)(?:-[a-z0-9]{1,8})*", re.IGNORECASE)
_HINTS: Final = {"uk": "gb", "en-uk": "en-gb", "jp": "ja", "cn": "zh", "gr": "el", "dk": "da", "cz": "cs", "se": "sv"}

_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_OTHERS: Final = {code: " " for code in range(128) if not chr(code).isalpha()}
"""What is no letter of ASCII: words of such a text are found without an expression, in a fraction of the time."""
_REFERENCE: Final = re.compile(rb"&[#a-zA-Z0-9]{1,12};")
_MIN_WORDS: Final = 60
_MIN_OTHER: Final = 0.18
"""Share of words of another language: prose has a quarter of the commonest."""
_MAX_OWN: Final = 0.25
"""Words of the declared language for each of the other one: short words are common in many languages."""
_MIN_SCRIPT: Final = 0.8
_SCRIPTS: Final = (
    (
        "Cyrillic",
        re.compile("[\u0400-\u04ff]"),
        "ru uk be bg sr mk kk ky mn tg tt uz ba cv os ab av ce cu kv sh bs ro mo az",
    ),
    ("Greek", re.compile("[\u0370-\u03ff]"), "el"),
    ("Hebrew", re.compile("[\u0590-\u05ff]"), "he iw yi"),
    ("Arabic", re.compile("[\u0600-\u06ff]"), "ar fa ur ps ku sd ug dv ks az ms pa"),
    ("Devanagari", re.compile("[\u0900-\u097f]"), "hi mr ne sa bh ks sd"),
    ("Thai", re.compile("[\u0e00-\u0e7f]"), "th"),
    ("Korean", re.compile("[\uac00-\ud7af]"), "ko"),
    ("Japanese", re.compile("[\u3040-\u30ff]"), "ja ii"),
    ("Chinese", re.compile("[\u4e00-\u9fff]"), "zh ja ko"),
)
_MIN_LETTERS: Final = 120
_MIN_BYTES: Final = 1.4
"""Bytes a character of text that is mostly in other letters than Latin ones."""


def wrong_code(code: str) -> str:
    """What is wrong with a code of hreflang; empty if nothing is. Codes of three letters are not judged."""
    if code.strip().lower() == "x-default":
        return ""
    found = _CODE.fullmatch(code.strip())
    if found is None:
        return "not a language code" + (", which has a hyphen" if "_" in code else "")
    language, _, region = (part.lower() if part else "" for part in found.groups())
    if len(language) == 2 and language not in LANGUAGES:
        return f"no language has the code {language}" + _hint(language)
    if region and not region.isdigit() and region not in REGIONS:
        return f"no country has the code {region.upper()}" + _hint(region)
    return ""


def _hint(code: str) -> str:
    return f", write {_HINTS[code].upper() if code == 'uk' else _HINTS[code]}" if code in _HINTS else ""


def wrong_language(declared: str) -> str:
    """What is wrong with a `lang` attribute; empty if nothing is."""
    found = _TAG.fullmatch(declared.strip())
    if found is None:
        return "not a language tag"
    language = found[1].lower()
    if len(language) > 3 or (len(language) == 2 and language not in LANGUAGES):
        return f"no language has the code {language}" + _hint(language)
    return ""


def other_language(declared: str, sample: bytes) -> str:
    """The language or script of a text, if it is certainly not the declared one; otherwise empty."""
    language = declared.strip().lower().partition("-")[0]
    if len(language) != 2:
        return ""
    text = (_REFERENCE.sub(b" ", sample) if b"&" in sample else sample).decode("utf-8", "replace")
    is_foreign = len(sample) > _MIN_BYTES * len(text)
    if is_foreign and (script := _other_script(language, text)):
        return script
    lower = text.lower()
    words = (
        [word for word in lower.translate(_OTHERS).split() if len(word) > 1]
        if lower.isascii()
        else _WORD.findall(lower)
    )
    if len(words) < _MIN_WORDS:
        return ""
    shares = language_shares(words)
    best = max(shares, key=lambda name: shares[name])
    is_latin = any(language in languages.split() for _, _, languages in _SCRIPTS)
    own = shares.get(language, 0.0 if is_latin else 1.0)
    return best if shares[best] >= _MIN_OTHER and own <= _MAX_OWN * shares[best] and best != language else ""


def _other_script(language: str, text: str) -> str:
    letters = sum(1 for letter in text if letter.isalpha())
    if letters < _MIN_LETTERS:
        return ""
    for name, pattern, languages in _SCRIPTS:
        if len(pattern.findall(text)) >= _MIN_SCRIPT * letters:
            return "" if language in languages.split() else f"text in {name} letters"
    return ""
