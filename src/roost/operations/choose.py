"""Candidates for several consumers that all ask for the same, so that all of them fit together.

Pure: what a candidate takes, what is free, and in which order candidates are wanted.
"""

from collections.abc import Iterator, Mapping, Sequence

from roost.model import Candidate, Value

# Beyond so many looks at a candidate the search is given up: which candidates can be had together
# is a question that nobody can answer quickly in every case.
LOOKS_MAX = 100_000

# What is free of each class of each provider.
Free = Mapping[tuple[str, str], int]


class Option(Value, frozen=True, kw_only=True):
    """One candidate, and where it is."""

    candidate: Candidate
    hosts: frozenset[str]  # the roots of its trees, but for those that only share


def choose(
    options: Sequence[Option], free: Free, count: int, *, apart: bool, fill: bool
) -> list[Option] | None:
    """So many options that fit together, the first that are found; None if there are none.

    With `apart` no two of them are on a common host. With `fill` an option is taken as often as
    it fits before the next one is; else all of them have a turn before one is taken again.
    """
    return _Choice(options, free, count, apart=apart, fill=fill).make()


class _Choice:
    def __init__(
        self, options: Sequence[Option], free: Free, count: int, *, apart: bool, fill: bool
    ) -> None:
        self._options = options
        self._free = dict(free)
        self._count = count
        self._apart = apart
        self._fill = fill
        self._looks = 0
        self._hosts: set[str] = set()

    def make(self) -> list[Option] | None:
        """Depth first: the consumers are alike, so only how often each is taken matters."""
        chosen: list[Option] = []
        turns = [self._turn(-1)]
        while turns:
            number = next((n for n in turns[-1] if self._may_take(self._options[n])), None)
            if self._looks > LOOKS_MAX:
                return None
            if number is None:
                turns.pop()
                if chosen:
                    self._put_back(chosen.pop())
                continue
            chosen.append(self._options[number])
            self._take(chosen[-1])
            if len(chosen) == self._count:
                return chosen
            turns.append(self._turn(number))
        return None

    def _turn(self, last: int) -> Iterator[int]:
        """Which options come next, after one was taken."""
        end = len(self._options)
        if self._fill:
            yield from range(max(last, 0), end)
        else:
            yield from range(last + 1, end)
            # When all had their turn; who must be apart has none left.
            if not self._apart:
                yield from range(last + 1)

    def _may_take(self, option: Option) -> bool:
        self._looks += 1
        if self._apart and not self._hosts.isdisjoint(option.hosts):
            return False
        return all(
            self._free[provider, name] >= amount
            for provider, resources in option.candidate.allocations.items()
            for name, amount in resources.items()
        )

    def _take(self, option: Option) -> None:
        self._add(option, -1)
        if self._apart:
            self._hosts |= option.hosts

    def _put_back(self, option: Option) -> None:
        self._add(option, 1)
        if self._apart:
            self._hosts -= option.hosts

    def _add(self, option: Option, sign: int) -> None:
        for provider, resources in option.candidate.allocations.items():
            for name, amount in resources.items():
                self._free[provider, name] += sign * amount
