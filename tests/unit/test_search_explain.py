"""Every reason why a tree does not fit, and the cost of an explanation."""

import itertools

import numpy as np
import pytest
from msgspec.structs import replace as evolve

from roost.api.handlers.explain_text import relaxation_text, summary, tree_text
from roost.model import SHARING_TRAIT, Inventory
from roost.query import AggregateRule, CandidateQuery, Elsewhere, RequestGroup, TraitRule
from roost.reasons import RuleKind, Verdict
from roost.search import capacity
from roost.search.budget import Budget
from roost.search.capacity import simulate_claims
from roost.search.explain import relax
from roost.search.explain.explain import explain
from roost.search.find import find
from roost.search.index.index import Index
from roost.search.split import request as split_request
from tests.support.names import uid
from tests.support.world import build, provider, rows

AVX, MMX = "HW_CPU_X86_AVX", "HW_CPU_X86_MMX"
NETWORK = Inventory(total=8, min_unit=2, max_unit=4, step_size=2)

INDEX = Index.build(
    rows(
        build(
            provider("host", {"DISK_GB": 100}, traits=[MMX], aggregates=["rack"]),
            provider(
                "numa0",
                {"VCPU": 4, "MEMORY_MB": 16384},
                parent="host",
                used={"VCPU": 2, "MEMORY_MB": 14336},
            ),
            provider("nic0", {"SRIOV_NET_VF": NETWORK}, parent="numa0"),
            provider("numa1", {"VCPU": 4}, parent="host", traits=[AVX], aggregates=["near"]),
            provider("nic1", {"SRIOV_NET_VF": NETWORK}, parent="numa1"),
            resource_classes=["FPGA"],
        )
    )
)


def plain(**amounts: int) -> RequestGroup:
    return RequestGroup(resources=amounts)


def group(suffix: str, amounts: dict[str, int], **rules: object) -> RequestGroup:
    return RequestGroup(suffix=suffix, resources=amounts, **rules)


def split(group: RequestGroup, *names: str) -> RequestGroup:
    return evolve(group, can_split=frozenset(names))


def required(*names: str) -> TraitRule:
    return TraitRule(required=tuple(frozenset([name]) for name in names))


def forbidden(*names: str) -> TraitRule:
    return TraitRule(forbidden=frozenset(names))


def member_of(name: str) -> AggregateRule:
    return AggregateRule(required=(frozenset([uid(name)]),))


def not_member_of(name: str) -> AggregateRule:
    return AggregateRule(forbidden=frozenset([uid(name)]))


