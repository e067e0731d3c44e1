"""Choosing candidates that fit together, compared with trying every combination."""

from itertools import combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.model import Candidate
from roost.operations.placing import assignment as module
from roost.operations.placing.assignment import Choice, Option, choose
from roost.search.budget import Budget

PROVIDERS = ["a", "b", "c", "s"]


@st.composite
def options(draw):
    allocations = draw(
        st.dictionaries(
            st.sampled_from(PROVIDERS), st.fixed_dictionaries({"X": st.integers(1, 3)}), min_size=1
        )
    )
    hosts = frozenset(allocations) - {"s"}
    return Option(candidate=Candidate(allocations=allocations, mappings={}), hosts=hosts)


def fits(chosen, free, apart):
    used = {}
    for option in chosen:
        for provider, resources in option.candidate.allocations.items():
            used[provider] = used.get(provider, 0) + resources["X"]
    hosts = [host for option in chosen for host in option.hosts]
    together = not apart or len(hosts) == len(set(hosts))
    return together and all(amount <= free[key, "X"] for key, amount in used.items())


@given(
    st.lists(options(), max_size=5),
    st.fixed_dictionaries({(name, "X"): st.integers(0, 6) for name in PROVIDERS}),
    st.integers(1, 4),
    st.booleans(),
    st.booleans(),
)
def test_a_choice_is_found_if_there_is_one(found, free, count, apart, fill):
    chosen = choose(found, free, count, apart=apart, fill=fill).options
    exists = any(fits(some, free, apart) for some in combinations_with_replacement(found, count))
    if chosen is None:
        assert not exists
    else:
        assert len(chosen) == count
        assert all(option in found for option in chosen)
        assert fits(chosen, free, apart)


def option(name, amount=1):
    candidate = Candidate(allocations={name: {"X": amount}}, mappings={})
    return Option(candidate=candidate, hosts=frozenset({name}))


def test_fill_packs_and_the_default_takes_turns():
    found = [option(name) for name in "abc"]
    free = {(name, "X"): 2 for name in "abc"}

    def names(**how):
        chosen = choose(found, free, 4, apart=False, **how).options
        return "".join(*zip(*(each.candidate.allocations for each in chosen), strict=True))

    assert names(fill=True) == "aabb"
    assert names(fill=False) == "abca"


def pair(one, other, amount=1):
    allocations = {one: {"X": amount}, other: {"X": amount}}
    return Option(candidate=Candidate(allocations=allocations, mappings={}), hosts=frozenset())


def test_a_search_with_too_many_steps_is_given_up(monkeypatch):
    """One more is asked for than fits, and there are too many combinations to try them all."""
    monkeypatch.setattr(module, "STEPS_MAX", 1000)
    # Every pair of three takes from two of them, so only one of each three fits.
    found = [
        pair(f"{n}{one}", f"{n}{other}") for n in range(20) for one, other in ("ab", "bc", "ca")
    ]
    free = {(f"{n}{name}", "X"): 1 for n in range(20) for name in "abc"}
    assert choose(found, free, 21, apart=False, fill=False) == Choice(gave_up=True)
    assert len(choose(found, free, 20, apart=False, fill=False).options) == 20


def test_sums_show_that_too_much_is_asked_for(monkeypatch):
    monkeypatch.setattr(module, "STEPS_MAX", 0)
    found = [option("s") for _ in range(200)]
    found += [option("t", 2) for _ in range(200)]
    free = {("s", "X"): 7, ("t", "X"): 15}
    assert choose(found, free, 22, apart=False, fill=False) == Choice()


def test_the_first_options_are_tried_when_the_budget_is_used_up():
    found = [option(name) for name in "abc"]
    free = {(name, "X"): 1 for name in "abc"}
    budget = Budget(units_max=0)
    assert len(choose(found, free, 3, apart=True, fill=False, budget=budget).options) == 3
    assert choose(found, free, 4, apart=True, fill=False, budget=budget).gave_up


def test_exhausted_providers_are_skipped(monkeypatch):
    """A thousand options for the last unit of a host, and another host with room for all."""
    monkeypatch.setattr(module, "STEPS_MAX", 0)
    found = [option("a") for _ in range(1000)] + [option("b")]
    free = {("a", "X"): 1, ("b", "X"): 1000}
    for fill in (True, False):
        assert len(choose(found, free, 200, apart=False, fill=fill).options) == 200


@pytest.mark.parametrize("hosts", [10, 200])
def test_hosts_without_an_alternative_are_chosen_first(hosts, monkeypatch):
    """All hosts but two may use either storage. Those two need the small one, with room for two."""
    monkeypatch.setattr(module, "STEPS_MAX", 0)
    found = []
    for number in range(hosts):
        for storage in ("small", "large") if number < hosts - 2 else ("small",):
            taken = {f"host{number}": {"X": 1}, storage: {"X": 1}}
            candidate = Candidate(allocations=taken, mappings={})
            found.append(Option(candidate=candidate, hosts=frozenset({f"host{number}"})))
    free = {(f"host{number}", "X"): 1 for number in range(hosts)}
    free |= {("small", "X"): 2, ("large", "X"): hosts}
    chosen = choose(found, free, hosts, apart=True, fill=False).options
    assert {host for each in chosen for host in each.hosts} == {f"host{n}" for n in range(hosts)}


def test_an_option_without_a_host_is_apart_from_every_other():
    candidate = Candidate(allocations={"pool": {"X": 1}}, mappings={})
    shared = Option(candidate=candidate, hosts=frozenset())
    assert choose([shared], {("pool", "X"): 3}, 3, apart=True, fill=True).options == [shared] * 3
    assert choose([shared], {("pool", "X"): 3}, 3, apart=True, fill=False).options == [shared] * 3
    assert choose([shared], {("pool", "X"): 2}, 3, apart=True, fill=False).options is None
