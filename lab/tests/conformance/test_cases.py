"""Verdicts from evidence: what is wanted, what is forbidden, and what proves it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from periplus_lab.conformance.cases import Case, CaseOutcome, Evidence, Failure, RunEnd, verdict_of
from periplus_lab.conformance.sites import product_token
from periplus_lab.log import Visit

SEED = "http://www.lab.test/"


def visit(target: str, at: float = 0.0) -> Visit:
    return Visit(1, "127.0.0.1", "GET", "www.lab.test", target, "a/1", 200, 10, at, at, at, at)


def evidence(*visits: Visit, output: str = "") -> Evidence:
    return Evidence(visits=list(visits), starts=[0.0, 5.0], ends=[RunEnd(2, 1.0, output=output)], folder=Path())


def case(**values: object) -> Case:
    return Case(name="a", says="b", source="c", **values)  # type: ignore[arg-type]


def test_a_wanted_page_must_be_requested() -> None:
    wanted = case(wants=(f"{SEED}x",))
    assert verdict_of("g", wanted, SEED, evidence(visit("/"), visit("/x"))).outcome is CaseOutcome.PASSED
    missed = verdict_of("g", wanted, SEED, evidence(visit("/")))
    assert (missed.outcome, missed.reason) == (CaseOutcome.FAILED, f"never requested {SEED}x")


def test_a_forbidden_page_is_proved_by_its_lines() -> None:
    found = verdict_of("g", case(forbids=(f"{SEED}x",)), SEED, evidence(visit("/"), visit("/x", 1.5)))
    assert found.reason == f"requested {SEED}x"
    assert found.proof == (f"    1.50 s  GET {SEED}x -> 200, 10 bytes",)


def test_a_crawler_without_a_request_never_passes() -> None:
    found = verdict_of("g", case(), SEED, evidence(output="no such option"))
    assert found.reason == "made no request; exit code 2: no such option"


def test_a_judge_looks_at_the_rest() -> None:
    judged = case(judge=lambda seen: Failure("too many", tuple(seen.pages())) if len(seen.pages()) > 1 else None)
    assert verdict_of("g", judged, SEED, evidence(visit("/"), visit("/robots.txt"))).outcome is CaseOutcome.PASSED
    assert verdict_of("g", judged, SEED, evidence(visit("/"), visit("/y"))).reason == "too many"


def test_ports_of_loopback_are_not_in_the_log() -> None:
    seen = Evidence(visits=[visit("/x")], starts=[0.0], ends=[], folder=Path())
    assert seen.to("http://www.lab.test:8080/x") == seen.visits == seen.below("http://www.lab.test:8080/")


def test_visits_belong_to_the_run_that_made_them() -> None:
    seen = evidence(visit("/", 1.0), visit("/x", 6.0))
    assert [[one.target for one in seen.run(number)] for number in (0, 1)] == [["/"], ["/x"]]


@pytest.mark.parametrize(
    ("agent", "token"),
    [
        ("Wget/1.21", "Wget"),
        ("Mozilla/5.0 (compatible; Periplus/1.0; +https://example.org)", "Periplus"),
        ("my_crawler-x 2", "my_crawler-x"),
        ("", "*"),
        ("7", "*"),
    ],
)
def test_the_name_of_a_crawler(agent: str, token: str) -> None:
    assert product_token(agent) == token


@given(st.text())
def test_any_agent_has_a_name_that_robots_txt_can_hold(agent: str) -> None:
    token = product_token(agent)
    assert token == "*" or token.replace("_", "").replace("-", "").isascii()
