"""What robots.txt files ask of those who use pages, as a survey counts it."""

from __future__ import annotations

from tests.each_case import each_case

from periplus.apps.survey.tables import AI_AGENTS, robots_preferences
from periplus.formats.robots import is_valid_agent, parse


@each_case(
    ("text", "expected"),
    [
        ("User-agent: *\nDisallow: /\n", ()),
        ("User-agent: gptbot\nDisallow: /\n", (("ai-agents", "disallow"),)),
        ("User-agent: GPTBot\nDisallow: /private\n", ()),
        ("User-agent: otherbot\nDisallow: /\n", ()),
        (
            "User-agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /\n",
            (("search", "allow"), ("train", "disallow")),
        ),
        ("User-agent: *\nContent-Usage: train-ai=n\nAllow: /\n", (("train", "disallow"),)),
    ],
)
def test_preferences_of_a_file(text: str, expected: tuple[tuple[str, str], ...]) -> None:
    """What holds for all crawlers and all pages; and whether a crawler of a model is kept out by its own name."""
    assert robots_preferences(parse(text.encode())) == expected


def test_the_agents_that_are_counted_can_be_named() -> None:
    """Each once, as a product token; a file that names them all has no problem."""
    assert len({agent.lower() for agent in AI_AGENTS}) == len(AI_AGENTS)
    text = "".join(f"User-agent: {agent}\n" for agent in AI_AGENTS) + "Disallow: /\n"
    assert parse(text.encode()).problems == ()
    assert [agent for agent in AI_AGENTS if not is_valid_agent(agent)] == ["AI2Bot"]  # a digit is not in the grammar
