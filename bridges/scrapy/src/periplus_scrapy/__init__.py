"""Scrapy's spiders on our frontier, and over what was crawled.

    ADDONS = {"periplus_scrapy.Addon": 300}
    PERIPLUS_DIR = "collection"

The engine that crawls is the one that ships; Scrapy's downloader takes the place of its wire (`wire`). What a spider
asks for is kept beside the state (`Requests`), so that a crawl that was killed goes on with its callbacks. `replay`
answers requests from a collection, without the web.
"""

from importlib.util import find_spec

from periplus.model import UsageError

if find_spec("scrapy") is None:
    raise UsageError("Scrapy is not installed", hint="pip install periplus-scrapy")

from .middleware import ReportMiddleware, SpiderOutputMiddleware
from .replay import CollectionSpider, ReplayHandler
from .scheduler import Addon, Scheduler

__all__ = ["Addon", "CollectionSpider", "ReplayHandler", "ReportMiddleware", "Scheduler", "SpiderOutputMiddleware"]
