"""The names of resource classes, or of traits."""

from collections.abc import Collection

from roost.changes import NameRow
from roost.model import NamedValue
from roost.search.index.copy_on_write import CopyOnWrite
from roost.search.index.providers import moment


class Catalog(CopyOnWrite):
    """Names by id and ids by name, with the time at which each was created."""

    def __init__(self, rows: Collection[NameRow]) -> None:
        super().__init__()
        self.ids: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.modified: dict[int, float] = {}
        self.update(rows)

    def update(self, rows: Collection[NameRow], gone: Collection[int] = ()) -> None:
        if not rows and not gone:
            return
        # Copies, because writers hold on to the ids for longer than to a snapshot. New names are
        # rare.
        ids, names, times = dict(self.ids), dict(self.names), dict(self.modified)
        for number in gone:
            name = names.pop(number, None)
            if name is not None:
                del ids[name]
        for number, name, modified in rows:
            ids[name] = number
            names[number] = name
            times[number] = modified
        self.changed()
        self.ids, self.names, self.modified = ids, names, times

    def entry(self, number: int) -> NamedValue:
        return NamedValue(name=self.names[number], modified=moment(self.modified[number]))
