"""Choosing candidates that fit together, compared with trying every combination."""

from collections import Counter
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.operations.placing import assignment as module
from roost.operations.placing.assignment import Choice, choose, choose_in_order
from roost.operations.placing.options import Options
from roost.search.budget import Budget

PROVIDERS = "abcs"


class Way(NamedTuple):
    """What one option takes of each provider, and its host."""

    taken: dict[str, int]
    host: str | None


def option(name, amount=1):
    return Way({name: amount}, name)


def options_from(ways, free):
    """As arrays. The lines of ways that take from fewer providers are filled up."""
    numbers = {name: number for number, name in enumerate(free)}
    hosts = {host: number for number, host in enumerate(sorted({way.host or "" for way in ways}))}
    width = max((len(way.taken) for way in ways), default=0)
    takes, amounts = np.zeros((2, len(ways), width), dtype=np.int64)
    for line, way in enumerate(ways):
        for place, (name, amount) in enumerate(way.taken.items()):
            takes[line, place], amounts[line, place] = numbers[name], amount
    return Options(
        takes=takes,
        amounts=amounts,
        hosts=np.array([-1 if way.host is None else hosts[way.host] for way in ways], dtype=int),
        free=np.array(list(free.values()), dtype=np.int64),
        classes=np.zeros(len(free), dtype=np.int64),
    )


def chosen_from(ways, free, count, *, apart=False, fill=False, budget=None):
    """The ways that are chosen, or None."""
    options = options_from(ways, free)
    numbers = choose(options, count, apart=apart, fill=fill, budget=budget).numbers
    return None if numbers is None else [ways[number] for number in numbers]


@st.composite
def ways_of_few_providers(draw):
    """With at most one host: what is not on it is shared."""
    host = draw(st.sampled_from(["a", "b", "c", None]))
    own = st.just(()) if host is None else st.sampled_from([(host,), (host, "s")])
    names = draw(own) or ("s",)
    return Way({name: draw(st.integers(1, 3)) for name in names}, host)


def fits(chosen, free, apart):
    used = Counter()
    for way in chosen:
        used.update(way.taken)
    hosts = [way.host for way in chosen if way.host is not None]
    together = not apart or len(hosts) == len(set(hosts))
    return together and all(amount <= free[name] for name, amount in used.items())


WAYS = st.lists(ways_of_few_providers(), max_size=5)
FREE = st.fixed_dictionaries({name: st.integers(0, 6) for name in PROVIDERS})


@given(WAYS, FREE, st.integers(1, 4), st.booleans(), st.booleans())
def test_a_choice_is_found_if_there_is_one(ways, free, count, apart, fill):
    chosen = chosen_from(ways, free, count, apart=apart, fill=fill)
    exists = any(fits(some, free, apart) for some in combinations_with_replacement(ways, count))
    if chosen is None:
        assert not exists
    else:
        assert len(chosen) == count
        assert all(way in ways for way in chosen)
        assert fits(chosen, free, apart)


def one_after_the_other(ways, free, count, apart, fill, again=True):
    """The rule as it is documented, read word by word: numbers of ways, or None."""
    chosen = []

    def may_be_added(number):
        return len(chosen) < count and fits(
            [*(ways[each] for each in chosen), ways[number]], free, apart
        )

    while True:
        before = len(chosen)
        for number in range(len(ways)):
            while may_be_added(number):
                chosen.append(number)
                if not fill:
                    break
        if len(chosen) in (before, count) or not again:
            return chosen if len(chosen) == count else None


@given(WAYS, FREE, st.integers(1, 12), st.booleans(), st.booleans(), st.booleans())
def test_the_first_options_that_fit_are_chosen_in_order(ways, free, count, apart, fill, again):
    options = options_from(ways, free)
    found = choose_in_order(options, count, apart=apart, fill=fill, again=again, budget=Budget())
    assert found == one_after_the_other(ways, free, count, apart, fill, again or fill)


@given(WAYS, WAYS, FREE, st.integers(1, 6), st.booleans(), st.booleans())
def test_more_options_do_not_change_a_choice_in_which_none_is_used_again(
    ways, more, free, count, apart, fill
):
    how = {"apart": apart, "fill": fill, "again": False, "budget": Budget()}
    found = choose_in_order(options_from(ways, free), count, **how)
    if found is not None:
        assert choose_in_order(options_from([*ways, *more], free), count, **how) == found


def test_fill_packs_and_the_default_takes_turns():
    ways = [option(name) for name in "abc"]
    free = dict.fromkeys("abc", 2)

    def names(**how):
        return "".join(way.host for way in chosen_from(ways, free, 4, **how))

    assert names(fill=True) == "aabb"
    assert names(fill=False) == "abca"


