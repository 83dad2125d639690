"""What needs only the string: bounds, circles, extensions, sessions."""

from __future__ import annotations

import pytest
from tests.each_case import each_case

from periplus.model import Accept, ConfigError, Discovery, Reject, Rewrite, Source, Url, Verdict
from periplus.policy.filters import Extensions, ExtensionSettings, Sessions, SessionSettings, Shape, ShapeSettings


def reason(verdict: Verdict) -> str | None:
    return verdict.reason if isinstance(verdict, Reject) else None


def link(url: str, source: Source = Source.LINK, referrer: str | None = None) -> Discovery:
    return Discovery(Url(url), source, 0.0, 1, None if referrer is None else Url(referrer))


@each_case(
    ("path", "expected"),
    [
        ("/", None),
        ("/a/b/c", None),
        ("/a/a", None),
        ("/a/a/", None),
        ("/a/a/a", "repeated-segment"),
        ("/a/a/a/", "repeated-segment"),
        ("/a/b/a/b/a/b", "repeated-segment"),
        ("/x/a/y/a/z/a.html", None),
        ("/x/a/y/a/z/a?q", "repeated-segment"),
        ("/x/a/?/a/a/a/a", None),
        ("/11/11/11/11", None),
        ("/scipy/scipy/blob/main/scipy/io.py", None),
        ("/scipy/scipy/blob/main/scipy", None),
        ("/scipy/scipy/blob/scipy/x/scipy/io.py", "repeated-segment"),
        ("/a/a/a/b", "repeated-segment"),
        ("//a//b//", "repeated-segment"),
        ("/" + "/".join(map(str, range(16))), None),
        ("/" + "/".join(map(str, range(16))) + "/", None),
        ("/" + "/".join(map(str, range(17))), "path-depth"),
        ("/" + "x" * 1984, None),
        ("/" + "x" * 1985, "too-long"),
    ],
)
def test_a_path_is_bounded_and_does_not_go_in_circles(path: str, expected: str | None) -> None:
    """Length 2,000 for the whole URL, 16 segments, no segment three times, whatever was judged before."""
    shape = Shape()
    url = f"http://host.net{path}"
    for before in (url, f"http://host.net{path.partition('?')[0].rpartition('/')[0]}/other", url):
        verdict = shape.judge(link(before))
    assert reason(verdict) == expected


def test_only_what_can_be_fetched_is_judged_further() -> None:
    """Neither files nor mail."""
    for url in ("ftp://host.net/a", "mailto:a@b", "javascript:void(0)", "file:///etc/passwd"):
        assert reason(Shape().judge(link(url))) == "scheme"


def test_seeds_may_be_deep_but_not_endless() -> None:
    """Somebody asked for them."""
    assert reason(Shape().judge(link("http://host.net/a/a/a", Source.SEED))) is None
    assert reason(Shape().judge(link("http://host.net/" + "a" * 2000, Source.SEED))) == "too-long"


def test_bounds_are_settings() -> None:
    """All three."""
    shape = Shape(ShapeSettings(max_length=30, max_segments=2, max_repeats=1))
    assert reason(shape.judge(link("http://host.net/a/b"))) is None
    assert reason(shape.judge(link("http://host.net/a/a"))) == "repeated-segment"
    assert reason(shape.judge(link("http://host.net/a/b/c"))) == "path-depth"
    assert reason(shape.judge(link("http://host.net/123456789012345"))) == "too-long"


@each_case(
    ("url", "extension"),
    [
        ("http://host.net/a.jpg", "jpg"),
        ("http://host.net/a.JpG", "jpg"),
        ("http://host.net/a.tar.gz?x=1", "gz"),
        ("http://host.net/a.html", None),
        ("http://host.net/a", None),
        ("http://host.net/a.jpg/", None),
        ("http://host.zip/", None),
        ("http://host.zip/?a.zip", None),
        ("http://host.net/?f=a.jpg", None),
        ("http://host.net/a.jpg.html", None),
        ("http://host.net/jpg", None),
        ("http://host.net/wiki/File:Ship.jpg", None),
        ("http://host.net/wiki/Node.js", None),
        ("http://host.net:81/a.jpg", "jpg"),
    ],
)
def test_what_ends_like_a_picture_is_not_a_page(url: str, extension: str | None) -> None:
    """Only the end of the path counts; a query may name what it likes."""
    expected = Accept() if extension is None else Reject("extension", extension)
    assert Extensions().judge(link(url)) == expected
    assert Extensions().judge(link(url, Source.SEED)) == Accept()


def test_the_list_of_extensions_is_a_setting() -> None:
    """With or without the dot; empty refuses none; what is none is a mistake."""
    assert reason(Extensions(ExtensionSettings((".PHP",))).judge(link("http://host.net/a.php"))) == "extension"
    assert reason(Extensions(ExtensionSettings(())).judge(link("http://host.net/a.jpg"))) is None
    with pytest.raises(ConfigError):
        Extensions(ExtensionSettings(("tar.gz",)))


@each_case(
    ("url", "short"),
    [
        ("/a;jsessionid=0A1B2C?x=1", "/a?x=1"),
        ("/a;JSESSIONID=0A1B2C.node1", "/a"),
        ("/a;jsessionid=0A1B/b;v=1", "/a/b;v=1"),
        ("/a?PHPSESSID=3858f62230ac3c915f300c664312c63f", "/a"),
        ("/a?x=1&sid=9f86d081884c7d65&y=2", "/a?x=1&y=2"),
        ("/a?sid=42", None),
        ("/a?sid=sailing", None),
        ("/a?x=1&ASPSESSIONIDQQQQABCD=ABCDEFGHIJKLMNOPQRSTUVWX", "/a?x=1"),
        ("/a?CFID=12&CFTOKEN=34", "/a"),
        ("/a?utm_source=x&id=7&utm_medium=y", "/a?id=7"),
        ("/a?b&c=&&utm_id=1", "/a?b&c=&"),
        ("/(S(lit3py55t21z5v55vlm25s55))/a.aspx", "/a.aspx"),
        ("/(lit3py55t21z5v55vlm25s55)/a.aspx", "/a.aspx"),
        ("/wiki/Sail_(boat)", None),
        ("/a?mysid=9f86d081884c7d65", None),
        ("/a?q=sid=9f86d081884c7d65", None),
    ],
)
def test_a_session_is_not_part_of_a_name(url: str, short: str | None) -> None:
    """Well-known names only; an ambiguous one only with a made-up value; everything else stays in its order."""
    verdict = Sessions().judge(link("http://host.net" + url))
    assert (verdict.url if isinstance(verdict, Rewrite) else None) == (short and "http://host.net" + short)


def test_a_server_that_insists_on_its_session_is_followed() -> None:
    """Its redirect from the short name to the long one would otherwise lead back to where it came from."""
    long, short = "http://host.net/a;jsessionid=0A1B2C3D4E5F", "http://host.net/a"
    assert Sessions().judge(link(long, Source.REDIRECT, short)) == Accept()
    assert Sessions().judge(link(long, Source.REDIRECT, "http://host.net/b")) == Rewrite(Url(short), "jsessionid")


def test_names_of_parameters_are_settings() -> None:
    """What cannot be a name is a mistake."""
    assert Sessions(SessionSettings((), ())).judge(link("http://host.net/a?sid=9f86d081884c7d65")) == Accept()
    assert Sessions(SessionSettings((), ("x*",))).judge(link("http://host.net/?xyz=1")) == Rewrite(
        Url("http://host.net/"), "xyz"
    )
    with pytest.raises(ConfigError):
        Sessions(SessionSettings(("a=b",)))
