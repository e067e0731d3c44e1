"""What made a search hard that gave up, and what would help, in sentences for the client."""

from collections.abc import Iterator, Sequence
from math import log10

from roost.query import CandidateQuery

# Fewer rules than this between pairs of groups are not worth a word.
PAIRS_MIN = 3


def describe_difficulty(query: CandidateQuery, option_counts: Sequence[int]) -> tuple[str, str]:
    """What made the search hard, and what would help.

    `option_counts` are those of the tree with the most combinations: for each group, or class of
    the unsuffixed group, how many providers can serve it. None: no tree was reached.
    """
    return _what_made_it_hard(query, option_counts), " ".join(_what_would_help(query))


def _what_made_it_hard(query: CandidateQuery, option_counts: Sequence[int]) -> str:
    groups = _counted(len(query.groups), "group")
    rules = _rule_count(query)
    between = f"{_counted(rules, 'rule')} between groups" if rules else ""
    if not option_counts:
        return f"It has {groups} and {between}." if between else f"It has {groups}."
    low, high = min(option_counts), max(option_counts)
    providers = f"{low} to {high} providers each" if low < high else _counted(high, "provider")
    verb = "has" if len(query.groups) == 1 else "have"
    text = f"In one tree {groups} with {providers} {verb} {_combinations(option_counts)}"
    return f"{text}, and there {'are' if rules > 1 else 'is'} {between}." if between else f"{text}."


def _what_would_help(query: CandidateQuery) -> Iterator[str]:
    if query.limit is None:
        yield "With a `limit` the candidates that are found in time are returned."
    if len(query.groups) > 1:
        yield "Fewer groups have fewer combinations."
    if sum(len(each) == 2 for each in query.isolated) >= PAIRS_MIN:
        yield "One `isolate` that lists all of its groups is decided faster than many for pairs."
    yield (
        "Required traits, `member_of` or `in_tree` leave fewer providers to combine and fewer "
        "trees to search."
    )


def _rule_count(query: CandidateQuery) -> int:
    shared = [each for each in query.same_subtree if len(each) > 1]
    return len(query.isolated) + len(shared) + len(query.elsewhere) + query.isolate


def _combinations(option_counts: Sequence[int]) -> str:
    """How many, by their order of magnitude if they are very many."""
    magnitude = sum(log10(max(1, count)) for count in option_counts)
    if magnitude > 6:
        return f"more than 10^{int(magnitude - 1e-9)} combinations"
    product = 1
    for count in option_counts:
        product *= count
    return _counted(product, "combination")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
