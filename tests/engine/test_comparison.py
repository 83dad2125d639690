"""How much a page has changed, leaving out what its site has shown to be noise."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from periplus.content import NO_CHURN, ChurnRecord, ChurnSettings, RawPage, likeness, read_from, read_pages, version_of
from periplus.engine.comparison import PageComparer
from periplus.engine.frontier import Revisiting
from periplus.engine.frontier.site import SiteRecords
from periplus.engine.revisit.budget import Watching
from periplus.engine.revisit.evidence import SignalKind, unpack_page
from periplus.engine.revisit.revisits import Revisits
from periplus.engine.revisit.signals import KindEvidence, SiteEvidence
from periplus.model import ChangeLevel, FirstSeen, ParsedPage, ReadFrom, Site, Source, Url, UrlRecord
from periplus.store import MemoryState

DAY = 86_400.0
SITE = Site("a.test")


def url(number: int) -> Url:
    return Url(f"https://a.test/{number}")


def html(number: int, quote: int, edition: int = 0, title: str = "") -> bytes:
    """A page with a story that has editions, and a quotation."""
    story = " ".join(f"word{number}x{edition}x{place}." for place in range(80))
    saying = f"Saying {quote}, of {' '.join(f'w{quote * 7919 % 10_007}x{each}' for each in range(5))}, is a sentence."
    return f"<title>{title}</title><article><p>{story}</p><div class=q>{saying}</div></article>".encode()


def read(number: int, body: bytes, *, wants_blocks: bool = True) -> ParsedPage:
    return read_pages([RawPage(body, url(number), "text/html", wants_blocks=wants_blocks)])[0]


def kept(page: ParsedPage, at: float) -> UrlRecord:
    seen = (FirstSeen(Source.SEED, 0.0),)
    return UrlRecord(
        page.url, seen, digests=page.digests, version=version_of(page), kept_at=at, blocks=page.blocks, visits=1
    )


class Memory:
    """The record of one site, and a comparer that learns there, in a watch or in another crawl."""

    def __init__(self, settings: ChurnSettings | None = None, *, watches: bool = True) -> None:
        state = MemoryState()
        self.sites = SiteRecords(state.sites)
        watching = Watching(1_000.0) if watches else None
        self.comparer = PageComparer(
            self.sites, settings, Revisits(state, self.sites, watching=watching, random=Random(1))
        )

    @property
    def churn(self) -> ChurnRecord:
        return self.sites.get(SITE).churn

    def level(self, old: ParsedPage, new: ParsedPage, apart: float = DAY) -> ChangeLevel | None:
        return self.comparer.compare(kept(old, 1000.0), new, 1000.0 + apart).level

    def taught(self, pairs: int, apart: float = DAY) -> list[ChangeLevel | None]:
        return [self.level(read(n, html(n, n)), read(n, html(n, n + 500)), apart) for n in range(pairs)]


def test_noise_counts_until_it_is_known() -> None:
    """The first comparisons find changes, later ones none; a change of the story always counts."""
    site = Memory()
    assert site.taught(8) == [ChangeLevel.MAJOR] * 5 + [ChangeLevel.RAW_ONLY] * 3
    assert site.level(read(9, html(9, 1)), read(9, html(9, 2, edition=1))) is ChangeLevel.MAJOR
    assert site.level(read(9, html(9, 1)), read(9, html(9, 2, title="Other"))) is ChangeLevel.MAJOR
    assert site.level(read(9, html(9, 1)), read(9, html(9, 1))) is ChangeLevel.SAME
    assert site.churn.compared == 11


def test_visits_after_a_signal_that_is_right_are_no_lessons() -> None:
    """A page that is visited because it has changed differs at every visit: that is no noise. Liars are not heeded."""
    told = unpack_page(b"").signalled(SignalKind.SITEMAP).pack()
    right, wrong = KindEvidence(right=50.0, judged=50.0), KindEvidence(right=1.0, judged=50.0)
    for kind, learnt in ((right, 0), (wrong, 8)):
        site = Memory()
        state = site.sites.get(SITE)
        state.keep(SiteEvidence().with_kind(SignalKind.SITEMAP, kind))
        levels = []
        for number in range(8):
            old = replace(kept(read(number, html(number, number)), 1000.0), evidence=told)
            new = read(number, html(number, number + 500))
            levels.append(site.comparer.compare(old, new, 1000.0 + DAY).level)
        assert site.churn.compared == learnt
        assert levels[7] is (ChangeLevel.RAW_ONLY if learnt else ChangeLevel.MAJOR)


def test_two_visits_in_a_row_differ_in_noise_alone() -> None:
    """Until the sample of a site is complete; then they are judged by what it has taught."""
    site = Memory(ChurnSettings(sample=4, instant=60.0))
    assert site.taught(4, apart=30.0) == [ChangeLevel.RAW_ONLY] * 4
    assert (site.churn.compared, site.churn.instants) == (4, 4)
    edited = read(9, html(9, 1)), read(9, html(9, 1, edition=1))
    assert site.level(*edited, apart=30.0) is ChangeLevel.MAJOR
    young = Memory(ChurnSettings(sample=4, instant=60.0))
    assert young.level(*edited, apart=61.0) is ChangeLevel.MAJOR
    assert young.level(*edited, apart=60.0) is ChangeLevel.RAW_ONLY
    assert young.churn.instants == 1
    assert Memory(ChurnSettings(sample=0)).level(*edited, apart=1.0) is ChangeLevel.MAJOR


def test_a_refresh_right_after_a_crawl_finds_what_was_edited() -> None:
    """A watch alone visits pages twice in a row to learn what is noise; the visits of a refresh are judged at once."""
    site = Memory(ChurnSettings(sample=4, instant=60.0), watches=False)
    edited = read(9, html(9, 1)), read(9, html(9, 1, edition=1))
    assert site.level(*edited, apart=1.0) is ChangeLevel.MAJOR
    site.comparer.unmodified(kept(edited[0], 1000.0), 1001.0)
    assert (site.churn.compared, site.churn.instants) == (2, 0)


class _Often(Revisiting):
    is_watching = True
    shortest = 5.0


def test_a_scheduled_revisit_is_not_a_visit_in_a_row() -> None:
    """Where pages may be revisited after five seconds, what differs then is a change."""
    edited = read(9, html(9, 1)), read(9, html(9, 1, edition=1))
    sites = SiteRecords(MemoryState().sites)
    often = PageComparer(sites, ChurnSettings(instant=60.0), _Often())
    assert often.compare(kept(edited[0], 1000.0), edited[1], 1005.0).level is ChangeLevel.MAJOR
    assert often.compare(kept(edited[0], 1000.0), edited[1], 1001.0).level is ChangeLevel.RAW_ONLY


def test_304_right_after_a_visit_counts_for_the_sample() -> None:
    """Otherwise such a site would be fetched twice in a row forever. Later ones teach that content stayed."""
    site = Memory()
    record = kept(read(1, html(1, 1)), 1000.0)
    site.comparer.unmodified(record, 1030.0)
    site.comparer.unmodified(replace(record, blocks=b""), 1030.0)
    site.comparer.unmodified(record, 1000.0 + DAY)
    site.comparer.unmodified(replace(record, blocks=b""), 1000.0 + DAY)
    site.comparer.unmodified(None, 5.0)
    assert (site.churn.compared, site.churn.instants) == (3, 2)


def test_page_after_a_304_is_in_a_row_with_it() -> None:
    """What differs is noise, also where parts were not known."""
    site = Memory()
    record = replace(kept(read(1, html(1, 1)), 1000.0), status=304, fetched_at=DAY, blocks=b"")
    new = read(1, html(1, 2))
    assert site.comparer.compare(record, new, DAY + 5.0) == (ChangeLevel.RAW_ONLY, new.blocks)
    assert site.comparer.compare(replace(record, status=200), new, DAY + 5.0) == (ChangeLevel.MAJOR, new.blocks)
    assert site.churn.compared == 0


def test_page_without_a_version_has_no_level() -> None:
    """Without blocks it has the level as it seems, and teaches nothing."""
    site = Memory()
    new = read(1, html(1, 2))
    assert site.comparer.compare(None, new, 5.0) == (None, new.blocks)
    bare = replace(kept(read(1, html(1, 1)), 1.0), blocks=b"")
    assert site.comparer.compare(bare, new, DAY) == (ChangeLevel.MAJOR, new.blocks)
    assert site.churn == NO_CHURN


def test_same_bytes_keep_their_blocks() -> None:
    """The visit teaches that they stayed."""
    site = Memory()
    old = read(1, html(1, 1))
    again = read(1, html(1, 1), wants_blocks=False)
    assert site.comparer.compare(kept(old, 1.0), again, DAY) == (ChangeLevel.SAME, old.blocks)
    assert site.churn.compared == 1


def test_lessons_are_written_with_the_site() -> None:
    """At the next flush; a comparison that teaches nothing does not mark the site."""
    store = MemoryState().sites
    sites = SiteRecords(store)
    comparer = PageComparer(sites)
    old, new = read(1, html(1, 1)), read(1, html(1, 2))
    comparer.compare(None, new, DAY)
    sites.flush()
    assert store.get([SITE]) == [None]
    comparer.compare(kept(old, 1.0), new, DAY)
    sites.flush()
    [site] = store.get([SITE])
    assert site is not None
    assert site.churn.compared == 1


def by_first_rule(record: UrlRecord) -> UrlRecord:
    """What the reader with the first text rule kept of the same page: another main text, other blocks, no number."""
    assert record.digests is not None
    version = record.version[:8] + bytes(512)
    return replace(record, digests=replace(record.digests, main=1), version=version, blocks=b"12345678" * 3)


def test_a_page_kept_by_another_reader_has_not_changed() -> None:
    """Only bytes, title and links are compared, nothing is learnt, and what is kept is of the reader of today."""
    site = Memory()
    old = by_first_rule(kept(read(1, html(1, 1)), 1000.0))
    for quote in (1, 2):
        page = read(1, html(1, quote, edition=quote - 1))
        compared = site.comparer.compare(old, page, 1000.0 + DAY)
        assert compared.level is (ChangeLevel.SAME if quote == 1 else ChangeLevel.RAW_ONLY)
        assert compared.blocks == page.blocks
    renamed = read(1, html(1, 2, title="Other"))
    assert site.comparer.compare(old, renamed, 1000.0 + DAY).level is ChangeLevel.MAJOR
    site.comparer.unmodified(old, 1000.0 + DAY)
    assert site.churn == NO_CHURN


def test_what_was_learnt_by_another_reader_is_learnt_again() -> None:
    """Blocks have other names under another text rule."""
    site = Memory()
    site.taught(8)
    record = site.sites.get(SITE)
    record.churn = replace(record.churn, rule=1)
    assert site.taught(6) == [ChangeLevel.MAJOR] * 5 + [ChangeLevel.RAW_ONLY]


def test_a_rendered_page_is_compared_with_rendered_versions_only() -> None:
    """The first rendering of a page that was read without scripts is not a change, nor is the way back."""
    memory = Memory()
    plain, other = read(1, html(1, 1)), read(1, html(1, 1, edition=1, title="other"))
    rendered = replace(other, read_from=ReadFrom.BROWSER)
    changed = replace(plain, read_from=ReadFrom.BROWSER)
    levels = [
        memory.comparer.compare(kept(before, 0.0), after, 30 * DAY).level
        for before, after in ((plain, other), (plain, rendered), (rendered, plain), (rendered, changed))
    ]
    assert levels == [ChangeLevel.MAJOR, ChangeLevel.RAW_ONLY, ChangeLevel.RAW_ONLY, ChangeLevel.MAJOR]
    assert read_from(version_of(rendered)) is ReadFrom.BROWSER
    assert likeness(version_of(plain), version_of(changed)) == 1.0


def templated(number: int, menu: int, *, story: int = 0, added: str = "") -> bytes:
    """A page under a menu that all pages of the site share."""
    links = "".join(f"<li><a href=/m{each}>Part {each}</a></li>" for each in range(menu))
    words = " ".join(f"word{number}x{story}x{place}." for place in range(400))
    paragraph = f"<p class=new>{added}</p>" if added else ""
    return f"<title>{number}</title><nav><ul>{links}</ul></nav><main><p>{words}</p>{paragraph}</main>".encode()


def test_change_of_the_template_is_no_change_of_its_pages() -> None:
    """From the fifth page with the same new menu on, also without blocks; then the first four are judged again.

    A page whose story changed as well has changed.
    """
    for wants_blocks in (True, False):
        site = Memory()

        def level(number: int, story: int = 0, site: Memory = site, has_blocks: bool = wants_blocks) -> object:
            old = read(number, templated(number, 4), wants_blocks=has_blocks)
            return site.level(old, read(number, templated(number, 5, story=story)))

        found = [level(number) for number in range(12)]
        assert found == [ChangeLevel.MAJOR] * 4 + [ChangeLevel.TEMPLATE] * 8
        revised = site.comparer.drain_revised()
        assert revised == [(url(n), 1000.0 + DAY, ChangeLevel.TEMPLATE, ChangeLevel.MAJOR) for n in range(4)]
        assert level(20, story=1) is ChangeLevel.MAJOR
        assert site.comparer.drain_revised() == []


def test_a_paragraph_in_the_text_of_all_pages_is_their_template() -> None:
    """Wherever it stands, and also on a page that gained a word besides; a sentence of its own is a change."""
    site = Memory()

    def level(number: int, own: str = "") -> object:
        old, banner = templated(number, 4), b" Our conference takes place in Lisbon this spring.</p></main>"
        new = old.replace(b"</p></main>", own.encode() + banner)
        return site.level(read(number, old, wants_blocks=False), read(number, new, wants_blocks=False))

    assert level(50, own=" word") is ChangeLevel.MAJOR
    assert [level(number) for number in range(8)][4:] == [ChangeLevel.TEMPLATE] * 4
    assert [page.level for page in site.comparer.drain_revised()] == [ChangeLevel.MINOR] + [ChangeLevel.TEMPLATE] * 4
    assert level(60, own=" word") is ChangeLevel.MINOR
    assert level(61, own=" one sentence of its own.") is ChangeLevel.MAJOR


def test_the_same_sentence_on_a_few_of_many_pages_is_a_change() -> None:
    """What fewer than three in ten pages gain is not the template's."""
    site = Memory()
    levels = []
    for number in range(60):
        old = templated(number, 4)
        new = (
            old.replace(b"</p></main>", b" Never do so before all was checked.</p></main>") if number % 6 == 5 else old
        )
        levels.append(site.level(read(number, old), read(number, new)))
    assert levels.count(ChangeLevel.MAJOR) == 10
    assert site.comparer.drain_revised() == []


def test_template_is_forgotten() -> None:
    """A day without another page that changed so: the next one counts."""
    site = Memory()
    pairs = [(read(n, templated(n, 4)), read(n, templated(n, 5))) for n in range(8)]
    assert [site.level(*pair) for pair in pairs[:7]][-1] is ChangeLevel.TEMPLATE
    assert site.level(*pairs[7], apart=3 * DAY) is ChangeLevel.MAJOR
