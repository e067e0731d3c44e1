"""Providers that a file describes, and the errors of a wrong file."""

import textwrap
import uuid
from pathlib import Path

import jsonschema
import pytest

from roost.agent.driver import DriverError, ReshapeNeeded
from roost.agent.drivers import load_driver
from roost.agent.drivers.file import yaml_lines
from roost.agent.drivers.file.schema import SCHEMA
from roost.agent.provider_tree import ProviderTree
from tests.agent.settling import update_and_settle

EXAMPLES = Path(__file__).parents[2] / "docs/examples"
ROOT = "3f5e0d4c-1c58-4b43-9f66-4f6f4c3dbd5e"
AGGREGATE = "5b8b1c9e-5a54-4a3c-8f2c-a4d8a6b0a6de"
CHILD = "0f2d0f5e-6a52-4a8e-9a53-0a4f2f1f6d11"
CONSUMER = "7be3a5a2-1d0f-4b1e-8f0a-5a3c2f9d7e41"
OTHER = "9c1f60c4-64a7-4c62-b4e6-0d0b7f2a8c13"

POOL = f"""\
providers:
  - name: pool
    inventories:
      DISK_GB: {{total: 10000, reserved: 100, allocation_ratio: 1.5}}
    traits: [MISC_SHARES_VIA_AGGREGATE, CUSTOM_FAST]
    aggregates:
      - {AGGREGATE}
    children:
      - name: licences
        uuid: {CHILD}
        inventories:
          CUSTOM_LICENCE: {{total: 20}}
      - name: derived
  - name: other
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pools.yaml"


@pytest.fixture
def tree():
    tree = ProviderTree()
    tree.new_root("pool", ROOT)
    return tree


def driver(path, text=None, **options):
    if text is not None:
        path.write_text(textwrap.dedent(text))
    return load_driver("file", {"path": str(path), **options})


def update(path, tree, text, **options):
    driver(path, text, **options).update_provider_tree(tree, "pool")


def test_a_file_becomes_a_tree(path, tree):
    update(path, tree, POOL)
    pool = tree.data("pool")
    assert pool.inventory["DISK_GB"]["total"] == 10000
    assert pool.inventory["DISK_GB"]["allocation_ratio"] == 1.5
    assert pool.inventory["DISK_GB"]["step_size"] == 1
    assert pool.traits == {"MISC_SHARES_VIA_AGGREGATE", "CUSTOM_FAST"}
    assert pool.aggregates == {AGGREGATE}
    assert tree.data("licences").uuid == CHILD
    assert tree.data("licences").parent_uuid == ROOT
    assert tree.data("derived").uuid == str(uuid.uuid5(uuid.UUID(ROOT), "derived"))
    assert not tree.exists("other")


def test_providers_at_the_top_are_roots(path):
    assert driver(path, POOL).nodenames() == ["pool", "other"]
    assert driver(path).root_uuid("pool") is None
    named = driver(path, f"providers: [{{name: pool, uuid: {ROOT.upper()}}}]")
    assert named.root_uuid("pool") == ROOT
    with pytest.raises(DriverError, match="no provider at the top is named licences"):
        driver(path, POOL).root_uuid("licences")


def test_a_root_with_another_uuid_is_refused(path, tree):
    with pytest.raises(DriverError, match=f"{CHILD}, but the service knows it as {ROOT}"):
        update(path, tree, f"providers: [{{name: pool, uuid: {CHILD}}}]")


def test_the_file_is_read_at_each_update(path, tree):
    update(path, tree, POOL)
    update(path, tree, "providers: [{name: pool, inventories: {DISK_GB: {total: 5}}}]")
    assert tree.data("pool").inventory["DISK_GB"]["total"] == 5
    assert tree.get_provider_uuids() == [ROOT]


def test_traits_and_aggregates_that_the_file_does_not_name_are_kept(path, tree):
    update(path, tree, POOL)
    before = tree.data("pool")
    update(path, tree, "providers: [{name: pool}]")
    after = tree.data("pool")
    # Inventories that the file does not name are removed: they may have moved to a child.
    assert (after.traits, after.inventory, after.aggregates) == (
        before.traits,
        {},
        before.aggregates,
    )
    update(path, tree, "providers: [{name: pool, traits: [], inventories: {}, aggregates: []}]")
    pool = tree.data("pool")
    assert (pool.traits, pool.inventory, pool.aggregates) == (set(), {}, set())


def test_unknown_providers_can_be_kept(path, tree):
    update(path, tree, POOL)
    tree.new_child("somebody's", "derived")
    update(path, tree, "providers: [{name: pool}]", unknown="keep")
    # The driver would remove `derived`, its own provider, but a foreign one is below it.
    assert tree.exists("somebody's")
    assert tree.exists("licences")
    tree.remove("somebody's")
    update(path, tree, "providers: [{name: pool}]", unknown="keep")
    assert not tree.exists("derived")


def test_providers_are_moved_and_renamed(path, tree):
    update(path, tree, POOL)
    update(
        path,
        tree,
        f"""\
        providers:
          - name: pool
            children:
              - name: derived
                children:
                  - {{name: renamed, uuid: {CHILD}}}
        """,
    )
    assert tree.data(CHILD).name == "renamed"
    assert tree.data(CHILD).parent_uuid == tree.data("derived").uuid


# -- reshapes

FLAT = "providers: [{name: pool, inventories: {VGPU: {total: 8}, DISK_GB: {total: 9}}}]"
NESTED = """\
providers:
  - name: pool
    inventories: {DISK_GB: {total: 9}}
    children:
      - {name: card-1, inventories: {VGPU: {total: 4}}}
      - {name: card-2, inventories: {VGPU: {total: 4}}}
