"""What a page says: one test a fact."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from periplus.content import RawPage, read_page, read_pages, read_texts
from periplus.model import Directives, Field, Form, LinkKind, ParsedPage, Refresh, UsageError

URL = "http://www.example.com/dir/page.html"


def page(html: str, **options: object) -> ParsedPage:
    return read_page(html.encode(), URL, "text/html; charset=utf-8", **options)  # type: ignore[arg-type]


def test_links_carry_text_rel_and_kind() -> None:
    """Every way out, in document order, with what is said about it."""
    found = page(
        """<a href=one.html rel="NoFollow  ugc">One
           <b>link</b></a><map><area href=/two alt=Two></map><iframe src=three title=Three></iframe>
           <a href=four><img src=x.png alt="A picture"></a><a name=here>no link</a>"""
    ).links
    assert [(link.url, link.anchor, link.rel, link.kind) for link in found] == [
        ("http://www.example.com/dir/one.html", "One link", "nofollow ugc", LinkKind.ANCHOR),
        ("http://www.example.com/two", "Two", "", LinkKind.AREA),
        ("http://www.example.com/dir/three", "Three", "", LinkKind.IFRAME),
        ("http://www.example.com/dir/four", "A picture", "", LinkKind.ANCHOR),
    ]


def test_only_http_is_linked() -> None:
    """What is not fetched over HTTP is not a link; what stands around it keeps its text and rel."""
    links = page(
        '<a href="javascript:x()">c</a><a href=x rel=nofollow>d</a><a href="mailto:a@b">e</a><area href=y alt=f>'
    ).links
    assert [(link.url[-1], link.anchor, link.rel, link.kind) for link in links] == [
        ("x", "d", "nofollow", LinkKind.ANCHOR),
        ("y", "f", "", LinkKind.AREA),
    ]


def test_links_within_the_page() -> None:
    """An empty href and a bare fragment are links to the page; `to_others` leaves them out, with a base none are."""
    html = '<a href="#a">a</a><a href="">b</a><a href=x>c</a><map><area href="#f" alt=d></map><a href=page.html#e>e</a>'
    links = page(html).links
    assert [(link.url, link.anchor) for link in links] == [
        (URL, "a"),
        (URL, "b"),
        ("http://www.example.com/dir/x", "c"),
        (URL, "d"),
        (URL, "e"),
    ]
    assert links.own == [0, 1, 3]
    assert links.to_others().anchors == ["c", "e"]
    assert page(f"<base href=/b/>{html}").links.own == []
    assert len(page(f"<base href=page.html>{html}").links.to_others()) == 2


def test_fragments_lead_away_where_the_base_does() -> None:
    """With a base elsewhere, a bare fragment is a link to that base."""
    found = page('<base href="/other/"><a href="#a">a</a>')
    assert [link.url for link in found.links] == ["http://www.example.com/other/"]
    assert found.base == "http://www.example.com/other/"


def test_only_the_first_base_counts() -> None:
    """HTML Standard 4.2.3: the first with an href, be it broken."""
    assert page("<base target=x><base href=/a/><base href=/b/>").base == "http://www.example.com/a/"
    assert page("<base href='http://[/'><base href=/b/>").base == URL
    assert page("<base href='data:x'>").base == URL


def test_templates_and_comments_are_not_there() -> None:
    """What a browser does not show is not a link."""
    assert not page("<template><a href=a>a</a></template><!-- <a href=b>b</a> -->").links


def test_noscript_has_links_but_no_text() -> None:
    """Doors for readers without scripts are doors; their text is not what readers see."""
    found = page("<p>seen<noscript><a href=n>unseen</a><meta http-equiv=refresh content='0;url=/x'></noscript>")
    assert [link.url for link in found.links] == ["http://www.example.com/dir/n"]
    assert found.text == "seen"
    assert found.refresh is None


def test_resources_are_apart() -> None:
    """Pictures and films are not links; a srcset offers several."""
    found = page(
        '<img src=a.png alt="An a" srcset="b.png 1x, c,d.png 2x,e.png 100w"><video src=v.mp4 poster=p.jpg>'
        "<source src=s.webm></video><img src='data:image/png;base64,x'>"
    )
    assert not found.links
    assert [(resource.url.rpartition("/")[2], resource.tag, resource.text) for resource in found.resources] == [
        ("a.png", "img", "An a"),
        ("b.png", "img", "An a"),
        ("c,d.png", "img", "An a"),
        ("e.png", "img", "An a"),
        ("v.mp4", "video", ""),
        ("p.jpg", "video", ""),
        ("s.webm", "source", ""),
    ]


def test_a_frame_without_a_source_is_not_a_link() -> None:
    """An iframe with an empty src shows an empty page."""
    html = '<iframe src=""></iframe><iframe></iframe><iframe src="#f"></iframe><iframe src=/i></iframe>'
    assert page(html).links.urls == [URL, "http://www.example.com/i"]


def test_relations() -> None:
    """Canonical, neighbours, other languages, feeds; the page's word before its server's."""
    found = page(
        """<link rel=canonical href=/c><link rel="canonical" href=/d><link rel=next href=2><link rel=prev href=0>
        <link rel=amphtml href=/amp><link rel=alternate hreflang=de href=/de title=Deutsch media=print>
        <link rel="alternate" type="application/rss+xml; charset=utf-8" href=/rss>
        <link rel="alternate stylesheet" href=/s>
        <link rel=feed href=/feed><link rel=stylesheet href=/x.css>""",
        link_headers=['</h>; rel="canonical"', '</fr>; rel="alternate"; hreflang="fr"'],
    ).relations
    host = "http://www.example.com"
    assert (found.canonical, found.next, found.prev) == (f"{host}/c", f"{host}/dir/2", f"{host}/dir/0")
    assert found.amphtml == f"{host}/amp"
    assert [(one.url, one.hreflang, one.title, one.media) for one in found.alternates] == [
        (f"{host}/de", "de", "Deutsch", "print"),
        (f"{host}/fr", "fr", "", ""),
    ]
    assert [one.url for one in found.feeds] == [f"{host}/rss", f"{host}/feed"]
    pdf = read_page(b"%PDF-1.4", URL, "application/pdf", link_headers=['</h>; rel="canonical"'])
    assert pdf.canonical == f"{host}/h"
    assert page("<p>", link_headers=['</h>; rel="canonical"']).canonical == f"{host}/h"
    assert page("<p>", link_headers=[f'</h>; rel="canonical"; anchor="{URL}"']).canonical == f"{host}/h"
    assert page("<p>", link_headers=['</h>; rel="canonical"; anchor="/other"']).relations.canonical is None


def test_title_description_language() -> None:
    """The head's facts; a drawing's title is not the page's."""
    found = page(
        "<html lang=en-GB><svg><title>drawing</title></svg><title> A\n title </title>"
        "<meta property='og:description' content=second><meta name=Description content=' first  one '>"
    )
    assert (found.title, found.description, found.language) == ("A title", "first one", "en-GB")
    assert page("<meta http-equiv=Content-Language content='de, en'>").language == "de"
    assert page("<meta property='og:description' content=second>").description == "second"


