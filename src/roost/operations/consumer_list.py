"""Lists consumers with all that they hold.

The index does not know consumers, so they are read from the tables: a chunk at a time, each in a
short transaction of its own, so that a client that reads slowly holds nothing in the database. The
names and the generations of providers come from the index.
"""

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import NamedTuple, Protocol

from roost.operations.known_names import check_classes
from roost.query import ConsumerQuery, Page
from roost.search.index.index import Index
from roost.service.search_time import give_way
from roost.service.service import Roost
from roost.store.tables.consumer_list import (
    ConsumerFilter,
    ConsumerList,
    ListedConsumer,
    ProviderNames,
    Rows,
)

# How many consumers one statement reads: about half a megabyte of answer. Larger chunks are not
# faster. A page of 1000 needs one more, to know whether it is the last.
CHUNK_CONSUMERS = 1024
# Even where few are missing on a page: the next ones may hold nothing.
CHUNK_CONSUMERS_MIN = 128

# What the consumers of a chunk should hold together, as text. If it is more, chunks get smaller.
CHUNK_LENGTH_MAX = 2**20

# After how many of them others may go first: about as often as in a search.
STEP_CONSUMERS = 64

# Names of projects, users and types are kept for the next chunk up to this number.
_NAMES_MAX = 20_000

# Where fields stand in a row.
_HOLDINGS = ListedConsumer._fields.index("holdings")
_REFERENCES = [ListedConsumer._fields.index(name) for name in ("project", "user", "type")]


class NotInIndex(LookupError):
    """A consumer refers to a provider or to a class that the index does not have."""


class Names(Protocol):
    """What providers and classes are called; None for those that do not exist."""

    def provider(self, id: int) -> tuple[str, int] | None:
        """The UUID and the generation."""

    def resource_class(self, id: int) -> str | None: ...


# Gives the ids and the texts of those consumers that hold something. A row is a `ListedConsumer`.
Writer = Callable[[Rows], list[tuple[str, str]]]


class Layout(Protocol):
    """How consumers are shown."""

    def name(self, text: str) -> str:
        """The name of a project, a user or a type."""

    def writer(self, names: Names, references: "References") -> Writer:
        """For the rows of one chunk."""


class Chunk(NamedTuple):
    """Some consumers, and the index from just before they were read."""

    snapshot: Index
    rows: Rows
    after: int  # the id behind which they begin
    is_last: bool

    @property
    def last_id(self) -> int:
        return int(self.rows[-1][0])

    @property
    def holders(self) -> int:
        """How many hold something. Hardly any of these is not shown."""
        return sum(row[_HOLDINGS] != "" for row in self.rows)


class ListedConsumers:
    """The texts of consumers, in the order of their creation, a list of them for each chunk.

    Can be read only once.
    """

    def __init__(self, roost: Roost, wanted: ConsumerFilter, page: Page, layout: Layout) -> None:
        # The id of the last consumer, if another page follows. Known when all texts are read.
        self.last_id: int | None = None
        self._roost = roost
        self._wanted = wanted
        self._page = page
        self._layout = layout
        self._references = References(roost.store.consumer_list, layout)

    def __iter__(self) -> Iterator[list[str]]:
        left, last_shown = self._page.limit, "0"
        with closing(self._chunks()) as chunks:
            for chunk in chunks:
                shown = self._show(chunk)
                texts = [text for _, text in shown[:left]]
                if texts:
                    last_shown = shown[len(texts) - 1][0]
                    yield texts
                if left is not None:
                    if len(shown) > left:
                        self.last_id = int(last_shown)
                        return
                    left -= len(shown)

    def _chunks(self) -> Generator[Chunk]:
        """One chunk after the other. While the caller shows one, another thread reads the next."""
        left = self._page.limit
        chunk = self._read(self._page.after, _count(CHUNK_CONSUMERS, left))
        with ThreadPoolExecutor(1, "roost-consumers") as thread:
            while True:
                size = _size_after(chunk)
                ahead = None
                if left is not None:
                    left -= chunk.holders
                if not chunk.is_last and (left is None or left >= 0):
                    ahead = thread.submit(self._read, chunk.last_id, _count(size, left))
                yield chunk
                if chunk.is_last:
                    return
                # A caller that goes on has shown fewer than hold something.
                chunk = ahead.result() if ahead else self._read(chunk.last_id, _count(size, 0))

    def _read(self, after: int, count: int) -> Chunk:
        # The index is read first. So a generation is never newer than what the consumer holds, and
        # a client that writes with it is refused if it has missed something.
        index = self._roost.current_index()
        rows, is_last = self._roost.store.consumer_list.read(self._wanted, after=after, count=count)
        return Chunk(index, rows, after, is_last)

    def _show(self, chunk: Chunk) -> list[tuple[str, str]]:
        try:
            return self._show_rows(chunk.rows, _IndexNames(chunk.snapshot))
        except NotInIndex:
            # The provider was created since then, or the row has outlived its provider.
            rows, names = self._roost.store.consumer_list.read_with_names(
                self._wanted, after=chunk.after, until=chunk.last_id
            )
            return self._show_rows(rows, _TableNames(names))

    def _show_rows(self, rows: Rows, names: Names) -> list[tuple[str, str]]:
        self._references.read(rows)
        write = self._layout.writer(names, self._references)
        shown = []
        for begin in range(0, len(rows), STEP_CONSUMERS):
            shown += write(rows[begin : begin + STEP_CONSUMERS])
            give_way()
        return shown