"""


def reshape(path, tree, text, allocations=None):
    update_and_settle(driver(path, text), tree, "pool", allocations)


def test_a_class_that_moves_to_children_needs_a_reshape(path, tree):
    update(path, tree, FLAT)
    with pytest.raises(ReshapeNeeded, match=r"VGPU moves from pool \(.*\) to card-1, card-2"):
        reshape(path, tree, NESTED)
    allocations = {
        "a": {"allocations": {ROOT: {"resources": {"VGPU": 3, "DISK_GB": 1}}}},
        "b": {"allocations": {ROOT: {"resources": {"VGPU": 3}}}},
    }
    reshape(path, tree, NESTED, allocations)
    cards = {tree.data(name).uuid for name in ("card-1", "card-2")}
    assert allocations["a"]["allocations"][ROOT] == {"resources": {"DISK_GB": 1}}
    assert ROOT not in allocations["b"]["allocations"]
    assert {each for record in allocations.values() for each in record["allocations"]} == cards | {
        ROOT
    }
    # The class moves back to the root.
    with pytest.raises(ReshapeNeeded):
        reshape(path, tree, FLAT)
    reshape(path, tree, FLAT, allocations)
    assert allocations["b"]["allocations"] == {ROOT: {"resources": {"VGPU": 3}}}
    assert not tree.exists("card-1")


def test_a_class_that_nobody_holds_is_removed_without_a_reshape(path, tree):
    update(path, tree, FLAT)
    tree.set_used("pool", {"VGPU": 0, "DISK_GB": 0})
    reshape(path, tree, "providers: [{name: pool, inventories: {}}]")
    assert not tree.has_inventory("pool")


# -- where consumers are

PLACED = f"""\
providers:
  - name: pool
    children:
      - {{name: card-1, uuid: {CHILD}, inventories: {{VGPU: {{total: 4}}}}}}
      - {{name: card-2, inventories: {{VGPU: {{total: 4}}}}}}
    where:
      {CONSUMER.upper()}: {{VGPU: card-2}}
      {OTHER}:
        VGPU: {{{CHILD.upper()}: 1, card-2: 3.0}}
