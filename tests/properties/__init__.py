"""What holds for all inputs, by Hypothesis.

Covers the readers and writers of `formats`, `content` and `urls`; the state machines of `engine/frontier`,
`store/state` and `bridges/ray`; and replay of a crawl from every input.
"""
