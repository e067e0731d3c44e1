"""Who sends a request, so that senders can take turns."""

from collections import OrderedDict
from collections.abc import Hashable

from roost.api.application import OPEN_PATHS
from roost.api.http.messages import Environ

# Keystone's middleware knows both names.
_TOKENS = ("HTTP_X_AUTH_TOKEN", "HTTP_X_STORAGE_TOKEN")
# How many accepted tokens are remembered.
TOKENS_MAX = 16384


def token_of(environ: Environ) -> str | None:
    return next((environ[key] for key in _TOKENS if key in environ), None)


class Senders:
    """Tells senders by their tokens once these were accepted, and by their addresses until then.

    Anybody can invent tokens, a new one for each request, and would have as many turns.
    """

    def __init__(self) -> None:
        # By hash, so that no token is kept. Those that were used last are the last.
        self._accepted: OrderedDict[int, None] = OrderedDict()

    def sender_of(self, environ: Environ) -> Hashable:
        """Only for the event loop."""
        key = hash(token_of(environ))
        if key in self._accepted:
            self._accepted.move_to_end(key)
            return key
        return str(environ["REMOTE_ADDR"])

    def note(self, environ: Environ, path: str, status: int) -> None:
        """Learn from the answer to a request whether its token is accepted. Event loop only."""
        token = token_of(environ)
        # Open paths and CORS answer without a look at the token, and so do some failures.
        if token is None or path in OPEN_PATHS or environ["REQUEST_METHOD"] == "OPTIONS":
            return
        if status == 401 or status >= 500:
            return
        self._accepted[hash(token)] = None
        if len(self._accepted) > TOKENS_MAX:
            self._accepted.popitem(last=False)