"""


def test_the_file_says_where_consumers_are(path, tree):
    placed = driver(path, PLACED)
    assert placed.where("pool", CONSUMER) == {"VGPU": "card-2"}
    assert placed.where("pool", OTHER) == {"VGPU": {CHILD: 1, "card-2": 3}}
    assert placed.where("pool", ROOT) == {}
    # It is what the file said at the update: the tree has those providers.
    path.write_text(NESTED)
    assert placed.where("pool", CONSUMER) == {"VGPU": "card-2"}
    placed.update_provider_tree(tree, "pool")
    assert placed.where("pool", CONSUMER) == {}


def test_a_file_of_many_roots_is_parsed_once(path, monkeypatch):
    loads = []

    def counted(text):
        loads.append(text)
        return yaml_lines.load(text)

    monkeypatch.setattr("roost.agent.drivers.file.driver.load", counted)
    many = driver(path, "providers: [" + ", ".join(f"{{name: r{n}}}" for n in range(20)) + "]")
    for name in many.nodenames():
        tree = ProviderTree()
        tree.new_root(name, ROOT)
        many.root_uuid(name)
        many.update_provider_tree(tree, name)
        many.where(name, CONSUMER)
    assert len(loads) == 1
    path.write_text("providers: [{name: a}]")
    assert many.nodenames() == ["a"]
    # A file that was wrong is not taken for the one before it.
    path.write_text("providers: []")
    for _ in range(2):
        with pytest.raises(DriverError):
            many.nodenames()


# -- errors and their positions


def root_of(*lines):
    """A root with a card, and these lines; the first of them is line 4."""
    card = "  children: [{name: card, inventories: {VGPU: {total: 4}, PGPU: {total: 1}}}]"
    return "\n".join(["providers:", "- name: a", card, *(f"  {line}" for line in lines), ""])


WRONG = [
    # the file, the line, the field, words of the error
    (
        "providers: [{nam: pool}]",
        1,
        r"providers\[0\].nam",
        "unknown field 'nam'; did you mean 'name'",
    ),
    ("providers:\n- uuid: x\n", 2, r"providers\[0\]", "name is missing"),
    ("providers:\n- name: 7\n", 2, r"providers\[0\].name", "7 is not of type 'string'"),
    ("providers:\n- name: a\n  uuid: zz\n", 3, r"providers\[0\].uuid", "'zz'"),
    ("providers: []", 1, "providers", "non-empty"),
    ("pools: []", 1, "pools", "unknown field 'pools'; expected one of providers"),
    ("", 1, "the file", "None is not of type 'object'"),
    ("- a", 1, "the file", "not of type 'object'"),
    ("providers:\n- name: a\n  name: b\n", 3, r"providers\[0\].name", "twice"),
    ("providers:\n- name: a\n - name: b\n", 3, "", "block"),
    ("providers:\n- name: a\n  traits: X\n", 3, r"providers\[0\].traits", "not of type 'array'"),
    (
        "providers:\n- name: a\n  traits:\n  - FAST\n",
        4,
        r"traits\[0\]",
        "FAST is neither a standard",
    ),
    (
        "providers:\n- name: a\n  traits:\n  - HW_CPU_X86_AVX3\n",
        4,
        r"traits\[0\]",
        "HW_CPU_X86_AVX3 is neither a standard trait nor CUSTOM_; did you mean HW_CPU_X86_AVX2",
    ),
    ("providers:\n- name: a\n  traits:\n  - CUSTOM_A\n  - bad\n", 5, r"traits\[1\]", "'bad'"),
    ("providers:\n- name: a\n  aggregates:\n  - b\n", 4, r"aggregates\[0\]", "'b'"),
    (
        "providers:\n- name: a\n  inventories:\n    DISK: {total: 1}\n",
        4,
        r"providers\[0\].inventories.DISK",
        "neither a standard resource class nor CUSTOM_; did you mean DISK_GB",
    ),
    (
        "providers:\n- name: a\n  inventories:\n    disk_gb: {total: 1}\n",
        4,
        r"inventories.disk_gb",
        "'disk_gb' is not the name of a resource class",
    ),
    (
        "providers:\n- name: a\n  inventories:\n    DISK_GB:\n      total: 0\n",
        5,
        r"inventories.DISK_GB.total",
        "0 is less than the minimum of 1",
    ),
    (
        "providers:\n- name: a\n  inventories:\n    DISK_GB:\n      total: 5\n      free: 1\n",
        6,
        r"inventories.DISK_GB.free",
        "unknown field 'free'; expected one of allocation_ratio",
    ),
    (
        "providers:\n- name: a\n  inventories:\n    DISK_GB: {reserved: 5}\n",
        4,
        r"inventories.DISK_GB",
        "total is missing",
    ),
    (
        "providers:\n- name: a\n  inventories:\n    DISK_GB:\n      total: 5\n      reserved: 6\n",
        6,
        r"inventories.DISK_GB.reserved",
        "more is reserved than there is",
    ),
    (
        "providers:\n- name: a\n  inventories:\n    VGPU: {total: 5, min_unit: 3, max_unit: 2}\n",
        4,
        r"inventories.VGPU.min_unit",
        "min_unit is above max_unit",
    ),
    (
        "providers:\n- name: a\n  children:\n  - name: b\n    children:\n    - name: a\n",
        6,
        r"providers\[0\].children\[0\].children\[0\].name",
        r"'a' is the name of providers\[0\] as well",
    ),
    (
        f"providers:\n- name: a\n  uuid: {ROOT}\n- name: b\n  uuid: {ROOT}\n",
        5,
        r"providers\[1\].uuid",
        "as well",
    ),
    (
        "providers:\n- name: a\n  inventories:\n    VGPU: {total: 5, allocation_ratio: .nan}\n",
        4,
        r"inventories.VGPU.allocation_ratio",
        "not a number",
    ),
    ("providers:\n- name: a\n  1: b\n", 3, r"providers\[0\]", "not a string"),
    ("providers: &a\n- name: a\n  children: *a\n", 3, "", "contains itself"),
    ("providers:\n- name: 2024-99-99\n", 1, "", "month"),
    (root_of("where: {me: {VGPU: card}}"), 4, r"where.me", "'me' is not the UUID of a consumer"),
    (root_of(f"where: {{{'-' * 36}: {{}}}}"), 4, "where", "is not the UUID of a consumer"),
    (root_of("where:", f"  {CONSUMER}: {{}}"), 5, rf"where.{CONSUMER}", "non-empty"),
    (root_of("where:", f"  {CONSUMER}: {{VGPU: 1}}"), 5, "VGPU", "1 is not of type 'string', 'obj"),
    (root_of("where:", f"  {CONSUMER}: {{VGPU: {{}}}}"), 5, "VGPU", "non-empty"),
    (root_of("where:", f"  {CONSUMER}: {{VGPU: {{card: 0}}}}"), 5, "VGPU.card", "minimum of 1"),
    (
        root_of("where:", f"  {CONSUMER}:", "    GPU: card"),
        6,
        rf"providers\[0\].where.{CONSUMER}.GPU",
        "GPU is neither a standard resource class nor CUSTOM_; did you mean",
    ),
    (
        root_of("where:", f"  {CONSUMER}: {{VGPU: card-9}}"),
        5,
        rf"{CONSUMER}.VGPU",
        "unknown provider of this tree 'card-9'; did you mean 'card'",
    ),
    (
        root_of("where:", f"  {CONSUMER}: {{VGPU: CARD}}"),
        5,
        rf"{CONSUMER}.VGPU",
        "unknown provider of this tree 'CARD'",
    ),
    (
        root_of("where:", f"  {CONSUMER}: {{DISK_GB: {{card: 3}}}}"),
        5,
        rf"{CONSUMER}.DISK_GB",
        "card has no inventory of DISK_GB",
    ),
    (
        root_of("where:", *(f"  {each}: {{VGPU: card}}" for each in (CONSUMER, CONSUMER.upper()))),
        6,
        rf"where.{CONSUMER.upper()}",
        "appears twice",
    ),
    (
        "providers:\n- name: a\n  children:\n  - name: b\n    where: {}\n",
        5,
        r"children\[0\].where",
        "unknown field 'where'",
    ),
    (root_of("renamed_classes: {gpu: VGPU}"), 4, "gpu", "'gpu' is not the name of a resource cl"),
    (root_of("renamed_classes: {CUSTOM_A: gpu}"), 4, "renamed_classes.CUSTOM_A", "'gpu'"),
    (root_of("renamed_classes: {CUSTOM_A: GPU}"), 4, "renamed_classes.CUSTOM_A", "GPU is neither"),
    (root_of("renamed_classes: {VGPU: VGPU}"), 4, "renamed_classes.VGPU", "would keep its name"),
    (
        root_of("renamed_classes:", "  CUSTOM_A: CUSTOM_B", "  CUSTOM_B: VGPU"),
        5,
        "renamed_classes.CUSTOM_A",
        "CUSTOM_B is renamed, too, to VGPU",
    ),
    (
        root_of("renamed_classes: {VGPU: CUSTOM_B}"),
        4,
        "renamed_classes.VGPU",
        "providers of the tree have inventories of VGPU, and none has one of CUSTOM_B",
    ),
    ("providers:\n- {name: a, ? [b] : c}\n", 2, r"providers\[0\]", "not a string"),
    ("providers:\n- name: !!python/object:os.system a\n", 2, "", "constructor"),
]


@pytest.mark.parametrize(("text", "line", "field", "words"), WRONG)
def test_an_error_names_the_file_the_line_and_the_field(path, text, line, field, words):
    path.write_text(text)
    with pytest.raises(DriverError, match=rf"pools\.yaml:{line}: .*{field}.*{words}"):
        driver(path).nodenames()


def test_all_errors_are_listed_in_the_order_of_the_lines(path):
    path.write_text("providers:\n- nam: a\n  traits: 1\n- name: [b]\n")
    with pytest.raises(DriverError) as caught:
        driver(path).nodenames()
    header, *lines = str(caught.value).splitlines()
    assert header == f"{path}: 4 errors"
    numbers = [line.split("pools.yaml:")[1].split(":")[0] for line in lines]
    assert numbers == ["2", "2", "3", "4"]


def test_of_very_many_errors_the_first_are_listed(path):
    path.write_text("providers:\n" + "- {}\n" * 60)
    with pytest.raises(DriverError) as caught:
        driver(path).nodenames()
    header, *lines, last = str(caught.value).splitlines()
    assert header == f"{path}: 60 errors"
    assert len(lines) == 50
    assert last == "... and 10 more"


def test_an_anchor_may_be_repeated(path, tree):
    text = """\
    providers:
      - name: pool
        traits: &same [CUSTOM_A]
        children:
          - {name: below, traits: *same}
    """
    update(path, tree, text)
    assert tree.data("below").traits == {"CUSTOM_A"}


def test_a_float_without_a_fraction_is_an_integer(path, tree):
    update(path, tree, "providers: [{name: pool, inventories: {VGPU: {total: 8.0}}}]")
    total = tree.data("pool").inventory["VGPU"]["total"]
    assert (total, type(total)) == (8, int)


def test_a_missing_file_is_an_error(path):
    with pytest.raises(DriverError, match=r"pools\.yaml cannot be read"):
        driver(path).nodenames()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs the option path"),
        ({"path": "a", "file": "b"}, "no option file; it has path, unknown"),
        ({"path": "a", "unknown": "what"}, "'what' is none of remove, keep"),
    ],
)
def test_bad_options_are_refused(options, words):
    with pytest.raises(DriverError, match=words):
        load_driver("file", options)


def test_the_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.name)
def test_the_examples_are_valid(example):
    described = driver(example)
    for name in described.nodenames():
        tree = ProviderTree()
        tree.new_root(name, described.root_uuid(name) or ROOT)
        described.update_provider_tree(tree, name)
        assert len(tree.get_provider_uuids(name)) > 1
