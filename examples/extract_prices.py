"""Extract the prices of a shop into a table, and ask it for the cheapest. Needs `pip install 'periplus[select]'`.

python examples/extract_prices.py https://shop.example.org shop
"""

import sys
from typing import Any

import periplus

CHEAPEST = "select name, price, url from items order by price limit 10"


def price_of(page: periplus.Page) -> dict[str, Any] | None:
    """The item of a product page; `None` for any other page."""
    text = page.select_text(".price")
    return None if text is None else {"name": page.title, "price": float(text.split()[0])}


def is_product(url: str, _found: object) -> bool:
    """Only product pages are fetched, besides the seed."""
    return "/product/" in url


def main(shop: str, folder: str, **options: Any) -> list[tuple[Any, ...]]:
    """Crawl a shop; its cheapest products."""
    periplus.crawl(shop, out=folder, extract=price_of, want=is_product, **options).run()
    return periplus.open(folder).query(CHEAPEST).fetchall()


if __name__ == "__main__":
    for name, price, url in main(*sys.argv[1:], contact="you@example.org"):
        sys.stdout.write(f"{price:10.2f}  {name}  {url}\n")
