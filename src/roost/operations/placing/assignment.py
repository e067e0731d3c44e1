"""Assigning candidates to several consumers with equal requests, so that all fit together.

Pure functions of what each candidate takes, what is free, and the order of the candidates.

Usually the first candidates in order fit. Where they compete for the same resources, the hosts
with the fewest remaining candidates choose first. Where that fails too, a depth-first search tries
combinations, up to a bound: deciding whether candidates fit together is NP-hard. Every loop asks
the budget of the placement.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from roost.model import Candidate, Value
from roost.search.budget import Budget, GaveUp

# How many candidates the search of combinations examines before it gives up.
STEPS_MAX = 100_000

# How many options are tried once more, in order, when the budget is used up.
OPTIONS_AT_LAST = 64
# How many hosts are compared in the time of one step.
HOSTS_PER_STEP = 16

# (provider UUID, resource class) -> how much is free.
Free = Mapping[tuple[str, str], int]


class Option(Value, frozen=True, kw_only=True):
    """A candidate and its hosts."""

    candidate: Candidate
    hosts: frozenset[str]  # the roots of its trees, without sharing providers

    @property
    def amounts(self) -> Iterator[tuple[tuple[str, str], int]]:
        for provider, resources in self.candidate.allocations.items():
            for name, amount in resources.items():
                yield (provider, name), amount


class Choice(Value, frozen=True, kw_only=True):
    """Options that fit together, or None; and whether the search gave up before the end."""

    options: list[Option] | None = None
    gave_up: bool = False


def choose(
    options: Sequence[Option],
    free: Free,
    count: int,
    *,
    apart: bool,
    fill: bool,
    budget: Budget | None = None,
) -> Choice:
    """Choose `count` options that fit together.

    With `apart` no two of them share a host. With `fill` an option is used as often as it fits
    before the next one; otherwise each option is used once before any is used again.
    """
    budget = Budget() if budget is None else budget
    try:
        found = _in_order(options, _Remaining(free, budget, apart=apart), count, fill=fill)
        if found is None and apart:
            found = _fewest_first(options, _Remaining(free, budget, apart=True), count)
        if found is not None:
            return Choice(options=found)
        times_max = _times_max(options, free, budget)
        if times_max is not None and times_max < count:
            return Choice()
        search = _CombinationSearch(options, _Remaining(free, budget, apart=apart), count)
        found = search.run()
        return Choice(options=found, gave_up=search.gave_up)
    except GaveUp:
        # The first options, which have been found already, may do.
        first = _Remaining(free, Budget(), apart=apart)
        found = _in_order(options[:OPTIONS_AT_LAST], first, count, fill=fill)
        return Choice(options=found, gave_up=found is None)


def _times_max(options: Sequence[Option], free: Free, budget: Budget) -> int | None:
    """An upper bound of how many options fit together; None: there is none.

    Equal requests take as much of each class in all, wherever they take it from. From one provider
    they take multiples of what all amounts that they may take there have in common.
    """
    common: dict[tuple[str, str], int] = {}
    asked: dict[str, int] | None = None
    for option in options:
        budget.step()
        totals: dict[str, int] = {}
        for key, amount in option.amounts:
            common[key] = math.gcd(common.get(key, 0), amount)
            totals[key[1]] = totals.get(key[1], 0) + amount
        least = totals if asked is None else asked
        asked = {name: min(least[name], totals[name]) for name in least.keys() & totals.keys()}
    if asked is None:
        return 0
    usable: dict[str, int] = {}
    for (provider, name), unit in common.items():
        usable[name] = usable.get(name, 0) + free[provider, name] // unit * unit
    return min((usable[name] // total for name, total in asked.items()), default=None)


class _Remaining:
    """What is free beside the options chosen so far."""

    def __init__(self, free: Free, budget: Budget, *, apart: bool) -> None:
        self.free = dict(free)
        self.budget = budget
        self.apart = apart
        self._hosts: set[str] = set()

    def fits(self, option: Option) -> bool:
        """Whether an option fits beside the others. Raises `GaveUp`."""
        self.budget.step()
        if self.apart and not self._hosts.isdisjoint(option.hosts):
            return False
        return all(self.free[key] >= amount for key, amount in option.amounts)

    def take(self, option: Option) -> None:
        for key, amount in option.amounts:
            self.free[key] -= amount
        if self.apart:
            self._hosts |= option.hosts

    def put_back(self, option: Option) -> None:
        for key, amount in option.amounts:
            self.free[key] += amount
        if self.apart:
            self._hosts -= option.hosts


def _in_order(
    options: Sequence[Option], remaining: _Remaining, count: int, *, fill: bool
) -> list[Option] | None:
    """The first options that fit. One that does not fit now never will, so it is tried no more."""
    chosen: list[Option] = []
    while options and len(chosen) < count:
        still: list[Option] = []
        for option in options:
            while len(chosen) < count and remaining.fits(option):
                remaining.take(option)
                chosen.append(option)
                if not fill:
                    still.append(option)
                    break
        # Each round uses an option, or is the last one.
        options = still
    return chosen if len(chosen) == count else None


def _fewest_first(
    options: Sequence[Option], remaining: _Remaining, count: int
) -> list[Option] | None:
    """Let the host with the fewest options choose the one that leaves most for the other hosts."""
    left: dict[frozenset[str], list[Option]] = {}
    asking: dict[tuple[str, str], set[frozenset[str]]] = {}
    most: dict[tuple[str, str], int] = {}
    for option in options:
        left.setdefault(option.hosts, []).append(option)
        for key, amount in option.amounts:
            asking.setdefault(key, set()).add(option.hosts)
            most[key] = max(most.get(key, 0), amount)

    def share_taken(option: Option) -> float:
        """The largest share that it takes of something that several hosts request."""
        shares = (
            amount / remaining.free[key] for key, amount in option.amounts if len(asking[key]) > 1
        )
        return max(shares, default=0.0)

    left = {hosts: [each for each in some if remaining.fits(each)] for hosts, some in left.items()}
    chosen: list[Option] = []
    while len(chosen) < count:
        remaining.budget.step(1 + len(left) // HOSTS_PER_STEP)
        hosts = min(
            (each for each in left if left[each]), key=lambda each: len(left[each]), default=None
        )
        if hosts is None:
            return None
        option = min(left[hosts], key=share_taken)
        remaining.take(option)
        chosen.append(option)
        scarce = [key for key, _ in option.amounts if remaining.free[key] < most[key]]
        touched = {each for key in scarce for each in asking[key]}
        # An option on several hosts may conflict with the chosen one on any of them.
        touched |= {each for each in left if len(each) > 1 or each <= option.hosts}
        for each in touched:
            left[each] = [other for other in left[each] if remaining.fits(other)]
    return chosen


class _CombinationSearch:
    """Tries all combinations, depth first.

    The consumers are interchangeable, so only how often each option is used matters.
    """

    def __init__(self, options: Sequence[Option], remaining: _Remaining, count: int) -> None:
        self._options = options
        self._remaining = remaining
        self._count = count
        self._steps = 0

    @property
    def gave_up(self) -> bool:
        return self._steps > STEPS_MAX

    def run(self) -> list[Option] | None:
        chosen: list[Option] = []
        everything = range(len(self._options))
        turns = [iter(everything)]
        while turns:
            number = next((n for n in turns[-1] if self._may_take(self._options[n])), None)
            if self.gave_up:
                return None
            if number is None:
                turns.pop()
                if chosen:
                    self._remaining.put_back(chosen.pop())
                continue
            chosen.append(self._options[number])
            self._remaining.take(chosen[-1])
            if len(chosen) == self._count:
                return chosen
            # This option again, or a later one: earlier ones have been tried together with it.
            turns.append(iter(everything[number:]))
        return None

    def _may_take(self, option: Option) -> bool:
        self._steps += 1
        return self.gave_up or self._remaining.fits(option)
