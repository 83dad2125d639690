"""Messages about changes: to IndexNow endpoints, to the WebSub hub of the feed, and to receivers of sitemap pings.

`outbox` keeps what is to be sent in the ledger, so that a kill loses nothing; `sender` sends what is due and decides
what an answer means.
"""

from .outbox import Target, feed, targets_of
from .sender import PushResult, Sender, key_of

__all__ = ["PushResult", "Sender", "Target", "feed", "key_of", "targets_of"]
