"""llms.txt of a published site: its folders as sections, titles, first sentences, and what has no room."""

from __future__ import annotations

from pathlib import Path

from tests.published.small_site import BASE, Site

from periplus.formats.llms_txt import read
from periplus_sites.publish import PublishSettings
from periplus_sites.publish.settings import LlmsSettings, SiteSettings


def test_a_published_site_has_a_guide(tmp_path: Path) -> None:
    site = Site(tmp_path, 3)
    (site.root / "index.html").write_text(
        "<title>The site</title><meta name=description content='What it is. And more.'><p>home"
    )
    for folder, number in (("how-to", 3), ("blog", 2)):
        (site.root / folder).mkdir()
        for page in range(number):
            (site.root / folder / f"{page}.html").write_text(
                f"<title>{folder} {page}</title><meta name=description content='Says {page}. More.'>"
                f"<p>text {folder} {page}"
            )
    (site.root / "blog" / "hidden.html").write_text("<title>h</title><meta name=robots content=noindex><p>x")
    llms = LlmsSettings(enabled=True, sections=2, links_per_section=2, optional_links=3)
    site.scan(PublishSettings(SiteSettings(BASE), llms=llms))
    guide = read((site.out / "llms.txt").read_bytes(), f"{BASE}llms.txt")
    assert (guide.title, guide.summary) == ("The site", "What it is. And more.")
    assert [(section.name, len(section.links)) for section in guide.sections] == [
        ("Pages", 2), ("How to", 2), ("Optional", 3)
    ]  # fmt: skip
    assert guide.sections[1].links[0].name == "how-to 0"
    assert guide.sections[1].links[0].note == "Says 0."
    before = (site.out / "llms.txt").stat().st_mtime_ns
    site.scan(PublishSettings(SiteSettings(BASE), llms=llms))
    assert (site.out / "llms.txt").stat().st_mtime_ns == before
