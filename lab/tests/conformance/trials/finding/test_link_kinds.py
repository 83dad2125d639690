"""What the trials of finding pages are written with."""

from __future__ import annotations

from periplus_lab.conformance.trials.finding.link_kinds import escaped
from periplus_lab.conformance.trials.finding.sitemaps import sitemap


def test_a_target_has_two_spellings() -> None:
    assert escaped("/caf\u00e9") == ("/caf%C3%A9", "/caf%c3%a9")
    assert escaped("/?q=\u00e9", "windows-1252") == ("/?q=%E9", "/?q=%e9")


def test_a_sitemap_is_escaped_and_may_have_dates() -> None:
    assert "<loc>http://a.test/?a=1&amp;b=2</loc></url>" in sitemap(["http://a.test/?a=1&b=2"])
    assert "<loc>http://a.test/</loc><lastmod>2025-01-05</lastmod>" in sitemap(["http://a.test/"], ["2025-01-05"])
