"""How long one search may take."""

import time


class SearchTime:
    """The time of one search. The search asks every millisecond or so whether it may go on."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds

    def may_go_on(self) -> bool:
        return time.monotonic() < self._deadline
