"""Each failure that the Berkeley report names, repaired; and the rules that repair it, at their edges."""

from __future__ import annotations

from collections.abc import Sequence

from tests.each_case import each_case

from periplus.apps.ulinks import Listed, Ulink, ulinks
from periplus.apps.ulinks.branches import shape_of
from periplus.apps.ulinks.sampling import repaired
from periplus.apps.ulinks.titles import anchors_of, without_site
from periplus.model import Url

DAY = 86_400.0
CITIES = ("san-francisco-ca", "chicago-il", "new-york-ny", "london-england", "los-angeles-ca")


def sections(links: list[Ulink]) -> list[str]:
    return [link.section.partition("/")[2] for link in links]


def test_a_long_list_folds_whatever_is_left() -> None:
    """mp3va.com: releases are one link, not four."""
    urls = [f"http://mp3va.com/upcoming/{number}" for number in range(3)]
    urls += [f"http://mp3va.com/release/{number}" for number in range(100)]
    assert [(link.section, link.weight) for link in ulinks(urls, 5, 5)] == [
        ("mp3va.com/release", 100),
        ("mp3va.com/upcoming", 3),
    ]


def test_categories_are_shown_instead_of_cities() -> None:
    """zvents.com: what recurs under every city is what the site is about; /movies is a page of its own."""
    urls = [
        f"http://www.zvents.com/{city}/{category}/{name}"
        for city in CITIES
        for category in ("movies", "restaurants", "events")
        for name in ("alpha", "beta", "gamma", "delta")
    ]
    urls += [f"http://www.zvents.com/{city}/" for city in CITIES]
    urls += [f"http://www.zvents.com/{city}/restaurants" for city in CITIES] + ["http://www.zvents.com/movies"]
    found = ulinks(urls, 5)
    assert set(sections(found)[:3]) == {"movies", "restaurants", "events"}
    urls_by_section = {link.section.partition("/")[2]: link.url for link in found}
    assert urls_by_section["movies"] == "http://www.zvents.com/movies"
    assert urls_by_section["restaurants"] == "http://www.zvents.com/chicago-il/restaurants"
    assert ulinks(urls, 5, exact=True)[0].section == "www.zvents.com/chicago-il"


def test_the_parts_of_many_items_are_not_categories() -> None:
    """Every product has reviews; what the site has is products."""
    words = [a + b for a in "abcdefgh" for b in "ijklmnop"]
    urls = [f"http://shop.com/product/{word}/{part}" for word in words for part in ("reviews", "pictures")]
    urls += ["http://shop.com/about", "http://shop.com/help"]
    assert sections(ulinks(urls, 5))[0] == "product"


def test_the_shorter_axis_wins() -> None:
    """Three departments with ten kinds of goods each stay three departments."""
    kinds = ("shoes", "shirts", "coats", "hats", "socks", "belts", "bags", "ties", "gloves", "scarves")
    urls = [f"http://shop.com/{who}/{kind}/{n}" for who in ("men", "women", "kids") for kind in kinds for n in range(4)]
    assert set(sections(ulinks(urls, 3, 3))) == {"men", "women", "kids"}


def test_the_months_of_a_blog_are_not_categories() -> None:
    """01 recurs under every year, and says nothing."""
    urls = [
        f"http://blog.com/{year}/{month:02}/post-{n}"
        for year in range(2015, 2025)
        for month in range(1, 13)
        for n in range(2)
    ]
    urls += [f"http://blog.com/recipes/{word}" for word in ("soup", "bread", "cake")] + ["http://blog.com/recipes"]
    assert "01" not in sections(ulinks(urls, 8))


@each_case(
    ("text", "url"),
    [
        ("http://https://web.da-us.citibank.com/portal/", "https://web.da-us.citibank.com/portal/"),
        ("http:///https://www.thankyounetwork.com/", "https://www.thankyounetwork.com/"),
        ("http:///www.pcworld.com/reviews.html", "http://www.pcworld.com/reviews.html"),
        ("https://a.com/go?to=http://b.com/", "https://a.com/go?to=http://b.com/"),
        ("http://a.com/x?PHPSESSID=0123456789abcdef0123", "http://a.com/x"),
    ],
)
def test_a_doubled_scheme_is_one(text: str, url: str) -> None:
    """citibank.com: what was meant is the last of them; what stands later in a URL is left alone."""
    assert repaired(text) == url


def test_hosts_with_and_without_www_are_one() -> None:
    """pcworld.com: its links are not split between two names."""
    urls = [f"http://www.pcworld.com/reviews/{word}" for word in ("a", "b", "c", "f")]
    urls += [f"http://pcworld.com/reviews/{word}" for word in ("d", "e")] + ["http://pcworld.com/blogs/x"]
    first = ulinks(urls, 2, 2)[0]
    assert (first.section, first.weight) == ("www.pcworld.com/reviews", 6)


def test_a_page_and_the_folder_of_its_name_are_one_place() -> None:
    """`/reviews.html`, `/reviews/index.html` and `/reviews/` are the same section, which is a page then."""
    urls = [f"http://a.com/reviews/{word}" for word in ("x", "y")] + [
        "http://a.com/reviews.html",
        "http://a.com/index.html",
    ]
    urls += [f"http://a.com/news/{word}" for word in ("x", "y")] + ["http://a.com/news/index.html"]
    found = ulinks(urls, 2, 2)
    assert {link.url for link in found} == {"http://a.com/reviews.html", "http://a.com/news/index.html"}
    assert all(link.is_listed for link in found)


