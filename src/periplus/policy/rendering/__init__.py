"""Which pages need their scripts, and what is learnt of the templates of a site.

`pages` scores a page as the server sent it, reads what such a page has for its scripts, so that some need no browser,
has the URLs of pages that an application keeps behind `#!`, and completes what was read from a browser's document, or
with such data; `templates` decides for all pages of a template, after some were rendered.
`RenderSettings` is the table `[render]` of the settings. Pure.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .pages import (
        DOCUMENT_TYPE,
        FEWEST_LINKS,
        LEAST_NEEDED_SCORE,
        LONGEST_SHELL,
        completed,
        escaped,
        hash_routes,
        script_need,
        unescaped,
    )
    from .settings import RenderMode, RenderSettings
    from .templates import (
        MAX_TEMPLATES,
        SiteRendering,
        TemplateDecision,
        TemplateTest,
        count_flagged,
        count_rendered,
        decision_for,
        forget_decision,
        gains,
    )
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "DOCUMENT_TYPE",
    "FEWEST_LINKS",
    "LEAST_NEEDED_SCORE",
    "LONGEST_SHELL",
    "MAX_TEMPLATES",
    "RenderMode",
    "RenderSettings",
    "SiteRendering",
    "TemplateDecision",
    "TemplateTest",
    "completed",
    "count_flagged",
    "count_rendered",
    "decision_for",
    "escaped",
    "forget_decision",
    "gains",
    "hash_routes",
    "script_need",
    "unescaped",
]
