"""Which candidates can be had together: against trying every combination."""

from itertools import combinations_with_replacement

from hypothesis import given
from hypothesis import strategies as st

from roost.model import Candidate
from roost.operations import choose as module
from roost.operations.choose import Option, choose

PROVIDERS = ["a", "b", "c", "s"]


@st.composite
def options(draw):
    allocations = draw(
        st.dictionaries(
            st.sampled_from(PROVIDERS), st.fixed_dictionaries({"X": st.integers(1, 3)}), min_size=1
        )
    )
    hosts = frozenset(allocations) - {"s"} or frozenset("s")
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
def test_it_is_found_if_there_is_one(found, free, count, apart, fill):
    chosen = choose(found, free, count, apart=apart, fill=fill)
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


def test_filling_and_taking_turns():
    found = [option(name) for name in "abc"]
    free = {(name, "X"): 2 for name in "abc"}

    def names(**how):
        chosen = choose(found, free, 4, apart=False, **how)
        return "".join(*zip(*(each.candidate.allocations for each in chosen), strict=True))

    assert names(fill=True) == "aabb"
    assert names(fill=False) == "abca"


def test_it_is_given_up_in_time(monkeypatch):
    """Seven fit where there should be eight: more ways to fail than anybody can try."""
    monkeypatch.setattr(module, "LOOKS_MAX", 1000)
    found = [option("s") for _ in range(200)]
    assert choose(found, {("s", "X"): 7}, 8, apart=False, fill=False) is None
