"""Which files pages, style sheets and manifests need."""

from __future__ import annotations

import time

import pytest
from tests.formats.linear_time import assert_linear

from periplus.model import Url
from periplus.parts.requisites.finding import file_requisites, page_media, page_requisites
from periplus.parts.requisites.style_sheets import style_urls
from periplus.policy.filters import MediaSettings, MediaTypes

HOME = Url("https://a.test/x/page")

PAGE = """<!doctype html><head><base href="/b/"><link rel="stylesheet" href="main.css">
<link rel="shortcut icon" href=i.ico>
<link rel=apple-touch-icon href=touch.png><link rel=manifest href=app.json><link rel=canonical href=/no>
<link rel=preload as=image imagesrcset="pre.png 1x"><script src=s.js></script><script>var x = "url(no.png)"</script>
<style>@import "other.css"; p { background: url(bg.png) }</style></head><body background=body.png>
<img src=one.png srcset="two.png 2x, https://b.test/three.png 3x" data-src=lazy.png>
<picture><source srcset="four.webp"><img src="data:image/png;base64,AAAA"></picture>
<video src=film.mp4 poster=poster.png><source src=film2.mp4></video><iframe src=frame.html></iframe>
<p style="background: url(&quot;inline.png&quot;)"><input type=image src=button.png>
<svg><image href=drawn.png /><use href="#own"/></svg><a href=page2>on</a>
<img src=blank.gif data-original=later.png><img data-lazy-src=lazy2.png data-lazy-srcset="lazy3 2x">
<img data-lazy=lazy4.png><img data-full-src=full.png>
<object data=map.svg type="image/svg+xml"></object><object data=film.avi type="video/avi"></object><embed src=tour.swf>
<object data=frame2.html type=text/html></object><table background=wood.gif><tr><td background="paper.gif"></table>
</body>"""


def test_a_page() -> None:
    """Everything that a browser would load, but for frames, films and sounds; under the base of the page."""
    found = page_requisites(PAGE.encode(), "text/html", "https://a.test/b/", 100)
    names = [url.removeprefix("https://a.test/b/") for url in found]
    assert sorted(names) == sorted(
        ["main.css", "i.ico", "touch.png", "app.json", "pre.png", "s.js", "other.css", "bg.png", "body.png", "one.png",
         "two.png", "https://b.test/three.png", "lazy.png", "four.webp", "poster.png", "inline.png", "button.png",
         "drawn.png", "blank.gif", "later.png", "lazy2.png", "lazy3", "lazy4.png",
         "full.png", "map.svg", "tour.swf", "wood.gif", "paper.gif"]
    )  # fmt: skip
    assert page_requisites(PAGE.encode(), "text/html", "https://a.test/b/", 3) == found[:3]
    assert page_requisites(b"no page", "image/png", HOME, 9) == []


def test_files_of_a_page_that_are_wanted() -> None:
    """By the types that their names or elements imply: pictures may have any name."""
    images = MediaTypes(MediaSettings(types=("image/*",)))
    found = page_media(PAGE.encode(), "text/html", "https://a.test/b/", images.wants_url)
    assert {url.rpartition("/")[2] for url in found} == {
        "i.ico", "touch.png", "pre.png", "bg.png", "body.png", "one.png", "two.png", "three.png", "lazy.png",
        "four.webp", "poster.png", "inline.png", "button.png", "drawn.png", "blank.gif", "later.png", "lazy2.png",
        "lazy3", "lazy4.png", "full.png", "map.svg", "wood.gif", "paper.gif",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("styles", "named"),
    [
        ("@import 'a.css' screen; @IMPORT url( b.css );", ["a.css", "b.css"]),
        ("p{content:'url(no.png)'} /* url(no.png) */ q{background:URL(\"a b.png\")}", ["a b.png"]),
        ("@font-face{src:url(f.woff2)format('woff2'),local('x')}", ["f.woff2"]),
        ("p{background:image-set('1.png' type('image/png') 1x, url(2.png) 2x)} q{content:'no'}", ["1.png", "2.png"]),
        (r"p{background:url(a\29 \62.png)}", ["a)b.png"]),
        ("p{background:url()} q{background:url(broken", []),
    ],
)
def test_a_style_sheet(styles: str, named: list[str]) -> None:
    """The files it names, as written; not those in comments and texts."""
    assert list(style_urls(styles)) == named


@pytest.mark.proof
@pytest.mark.parametrize(
    "styles", ["url(" * 250_000, '"\\' * 500_000, "/*" * 500_000, "url(a" * 200_000, "@import" * 99_999]
)
def test_reading_takes_linear_time(styles: str) -> None:
    """Whatever a style sheet holds."""
    before = time.process_time()
    list(style_urls(styles))
    page_requisites(styles.encode() + b"<use " * 100_000 + b" style='" * 99_999, "text/html", HOME, 9)
    assert time.process_time() - before < 10


def test_files() -> None:
    """Only style sheets and manifests need other files."""
    assert file_requisites(b"p{background:url(../a.png)}", "text/css", Url("https://a.test/s/m"), 9) == [
        "https://a.test/a.png"
    ]
    manifest = b'{"icons": [{"src": "i.png"}], "other": 1}'
    assert file_requisites(manifest, "application/manifest+json", Url("https://a.test/m/m"), 9) == [
        "https://a.test/m/i.png"
    ]
    assert file_requisites(b'{"icons": 7}', "application/json", Url("https://a.test/m/m"), 9) == []
    assert file_requisites(b"url(a.png)", "image/png", Url("https://a.test/m/m"), 9) == []


@pytest.mark.parametrize("piece", [b"<style", b"<style>", b" style='", b"<image href=", b"<style>/*", b"@import "])
def test_pages_take_linear_time(piece: bytes) -> None:
    """Whatever begins in them and does not end."""
    assert_linear(lambda size: page_requisites(piece * (size // len(piece)), "text/html", HOME, 100), 300_000)
