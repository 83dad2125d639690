"""Questions worth asking of any collection, by name: what the answer shows, what to do about it, and the SQL.

They are in `questions.sql`. A page that shows a number can show its query beside it. Each is a plain `select` over the
views of `catalogue`, to be typed into `periplus query` as it stands; the papers' figures that it answers for are named.
"""

from __future__ import annotations

from typing import Final

from periplus.model.rows import TableQuestion, modules_of_parts
from periplus.model.statements import Statements

_OF_EVERY_CRAWL: Final = Statements(__file__).declared(TableQuestion)
_OF_PARTS: Final = [question for module in modules_of_parts() for question in getattr(module, "QUESTIONS", ())]

QUESTIONS: Final[dict[str, TableQuestion]] = {question.name: question for question in (*_OF_EVERY_CRAWL, *_OF_PARTS)}
"""By name, in the order of a report; last those of parts."""
