"""Assigning candidates to several consumers with equal requests, so that all fit together.

Pure functions of what each candidate takes, what is free, and the order of the candidates.

Usually the first candidates in order fit, which a few sums show (`_all_fit`). Where some do not,
they are tried one after the other. Where they compete for the same resources, the hosts with the
fewest remaining candidates choose first. Where that fails too, a depth-first search tries
combinations, up to a bound: deciding whether candidates fit together is NP-hard. Every loop asks
the budget of the placement.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from roost.model import Value
from roost.operations.placing.options import OPTIONS_AT_LAST, Options
from roost.search.budget import Budget, GaveUp

# How many candidates the search of combinations examines before it gives up.
STEPS_MAX = 100_000

# How many hosts, or amounts of an option, are compared in the time of one step.
HOSTS_PER_STEP = 16
ENTRIES_PER_STEP = 16

# How many options are taken from arrays at once, and how many amounts of options are kept.
LINES_AT_ONCE = 64
ENTRIES_KEPT = 2**17

# Sums in floating point are exact up to here.
EXACT_MAX = 2**52

# What an option takes: numbers of inventories, and amounts.
Line = Sequence[tuple[int, int]]


class Choice(Value, frozen=True, kw_only=True):
    """Options that fit together, by number, or None; and whether the search gave up."""

    numbers: Sequence[int] | None = None
    gave_up: bool = False


def choose(
    options: Options, count: int, *, apart: bool, fill: bool, budget: Budget | None = None
) -> Choice:
    """Choose `count` options that fit together.

    With `apart` no two of them share a host. With `fill` an option is used as often as it fits
    before the next one; otherwise each option is used once before any is used again.
    """
    budget = Budget() if budget is None else budget
    try:
        found = choose_in_order(options, count, apart=apart, fill=fill, budget=budget)
        if found is None and apart:
            found = _fewest_first(_Remaining(options, budget, apart=True), count)
        if found is not None:
            return Choice(numbers=found)
        times_max = _times_max(options, budget)
        if times_max is not None and times_max < count:
            return Choice()
        search = _CombinationSearch(_Remaining(options, budget, apart=apart), count)
        found = search.run()
        return Choice(numbers=found, gave_up=search.gave_up)
    except GaveUp:
        # The first options, which have been found already, may do.
        first = options.first(OPTIONS_AT_LAST)
        found = choose_in_order(first, count, apart=apart, fill=fill, budget=Budget())
        return Choice(numbers=found, gave_up=found is None)


def choose_in_order(
    options: Options, count: int, *, apart: bool, fill: bool, budget: Budget, again: bool = True
) -> Sequence[int] | None:
    """The first options that fit, or None. Raises `GaveUp`.

    Without `again` no option is used again after all were tried once. Then more options, after
    these, would make no difference to the choice.
    """
    if not (fill or again) and count > options.option_count:
        return None
    if not fill:
        budget.try_choices(min(count, options.option_count), options.takes.shape[1])
        if _all_fit(options, count, apart=apart):
            return np.resize(np.arange(options.option_count), count).tolist()
    remaining = _Remaining(options, budget, apart=apart)
    if fill:
        return _filled(remaining, count)
    return _in_turns(remaining, count, again=again)


def _all_fit(options: Options, count: int, *, apart: bool) -> bool:
    """Whether all options fit together that are used if each one has its turn."""
    turns, more = divmod(count, max(options.option_count, 1))
    if not options.option_count:
        return False
    used = options.first(count)
    if apart:
        hosts = used.hosts[used.hosts >= 0]
        if len(hosts) and (count > options.option_count or len(np.unique(hosts)) < len(hosts)):
            return False
    times = np.full(used.option_count, turns)
    times[:more] += 1
    taken = np.bincount(
        used.takes.ravel(),
        weights=(used.amounts * times[:, np.newaxis]).ravel(),
        minlength=len(options.free),
    )
    return bool((taken <= np.minimum(options.free, EXACT_MAX)).all())


class _Lines:
    """What each option takes, for loops: some lines of the arrays at a time, when they are needed.

    As Python objects all of them together might take a hundred times as much memory.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._made: dict[int, Sequence[Line]] = {}  # by number of the block
        self._blocks_max = ENTRIES_KEPT // (LINES_AT_ONCE * max(options.takes.shape[1], 1)) + 1

    def __getitem__(self, option: int) -> Line:
        number, place = divmod(option, LINES_AT_ONCE)
        block = self._made.get(number)
        if block is None:
            if len(self._made) >= self._blocks_max:
                self._made.clear()
            block = self._made[number] = self._block(number * LINES_AT_ONCE)
        return block[place]

    def _block(self, first: int) -> Sequence[Line]:
        some = slice(first, first + LINES_AT_ONCE)
        takes, amounts = self._options.takes[some].tolist(), self._options.amounts[some].tolist()
        return [
            [(number, amount) for number, amount in zip(*line, strict=True) if amount]
            for line in zip(takes, amounts, strict=True)
        ]


