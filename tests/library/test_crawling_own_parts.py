"""A program's own filter, ordering and extractor: what they decide, and what happens when they fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.lab.scripted_web import MovedTo
from tests.library.small_web import SEED, quick, shop

import periplus
from periplus.policy.found import FoundUrl


def is_product(url: str, found: FoundUrl) -> bool:
    return "/product/" in url


def by_number(url: str, found: FoundUrl) -> float:
    """Products with large numbers first."""
    return int(url.rsplit("/", 1)[1]) / 100 if "/product/" in url else 0.0


def test_filter_decides_which_urls_are_fetched(tmp_path: Path) -> None:
    """Only what the function wants is fetched, besides the seed; the rest is in the tables, with a reason."""
    with shop(5) as web:
        with periplus.crawl(SEED, out=tmp_path / "c", want=is_product, **quick(web)) as crawl:
            urls = {page.url for page in crawl}
        assert f"{SEED}about" not in web.asked
    assert urls == {SEED, *(f"{SEED}product/{number}" for number in range(5))}
    assert crawl.summary.refused == {"not-wanted": 1}
    refused = periplus.open(tmp_path / "c").query("select url, refused from discoveries where refused is not null")
    assert refused.fetchall() == [(f"{SEED}about", "not-wanted")]


def test_filter_is_told_how_a_url_was_found(tmp_path: Path) -> None:
    """Source, depth, referrer and the text of the link."""
    seen: dict[str, FoundUrl] = {}

    def note(url: str, found: FoundUrl) -> bool:
        seen[url] = found
        return True

    with shop(2) as web:
        periplus.crawl(SEED, out=tmp_path / "c", want=note, **quick(web)).run()
    found = seen[f"{SEED}product/1"]
    assert (found.source, found.depth, found.referrer, found.anchor) == ("link", 1, SEED, "Product 1")


def test_filter_is_not_asked_about_where_a_seed_moved(tmp_path: Path) -> None:
    """A seed that redirects is still where the crawl begins."""
    with shop(2) as web:
        web.said["http://shop.test/start"] = MovedTo(SEED)
        with periplus.crawl("http://shop.test/start", out=tmp_path / "c", want=is_product, **quick(web)) as crawl:
            urls = {page.url for page in crawl}
    assert urls == {SEED, f"{SEED}product/0", f"{SEED}product/1"}


def test_ordering_decides_what_is_fetched_first(tmp_path: Path) -> None:
    """One site is asked for one page at a time, so its order of requests is that of the scores."""
    with shop(30) as web:
        periplus.crawl(SEED, out=tmp_path / "c", score=by_number, **quick(web)).run()
        products = [int(url.rsplit("/", 1)[1]) for url in web.asked if "/product/" in url]
    assert products == sorted(products, reverse=True)
    assert len(products) == 30


def test_function_that_fails_ends_the_crawl_and_the_next_continues(tmp_path: Path) -> None:
    """The error names the function and the URL; with the function fixed nothing is fetched twice."""

    def broken(url: str, found: FoundUrl) -> bool:
        return url.endswith("3") and 1 / 0 > 1

    with shop(6) as web:
        with pytest.raises(periplus.UsageError, match="want= raised ZeroDivisionError for http://shop"):
            periplus.crawl(SEED, out=tmp_path / "c", want=broken, **quick(web)).run()
        summary = periplus.crawl(out=tmp_path / "c", want=is_product).run()
        pages = [url for url in web.asked if not url.endswith("robots.txt")]
    assert summary.pages == 7
    assert len(pages) == len(set(pages))


@pytest.mark.proof
def test_functions_for_worker_processes(tmp_path: Path) -> None:
    """A function of a module is sent to them; a lambda is refused before anything is written."""
    with shop(4) as web:
        with pytest.raises(periplus.UsageError, match="want= cannot be sent to 2 worker processes"):
            periplus.crawl(SEED, out=tmp_path / "a", workers=2, want=lambda url, found: True, **quick(web)).run()
        summary = periplus.crawl(SEED, out=tmp_path / "b", workers=2, want=is_product, **quick(web)).run()
    assert summary.pages == 5


SCRIPT = """
import sys, periplus
def everything(url, found): return True
given = {{"want": everything}} if sys.argv[2] == "own" else {{}}
crawl = periplus.crawl({seed!r}, out=sys.argv[1], workers=2, proxy={proxy!r}, delay=0, sitemaps=False, **given)
print(crawl.run().pages)
print(periplus.open(sys.argv[1]).refresh(settings={{"wire.proxy": {proxy!r}}}).asked)
"""


@pytest.mark.proof
def test_a_script_that_does_not_ask_for_its_name(tmp_path: Path) -> None:
    """It crawls and refreshes with workers; if these need a function of the script, one error says what to do."""
    path = tmp_path / "script.py"

    def ran(how: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(path), str(tmp_path / how), how]
        return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)

    with shop(4) as web:
        path.write_text(SCRIPT.format(seed=SEED, proxy=web.base))
        plain, own = ran("plain"), ran("own")
    assert (plain.stdout, plain.stderr) == ("6\n6\n", "")
    assert own.stderr.count("Traceback") == 1
    assert own.stderr.splitlines()[-2:] == [
        "periplus.model.errors.UsageError: the workers cannot load a function of this script: "
        "it crawls again when it is imported",
        'call crawl below `if __name__ == "__main__":`, or put the function into a module of its own',
    ]


def test_items_are_a_table(tmp_path: Path) -> None:
    """What the extractor returns is asked for in SQL, by its own names, with URL and time."""

    def price(page: periplus.Page) -> dict[str, object] | None:
        text = page.select_text(".price")
        return None if text is None else {"price": float(text.split()[0]), "name": page.title}

    with shop(5) as web:
        periplus.crawl(SEED, out=tmp_path / "c", extract=price, **quick(web)).run()
    items = periplus.open(tmp_path / "c").query(
        "select name, price from items join fetches using (url) where extracted_at >= fetched_at order by price"
    )
    assert items.fetchall() == [(f"Product {number}", number + 0.5) for number in range(5)]


def test_several_items_of_a_page(tmp_path: Path) -> None:
    """A list of dicts is as many rows; fields need not be the same in all of them."""
    with shop(3) as web:
        periplus.crawl(
            SEED,
            out=tmp_path / "c",
            extract=lambda page: [{"to": link.url, "rank": rank} for rank, link in enumerate(page.links)],
            **quick(web),
        ).run()
    rows = periplus.open(tmp_path / "c").query('select url, "to" from items order by rank').fetchall()
    assert rows == [(SEED, f"{SEED}{path}") for path in ("product/0", "product/1", "product/2", "about")]


def test_the_hint_of_an_error_of_ours_is_kept(tmp_path: Path) -> None:
    """A function that needs an extra says which one to install, also from within a crawl."""

    def extract(_page: periplus.Page) -> None:
        raise periplus.UsageError("no selectors", hint="install the extra")

    with shop(1) as web, pytest.raises(periplus.UsageError, match="no selectors") as raised:
        periplus.crawl(SEED, out=tmp_path / "c", extract=extract, **quick(web)).run()
    assert raised.value.hint == "install the extra"


def test_every_page_is_extracted_once_when_the_extractor_fails(tmp_path: Path) -> None:
    """The crawl ends with the page that failed; the next one begins with it and repeats no other."""
    failing = {f"{SEED}product/2"}

    def extract(page: periplus.Page) -> dict[str, str]:
        if page.url in failing:
            raise ValueError("no price")
        return {"title": page.title}

    with shop(5) as web:
        with pytest.raises(periplus.UsageError, match="extract= raised ValueError for http://shop"):
            periplus.crawl(SEED, out=tmp_path / "c", extract=extract, **quick(web)).run()
        failing.clear()
        periplus.crawl(out=tmp_path / "c", extract=extract).run()
    rows = periplus.open(tmp_path / "c").query("select url from items").fetchall()
    assert len(rows) == len(set(rows)) == 7


def test_items_that_cannot_be_stored(tmp_path: Path) -> None:
    """An item is a dict that JSON can hold."""
    with shop(1) as web:
        with pytest.raises(periplus.UsageError, match="returned str"):
            periplus.crawl(SEED, out=tmp_path / "a", extract=lambda _: ["text"], **quick(web)).run()
        with pytest.raises(periplus.UsageError, match="JSON cannot hold"):
            periplus.crawl(SEED, out=tmp_path / "b", extract=lambda _: {"x": object()}, **quick(web)).run()


def test_no_items_yet(tmp_path: Path) -> None:
    """The table is empty where no extractor ran."""
    with shop(1) as web:
        periplus.crawl(SEED, out=tmp_path / "c", **quick(web)).run()
    assert periplus.open(tmp_path / "c").query("select url, fetched_at from items").fetchall() == []


def install_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a package on the path that offers a filter, an ordering and an extractor."""
    package = tmp_path / "site" / "plugged-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[periplus.filters]\nproducts = plugged:products\n[periplus.orderings]\nlast_first = plugged:last_first\n"
        "[periplus.extractors]\ntitles = plugged:titles\n"
    )
    (tmp_path / "site" / "plugged.py").write_text(
        "def products(url, found):\n    return '/product/' in url\n"
        "def last_first(url, found):\n    return int(url[-1]) / 10 if url[-1].isdigit() else 0\n"
        "def titles(page):\n    return {'title': page.title}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))


def test_entry_points_are_known_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is installed offers parts by name; an unknown name is refused, with the nearest one."""
    install_parts(tmp_path, monkeypatch)
    with shop(3) as web:
        periplus.crawl(SEED, out=tmp_path / "c", want="products", extract="titles", **quick(web)).run()
        with pytest.raises(periplus.ConfigError, match="no entry point 'product'") as refused:
            periplus.crawl(SEED, out=tmp_path / "d", want="product", **quick(web)).run()
    assert "did you mean 'products'?" in refused.value.hint
    titles = periplus.open(tmp_path / "c").query("select title from items").fetchall()
    assert sorted(titles) == [("Product 0",), ("Product 1",), ("Product 2",), ("The shop",)]


def test_entry_points_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--want` and `--score` name the same parts."""
    from periplus.cli import main

    install_parts(tmp_path, monkeypatch)
    with shop(4) as web:
        options = ["--proxy", web.base, "--delay", "0", "--workers", "1", "--no-sitemaps"]
        command = ["periplus", "crawl", SEED, "-o", str(tmp_path / "c"), "--want", "products", "--score", "last_first"]
        monkeypatch.setattr("sys.argv", [*command, *options])
        with pytest.raises(SystemExit) as ended:
            main()
        asked = [url for url in web.asked if not url.endswith("robots.txt")]
    assert not ended.value.code
    assert asked == [SEED, *(f"{SEED}product/{number}" for number in (3, 2, 1, 0))]
