"""One search as a value: what `GET /allocation_candidates` and provider lists ask for.

There are no microversions here: a field that the client's version does not have keeps its default.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from roost.model import Value


class TraitRule(Value, frozen=True, kw_only=True):
    """Which traits must, and must not, be there."""

    # One of each set must be present: {A} and {B, C} is "A, and B or C".
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden)


class AggregateRule(Value, frozen=True, kw_only=True):
    """Which aggregates (by UUID) a provider must, and must not, be a member of."""

    # A member of one of each set.
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden)


class RequestGroup(Value, frozen=True, kw_only=True):
    """Resources that are asked for together.

    The group with the empty suffix may take each class from another provider of the tree, or from
    a provider that shares with it. A suffixed group is served by one provider alone, except for
    the classes in `can_split`. An unsuffixed group without resources is a rule about the tree: one
    of its providers, whichever it is, meets all rules of the group.
    """

    suffix: str = ""
    resources: Mapping[str, int] = {}  # resource class -> amount; empty for a resourceless group
    traits: TraitRule = TraitRule()
    aggregates: AggregateRule = AggregateRule()
    in_tree: str | None = None  # UUID of any provider of the only tree to take from
    in_subtree: str | None = None  # UUID of the provider to take from, or from below it
    # Classes whose amount several providers of one tree may serve together.
    can_split: frozenset[str] = frozenset()

    @property
    def one_provider(self) -> bool:
        return self.suffix != ""

    @property
    def anywhere(self) -> bool:
        """Whether any provider of the tree may meet the group, which takes nothing from it."""
        return not self.suffix and not self.resources


class Elsewhere(Value, frozen=True, kw_only=True):
    """`same_subtree=_X,!_Y`: groups that are not served from the subtree that serves others."""

    inside: frozenset[str]  # suffixes; the highest of their providers is the top of the subtree
    outside: frozenset[str]  # suffixes of the groups that are served from elsewhere


class OrderBy(StrEnum):
    """What decides which tree comes first."""

    PACK = "pack"  # the one with the least free
    SPREAD = "spread"  # the one with the most free
    RANDOM = "random"  # chance, the same for the same seed
    ROOT = "root"  # the UUID of its root


class Order(Value, frozen=True, kw_only=True):
    """In which order candidates come; trees take turns in each."""

    by: OrderBy
    seed: int = 0  # for OrderBy.RANDOM


class Cursor(Value, frozen=True, kw_only=True):
    """Where a candidate stands in an order, so that the next page can begin after it."""

    pieces: int = 0  # how many more pieces it has than without splits
    turn: int  # how many candidates of the same tree and with as many pieces come before it
    rank: float  # of the tree, in the order
    root: str  # UUID of the tree's root

    @property
    def key(self) -> tuple[int, int, float, str]:
        return self.pieces, self.turn, self.rank, self.root


class CandidateQuery(Value, frozen=True, kw_only=True):
    """One request for allocation candidates."""

    groups: tuple[RequestGroup, ...]  # the unsuffixed one, if any, first
    isolate: bool = False  # group_policy=isolate: suffixed groups on different providers
    same_subtree: tuple[frozenset[str], ...] = ()  # suffixes served from one subtree
    root_traits: TraitRule = TraitRule()  # of the root of the anchor
    root_aggregates: AggregateRule = AggregateRule()
    isolated: tuple[frozenset[str], ...] = ()  # suffixes of groups on different providers
    elsewhere: tuple[Elsewhere, ...] = ()
    limit: int | None = None  # None: every candidate
    order: Order | None = None  # None: as the search finds them
    after: Cursor | None = None  # where the last page ended, in that order
    # From 1.29: a candidate may take from several providers of one tree, and the summaries show
    # whole trees. Before that, such candidates are left out.
    nested_aware: bool = True

    @property
    def may_split(self) -> bool:
        return any(group.can_split for group in self.groups)


class ProviderQuery(Value, frozen=True, kw_only=True):
    """Which providers to list: those that meet every rule."""

    uuid: str | None = None
    name: str | None = None
    in_tree: str | None = None
    tree: str | None = None  # as `in_tree`, but a provider has this UUID, or the query is refused
    resources: Mapping[str, int] = {}
    traits: TraitRule = TraitRule()
    aggregates: AggregateRule = AggregateRule()


class Page(Value, frozen=True, kw_only=True):
    """A part of a list in the order of ids, which is that of creation."""

    limit: int | None = None  # how many entries at most; None: all
    after: int = 0  # the id of the last entry of the page before


class ConsumerQuery(Value, frozen=True, kw_only=True):
    """Which consumers to list: those that meet every rule.

    One allocation must meet all rules about allocations. A consumer is then listed with all that it
    holds.
    """

    provider_uuids: frozenset[str] | None = None  # rules about allocations: of one of these,
    tree_uuid: str | None = None  # of the tree that this provider is in,
    resource_class: str | None = None  # of this class
    project_id: str | None = None
    user_id: str | None = None
    consumer_type: str | None = None  # UNKNOWN_CONSUMER_TYPE: those without one
    changed_before: datetime | None = None  # in UTC, without a zone