def test_directives_of_page_and_header() -> None:
    """The strictest voice that speaks to us wins; what is for others is not for us."""
    found = page(
        "<meta name=ROBOTS content='noindex'><meta name=periplus content=noarchive>"
        "<meta name=otherbot content=nofollow>",
        robots_tags=["nosnippet", "otherbot: notranslate"],
    ).directives
    assert found == Directives(noindex=True, noarchive=True, nosnippet=True)


def test_refresh() -> None:
    """A refresh to elsewhere, to itself, and to what cannot be fetched."""
    assert page("<meta http-equiv=Refresh content='5; url=other'>").refresh == Refresh(
        5.0,
        "http://www.example.com/dir/other",  # type: ignore[arg-type]
    )
    assert page("<body><meta http-equiv=refresh content=30>").refresh == Refresh(30.0, None)
    assert page("<meta http-equiv=refresh content='0;url=javascript:x'>").refresh is None


def test_script_redirects() -> None:
    """Only what a script plainly does."""
    assert page("<script>window.location.href = 'http://other.example/';</script>").script_redirect == (
        "http://other.example/"
    )
    assert page('<script>location.replace("/x")</script>').script_redirect == "http://www.example.com/x"
    for script in (
        "if (mobile) { location = '/m' }",
        "function go() { location.href = '/m' }",
        "if (mobile) location = '/m'",
        "location = '/m' + id",
        "// location = '/m'",
        "my.location = '/m'",
        "x = \"location = '/m'\"",
    ):
        assert page(f"<script>{script}</script>").script_redirect is None, script
    assert page("<script src=x>location = '/m'</script>").script_redirect is None


