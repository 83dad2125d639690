"""The Berkeley study of web site metadata as a tool: statistics of robots.txt files and sitemaps of many domains.

A survey is a crawl of a list of domains that fetches no pages. Afterwards everything is in the collection, and

    survey = Survey().extend(facts_of_collection(folder, domains))
    write_survey(survey, folder / "survey")

makes the report's tables of it, with the report's own numbers of 2008 beside. A fact (`facts`) is what was found of
one robots.txt or one sitemap; `collection` finds facts again in the tables and the archive of a crawl, with `readings`
for its parts; `Survey` counts them in bounded memory; `tables_of` says what the counts mean, `figures_of` what a
picture of them would show, and `write_survey` puts all of it into files.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .collection import facts_of_collection
    from .facts import Fact, FileFact, RobotsFact, agent_name, robots_fact
    from .figures import figures_of
    from .survey import Distribution, NameCounts, Survey
    from .tables import SurveyColumn, SurveyTable
    from .writing import summary_of, tables_of, write_survey
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "Distribution",
    "Fact",
    "FileFact",
    "NameCounts",
    "RobotsFact",
    "Survey",
    "SurveyColumn",
    "SurveyTable",
    "agent_name",
    "facts_of_collection",
    "figures_of",
    "robots_fact",
    "summary_of",
    "tables_of",
    "write_survey",
]