A = group("_A", {"VCPU": 1})
B = group("_B", {"SRIOV_NET_VF": 2})
ONLY_AVX = group("_A", {"VCPU": 1}, traits=required(AVX))
CASES = {
    "more than is free": (
        CandidateQuery(groups=(plain(MEMORY_MB=4096),)),
        "host fails at MEMORY_MB 4096: numa0: MEMORY_MB 4096 asked, 2048 free of 16384; units ok",
        "with 2 GB less memory (MEMORY_MB:2048)",
    ),
    "less than min_unit, and no whole step": (
        CandidateQuery(groups=(plain(SRIOV_NET_VF=1),)),
        "host fails at SRIOV_NET_VF 1: nic0: SRIOV_NET_VF 1 asked, 8 free of 8; less than min_unit "
        "2, no multiple of step_size 2; nic1: SRIOV_NET_VF 1 asked, 8 free of 8; less than "
        "min_unit 2, no multiple of step_size 2",
        None,
    ),
    "more than max_unit": (
        CandidateQuery(groups=(plain(SRIOV_NET_VF=6),)),
        "host fails at SRIOV_NET_VF 6: nic0: SRIOV_NET_VF 6 asked, 8 free of 8; more than max_unit "
        "4; nic1: SRIOV_NET_VF 6 asked, 8 free of 8; more than max_unit 4",
        "with 2 less SRIOV_NET_VF (SRIOV_NET_VF:4)",
    ),
    "more than all pieces": (
        CandidateQuery(groups=(split(plain(SRIOV_NET_VF=10), "SRIOV_NET_VF"),)),
        "host fails at SRIOV_NET_VF 10, in pieces: nic0: SRIOV_NET_VF 10 asked, 8 free of 8; "
        "gives 4; nic1: SRIOV_NET_VF 10 asked, 8 free of 8; gives 4",
        "with 2 less SRIOV_NET_VF (SRIOV_NET_VF:8)",
    ),
    "pieces of one subtree": (
        CandidateQuery(
            groups=(split(group("_A", {"VCPU": 5}), "VCPU"), B),
            same_subtree=(frozenset({"_A", "_B"}),),
        ),
        "host fails at same_subtree _A, _B: none of the providers that can serve _A, _B is above "
        "the others",
        "with 1 less VCPU in group _A (VCPU:4)",
    ),
    "a class that nobody has": (
        CandidateQuery(groups=(plain(VCPU=1, FPGA=1),)),
        "host fails at FPGA 1: no provider that is left has FPGA",
        "without FPGA",
    ),
    "two classes of one provider": (
        CandidateQuery(groups=(group("_A", {"VCPU": 3, "MEMORY_MB": 1024}),)),
        "host fails at _A: MEMORY_MB 1024: no provider that is left has MEMORY_MB",
        "with 1 less VCPU in group _A (VCPU:2)",
    ),
    "a trait of one provider": (
        CandidateQuery(groups=(group("_A", {"DISK_GB": 1}, traits=required(AVX)),)),
        f"host fails at _A: has {AVX}: host lacks {AVX}",
        f"without the trait {AVX} in group _A",
    ),
    "a trait of several together": (
        CandidateQuery(groups=(RequestGroup(resources={"DISK_GB": 1}, traits=required(AVX)),)),
        f"host fails at has {AVX}: no combination of its providers has {AVX}",
        f"without the trait {AVX}",
    ),
    "a forbidden trait": (
        CandidateQuery(groups=(RequestGroup(resources={"DISK_GB": 1}, traits=forbidden(MMX)),)),
        f"host fails at does not have {MMX}: host has {MMX}",
        f"if the trait {MMX} were allowed",
    ),
    "an aggregate": (
        CandidateQuery(groups=(group("_A", {"DISK_GB": 1}, aggregates=member_of("near")),)),
        f"host fails at _A: in aggregate {uid('near')}: host is not in {uid('near')}",
        f"without the aggregate {uid('near')} in group _A",
    ),
    "a forbidden aggregate that spans the tree": (
        CandidateQuery(
            groups=(RequestGroup(resources={"MEMORY_MB": 1}, aggregates=not_member_of("rack")),)
        ),
        f"host fails at not in aggregate {uid('rack')}: numa0 is in {uid('rack')}",
        f"if the aggregate {uid('rack')} were allowed",
    ),
    "another tree": (
        CandidateQuery(groups=(RequestGroup(resources={"DISK_GB": 1}, in_tree=uid("x")),)),
        f"host fails at in the tree of {uid('x')}: host stands elsewhere",
        "without in_tree",
    ),
    "another subtree": (
        CandidateQuery(groups=(group("_A", {"DISK_GB": 1}, in_subtree=uid("numa0")),)),
        f"host fails at _A: at or below {uid('numa0')}: host stands elsewhere",
        "without in_subtree in group _A",
    ),
    "a trait of the root": (
        CandidateQuery(groups=(plain(VCPU=1),), root_traits=required(AVX)),
        f"host fails at the root has {AVX}: host lacks {AVX}",
        f"without the trait {AVX} of the root",
    ),
    "a forbidden trait of the root": (
        CandidateQuery(groups=(plain(VCPU=1),), root_traits=forbidden(MMX)),
        f"host fails at the root does not have {MMX}: host has {MMX}",
        f"if the root were allowed to have {MMX}",
    ),
    "an aggregate of the root": (
        CandidateQuery(groups=(plain(VCPU=1),), root_aggregates=member_of("near")),
        f"host fails at the root is in aggregate {uid('near')}: host is not in {uid('near')}",
        f"without the aggregate {uid('near')} of the root",
    ),
    "a forbidden aggregate of the root": (
        CandidateQuery(groups=(plain(VCPU=1),), root_aggregates=not_member_of("rack")),
        f"host fails at the root is not in aggregate {uid('rack')}: host is in {uid('rack')}",
        f"if the aggregate {uid('rack')} were allowed",
    ),
    "group_policy": (
        CandidateQuery(
            groups=(ONLY_AVX, group("_B", {"VCPU": 1}, traits=required(AVX))), isolate=True
        ),
        "host fails at group_policy=isolate: it has too few providers to serve _A, _B by "
        "different ones",
        f"without the trait {AVX} in group _A",
    ),
    "isolate": (
        CandidateQuery(
            groups=(ONLY_AVX, group("_B", {"VCPU": 1}, in_subtree=uid("numa1"))),
            isolated=(frozenset(["_A", "_B"]),),
        ),
        "host fails at isolate _A, _B: it has too few providers to serve _A, _B by different ones",
        f"without the trait {AVX} in group _A",
    ),
    "same_subtree": (
        CandidateQuery(
            groups=(ONLY_AVX, group("_B", {"SRIOV_NET_VF": 2}, in_subtree=uid("nic0"))),
            same_subtree=(frozenset(["_A", "_B"]),),
        ),
        "host fails at same_subtree _A, _B: none of the providers that can serve _A, _B is above "
        "the others",
        f"without the trait {AVX} in group _A",
    ),
    "elsewhere": (
        CandidateQuery(
            groups=(ONLY_AVX, group("_B", {"SRIOV_NET_VF": 2}, in_subtree=uid("nic1"))),
            same_subtree=(frozenset(["_A"]),),
            elsewhere=(Elsewhere(inside=frozenset(["_A"]), outside=frozenset(["_B"])),),
        ),
        "host fails at _B outside the subtree of _A: _B can only be served from the subtree of _A",
        f"without the trait {AVX} in group _A",
    ),
    "capacity of all groups together": (
        CandidateQuery(
            groups=(
                plain(VCPU=1),
                group("_A", {"VCPU": 4}),
                group("_B", {"VCPU": 2}),
            )
        ),
        "host fails at VCPU of all groups together: numa1: VCPU 7 asked together, 4 free of 4; "
        "numa0: VCPU 7 asked together, 2 free of 4",
        "with 1 less VCPU in group _A (VCPU:3)",
    ),
}


