"""What `explain` and `capacity` return: frozen values.

docs/reference/beyond.md describes what the fields mean. Encoded as JSON they are what the service
sent: a field that does not apply is left out.
"""

from typing import Literal

from roost.model import Value


class ExplainedRule(Value, frozen=True, kw_only=True, omit_defaults=True):
    """One condition of a request. A field that does not apply to its kind has its default."""

    kind: str  # such as resources, required or in_tree
    group: str | None = None  # the suffix of the group that it belongs to
    names: tuple[str, ...]  # of traits, aggregates, a resource class, groups or a provider
    outside: tuple[str, ...] = ()  # suffixes of groups that are served from elsewhere
    amount: int | None = None  # of a resource class
    can_split: bool = False  # whether several providers may give the amount together


class ExplainedCounts(
    Value, frozen=True, kw_only=True, rename={"before": "in", "after": "out"}
):  # `in` is a keyword
    """How many there were before a rule, and how many were left after it."""

    before: int
    after: int


class ExplainedStage(Value, frozen=True, kw_only=True):
    """What one rule left, after all rules before it."""

    rule: ExplainedRule
    text: str
    trees: ExplainedCounts
    providers: ExplainedCounts


class ExplainedInventory(Value, frozen=True, kw_only=True):
    """What was asked of an inventory, and what it has."""

    asked: int
    free: int
    used: int
    capacity: int
    min_unit: int
    max_unit: int
    step_size: int


class ExplainedProvider(Value, frozen=True, kw_only=True, omit_defaults=True):
    """Why one provider does not meet a rule."""

    uuid: str
    name: str
    broken: tuple[str, ...]  # limits of the inventory, traits or aggregates
    text: str
    inventory: ExplainedInventory | None = None  # if the rule is about one
    gives: int | None = None  # the largest piece, if the amount may be split


class ExplainedTree(Value, frozen=True, kw_only=True):
    """Which rule a tree does not meet, and which of its providers come nearest."""

    uuid: str  # of the root
    name: str
    stage: int | None  # the number of the rule's stage; None: the tree meets all that were examined
    rule: ExplainedRule | None
    reason: str | None  # the rule and what breaks it, in words
    text: str  # the same as a sentence about the tree
    providers: tuple[ExplainedProvider, ...]
    providers_more: int  # how many more there are


class Relaxation(Value, frozen=True, kw_only=True):
    """One change that would make the request fit."""

    rule: ExplainedRule
    amount: int | None  # lower the amount to this; None: remove the rule
    text: str


class Explanation(Value, frozen=True, kw_only=True):
    """Why a request fits or does not."""

    verdict: Literal["fits", "not now", "never", "unknown"]
    summary: str  # in one sentence
    trees: int
    providers: int
    stages: tuple[ExplainedStage, ...]
    tree: ExplainedTree | None  # the tree that was asked about
    nearest: tuple[ExplainedTree, ...]
    relaxations: tuple[Relaxation, ...]
    complete: bool  # whether everything was tried; if not, stages or relaxations may be missing


class TreeCapacity(Value, frozen=True, kw_only=True):
    """How many requests take something from a tree."""

    uuid: str  # of the root
    name: str
    count: int


class Capacity(Value, frozen=True, kw_only=True):
    """How many more of a request fit."""

    count: int
    trees: tuple[TreeCapacity, ...]
    complete: bool  # False: at least `count` fit
