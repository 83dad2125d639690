"""What a shard remembers, on disk: one LMDB environment, one writer, one open transaction.

`disk` puts the parts together, and is what other rooms see; `marks` is all that a reader needs who asks how far a shard
has come. `environment` and `files` are all that we know of LMDB;
`sites` gives sites their numbers and says where values lie on disk, `rows` how. The ports of `model.ports` are in
`records`, `queues`, `url_scores`, `sitemap_store`, `sketches`, `sites` (robots files too) and `exchange`, each on
tables of its own; URLs that have been known for some time are found by way of `fingerprints`, which keeps sorted files
(`runs`), and `linked` says which links to them change nothing; both have functions in C (`compiled`). Keys begin with
the number of a site, so that the links of a page, which mostly stay on its site, land close together. Where the disk of
a machine is not the place to lose a state with, `replica` copies every commit to another; `redo` is the format of the
copy. `moving` moves whole sites from one state to others; `upgrading` reads rows of the format before. `files` also
tells apart a new shard and one whose state was lost, and notices a file that has changed since it was closed.
"""

from typing import TYPE_CHECKING

from periplus.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from .disk import DiskState
    from .records import DiskUrlRecords
    from .replica import Replica, bring_home, is_begun
else:
    __getattr__ = lazy_exports(__name__)

__all__ = [
    "DiskState",
    "DiskUrlRecords",
    "Replica",
    "bring_home",
    "is_begun",
]