@pytest.mark.parametrize(("query", "reason", "relaxation"), CASES.values(), ids=CASES)
def test_the_first_reason_and_the_smallest_relaxation(query, reason, relaxation):
    found = explain(INDEX, query)
    [tree] = found.nearest
    assert tree_text(tree) == reason
    assert relaxation in (None if not found.relaxations else relaxation_text(found.relaxations[0]),)
    of_tree = explain(INDEX, query, root=INDEX.row_of_uuid[uid("host")])
    assert of_tree.tree == tree
    assert of_tree.relaxations == found.relaxations
    assert summary(found).startswith("No tree fits")
    assert summary(of_tree).startswith("host does not fit")


def test_every_kind_of_rule_has_a_case():
    seen = {explain(INDEX, query).nearest[0].rule.kind for query, _, _ in CASES.values()}
    assert seen == set(RuleKind)


def test_an_amount_is_lowered_to_what_other_groups_leave():
    index = Index.build(rows(build(provider("host", {"VCPU": 8}))))
    query = CandidateQuery(groups=(group("_A", {"VCPU": 6}), group("_B", {"VCPU": 4})))
    assert [each.amount for each in explain(index, query).relaxations] == [4, 2]


def test_an_amount_is_lowered_if_its_provider_has_a_required_trait():
    """Without the disk no provider would have the trait, but with less of it the request fits."""
    index = Index.build(
        rows(
            build(
                provider("host", {"VCPU": 1}),
                provider("disk", {"DISK_GB": 5}, parent="host", traits=[AVX]),
            )
        )
    )
    requested = RequestGroup(resources={"VCPU": 1, "DISK_GB": 9}, traits=required(AVX))
    found = explain(index, CandidateQuery(groups=(requested,)))
    assert [each.amount for each in found.relaxations] == [5]


def test_an_amount_is_lowered_if_its_provider_is_above_the_others():
    """Without the memory no provider of the group would be above both nodes."""
    index = Index.build(
        rows(
            build(
                provider("host", {"MEMORY_MB": 4}),
                provider("numa0", {"VCPU": 2}, parent="host"),
                provider("numa1", {"VCPU": 2}, parent="host"),
            )
        )
    )
    requested = split(group("_A", {"MEMORY_MB": 5, "VCPU": 4}), "VCPU")
    query = CandidateQuery(groups=(requested,), same_subtree=(frozenset({"_A"}),))
    assert [each.amount for each in explain(index, query).relaxations] == [4]


