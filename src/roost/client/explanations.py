"""The answers of `Client.explain` and `Client.capacity`: decoded JSON, with types.

docs/beyond.md describes what the fields mean.
"""

from typing import Literal, NotRequired, TypedDict


class ExplainedRule(TypedDict):
    """One condition of a request. A field that does not apply to its kind is missing."""

    kind: str  # such as resources, required or in_tree
    names: list[str]  # of traits, aggregates, a resource class, suffixes of groups or a provider
    group: NotRequired[str]  # the suffix of the group that it belongs to
    outside: NotRequired[list[str]]  # suffixes of groups that are served from elsewhere
    amount: NotRequired[int]  # of a resource class
    can_split: NotRequired[bool]  # whether several providers may give the amount together


# What was there before a rule, and what was left after it. `in` is a keyword.
ExplainedCounts = TypedDict("ExplainedCounts", {"in": int, "out": int})


class ExplainedStage(TypedDict):
    """What one rule left, after all rules before it."""

    rule: ExplainedRule
    text: str
    trees: ExplainedCounts
    providers: ExplainedCounts


class ExplainedInventory(TypedDict):
    """What was asked of an inventory, and what it has."""

    asked: int
    free: int
    used: int
    capacity: int
    min_unit: int
    max_unit: int
    step_size: int


class ExplainedProvider(TypedDict):
    """Why one provider does not meet a rule."""

    uuid: str
    name: str
    broken: list[str]  # limits of the inventory, traits or aggregates
    text: str
    inventory: NotRequired[ExplainedInventory]  # if the rule is about one
    gives: NotRequired[int]  # the largest piece, if the amount may be split


class ExplainedTree(TypedDict):
    """Which rule a tree does not meet, and which of its providers come nearest."""

    uuid: str  # of the root
    name: str
    stage: int | None  # the number of the rule's stage; None: the tree meets all that were examined
    rule: ExplainedRule | None
    reason: str | None  # the rule and what breaks it, in words
    text: str  # the same as a sentence about the tree
    providers: list[ExplainedProvider]
    providers_more: int  # how many more there are


class Relaxation(TypedDict):
    """One change that would make the request fit."""

    rule: ExplainedRule
    amount: int | None  # lower the amount to this; None: remove the rule
    text: str


class Explanation(TypedDict):
    """Why a request fits or does not."""

    verdict: Literal["fits", "not now", "never", "unknown"]
    summary: str  # in one sentence
    trees: int
    providers: int
    stages: list[ExplainedStage]
    tree: ExplainedTree | None  # the tree that was asked about
    nearest: list[ExplainedTree]
    relaxations: list[Relaxation]
    complete: bool  # whether everything was tried; if not, stages or relaxations may be missing


class TreeCapacity(TypedDict):
    uuid: str  # of the root
    name: str
    count: int


class Capacity(TypedDict):
    """How many more of a request fit."""

    count: int
    trees: list[TreeCapacity]
    complete: bool  # False: at least `count` fit
