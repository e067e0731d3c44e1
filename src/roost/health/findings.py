"""What can be wrong in the tables: the kinds of findings, in the order in which they are shown."""

from collections.abc import Mapping

from roost.model import Value


class Kind(Value, frozen=True, kw_only=True):
    """A kind of finding."""

    title: str
    advice: str  # what an operator can do
    repair: str = ""  # what `--fix` does; empty where nothing is safe to do


# By the names that stand in JSON: once set, they are set.
KINDS: Mapping[str, Kind] = {
    "index": Kind(
        title="the index serves something else than the tables say",
        advice="a fault of roost, unless another finding explains it: please report it",
    ),
    "loop": Kind(
        title="providers below each other in a circle",
        advice="nobody sees them; stop roost, set parent_provider_id of one of them to NULL, and "
        "check again",
    ),
    "missing_parent": Kind(
        title="providers whose parent does not exist",
        advice="they are served as roots",
        repair="make them the roots that they are served as",
    ),
    "wrong_root": Kind(
        title="providers whose root is not the top of their parents",
        advice="they are served in the tree of their parents",
        repair="set the root to the top of the parents",
    ),
    "over_capacity": Kind(
        title="more is used than there is",
        advice="move consumers away, or raise total or allocation_ratio; intended if an inventory "
        "was made smaller",
    ),
    "no_inventory": Kind(
        title="allocations of what their provider does not have",
        advice="PUT the inventory back, or remove the allocations of these consumers",
    ),
    "no_provider": Kind(
        title="allocations of providers that are gone",
        advice="DELETE /allocations/{consumer}, if the consumer is gone too",
    ),
    "unknown_consumer": Kind(
        title="allocations of consumers without a record",
        advice="the API does not show them",
        repair="add the records, with the incomplete project and user",
    ),
    "orphaned_consumer": Kind(
        title="consumers that hold nothing",
        advice="harmless; OpenStack Placement would refuse a first claim of theirs",
        repair="remove the records",
    ),
    "dangling": Kind(
        title="rows that point to nothing",
        advice="nobody sees them",
        repair="remove the rows",
    ),
    "no_owner": Kind(
        title="consumers whose project or user is gone",
        advice="the API does not show them",
        repair="give them the incomplete project or user",
    ),
    "no_class": Kind(
        title="inventories of resource classes that are gone",
        advice="remove the rows by hand, if nobody holds anything of them",
    ),
}


class Finding(Value, frozen=True, kw_only=True):
    """One thing that is wrong."""

    kind: str
    subject: str  # what it is about, mostly a UUID
    detail: str
