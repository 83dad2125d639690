"""When the archives of a site are exact, and when not any more."""

from __future__ import annotations

from periplus.engine.revisit.settings import RefreshSettings
from periplus.engine.revisit.signals import NO_PROOF, ArchiveProof

SETTINGS = RefreshSettings()


def after(proof: ArchiveProof, *, right: int = 0, wrong: int = 0, missed: int = 0, quiet: int = 0) -> ArchiveProof:
    for count, is_reported, is_changed in (
        (quiet, False, False),
        (right, True, True),
        (wrong, True, False),
        (missed, False, True),
    ):
        for _ in range(count):
            proof = proof.checked(is_reported=is_reported, is_changed=is_changed)
    return proof


def test_exact_after_enough_checks() -> None:
    assert not NO_PROOF.is_exact(SETTINGS)
    assert not after(NO_PROOF, right=150).is_exact(SETTINGS)
    assert after(NO_PROOF, right=150, quiet=100).is_exact(SETTINGS)
    assert not after(NO_PROOF, right=150, quiet=100).is_exact(RefreshSettings(exact_checks=0))


def test_quiet_archives_prove_nothing() -> None:
    assert not after(NO_PROOF, quiet=500).is_exact(SETTINGS)


def test_wrong_and_missed_reports_are_disproof() -> None:
    assert not after(NO_PROOF, right=200, quiet=200, wrong=6).is_exact(SETTINGS)
    assert not after(NO_PROOF, right=200, quiet=200, missed=6).is_exact(SETTINGS)


def test_exact_archives_lose_their_proof_by_random_visits() -> None:
    """Most visits follow reports, so a missed change hardly moves the recall; but random visits find stale pages."""
    exact = after(NO_PROOF, right=970, quiet=30)
    assert exact.is_exact(SETTINGS)
    careless = after(exact, missed=2)
    assert careless.recall > SETTINGS.exact_share
    assert not careless.is_exact(SETTINGS)


def test_a_late_report_was_not_missed() -> None:
    proof = after(NO_PROOF, right=300, quiet=100, missed=5)
    assert not proof.is_exact(SETTINGS)
    for _ in range(5):
        proof = proof.reported_late(is_changed=True)
    assert proof.is_exact(SETTINGS)
    assert proof.reported_late(is_changed=False).wrong > 0