@given(WAYS, FREE, st.integers(1, 6), st.booleans())
def test_a_choice_does_not_depend_on_how_many_lines_are_kept(ways, free, count, apart):
    options = options_from(ways * 3, free)
    expected = choose(options, count, apart=apart, fill=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LINES_AT_ONCE", 2)
        patch.setattr(module, "ENTRIES_KEPT", 0)
        assert choose(options, count, apart=apart, fill=False) == expected


def test_many_consumers_with_room_take_no_loop():
    """However many there are: a few sums show that everything fits."""
    ways = [option(str(number)) for number in range(500)]
    free = {str(number): 20 for number in range(500)}
    budget = Budget()
    chosen = chosen_from(ways, free, 10_000, budget=budget)
    assert Counter(way.host for way in chosen) == free
    assert budget.steps == 0
    # One for each candidate, not for each consumer.
    chosen = chosen_from(ways, free, 9_999, fill=True, budget=budget)
    assert [way.host for way in chosen[:40]] == ["0"] * 20 + ["1"] * 20
    assert budget.steps <= 600


def test_sums_are_exact():
    """Amounts of which many together are more than a floating-point number holds exactly."""
    free = {"a": 2**62 - 1}
    assert chosen_from([option("a", 2**61)], free, 2) is None
    assert len(chosen_from([option("a", 2**61 - 1)], free, 2)) == 2


def pair(one, other, amount=1):
    return Way({one: amount, other: amount}, None)


def test_a_search_with_too_many_steps_is_given_up(monkeypatch):
    """One more is asked for than fits, and there are too many combinations to try them all."""
    monkeypatch.setattr(module, "STEPS_MAX", 1000)
    # Every pair of three takes from two of them, so only one of each three fits.
    ways = [
        pair(f"{n}{one}", f"{n}{other}") for n in range(20) for one, other in ("ab", "bc", "ca")
    ]
    free = {f"{n}{name}": 1 for n in range(20) for name in "abc"}
    options = options_from(ways, free)
    assert choose(options, 21, apart=False, fill=False) == Choice(gave_up=True)
    assert len(chosen_from(ways, free, 20)) == 20


def test_sums_show_that_too_much_is_asked_for(monkeypatch):
    monkeypatch.setattr(module, "STEPS_MAX", 0)
    ways = [option("s") for _ in range(200)]
    ways += [option("t", 2) for _ in range(200)]
    options = options_from(ways, {"s": 7, "t": 15})
    assert choose(options, 22, apart=False, fill=False) == Choice()


def test_the_first_options_are_tried_when_the_budget_is_used_up():
    ways = [option(name) for name in "abc"]
    free = dict.fromkeys("abc", 1)
    options = options_from(ways, free)

    def chosen(count):
        return choose(options, count, apart=True, fill=False, budget=Budget(units_max=0))

    assert chosen(3).numbers == [0, 1, 2]
    assert chosen(4) == Choice(gave_up=True)


def test_exhausted_providers_are_skipped(monkeypatch):
    """A thousand options for the last unit of a host, and another host with room for all."""
    monkeypatch.setattr(module, "STEPS_MAX", 0)
    ways = [option("a") for _ in range(1000)] + [option("b")]
    free = {"a": 1, "b": 1000}
    for fill in (True, False):
        assert len(chosen_from(ways, free, 200, fill=fill)) == 200


@pytest.mark.parametrize("hosts", [10, 200])
def test_hosts_without_an_alternative_are_chosen_first(hosts, monkeypatch):
    """All hosts but two may use either storage. Those two need the small one, with room for two."""
    monkeypatch.setattr(module, "STEPS_MAX", 0)
    ways = []
    for number in range(hosts):
        for storage in ("small", "large") if number < hosts - 2 else ("small",):
            ways.append(Way({f"host{number}": 1, storage: 1}, f"host{number}"))
    free = {f"host{number}": 1 for number in range(hosts)} | {"small": 2, "large": hosts}
    chosen = chosen_from(ways, free, hosts, apart=True)
    assert {way.host for way in chosen} == {f"host{n}" for n in range(hosts)}


def test_an_option_without_a_host_is_apart_from_every_other():
    shared = Way({"pool": 1}, None)
    for fill in (True, False):
        assert chosen_from([shared], {"pool": 3}, 3, apart=True, fill=fill) == [shared] * 3
    assert chosen_from([shared], {"pool": 2}, 3, apart=True) is None
