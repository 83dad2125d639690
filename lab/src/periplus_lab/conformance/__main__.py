"""The process of one trial."""

from .judging import run_assignment

run_assignment()