def test_a_form_that_was_read_before_leads_from_its_own_page() -> None:
    """Forms are remembered as they are written."""
    html = b"<form action=search><input name=q></form>"
    forms = [read_page(html, f"http://{host}/dir/", "text/html").forms[0] for host in ("a.example", "b.example")]
    assert [form.action for form in forms] == ["http://a.example/dir/search", "http://b.example/dir/search"]
    assert forms[0].fields == forms[1].fields == (Field("q", "text"),)


def test_forms() -> None:
    """Action, method, and fields with labels and options."""
    (form,) = page(
        """<form action=/search method=get><label for=q>Words</label><input id=q name=q required>
        <label>Where <select name=s><option value=1>one<option selected>two</select></label>
        <input type=radio name=r value=a><input type=radio name=r value=b checked>
        <input list=l name=city><datalist id=l><option value=Rome></datalist>
        <textarea name=t>text</textarea><input name=off disabled><input type=submit value=Go></form>"""
    ).forms
    assert form == Form(
        action="http://www.example.com/search",  # type: ignore[arg-type]
        method="GET",
        fields=(
            Field("q", "text", is_required=True, label="Words"),
            Field("s", "select", "two", ("1", "two"), label="Where"),
            Field("r", "radio", "b", ("a", "b")),
            Field("city", "text", options=("Rome",)),
            Field("t", "textarea", "text"),
        ),
        buttons=("Go",),
    )
    assert [form.action for form in page("<form method=POST></form>").forms] == [URL]


def test_controls_of_a_disabled_fieldset_send_nothing() -> None:
    """But for those in its first legend, unless a fieldset around it is disabled, too (HTML Standard, 4.10.19.5)."""
    (form,) = page(
        """<form><fieldset disabled><legend><input name=a></legend><legend><input name=b></legend><input name=c>
        <fieldset><legend><input name=d></legend></fieldset><select name=e><option>1</select></fieldset>
        <fieldset><div><legend><input name=f></legend></div><textarea name=g></textarea></fieldset></form>"""
    ).forms
    assert [field.name for field in form.fields] == ["a", "f", "g"]


def test_controls_belong_to_forms_wherever_they_stand() -> None:
    """In a table that closes the form's element, after it by a form attribute, or in a later block of the same form."""
    first, second = page(
        """<table><tr><form id=f action=/one><td><input name=a></td></tr><tr><td><input name=b></td></form></tr></table>
        <div><form action=/two></div><input name=c><input name=d form=f><input name=e form=unknown></form>
        <input name=outside><label for=g>G</label><div><button form=f id=g name=g value=1>go</button></div>"""
    ).forms
    assert [field.name for field in first.fields] == ["a", "b", "d", "g"]
    assert [field.name for field in second.fields] == ["c"]
    assert (first.fields[3].type, first.fields[3].value, first.fields[3].label) == ("submit", "1", "G")


