"""Candidates for several consumers that all ask for the same, so that all of them fit together.

Pure: what a candidate takes, what is free, and in which order candidates are wanted.

Mostly the first candidates in order do. Where they get in each other's way, hosts with the fewest
candidates left choose first; and where that does not do, combinations are tried, up to a bound:
which candidates can be had together is a question that nobody can answer quickly in every case.
"""

from collections.abc import Iterator, Mapping, Sequence

from roost.model import Candidate, Value

# Beyond so many looks at a candidate the trying of combinations is given up.
LOOKS_MAX = 100_000

# What is free of each class of each provider.
Free = Mapping[tuple[str, str], int]


class Option(Value, frozen=True, kw_only=True):
    """One candidate, and where it is."""

    candidate: Candidate
    hosts: frozenset[str]  # the roots of its trees, but for those that only share

    @property
    def amounts(self) -> Iterator[tuple[tuple[str, str], int]]:
        for provider, resources in self.candidate.allocations.items():
            for name, amount in resources.items():
                yield (provider, name), amount


class Choice(Value, frozen=True, kw_only=True):
    """So many options that fit together, or None; and whether all was tried to find them."""

    options: list[Option] | None = None
    gave_up: bool = False


def choose(options: Sequence[Option], free: Free, count: int, *, apart: bool, fill: bool) -> Choice:
    """So many options that fit together.

    With `apart` no two of them are on a common host. With `fill` an option is taken as often as
    it fits before the next one is; else all of them have a turn before one is taken again.
    """
    found = _in_order(options, _Room(free, apart=apart), count, fill=fill)
    if found is None and apart:
        found = _fewest_first(options, _Room(free, apart=True), count)
    if found is not None:
        return Choice(options=found)
    trial = _Trial(options, _Room(free, apart=apart), count)
    found = trial.make()
    return Choice(options=found, gave_up=trial.gave_up)


class _Room:
    """What is left beside what was taken."""

    def __init__(self, free: Free, *, apart: bool) -> None:
        self.free = dict(free)
        self.apart = apart
        self._hosts: set[str] = set()

    def has_room(self, option: Option) -> bool:
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
    options: Sequence[Option], room: _Room, count: int, *, fill: bool
) -> list[Option] | None:
    """The first that fit. What does not fit once never does, so each is refused once at most."""
    chosen: list[Option] = []
    while options and len(chosen) < count:
        still: list[Option] = []
        for option in options:
            while len(chosen) < count and room.has_room(option):
                room.take(option)
                chosen.append(option)
                if not fill:
                    still.append(option)
                    break
        # Each round takes something, or is the last.
        options = still
    return chosen if len(chosen) == count else None


def _fewest_first(options: Sequence[Option], room: _Room, count: int) -> list[Option] | None:
    """The host with the fewest options left takes the one that is missed least by others."""
    left: dict[frozenset[str], list[Option]] = {}
    asking: dict[tuple[str, str], set[frozenset[str]]] = {}
    most: dict[tuple[str, str], int] = {}
    for option in options:
        left.setdefault(option.hosts, []).append(option)
        for key, amount in option.amounts:
            asking.setdefault(key, set()).add(option.hosts)
            most[key] = max(most.get(key, 0), amount)

    def share_taken(option: Option) -> float:
        """Of what is free of something that several hosts ask for."""
        shares = (amount / room.free[key] for key, amount in option.amounts if len(asking[key]) > 1)
        return max(shares, default=0.0)

    left = {hosts: [each for each in some if room.has_room(each)] for hosts, some in left.items()}
    chosen: list[Option] = []
    while len(chosen) < count:
        hosts = min(
            (each for each in left if left[each]), key=lambda each: len(left[each]), default=None
        )
        if hosts is None:
            return None
        option = min(left[hosts], key=share_taken)
        room.take(option)
        chosen.append(option)
        scarce = [key for key, _ in option.amounts if room.free[key] < most[key]]
        touched = {each for key in scarce for each in asking[key]}
        # Whoever has several hosts may meet one of these again.
        touched |= {each for each in left if len(each) > 1 or each <= option.hosts}
        for each in touched:
            left[each] = [other for other in left[each] if room.has_room(other)]
    return chosen


class _Trial:
    """All combinations, depth first. Consumers are alike: only how often each is taken counts."""

    def __init__(self, options: Sequence[Option], room: _Room, count: int) -> None:
        self._options = options
        self._room = room
        self._count = count
        self._looks = 0

    @property
    def gave_up(self) -> bool:
        return self._looks > LOOKS_MAX

    def make(self) -> list[Option] | None:
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
                    self._room.put_back(chosen.pop())
                continue
            chosen.append(self._options[number])
            self._room.take(chosen[-1])
            if len(chosen) == self._count:
                return chosen
            # The same again, or one that comes later: the others have been tried with it.
            turns.append(iter(everything[number:]))
        return None

    def _may_take(self, option: Option) -> bool:
        self._looks += 1
        return self.gave_up or self._room.has_room(option)
