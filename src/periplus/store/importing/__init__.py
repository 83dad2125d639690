"""Archives of others, for a collection: WARC and ARC files, compressed or not, and WACZ packages.

`archive_files` finds the files, inside WACZ packages as well. `survey` passes over them once and says what they hold:
when they begin, which sites, which revisits refer to a body elsewhere. `foreign_answers` gives every capture as the
wire would have returned it, in the order of time over all files, with a `Problem` for each that cannot be used.
`check_package` looks at a WACZ package as a whole (`wacz`).

Nothing here writes; `collection.importing` makes the collection.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .answers import foreign_answers
    from .files import ArchiveFile, FilesSurvey, archive_files, survey
    from .wacz import Package, PackagePage, check_package
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "ArchiveFile",
    "FilesSurvey",
    "Package",
    "PackagePage",
    "archive_files",
    "check_package",
    "foreign_answers",
    "survey",
]