def test_the_nearest_trees_lack_the_least_in_all_pieces():
    worlds = (
        provider(name, {"VCPU": amount}, parent=parent)
        for name, amount, parent in (
            ("host1", 4, None),
            ("host2", 1, None),
            ("numa2", 2, "host2"),
            ("numa3", 2, "host2"),
        )
    )
    query = CandidateQuery(groups=(split(plain(VCPU=9), "VCPU"),))
    found = explain(Index.build(rows(build(*worlds))), query)
    assert [tree.name for tree in found.nearest] == ["host2", "host1"]


def test_a_search_that_gave_up_says_that_it_is_unknown(monkeypatch):
    nodes = [provider(f"node{n}", {"VCPU": 7 + n % 5}, parent="host") for n in range(40)]
    index = Index.build(rows(build(provider("host"), *nodes)))
    # As much as all of them have.
    groups = tuple(split(group(f"_{n}", {"VCPU": 30}), "VCPU") for n in range(12))
    monkeypatch.setattr(split_request, "STEPS_OF_TREE_MAX", 500)
    monkeypatch.setattr(split_request, "STEPS_MAX", 2000)
    found = explain(index, CandidateQuery(groups=groups))
    assert (found.verdict, found.complete) == (Verdict.UNKNOWN, False)
    assert summary(found).startswith("It is unknown whether a tree fits, because the search ")
    found = explain(index, CandidateQuery(groups=groups), root=0)
    assert (found.verdict, found.tree.stage, found.complete) == (Verdict.UNKNOWN, None, False)
    assert tree_text(found.tree) == "it is unknown whether host fits"
    simulated = simulate_claims(index, CandidateQuery(groups=groups))
    assert (simulated.count, simulated.complete) == (0, False)


def test_what_sums_prove_is_certain():
    nodes = [provider(f"node{n}", {"VCPU": 4}, parent="host") for n in range(8)]
    index = Index.build(rows(build(provider("host"), *nodes)))
    groups = tuple(split(group(f"_{n}", {"VCPU": 6}), "VCPU") for n in range(9))
    found = explain(index, CandidateQuery(groups=groups))
    assert (found.verdict, found.nearest[0].rule.kind) == (Verdict.NEVER, RuleKind.CAPACITY)
    assert simulate_claims(index, CandidateQuery(groups=groups)).complete


def test_the_verdict_is_fits_not_now_or_never():
    not_now = explain(INDEX, CandidateQuery(groups=(plain(MEMORY_MB=16384),)))
    assert not_now.verdict == Verdict.NOT_NOW
    assert summary(not_now) == (
        "No tree fits now: host, the nearest, fails at MEMORY_MB 16384 (numa0: MEMORY_MB "
        "16384 asked, 2048 free of 16384; units ok); it would fit with 14 GB less memory "
        "(MEMORY_MB:2048)."
    )
    assert explain(INDEX, CandidateQuery(groups=(plain(MEMORY_MB=16385),))).verdict == Verdict.NEVER
    assert explain(INDEX, CandidateQuery(groups=(plain(MEMORY_MB=2048),))).verdict == Verdict.FITS


def test_an_empty_cloud_is_explained():
    index = Index.build(rows(build(resource_classes=["VCPU"])))
    found = explain(index, CandidateQuery(groups=(plain(VCPU=1),)))
    assert (found.verdict, found.trees, found.nearest) == (Verdict.NEVER, 0, ())
    assert summary(found) == "No tree fits: there are no providers."
    assert simulate_claims(index, CandidateQuery(groups=(plain(VCPU=1),))).count == 0


def test_a_sharing_provider_is_reported():
    index = Index.build(
        rows(
            build(
                provider("host", {"VCPU": 1}, aggregates=["a"]),
                provider("pool", {"DISK_GB": 5}, traits=[SHARING_TRAIT], aggregates=["a"]),
            )
        )
    )
    query = CandidateQuery(groups=(plain(VCPU=1, DISK_GB=9),))
    found = explain(index, query, root=index.row_of_uuid[uid("host")])
    assert "pool: DISK_GB 9 asked, 5 free of 5" in tree_text(found.tree)
    assert [stage.providers_in for stage in found.stages] == [2, 2]
    # Each claim takes one VCPU of the host and one GB of the pool.
    simulated = simulate_claims(index, CandidateQuery(groups=(plain(VCPU=1, DISK_GB=1),)))
    assert {index.names[root]: count for root, count in simulated.by_root.items()} == {
        "host": 1,
        "pool": 1,
    }