def test_a_prefix_that_is_not_a_page_gives_way_to_the_nearest_page_below() -> None:
    """No link leads to a page that is not there; the one with most below is preferred."""
    urls = [f"http://a.com/docs/guide/{n}" for n in range(9)] + [f"http://a.com/docs/api/{n}" for n in range(3)]
    urls += ["http://a.com/docs/guide/", "http://a.com/docs/api/"]
    link = ulinks(urls, 1, 1)[0]
    assert (link.section, link.url, link.is_listed) == ("a.com/docs", "http://a.com/docs/guide/", False)


def test_a_prefix_is_a_page_if_somebody_else_knows_it() -> None:
    """The link graph, or a look at the page."""
    urls = [f"http://a.com/docs/{n}" for n in range(9)]

    def is_page(asked: Sequence[Url]) -> list[bool]:
        return [url == "http://a.com/docs/" for url in asked]

    assert ulinks(urls, 1, 1, is_page=is_page)[0].url == "http://a.com/docs/"


def test_a_page_that_was_not_drawn_is_known_all_the_same() -> None:
    """Existence is asked of the whole list, not of the sample."""
    urls = ["http://a.com/dp/"] + [f"http://a.com/dp/{number}" for number in range(25_000)]
    assert ulinks(urls, 1, seed=1)[0].url == "http://a.com/dp/"


def test_priority_and_lastmod_weigh() -> None:
    """As the report asks for: few important pages beat many others, fresh ones those of years ago."""
    old = [Listed(f"http://a.com/old/{word}", lastmod=0.0) for word in "abcdef"]
    new = [Listed(f"http://a.com/new/{word}", lastmod=720 * DAY) for word in "abcd"]
    assert sections(ulinks([*old, *new], 2, 2)) == ["new", "old"]
    dull = [Listed(f"http://a.com/dull/{word}", priority=0.1) for word in "abcdef"]
    fine = [Listed(f"http://a.com/fine/{word}", priority=1.0) for word in "abcd"]
    assert sections(ulinks([*dull, *fine], 2, 2)) == ["fine", "dull"]
    same = [Listed(one.url, lastmod=5.0) for one in [*old, *new]]
    assert sections(ulinks(same, 2, 2)) == ["old", "new"]


def test_one_date_of_the_future_does_not_make_all_others_old() -> None:
    """Among two hundred pages, one says that it changed in 2099."""
    old = [Listed(f"http://a.com/old/{word}", lastmod=0.0) for word in range(150)]
    new = [Listed(f"http://a.com/new/{word}", lastmod=1000 * DAY) for word in range(60)]
    assert sections(ulinks([*old, *new, Listed("http://a.com/odd", lastmod=4e9)], 2, 2))[0] == "new"


def test_endless_paths_are_cut() -> None:
    """A site that lists paths of a thousand segments costs no more than another."""
    urls = [f"http://a.com/{'x/' * 900}{number}" for number in range(300)] + ["http://a.com/about"]
    found = ulinks(urls, 3)
    assert "http://a.com/about" in {link.url for link in found}
    assert ulinks(["http://a.com/" + "y" * 3000, "http://a.com/z"], 3)[0].url == "http://a.com/z"


def test_siblings_after_the_third_give_way() -> None:
    """Diversity: one shelf does not fill the page."""
    urls = [
        f"http://a.com/shop/{kind}/{kind}-{name}" for kind in ("tea", "oil", "salt", "rice", "corn") for name in "vwxyz"
    ]
    urls += [f"http://a.com/blog/{name}" for name in "xyz"]
    found = sections(ulinks(urls, 5, 6))
    assert found[:3] == ["shop/corn", "shop/oil", "shop/rice"]
    assert found[3] == "blog"


def test_years_are_not_places_to_go_to() -> None:
    """A section of words goes before a heavier one that is a mere number."""
    urls = [f"http://a.com/2024/{name}" for name in "abc"] + [f"http://a.com/recipes/{name}" for name in "ab"]
    assert sections(ulinks(urls, 2, 2))[0] == "recipes"


@each_case(
    ("name", "shape"),
    [
        ("1010895", "digits"), ("2024-05-06", "date"), ("2024-05", "date"), ("9f86d081", "hex"),
        ("book17.html", "slug-digits"), ("red-shoe-12", "slug-digits"), ("12-red-shoe", "slug-digits"),
        ("B0001320016", "slug-digits"), ("?id=3&p=4", "?id&p"), ("reviews", ""), ("deadbeef", ""), ("about.html", ""),
    ],
)  # fmt: skip
def test_shapes_of_names(name: str, shape: str) -> None:
    """Numbers name items, words name places."""
    assert shape_of(name) == shape


def test_titles_are_what_most_links_say() -> None:
    """Not `read more`; of a page's own title, without the name of the site."""
    rows = [("u", "Read more", 90), ("u", "Books", 5), ("u", "Our  books", 3), ("v", "here", 4), ("v", "2", 9)]
    assert anchors_of(rows) == {"u": "Books"}
    titles = {"u": "Books | Big Shop", "v": "Music | Big Shop", "w": "Help"}
    assert without_site(titles) == {"u": "Books", "v": "Music", "w": "Help"}


def test_titles_come_from_the_list_or_from_the_path() -> None:
    """What the site says goes before what its URL says."""
    found = ulinks([Listed("http://a.com/x", title="The X"), Listed("http://a.com/our-team.html")], 2, 2)
    assert [link.title for link in found] == ["Our team", "The X"]