def test_labels_options_and_groups() -> None:
    """Labels around and beside controls, options by value or text, radio buttons as one field, lists of proposals."""
    (form,) = page(
        """<form><label>Around <b>it</b> <input name=a></label><label for=b> Beside\n it </label><input id=b name=b>
        <input name=c placeholder=" Said  by itself ">
        <select name=s multiple><option value="">none<option> by  text <option disabled>off<optgroup><option>last
        </select><select name=t><option value=x>X<option value>empty</select>
        <label>One <input type=radio name=r value=1 required></label><label>Two<input type=radio name=r checked></label>
        <input name=u list=l><input name=v list=none></form><datalist id=l><option>Rome<option value=Oslo></datalist>"""
    ).forms
    assert form.fields == (
        Field("a", "text", label="Around it"),
        Field("b", "text", label="Beside it"),
        Field("c", "text", label="Said by itself"),
        Field("s", "select-multiple", "", ("", "by text", "last")),
        Field("t", "select", "x", ("x", "")),
        Field("r", "radio", "on", ("1", "on"), is_required=True, label="One"),
        Field("u", "text", options=("Rome", "Oslo")),
        Field("v", "text"),
    )


def test_text_folds_and_hides() -> None:
    """What a reader sees, with single spaces: no scripts, styles or templates."""
    found = page(
        "<title>T</title><p>One\n  <b>two</b>,\xa0three.<script>x</script><style>y</style><template>z</template>"
        "<ul><li>four</li><li>five (<i>six</i>)</li></ul>"
    )
    assert found.text == "One two, three. four five (six)"


def test_main_text_prefers_main() -> None:
    """What the page calls main, without the navigation in it."""
    words = "This is what the page is really about, at some length."
    found = page(
        f"<header>Site</header><nav>Menu</nav><main><nav>Inner menu</nav><h1>Head</h1><p>{words}</main>"
        "<aside>Related</aside><footer>Imprint</footer>"
    )
    assert found.main_text == f"Head {words}"
    assert found.text == f"Site Menu Inner menu Head {words} Related Imprint"


def test_main_text_without_main() -> None:
    """Roles, sections and blocks of links are left out."""
    words = "This is what the page is really about, at some length."
    found = page(
        "<div role=banner>Site</div><ul><li><a href=1>Home</a><li><a href=2>News</a><li><a href=3>Shop</a></ul>"
        f"<div><p>{words} <a href=4>link</a></div><footer>Imprint</footer>"
    )
    assert found.main_text == f"{words} link"


def test_a_page_of_links_is_about_its_links() -> None:
    """Where nothing else is there, everything is main."""
    found = page("<ul><li><a href=1>One</a><li><a href=2>Two</a><li><a href=3>Three</a></ul>")
    assert found.main_text == found.text == "One Two Three"


def test_a_page_in_a_form() -> None:
    """Some pages are one form as a whole."""
    words = "This is what the page is really about, at some length."
    assert page(f"<form action=x><p>{words}</form><p>x").main_text.startswith(words)


def test_encodings_reach_text_and_queries() -> None:
    """Text is decoded by the page's encoding, and a query is in it."""
    body = '<meta charset=windows-1251><p>Привет <a href="/п?q=п">п</a>'.encode("windows-1251")
    found = read_page(body, URL, "text/html")
    assert found.text == "Привет п"
    assert found.charset == "windows-1251"
    assert found.links[0].url == "http://www.example.com/%D0%BF?q=%EF"


def test_bad_characters_are_told() -> None:
    """Bytes that mean nothing leave a mark and a problem."""
    found = read_page(b"<p>a\xffb", URL, "text/html; charset=utf-8")
    assert found.text == "a\ufffdb"
    assert [problem.reason for problem in found.problems] == ["bad-characters"]


