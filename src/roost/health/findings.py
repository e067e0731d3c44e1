"""Findings: what `roost db check` reports about the tables."""

from enum import StrEnum
from typing import Self

from roost.model import Value


class FindingKind(StrEnum):
    """A kind of finding, with its texts. In the order in which findings are shown.

    The values are part of the JSON output, so they never change.
    """

    summary: str
    advice: str  # what an operator can do
    repair: str  # what `--fix` does; empty where no repair is safe

    def __new__(cls, value: str, summary: str, advice: str, repair: str = "") -> Self:
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.summary = summary
        kind.advice = advice
        kind.repair = repair
        return kind

    INDEX = (
        "index",
        "the index serves something else than the tables say",
        "a fault of roost, unless another finding explains it: please report it",
    )
    NULL_IN_KEY = (
        "null_in_key",
        "rows without a value in a column of the primary key",
        "they cannot be loaded, so nothing but indexes and keys was checked; give them a value, or "
        "remove them, and check again",
    )
    MISSING_KEY = (
        "missing_key",
        "keys of the schema that the database does not have",
        "nothing keeps rows from contradicting each other; remove what is in the way, then add the "
        "key",
        "add the keys that nothing is in the way of",
    )
    EXTRA_KEY = (
        "extra_key",
        "keys of the database that the schema does not have",
        "the database may refuse what the API allows; drop them, unless you know what they are for",
    )
    MISSING_INDEX = (
        "missing_index",
        "indexes of the schema that the database does not have",
        "reads and writes become slower, the more rows there are; create them",
        "create the indexes, in place of a plain one that has the name, during which writes of the "
        "table may have to wait",
    )
    LOOP = (
        "loop",
        "providers below each other in a circle",
        "nobody sees them; stop roost, set parent_provider_id of one of them to NULL, and check "
        "again",
    )
    MISSING_PARENT = (
        "missing_parent",
        "providers whose parent does not exist",
        "they are served as roots",
        "make them the roots that they are served as",
    )
    WRONG_ROOT = (
        "wrong_root",
        "providers whose root is not the top of their parents",
        "they are served in the tree of their parents",
        "set the root to the top of the parents",
    )
    OVER_CAPACITY = (
        "over_capacity",
        "more is used than there is",
        "move consumers away, or raise total or allocation_ratio; intended if an inventory was "
        "made smaller",
    )
    NO_INVENTORY = (
        "no_inventory",
        "allocations of what their provider does not have",
        "PUT the inventory back, or remove the allocations of these consumers",
    )
    NO_PROVIDER = (
        "no_provider",
        "allocations of providers that are gone",
        "DELETE /allocations/{consumer}, if the consumer is gone too",
    )
    UNKNOWN_CONSUMER = (
        "unknown_consumer",
        "allocations of consumers without a record",
        "the API does not show them",
        "add the records, with the incomplete project and user",
    )
    SAME_CONSUMER = (
        "same_consumer",
        "consumers whose UUIDs differ only in upper and lower case",
        "to clients they may be one consumer, which then counts twice; look at both with GET "
        "/allocations/{consumer}, and remove the allocations of one with DELETE "
        "/allocations/{consumer}, each spelled exactly as shown here",
    )
    ORPHANED_CONSUMER = (
        "orphaned_consumer",
        "consumers that hold nothing",
        "harmless; OpenStack Placement would refuse a first claim of theirs",
        "remove the records",
    )
    DANGLING = (
        "dangling",
        "rows that point to nothing",
        "nobody sees them",
        "remove the rows",
    )
    NO_OWNER = (
        "no_owner",
        "consumers whose project or user is gone",
        "the API does not show them",
        "give them the incomplete project or user",
    )
    NO_CLASS = (
        "no_class",
        "inventories of resource classes that are gone",
        "remove the rows by hand, if nobody holds anything of them",
    )


class Finding(Value, frozen=True, kw_only=True):
    """One thing that is wrong."""

    kind: FindingKind
    subject: str  # what it is about, usually a UUID
    detail: str
    is_blocked: bool = False  # whether something is in the way of the repair

    @property
    def repair(self) -> str:
        """What `--fix` does about it; empty if nothing."""
        return "" if self.is_blocked else self.kind.repair