def test_the_nearest_trees_lack_the_least():
    hosts = (provider(f"host{n}", {"VCPU": n}) for n in range(1, 9))
    found = explain(Index.build(rows(build(*hosts))), CandidateQuery(groups=(plain(VCPU=10),)))
    assert [tree.name for tree in found.nearest] == ["host8", "host7", "host6", "host5", "host4"]


def test_a_long_list_of_providers_is_cut():
    numas = (provider(f"numa{n}", {"VCPU": 1}, parent="host") for n in range(30))
    index = Index.build(rows(build(provider("host"), *numas)))
    [tree] = explain(index, CandidateQuery(groups=(plain(VCPU=2),))).nearest
    assert (len(tree.providers), tree.providers_more) == (10, 20)
    assert tree_text(tree).endswith("; and 20 more")


# ---------------------------------------------------------------------------------------------
# Cost


def hosts(count, **options):
    return Index.build(
        rows(
            build(
                *(
                    provider(f"host{n}", {"VCPU": 1 + n % 500, "MEMORY_MB": 64}, **options)
                    for n in range(count)
                )
            )
        )
    )


def test_the_work_grows_linearly_with_the_cloud():
    query = CandidateQuery(groups=(plain(VCPU=600, MEMORY_MB=128),))
    searched, explained = [], []
    for count in (500, 5000):
        index = hosts(count)
        search, budget = Budget(), Budget()
        find(index, query, budget=search)
        explain(index, query, budget=budget)
        searched.append(search.rows_examined)
        explained.append(budget.rows_examined)
    assert explained[1] <= 11 * explained[0]
    # A search for each relaxation and for the empty cloud, and a scan for each rule.
    assert explained[1] <= 30 * searched[1]


def test_searches_for_relaxations_are_bounded(monkeypatch):
    groups = tuple(group(f"_{n}", {"VCPU": 2**20 + n}) for n in range(20))
    budget = Budget()
    index = hosts(600)
    found = explain(index, CandidateQuery(groups=groups), budget=budget)
    assert found.complete
    monkeypatch.setattr(relax, "SEARCHES_MAX", 3)
    assert not explain(index, CandidateQuery(groups=groups)).complete


def test_amounts_beyond_every_column_never_fit():
    huge = 2**63 - 1
    groups = (plain(VCPU=huge), group("_A", {"VCPU": huge}))
    found = explain(INDEX, CandidateQuery(groups=groups))
    assert found.verdict == Verdict.NEVER
    assert simulate_claims(INDEX, CandidateQuery(groups=groups)).count == 0


def test_the_index_is_not_changed():
    before = INDEX.contents()
    for query, _, _ in CASES.values():
        explain(INDEX, query)
        simulate_claims(INDEX, query)
    assert INDEX.contents() == before


def test_a_simulation_repeats_a_way_as_often_as_it_fits():
    index, budget = hosts(2000), Budget()
    query = CandidateQuery(groups=(plain(VCPU=1),))
    simulated = simulate_claims(index, query, budget=budget)
    assert simulated.complete
    assert simulated.count == sum(1 + n % 500 for n in range(2000))
    assert len(simulated.claimed) == 2000
    assert budget.rows_examined == 2 * index.rows.count


def test_a_simulation_can_be_stopped():
    index, query = hosts(2000), CandidateQuery(groups=(plain(VCPU=1),))
    assert not simulate_claims(index, query, steps_max=10).complete
    assert len(simulate_claims(index, query, steps_max=10).claimed) == 10
    checks = itertools.count()
    # The search calls it a few times too before it returns what it found.
    stopped = simulate_claims(index, query, budget=Budget(lambda: next(checks) < 6))
    assert not stopped.complete
    assert 0 < len(stopped.claimed) < 2000
    assert simulate_claims(index, query, budget=Budget(lambda: False)).claimed == []
    limited = simulate_claims(index, CandidateQuery(groups=(plain(VCPU=1),), limit=7))
    assert (limited.count, limited.complete) == (7, False)


def test_rounds_continue_until_nothing_fits(monkeypatch):
    monkeypatch.setattr(capacity, "WAYS_PER_ROUND", 16)
    simulated = simulate_claims(hosts(100), CandidateQuery(groups=(plain(VCPU=1),)))
    assert simulated.complete
    assert simulated.count == int(np.arange(1, 101).sum())