def test_what_is_not_a_page() -> None:
    """Nothing, pictures and texts: a page without links, and the reason."""
    for body, content_type, reason, text in (
        (b"", "text/html", "empty", ""),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "text/html", "binary", ""),
        (b"\0\1\2\3" * 100, "text/html", "binary", ""),
        (b"%PDF-1.4 ...", None, "binary", ""),
        (b"ID3\x04\0", "text/html", "binary", ""),
        (b"ID3 tags", "text/plain", "not-html", "ID3 tags"),
        (b"Just  words <a href=x>", "text/plain", "not-html", "Just words <a href=x>"),
        (b"<?xml version='1.0'?><rss/>", "application/rss+xml", "not-html", ""),
        (b"<p>hi", "image/png", "binary", ""),
    ):
        found = read_page(body, URL, content_type)
        assert [problem.reason for problem in found.problems] == [reason], body
        assert found.text == text
        assert not found.links


def test_a_page_without_a_type_is_sniffed() -> None:
    """No type, or one that says nothing: the bytes decide."""
    for content_type in (None, "", "application/octet-stream", "*/*"):
        assert read_page(b"<!doctype html><a href=x>y</a>", URL, content_type).links


def test_links_of_drawings() -> None:
    """A link in a drawing may be written with the prefix of old."""
    found = page("<svg><a xlink:href='/old'>o</a><a href='/new'>n</a></svg><a>no</a>")
    assert [(link.url, link.anchor) for link in found.links] == [
        ("http://www.example.com/old", "o"),
        ("http://www.example.com/new", "n"),
    ]


def test_links_keep_their_order_among_frames() -> None:
    """Links of all kinds are in the order of the page, also where there are frames or maps."""
    found = page("<a href=1>a</a><iframe src=2 title=t></iframe><map><area href=3 alt=m></map><a href=4>b</a>")
    assert [(link.url[-1], link.anchor, link.kind.value) for link in found.links] == [
        ("1", "a", "a"),
        ("2", "t", "iframe"),
        ("3", "m", "area"),
        ("4", "b", "a"),
    ]


def test_a_picture_in_place_of_a_text() -> None:
    """A link without a text is called what its picture says, wherever in it the picture is; a text comes first."""
    found = page(
        "<a href=1><img alt=' One  '></a><a href=2><b></b><i><img alt=Two></i></a><a href=3>T<img alt=x></a>"
        "<a href=4><img></a><a href=5></a>"
    )
    assert [link.anchor for link in found.links] == ["One", "Two", "T", "", ""]


def test_many_pages_at_once() -> None:
    """More pages than are read together come back in order, none for none, and a large one does no harm."""
    raw = [RawPage(f"<title>{number}</title><p>word {number}".encode(), URL, "text/html") for number in range(100)]
    raw[50] = RawPage(b"<p>" + b"word " * 400_000, URL, "text/html")
    raw[51] = RawPage(b"", URL)
    assert read_pages(raw) == [read_page(one.body, one.url, one.content_type) for one in raw]
    assert read_pages([]) == []


def test_headers_of_pages_read_together() -> None:
    """Each page has its own headers."""
    one, other = read_pages(
        [
            RawPage(b"<p>a", URL, "text/html", robots_tags=["noindex"]),
            RawPage(b"<p>b", URL, "text/html", link_headers=["</c>; rel=canonical"]),
        ]
    )
    assert (one.directives.noindex, other.directives.noindex) == (True, False)
    assert (one.canonical, other.canonical) == (None, "http://www.example.com/c")


@pytest.mark.parametrize(
    "url", ["example.org", "", "/x", "//example.org/", "http://", "about:blank", "mailto:a@b.test"]
)
@pytest.mark.parametrize("read", [read_page, read_texts])
def test_a_url_that_is_not_absolute(read: Callable[[bytes, str], ParsedPage], url: str) -> None:
    """Links cannot be resolved against it: the caller is told so, with an error of ours."""
    with pytest.raises(UsageError, match="absolute"):
        read(b"<title>x</title><a href=/y>y</a>", url)


@pytest.mark.parametrize("url", ["https://example.org", "file:///tmp/x.html", "HTTP://Example.org/a b"])
def test_urls_that_a_page_may_have(url: str) -> None:
    assert read_page(b"<title>x</title>", url).title == "x"
