"""Ids that a process may remember: of rows that are never removed and never renamed."""

# Far more names than a process sees in a while, and little memory.
IDS_MAX = 20_000


class IdCache:
    """Ids of projects, users, consumer types and aggregates, by kind and name.

    Only what was read as committed may be put in. It holds for as long as the database is the
    same one: `Store` starts anew when the process had to register anew, as after a backup was
    restored.
    """

    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], int] = {}

    def get(self, kind: str, name: str) -> int | None:
        return self._ids.get((kind, name))

    def put(self, kind: str, name: str, id: int) -> None:
        if len(self._ids) >= IDS_MAX:
            self._ids.clear()
        self._ids[kind, name] = id
