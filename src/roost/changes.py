"""What the store passes to the index: rows of the tables, and changes since a feed position.

These are plain values, so the store needs no numpy and the index no SQL. Times are seconds since
1970, and 0 where the tables hold none.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from roost.model import Value

# id, uuid, name, generation, root id, parent id, modified
ProviderRow = tuple[int, str, str, int, int, int | None, float]
# provider id, class id, total, reserved, min_unit, max_unit, step_size, ratio, modified
InventoryRow = tuple[int, int, int, int, int, int, int, float, float]
# provider id, class id, used
UsageRow = tuple[int, int, int]
# provider id, trait id
TraitRow = tuple[int, int]
# provider id, aggregate UUID as stored; in the order in which the aggregates were first named
AggregateRow = tuple[int, str]
# id of a hold, id of the root of the tree, seconds
HoldRow = tuple[str, int, float]
# class id, total, reserved, min_unit, max_unit, step_size, ratio
InventoryNumbers = tuple[int, int, int, int, int, int, float]
# id, name, modified
NameRow = tuple[int, str, float]

# The type of each column of a row: an integer (q), a float (d), or an object (-). The letters are
# those of the `array` module.
PROVIDER_TYPECODES = "q--qq-d"
INVENTORY_TYPECODES = "qqqqqqqdd"
USAGE_TYPECODES = "qqq"
TRAIT_TYPECODES = "qq"
AGGREGATE_TYPECODES = "q-"


class TableColumns(Sequence[Any]):
    """Rows stored by column, with numbers in arrays instead of objects.

    A large cloud has millions of rows. As objects they would take many times the memory of the
    index that is built from them, and would leave the memory fragmented.
    """

    def __init__(self, kinds: str, rows: Iterable[Sequence[Any]] = ()) -> None:
        self.columns: list[Any] = [[] if kind == "-" else array(kind) for kind in kinds]
        self.extend(rows)

    def extend(self, rows: Iterable[Sequence[Any]]) -> None:
        for column, values in zip(self.columns, zip(*rows, strict=True), strict=False):
            column.extend(values)

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.columns, strict=True)

    def __getitem__(self, place: Any) -> tuple[Any, ...]:
        return tuple(column[place] for column in self.columns)


class Rows(Value, frozen=True, kw_only=True):
    """Rows of the tables in one snapshot: of every provider, or of some."""

    providers: Sequence[ProviderRow] = ()
    inventories: Sequence[InventoryRow] = ()
    usages: Sequence[UsageRow] = ()
    traits: Sequence[TraitRow] = ()
    aggregates: Sequence[AggregateRow] = ()
    resource_classes: Sequence[NameRow] = ()
    trait_names: Sequence[NameRow] = ()


class ProviderParts(Value, frozen=True, kw_only=True, omit_defaults=True):
    """Parts of a provider that were replaced; None: this one was not.

    Compute nodes report them all the time, and no row has to be read for them.
    """

    id: int
    generation: int  # that the last replacement moved it to
    modified: float  # when
    traits: list[int] | None = None  # ids, ascending
    aggregates: list[str] | None = None  # as of `AggregateRow`
    inventories: list[InventoryNumbers] | None = None  # some of its classes, and it had them before

    def then(self, later: "ProviderParts") -> "ProviderParts":
        """These replacements and then others of the same provider."""
        inventories = {each[0]: each for each in (self.inventories or [])}
        inventories |= {each[0]: each for each in (later.inventories or [])}
        return ProviderParts(
            id=self.id,
            generation=later.generation,
            modified=later.modified,
            traits=self.traits if later.traits is None else later.traits,
            aggregates=self.aggregates if later.aggregates is None else later.aggregates,
            inventories=list(inventories.values()) or None,
        )


class Changes(Value, frozen=True, kw_only=True):
    """What changed between two positions of the change feed, as of the later one.

    Changes of allocations are many and small, so they come as differences of `usage` and as new
    `generations`. Replaced inventories, traits and aggregates come as `parts`. All other changes of
    a provider are rare, and come as its present `rows`.
    """

    usage: Mapping[tuple[int, int], int] = {}  # (provider id, class id) -> difference
    generations: Mapping[int, int] = {}  # provider id -> the highest generation announced
    first_generations: Mapping[int, int] = {}  # provider id -> the lowest one
    parts: Sequence[ProviderParts] = ()  # of providers that were not read again, each once
    provider_ids: frozenset[int] = frozenset()  # read again; those not in `rows` were deleted
    class_ids: frozenset[int] = frozenset()  # read again; those not in `rows` were deleted
    trait_ids: frozenset[int] = frozenset()  # read again; those not in `rows` were deleted
    rows: Rows = Rows()
    # Trees that are held, which concerns claims and not the index.
    holds: Sequence[HoldRow] = ()
    ended_holds: Sequence[str] = ()  # ids

    def __bool__(self) -> bool:
        return bool(
            self.usage
            or self.generations
            or self.parts
            or self.provider_ids
            or self.class_ids
            or self.trait_ids
        )
