"""A question on the verdicts of this part."""

from __future__ import annotations

from typing import Final

from periplus.model.rows import TableQuestion

QUESTIONS: Final = (
    TableQuestion(
        "scripts",
        "Templates whose pages need their scripts, and how that was found.",
        "Crawl with `--render when-needed`, so that a browser opens them.",
        "select subject, score, array_to_string(evidence, '; ') as why\n"
        "from (select * from verdicts where kind = 'template' and judge = 'rendering'\n"
        "    qualify row_number() over (partition by subject order by judged_at desc) = 1) as judged\n"
        "where verdict = 'needs-scripts' order by subject",
    ),
)