class _Remaining:
    """What is free beside the options chosen so far."""

    def __init__(self, options: Options, budget: Budget, *, apart: bool) -> None:
        self.budget = budget
        self.apart = apart
        self.count = options.option_count
        self.lines = _Lines(options)
        self.free: list[int] = options.free.tolist()
        self.hosts: list[int] = options.hosts.tolist()
        self._hosts: set[int] = set()
        self._steps = 1 + options.takes.shape[1] // ENTRIES_PER_STEP

    def fits(self, option: int) -> bool:
        """Whether an option fits beside the others. Raises `GaveUp`."""
        self.budget.step(self._steps)
        if self.apart and self.hosts[option] in self._hosts:
            return False
        free = self.free
        for number, amount in self.lines[option]:  # noqa: SIM110 (a generator takes twice as long)
            if free[number] < amount:
                return False
        return True

    def times(self, option: int, count: int) -> int:
        """How often an option fits that fits once, up to `count`."""
        if self.apart and self.hosts[option] >= 0:
            return 1
        return min([count, *(self.free[n] // amount for n, amount in self.lines[option])])

    def take(self, option: int, times: int = 1) -> None:
        for number, amount in self.lines[option]:
            self.free[number] -= amount * times
        if self.apart and self.hosts[option] >= 0:
            self._hosts.add(self.hosts[option])

    def put_back(self, option: int) -> None:
        for number, amount in self.lines[option]:
            self.free[number] += amount
        self._hosts.discard(self.hosts[option])


def _filled(remaining: _Remaining, count: int) -> Sequence[int] | None:
    """Each option as often as it fits, then the next."""
    chosen: list[int] = []
    for option in range(remaining.count):
        if remaining.fits(option):
            times = remaining.times(option, count - len(chosen))
            remaining.take(option, times)
            chosen += [option] * times
            if len(chosen) == count:
                return chosen
    return None


def _in_turns(remaining: _Remaining, count: int, *, again: bool) -> Sequence[int] | None:
    """Each option once, then each once more. One that does not fit now never will again."""
    chosen: list[int] = []
    options: Iterable[int] = range(remaining.count)
    while options:
        still: list[int] = []
        for option in options:
            if remaining.fits(option):
                remaining.take(option)
                still.append(option)
                chosen.append(option)
                if len(chosen) == count:
                    return chosen
        # Each round uses an option, or is the last one.
        options = still if again else ()
    return None


def _times_max(options: Options, budget: Budget) -> int | None:
    """An upper bound of how many options fit together; None: there is none.

    Equal requests take as much of each class in all, wherever they take it from. From one provider
    they take multiples of what all amounts that they may take there have in common.
    """
    if not options.option_count:
        return 0
    budget.try_choices(options.option_count, options.takes.shape[1])
    common = np.zeros(len(options.free), dtype=np.int64)
    np.gcd.at(common, options.takes.ravel(), options.amounts.ravel())
    bounds = []
    for class_id in np.unique(options.classes).tolist():
        budget.try_choices(options.option_count, options.takes.shape[1])
        of_class = options.classes == class_id
        asked = np.where(of_class[options.takes], options.amounts, 0).sum(axis=1).min()
        if asked:
            units = common[of_class & (common > 0)].tolist()
            free = options.free[of_class & (common > 0)].tolist()
            usable = sum(each // unit * unit for each, unit in zip(free, units, strict=True))
            bounds.append(usable // int(asked))
    return min(bounds, default=None)


def _fewest_first(remaining: _Remaining, count: int) -> Sequence[int] | None:
    """Let the host with the fewest options choose the one that leaves most for the other hosts."""
    left: dict[int, list[int]] = {}
    asking: dict[int, set[int]] = {}
    most: dict[int, int] = {}
    for option, host in enumerate(remaining.hosts):
        remaining.budget.step()
        left.setdefault(host, []).append(option)
        for number, amount in remaining.lines[option]:
            asking.setdefault(number, set()).add(host)
            most[number] = max(most.get(number, 0), amount)

    def share_taken(option: int) -> float:
        """The largest share that it takes of something that several hosts request."""
        shares = (
            amount / remaining.free[number]
            for number, amount in remaining.lines[option]
            if len(asking[number]) > 1
        )
        return max(shares, default=0.0)

    left = {host: [each for each in some if remaining.fits(each)] for host, some in left.items()}
    chosen: list[int] = []
    while len(chosen) < count:
        remaining.budget.step(1 + len(left) // HOSTS_PER_STEP)
        able = [each for each in left if left[each]]
        if not able:
            return None
        host = min(able, key=lambda each: len(left[each]))
        option = min(left[host], key=share_taken)
        remaining.take(option)
        chosen.append(option)
        scarce = (
            number for number, _ in remaining.lines[option] if remaining.free[number] < most[number]
        )
        # Those on no host may take from what any host has.
        touched = {host, -1}.union(*(asking[number] for number in scarce))
        for each in touched & left.keys():
            left[each] = [other for other in left[each] if remaining.fits(other)]
    return chosen


class _CombinationSearch:
    """Tries all combinations, depth first.

    The consumers are interchangeable, so only how often each option is used matters.
    """

    def __init__(self, remaining: _Remaining, count: int) -> None:
        self._remaining = remaining
        self._count = count
        self._steps = 0

    @property
    def gave_up(self) -> bool:
        return self._steps > STEPS_MAX

    def run(self) -> Sequence[int] | None:
        chosen: list[int] = []
        everything = range(self._remaining.count)
        turns = [iter(everything)]
        while turns:
            number = next((n for n in turns[-1] if self._may_take(n)), None)
            if self.gave_up:
                return None
            if number is None:
                turns.pop()
                if chosen:
                    self._remaining.put_back(chosen.pop())
                continue
            chosen.append(number)
            self._remaining.take(number)
            if len(chosen) == self._count:
                return chosen
            # This option again, or a later one: earlier ones have been tried together with it.
            turns.append(iter(everything[number:]))
        return None

    def _may_take(self, option: int) -> bool:
        self._steps += 1
        return self.gave_up or self._remaining.fits(option)
