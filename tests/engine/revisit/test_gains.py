"""What visits bring besides changes: new URLs, first visits that paid, cheap answers, and whether headers are right."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus.engine.revisit.gains import PageGains, SiteGains, unpack_page_gains
from periplus.engine.revisit.weights import worth_its_cost
from periplus.model import CollectionDamaged


def test_what_is_kept_of_a_page_without_gains_takes_no_room() -> None:
    """Most pages never lead to a new one."""
    assert PageGains().pack() == b""
    assert unpack_page_gains(b"") == PageGains()
    assert PageGains().again(30.0) == PageGains()
    kept = PageGains().led_to(3, 10.0).changed(0.25)
    assert len(kept.pack()) == 12
    assert unpack_page_gains(kept.pack()) == kept


def test_new_urls_are_a_rate_that_is_learnt_and_forgotten() -> None:
    """Three new links every two days are about 1.5 a day; without any more the rate fades, and then the memory."""
    hub = PageGains()
    for _ in range(30):
        hub = hub.again(2.0).led_to(3, 2.0)
    assert hub.new_a_day == pytest.approx(1.5, rel=0.1)
    for _ in range(40):
        before, hub = hub.new_a_day, hub.again(2.0)
        assert hub.new_a_day < before
    assert hub.new_a_day < 0.6
    for _ in range(300):
        hub = hub.again(2.0)
    assert hub == PageGains()


def test_the_first_new_url_counts_in_all_the_time_that_a_page_was_watched() -> None:
    """A link after half a year is not a link a day."""
    assert PageGains().led_to(1, 180.0).new_a_day < 0.02
    assert PageGains().led_to(1, 0.01).new_a_day < 1.0


def test_a_page_that_makes_up_urls_is_bounded() -> None:
    """A million links count as a thousand."""
    assert PageGains().led_to(10**6, 1.0).new_a_day <= 1000.0


def test_how_much_a_change_replaces_is_a_mean_of_the_last_changes() -> None:
    """It follows what is seen, and stays a share."""
    page = PageGains().changed(1.0)
    assert page.replaced == 1.0
    for _ in range(20):
        page = page.changed(0.1)
    assert page.replaced == pytest.approx(0.1, rel=0.05)
    assert 0.0 < PageGains().changed(-3.0).replaced <= PageGains().changed(7.0).replaced == 1.0


def test_where_a_hub_leads_is_remembered_in_four_bytes_a_link() -> None:
    """At most a kilobyte; the first time nothing is new, for nothing was known."""
    hub, again = PageGains().led_to(1, 1.0).leads([7, 2**63 + 5, 9])
    assert again == []
    hub, again = unpack_page_gains(hub.pack()).leads([9, 8, 7, 6])
    assert again == [1, 3]
    assert len(hub.pack()) == 12 + 4 * 4
    assert hub.leads(range(10**4))[0].pack().__sizeof__() < 1200
    assert hub.again(1000.0).links == b""


def test_first_visits_are_counted_for_each_source() -> None:
    """A site whose sitemap lists copies and whose links lead to pages: either is judged by its own."""
    site = SiteGains()
    assert site.chance(is_listed=True) == site.chance(is_listed=False) == 0.5
    for _ in range(50):
        site = site.first_visit(True, is_listed=False).first_visit(False, is_listed=True)
    assert site.chance(is_listed=False) > 0.9
    assert site.chance(is_listed=True) < 0.1


def test_a_source_of_which_nothing_is_known_is_judged_a_little_by_the_other() -> None:
    """But its own visits soon say more."""
    site = SiteGains()
    for _ in range(50):
        site = site.first_visit(True, is_listed=False)
    assert 0.6 < site.chance(is_listed=True) < site.chance(is_listed=False)
    for _ in range(10):
        site = site.first_visit(False, is_listed=True)
    assert site.chance(is_listed=True) < 0.35


def test_answers_of_304_make_a_visit_cheap_where_bytes_count() -> None:
    """A site that always answers so costs nearly a tenth; where requests count it costs what others cost."""
    site = SiteGains()
    for _ in range(300):
        site = site.answered(is_unchanged=True)
    assert site.unchanged_share > 0.99
    assert worth_its_cost(1.0, site.unchanged_share, 0.1) == pytest.approx(10.0, rel=0.1)
    assert worth_its_cost(1.0, site.unchanged_share, 1.0) == pytest.approx(1.0)
    assert worth_its_cost(1.0, 1.0, 0.0) <= 100.0
    assert SiteGains().unchanged_share == 0.0


def test_last_modified_is_judged_by_what_pages_say() -> None:
    """Precision over all visits on which it moved; recall only over visits that made no condition."""
    site = SiteGains()
    for _ in range(30):
        site = site.compared(is_moved=True, is_changed=True, is_unconditional=False)
        site = site.compared(is_moved=False, is_changed=True, is_unconditional=True)
        site = site.compared(is_moved=True, is_changed=True, is_unconditional=True)
    assert site.header.verdict == "honest"
    assert site.header_recall == pytest.approx(0.5, abs=0.01)
    for _ in range(600):
        site = site.compared(is_moved=True, is_changed=False, is_unconditional=True)
    assert site.header.verdict == "useless"


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=80))
def test_what_is_kept_of_a_site_comes_back_and_stays_a_share(visits: list[tuple[int, bool, bool]]) -> None:
    """Whatever happens, shares are shares, and encoding loses nothing."""
    site = SiteGains()
    for what, first, second in visits:
        if what == 0:
            site = site.first_visit(first, is_listed=second)
        elif what == 1:
            site = site.answered(is_unchanged=first)
        elif what == 2:
            site = site.compared(is_moved=first, is_changed=second, is_unconditional=True)
        else:
            site = site.grew(0.7 if first else 0.2)
    for share in (site.chance(is_listed=True), site.unchanged_share, site.header_recall, site.replaced):
        assert 0.0 <= share <= 1.0 + 1e-6
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(site), type=SiteGains) == site


def test_damage_is_found() -> None:
    """What was never packed is refused, with a hint."""
    for damaged in (b"xyz", b"x" * 11, b"x" * 13):
        with pytest.raises(CollectionDamaged):
            unpack_page_gains(damaged)


def test_what_a_change_replaces_is_a_running_mean() -> None:
    """The first change of a site says how much; each later one moves that by a tenth of the difference."""
    first = SiteGains().grew(0.2)
    assert first.replaced == 0.2
    assert first.grew(0.7).replaced == pytest.approx(0.25)
    assert first.grew(2.0).replaced == pytest.approx(0.28)