def _count(size: int, left: int | None) -> int:
    """How many consumers to read, where so many are missing on a page."""
    if left is None:
        return size
    # One more, to know whether another page follows.
    return min(size, max(left + 1, CHUNK_CONSUMERS_MIN))


def _size_after(chunk: Chunk) -> int:
    """How many consumers the next chunk should have: fewer if they hold very much."""
    length = sum(len(row[_HOLDINGS]) for row in chunk.rows)
    if not length:
        return CHUNK_CONSUMERS
    return max(1, min(CHUNK_CONSUMERS, len(chunk.rows) * CHUNK_LENGTH_MAX // length))


def list_consumers(
    roost: Roost, *, query: ConsumerQuery, page: Page, layout: Layout
) -> ListedConsumers:
    """A page of consumers; refuses a provider, a tree or a class that does not exist."""
    index = roost.current_index()
    class_id = root_id = provider_ids = None
    if query.resource_class is not None:
        check_classes(index, [query.resource_class])
        class_id = index.classes.ids[query.resource_class]
    if query.tree_uuid is not None:
        root_id = index.ids[int(index.rows.root[index.row(query.tree_uuid)])]
    if query.provider_uuids is not None:
        # Sorted, so that of several unknown ones always the same one is named.
        provider_ids = tuple(index.ids[index.row(uuid)] for uuid in sorted(query.provider_uuids))
    wanted = ConsumerFilter(
        provider_ids=provider_ids,
        root_id=root_id,
        class_id=class_id,
        project_id=query.project_id,
        user_id=query.user_id,
        consumer_type=query.consumer_type,
        changed_before=query.changed_before,
    )
    return ListedConsumers(roost, wanted, page, layout)


class References:
    """Names of projects, users and types by the digits of their ids, as the layout shows them."""

    def __init__(self, consumer_list: ConsumerList, layout: Layout) -> None:
        self._consumer_list = consumer_list
        self._layout = layout
        self.projects: dict[str, str] = {}
        self.users: dict[str, str] = {}
        self.types: dict[str, str] = {}

    def read(self, rows: Rows) -> None:
        """Read the names that these consumers need and that are not known yet."""
        kept = (self.projects, self.users, self.types)
        # Nothing is renamed or removed, so what is known stays true.
        missing = self._missing(rows)
        if sum(map(len, (*kept, *missing))) > _NAMES_MAX:
            for names in kept:
                names.clear()
            missing = self._missing(rows)
        found = self._consumer_list.names(
            project_ids=missing[0], user_ids=missing[1], type_ids=missing[2]
        )
        for names, new in zip(kept, found, strict=True):
            names.update((id, self._layout.name(text)) for id, text in new.items())

    def _missing(self, rows: Rows) -> list[set[str]]:
        kept = (self.projects, self.users, self.types)
        return [
            {row[field] for row in rows}.difference(known, [""])
            for field, known in zip(_REFERENCES, kept, strict=True)
        ]


class _IndexNames:
    def __init__(self, index: Index) -> None:
        self._index = index

    def provider(self, id: int) -> tuple[str, int]:
        row = self._index.row_of_id.get(id)
        if row is None:
            raise NotInIndex
        return self._index.uuids[row], int(self._index.rows.generation[row])

    def resource_class(self, id: int) -> str:
        name = self._index.classes.names.get(id)
        if name is None:
            raise NotInIndex
        return name


class _TableNames:
    def __init__(self, names: ProviderNames) -> None:
        self._names = names

    def provider(self, id: int) -> tuple[str, int] | None:
        return self._names.providers.get(id)

    def resource_class(self, id: int) -> str | None:
        return self._names.classes.get(id)
