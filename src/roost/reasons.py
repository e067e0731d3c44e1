"""Why a request fits or does not, as values. `api/` words them."""

from enum import StrEnum

from roost.model import Value


class RuleKind(StrEnum):
    """What a rule is about, in the order in which rules are applied."""

    ROOT_REQUIRED = "root_required"
    ROOT_FORBIDDEN = "root_forbidden"
    ROOT_MEMBER_OF = "root_member_of"
    ROOT_NOT_MEMBER_OF = "root_not_member_of"
    RESOURCES = "resources"
    REQUIRED = "required"
    FORBIDDEN = "forbidden"
    MEMBER_OF = "member_of"
    NOT_MEMBER_OF = "not_member_of"
    IN_TREE = "in_tree"
    IN_SUBTREE = "in_subtree"
    GROUP_POLICY = "group_policy"
    ISOLATE = "isolate"
    SAME_SUBTREE = "same_subtree"
    ELSEWHERE = "elsewhere"
    CAPACITY = "capacity"


OF_THE_ROOT = (
    RuleKind.ROOT_REQUIRED,
    RuleKind.ROOT_FORBIDDEN,
    RuleKind.ROOT_MEMBER_OF,
    RuleKind.ROOT_NOT_MEMBER_OF,
)
BETWEEN_GROUPS = (
    RuleKind.GROUP_POLICY,
    RuleKind.ISOLATE,
    RuleKind.SAME_SUBTREE,
    RuleKind.ELSEWHERE,
    RuleKind.CAPACITY,
)


class UnitLimit(StrEnum):
    """The limit of an inventory that an amount breaks."""

    NOT_FREE = "capacity"
    BELOW_MIN_UNIT = "min_unit"
    ABOVE_MAX_UNIT = "max_unit"
    NO_WHOLE_STEP = "step_size"


class Verdict(StrEnum):
    """Whether a request fits."""

    FITS = "fits"
    NOT_NOW = "not now"  # it would fit an empty cloud
    NEVER = "never"
    UNKNOWN = "unknown"  # the search gave up before it was certain


class Rule(Value, frozen=True, kw_only=True):
    """One condition of a request, the smallest that can be taken out of it."""

    kind: RuleKind
    group: str | None = None  # the suffix of the group that it belongs to, if to one
    # Traits or aggregates (one of them is enough), suffixes, the class, or the tree's provider.
    names: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()  # suffixes of groups served from outside the subtree
    amount: int | None = None  # of a resource class
    may_split: bool = False  # whether several providers may serve the amount together
    together: bool = False  # whether the providers of the group meet it between them


class Stage(Value, frozen=True, kw_only=True):
    """What one rule left, after all rules before it."""

    rule: Rule
    trees_in: int
    trees_out: int
    # Providers in the trees that are left, or sharing with them, that can serve what the rule is
    # about, or a piece of it. Where the rule is about no single group: all providers of the trees.
    providers_in: int
    providers_out: int


class ProviderMiss(Value, frozen=True, kw_only=True):
    """Why one provider does not meet the rule at which its tree was lost."""

    uuid: str
    name: str
    broken: tuple[str, ...] = ()  # limits of the inventory, or traits and aggregates
    # Of the inventory, if the rule is about one.
    asked: int | None = None
    used: int | None = None
    capacity: int | None = None
    min_unit: int | None = None
    max_unit: int | None = None
    step_size: int | None = None
    gives: int | None = None  # the largest piece it can serve, if the amount may be split

    @property
    def free(self) -> int:
        return max(0, (self.capacity or 0) - (self.used or 0))

    @property
    def lacking(self) -> int:
        """How much more would have to be free."""
        return max(0, (self.asked or 0) - self.free)


class TreeReason(Value, frozen=True, kw_only=True):
    """At which stage one tree was lost, and why."""

    uuid: str  # of the root
    name: str
    stage: int | None  # the number of the stage that lost the tree; None: no stage did
    is_decided: bool = True  # False: no stage lost the tree, but not all could be examined
    rule: Rule | None = None
    providers: tuple[ProviderMiss, ...] = ()  # the nearest first
    providers_more: int = 0  # how many more there are
    is_examined: bool = True  # False: the search gave up before it had examined all providers


class Relaxation(Value, frozen=True, kw_only=True):
    """One rule that, taken out or lowered, gives a candidate. A search has confirmed it."""

    rule: Rule
    amount: int | None = None  # lowered to this; None: taken out

    @property
    def cost(self) -> float:
        """The share of the rule that is given up."""
        if self.amount is None or not self.rule.amount:
            return 1.0
        return 1 - self.amount / self.rule.amount


class Explanation(Value, frozen=True, kw_only=True):
    """Why one request fits or does not."""

    verdict: Verdict  # of the whole cloud, or of the tree that was asked about
    trees: int
    providers: int
    stages: tuple[Stage, ...]  # as many as could be examined
    tree: TreeReason | None = None  # of the tree that was asked about
    nearest: tuple[TreeReason, ...] = ()  # trees that came furthest, where none fits
    relaxations: tuple[Relaxation, ...] = ()  # the smallest first; none where it fits
    complete: bool = True  # False: a search gave up, so that stages or relaxations may be missing
