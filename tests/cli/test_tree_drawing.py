"""What `roost tree` makes of providers: selection, order, and lines that fit."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len

from roost.cli.output import Failure, json_text
from roost.cli.tree.drawing import Drawing
from roost.cli.tree.forest import (
    Node,
    Selection,
    Sort,
    connect,
    grow,
    parents_first,
    select,
    sharing,
)
from roost.cli.tree.parts import scaled
from roost.cli.tree.printing import as_plain_data, print_trees_as_json
from roost.client import Inventory, Provider, ProviderDetails
from tests.support.names import uid
from tests.support.world import ProviderPlan, build, provider

SHARES = "MISC_SHARES_VIA_AGGREGATE"


def details(*plans: ProviderPlan) -> list[ProviderDetails]:
    return [
        ProviderDetails(
            provider=Provider(
                uuid=one.uuid,
                name=one.name,
                generation=0,
                parent_uuid=one.parent_uuid,
                root_uuid=one.root_uuid,
            ),
            inventories=one.inventories,
            usages=one.used,
            traits=one.traits,
            aggregates=one.aggregates,
        )
        for one in build(*plans).providers.values()
    ]


def trees(plans: Sequence[ProviderPlan], selection: Selection | None = None) -> list[Node]:
    providers = details(*plans)
    roots = grow(providers)
    connect(roots, sharing(providers))
    return select(roots, selection or Selection())


def drawn(
    roots: Sequence[Node],
    *,
    width: int | None = 80,
    encoding: str = "utf-8",
    with_traits: bool = False,
) -> list[str]:
    drawing = Drawing(width=width, encoding=encoding, with_traits=with_traits)
    lines = [line for root in roots for line in drawing.lines(root)]
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def shape(roots: Sequence[Node]) -> list[object]:
    """Names, each with those of its children."""
    return [(root.name, shape(root.children)) if root.children else root.name for root in roots]


CLOUD = (
    provider("host2", {"VCPU": 8}, used={"VCPU": 2}, aggregates=["rack"]),
    provider("host1", {"DISK_GB": 100}, used={"DISK_GB": 10}, traits=["COMPUTE_NODE"]),
    provider("numa1", {"VCPU": 8}, parent="host1", used={"VCPU": 7}, traits=["HW_NUMA_ROOT"]),
    provider("numa0", {"VCPU": 8}, parent="host1", used={"VCPU": 1}, traits=["HW_NUMA_ROOT"]),
    provider("nic", {"SRIOV_NET_VF": 4}, parent="numa1", aggregates=["physnet"]),
    provider("pool", {"DISK_GB": 1000}, traits=[SHARES], aggregates=["rack"]),
)


def test_a_tree_is_drawn() -> None:
    host = provider(
        "host",
        {
            "VCPU": Inventory(total=16, reserved=4, allocation_ratio=2.0),
            "MEMORY_MB": Inventory(total=4096, min_unit=64, step_size=64),
        },
        used={"VCPU": 12, "MEMORY_MB": 4096},
        traits=["COMPUTE_NODE", "HW_CPU_X86_AVX2"],
        aggregates=["rack"],
    )
    nic = provider("nic", {"SRIOV_NET_VF": 4}, parent="host")
    last = provider("ssd", {"DISK_GB": 5}, parent="nic", used={"DISK_GB": 6})
    rack = uid("rack")[:8]
    assert drawn(trees([host, nic, last]), width=None) == [
        f"host  {uid('host')}  2 traits, in aggregate {rack}",
        "│  MEMORY_MB  ████████████████  100%  4,096 used               0 free  from 64 by 64",
        "│  VCPU       ██████▒▒▒▒░░░░░░   50%     12 used  4 reserved  12 free  16 x 2",
        f"└─ nic  {uid('nic')}",
        "   │  SRIOV_NET_VF  ░░░░░░░░░░░░░░░░    0%  0 used  4 free",
        f"   └─ ssd  {uid('ssd')}",
        "         DISK_GB  ████████████████  120%  6 used  1 over",
    ]


def test_the_document_shows_what_the_command_draws() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "tree.md").read_text()
    [shown] = re.findall(r"\$ roost tree\n(.*?)```", page, re.DOTALL)
    traits = [f"CUSTOM_T{number}" for number in range(11)]
    plans = [
        provider(
            "compute-7",
            {
                "VCPU": Inventory(total=32, reserved=4, allocation_ratio=4.0),
                "MEMORY_MB": Inventory(total=131_072, reserved=8192),
            },
            used={"VCPU": 70, "MEMORY_MB": 118_784},
            traits=["COMPUTE_NODE", *traits],
            aggregates=["rack1"],
        ),
        provider("compute-7-gpu0", {"VGPU": 16}, parent="compute-7", used={"VGPU": 16}),
        provider("compute-7-gpu1", {"VGPU": 16}, parent="compute-7", used={"VGPU": 3}),
        provider(
            "nfs-pool",
            {"DISK_GB": 100_000},
            used={"DISK_GB": 31_000},
            traits=[SHARES],
            aggregates=["rack1"],
        ),
    ]
    assert shown.splitlines() == drawn(trees(plans))


def test_traits_are_listed_if_asked_for() -> None:
    traits = [f"CUSTOM_TRAIT_{number:02}" for number in range(12)]
    lines = drawn(trees([provider("host", traits=traits)]), with_traits=True)
    assert "12 traits" not in " ".join(lines)
    assert ", ".join(traits) == " ".join(line.strip() for line in lines[1:])
    assert max(map(len, lines)) <= 80


def test_an_encoding_without_blocks_gets_letters() -> None:
    lines = drawn(trees([provider("hôst", {"VCPU": 8}, used={"VCPU": 4})]), encoding="ascii")
    assert lines[0].startswith(r"h\xf4st ")
    assert "########........" in lines[1]
    assert all(line.isascii() for line in lines)


@pytest.mark.parametrize("width", [1, 7, 20, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_whatever_names_there_are_lines_fit(width: int, encoding: str) -> None:
    long_class = "CUSTOM_" + "X" * 240
    huge = Inventory(total=2**31 - 1, reserved=2**31 - 2, allocation_ratio=3.4e38)
    plans = [
        provider("n" * 200, {long_class: huge, "VCPU": 1}, used={long_class: 2**31 - 1}),
        provider("計算機" * 60, {"VCPU": 1}, aggregates=[str(each) for each in range(30)]),
        provider(
            "e\x1b[2J\x1b]0;x\x07\u202e\u2028\n\t\x9b" * 20, traits=[SHARES], aggregates=["1"]
        ),
        provider("x" * 77 + "計算機"),
        *(provider(f"d{n}", {"VCPU": 1}, parent=f"d{n - 1}" if n else None) for n in range(300)),
    ]
    for with_traits in (False, True):
        lines = drawn(trees(plans), width=width, encoding=encoding, with_traits=with_traits)
        assert len(lines) > 600
        assert max(map(cell_len, lines)) <= width
        assert all(line.isprintable() for line in lines)
        "\n".join(lines).encode(encoding)


@pytest.mark.parametrize("width", [80, None])
def test_nothing_from_a_database_controls_the_terminal(width: int | None) -> None:
    """Placement checks what clients write. Who writes into its tables is not checked."""
    evil = "\x1b[2J\x9b\u202e\n"
    one = Provider(uuid=evil, name=evil, generation=0, parent_uuid=None, root_uuid=evil)
    found = ProviderDetails(
        provider=one,
        inventories={evil: Inventory(total=1)},
        usages={evil: 1},
        traits=frozenset([evil, SHARES]),
        aggregates=frozenset([evil]),
    )
    other = Provider(uuid="u", name="host", generation=0, parent_uuid=None, root_uuid="u")
    host = ProviderDetails(provider=other, aggregates=frozenset([evil]))
    roots = grow([found, host])
    connect(roots, sharing([found]))
    for with_traits in (False, True):
        lines = drawn(select(roots, Selection()), width=width, with_traits=with_traits)
        assert len(lines) >= 4
        assert all(line.isprintable() for line in lines)
    assert "\x9b" not in json_text(as_plain_data(roots[0]))


def test_a_tree_may_be_very_deep() -> None:
    plans = [provider(f"d{n}", {"VCPU": 1}, parent=f"d{n - 1}" if n else None) for n in range(5000)]
    [root] = trees(plans, Selection(sort=Sort.USED))
    assert len(drawn([root], width=None)) == 10_000
    [folded] = trees(plans, Selection(depth=2))
    assert "with 4,998 providers below" in drawn([folded])[2]
    assert as_plain_data(folded)["children"][0]["providers_below"] == 4998
    # A program could not read it, either.
    with pytest.raises(Failure, match="too deep for JSON; say --depth"):
        print_trees_as_json([root], limit=None)


# ---------------------------------------------------------------------------------------------
# Bars


@pytest.mark.parametrize(
    ("parts", "widths"),
    [
        ((0, 0, 0), [0, 0, 0]),
        ((1, 0, 1), [5, 0, 5]),
        # What is there is seen, however little it is; what is full has nothing free.
        ((1, 0, 10**9), [1, 0, 9]),
        ((10**40, 1, 1), [8, 1, 1]),
        ((7, 0, 0), [10, 0, 0]),
        ((1, 1, 1), [4, 3, 3]),
        ((26, 0, 74), [3, 0, 7]),
    ],
)
def test_a_bar_is_to_scale(parts: tuple[int, ...], widths: list[int]) -> None:
    assert scaled(parts, 10) == widths


# ---------------------------------------------------------------------------------------------
# Selection


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), [("host1", ["numa0", ("numa1", ["nic"])]), "host2", "pool"]),
        # Ancestors come along, and children that have nothing of it do not.
        (Selection(classes=("VCPU",)), [("host1", ["numa0", "numa1"]), "host2"]),
        (Selection(classes=("SRIOV_NET_VF",)), [("host1", [("numa1", ["nic"])])]),
        (Selection(classes=("FPGA",)), []),
        # What is below a provider comes along.
        (Selection(traits=("HW_NUMA_ROOT",)), [("host1", ["numa0", ("numa1", ["nic"])])]),
        (
            Selection(traits=("COMPUTE_NODE", "HW_NUMA_ROOT")),
            [],
        ),
        (Selection(aggregates=(uid("physnet"),)), [("host1", [("numa1", ["nic"])])]),
        (Selection(aggregates=(uid("rack")[:6], uid("physnet"))), [
            ("host1", [("numa1", ["nic"])]), "host2", "pool"]),
        (Selection(aggregates=(uid("rack"),), classes=("VCPU",)), ["host2"]),
        (Selection(depth=1), ["host1", "host2", "pool"]),
        (Selection(depth=2), [("host1", ["numa0", "numa1"]), "host2", "pool"]),
        (Selection(depth=10**9), [("host1", ["numa0", ("numa1", ["nic"])]), "host2", "pool"]),
        # In host1, 8 of 16 are used; of host2, 2 of 8.
        (Selection(sort=Sort.USED), [("host1", [("numa1", ["nic"]), "numa0"]), "host2", "pool"]),
        (Selection(sort=Sort.FREE), ["pool", "host2", ("host1", ["numa0", ("numa1", ["nic"])])]),
        # By the amount of a class: 990 and 90.
        (Selection(sort=Sort.FREE, classes=("DISK_GB",)), ["pool", "host1"]),
        (Selection(sort=Sort.USED, classes=("DISK_GB",)), ["host1", "pool"]),
    ],
)  # fmt: skip
def test_what_is_shown(selection: Selection, expected: list[object]) -> None:
    assert shape(trees(CLOUD, selection)) == expected


def test_providers_without_inventories_come_last() -> None:
    plans = [provider("a"), provider("b", {"VCPU": 1}), provider("c", {"VCPU": Inventory(
        total=1, reserved=1)})]  # fmt: skip
    for sort in (Sort.USED, Sort.FREE):
        assert shape(trees(plans, Selection(sort=sort))) == ["b", "a", "c"]


def test_what_is_folded_is_summed_up() -> None:
    lines = drawn(trees(CLOUD, Selection(depth=1, classes=("VCPU",))))
    assert lines[0].endswith("with 2 providers below, 1 trait")
    assert re.search(r"VCPU .* 50%  8 used  8 free", lines[1])


def test_a_stored_spelling_of_an_aggregate_does_not_matter() -> None:
    [one, *_] = details(provider("host"))
    spelled = ProviderDetails(
        provider=one.provider, aggregates=frozenset([f"{{{uid('rack').upper()}}}"])
    )
    assert shape(select(grow([spelled]), Selection(aggregates=(uid("rack")[:9],)))) == ["host"]
    assert uid("rack")[:8] in drawn(grow([spelled]))[0]


def test_trees_say_what_is_shared_with_them() -> None:
    lines = drawn(trees(CLOUD))
    rack = uid("rack")[:8]
    assert f"   can use pool through aggregate {rack}" in lines
    [pool] = [line for line in lines if line.startswith("pool")]
    # Only the tree that is connected says so, and the pool does not say it of itself.
    assert len([line for line in lines if "can use" in line]) == 1
    assert f"shares through aggregate {rack}" in " ".join(lines)
    assert pool


def test_many_sharing_providers_take_few_lines() -> None:
    pools = [provider(f"pool{n}", traits=[SHARES], aggregates=["rack"]) for n in range(100)]
    lines = drawn(trees([provider("host", aggregates=["rack"]), *pools]))
    assert (
        f"   can use pool0, pool1, pool10 and 97 more through aggregate {uid('rack')[:8]}" in lines
    )


def test_providers_whose_parent_is_missing_are_shown() -> None:
    """A tree that is changed while its pages are read may be incomplete."""
    [_, child] = details(provider("host"), provider("numa", parent="host"))
    assert shape(grow([child])) == ["numa"]
    assert len(parents_first(grow([child]))) == 1


def test_json_has_what_is_selected() -> None:
    [root] = trees(CLOUD[:5], Selection(classes=("VCPU",), traits=("COMPUTE_NODE",)))
    data = as_plain_data(root)
    assert data["name"] == "host1"
    assert data["inventories"] == {}
    assert data["shared_by"] == []
    assert [each["usages"] for each in data["children"]] == [{"VCPU": 1}, {"VCPU": 7}]
    assert data["children"][0]["inventories"]["VCPU"]["total"] == 8
    assert "shared_by" not in data["children"][0]
