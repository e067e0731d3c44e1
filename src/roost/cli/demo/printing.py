"""What `roost demo` prints: what there is now, and what to try next."""

from dataclasses import asdict
from typing import Any

from roost.cli.columns import Column, print_line, print_table, styled
from roost.cli.demo.data_centre import BY_UUID, PROVIDERS, RACKS
from roost.cli.demo.presence import Counts
from roost.cli.demo.workload import CONSUMERS, PROJECTS, VISITOR
from roost.cli.output import print_json
from roost.cli.tree.parts import counted

# Two H100 beside each other: three are free, but no two of them are at the same NUMA node.
NO_PLACE = (
    ("resources_NODE=PCPU:8,MEMORY_MB:65536", "required_NODE=HW_NUMA_ROOT"),
    ("resources_GPU1=PGPU:1", "required_GPU1=CUSTOM_H100"),
    ("resources_GPU2=PGPU:1", "required_GPU2=CUSTOM_H100"),
    ("same_subtree=_NODE,_GPU1,_GPU2", "isolate=_GPU1,_GPU2"),
)


def print_loaded(written: Counts, console: str | None, *, options: str) -> None:
    """`options` are those that the next command needs to find the same service."""
    print_line(_outcome(written))
    print_line("")
    columns = (
        Column("rack"),
        Column("aggregate"),
        *(Column(title, right=True) for title in ("hosts", "consumers")),
        Column("what", folds=True),
    )
    print_table(
        columns,
        [
            (each["name"], each["aggregate"][:8], each["hosts"], each["consumers"], each["about"])
            for each in _racks()
        ],
    )
    print_line("")
    print_line(styled("Try", "bold"))
    print_line(f"  roost tree r2-nfv-01{options}")
    print_line(f"  roost summary --by aggregates{options}")
    request = " \\\n    ".join(" ".join(words) for words in NO_PLACE)
    print_line(f"  roost explain{options} {request}")
    if console is not None:
        print_line(f"  {console}")
    print_line(f"and remove it all with `roost demo --remove{options}`.")


def _outcome(written: Counts) -> str:
    whole = f"{counted(len(PROVIDERS), 'provider')} and {counted(len(CONSUMERS), 'consumer')}"
    if not written:
        return f"The demo is already there: {whole}."
    if written.providers == len(PROVIDERS):
        return f"Loaded {whole}."
    parts = [
        f"{verb} {counted(count, noun)}"
        for verb, count, noun in (
            ("created", written.providers, "provider"),
            ("placed", written.consumers, "consumer"),
            ("put right", written.changed, "provider"),
        )
        if count
    ]
    return f"Completed the demo: {', '.join(parts) or 'created custom names'}."


def print_loaded_as_json(written: Counts, console: str | None) -> None:
    print_json(
        {
            "providers": len(PROVIDERS),
            "consumers": len(CONSUMERS),
            "projects": [each for each in PROJECTS if each != VISITOR.project],
            "racks": _racks(),
            "written": asdict(written),
            "console": console,
        }
    )


def _racks() -> list[dict[str, Any]]:
    """A consumer counts for each rack in which it holds something."""
    rack_of: dict[str, str] = {}
    for each in PROVIDERS:
        # Parents come first.
        rack_of[each.uuid] = each.rack or rack_of[each.parent_uuid or ""]
    held = [{rack_of[uuid] for uuid in each.allocations} for each in CONSUMERS]
    return [
        {
            "name": rack.name,
            "aggregate": rack.aggregate,
            "about": rack.about,
            "hosts": sum(each.rack == rack.name for each in BY_UUID.values()),
            "providers": sum(rack_of[each.uuid] == rack.name for each in PROVIDERS),
            "consumers": sum(rack.name in racks for racks in held),
        }
        for rack in RACKS
    ]


def print_removed(removed: Counts) -> None:
    if not removed:
        print_line("There is nothing to remove.")
        return
    print_line(
        f"Removed {counted(removed.providers, 'provider')} and "
        f"{counted(removed.consumers, 'consumer')}."
    )


def print_removed_as_json(removed: Counts) -> None:
    counts = asdict(removed)
    del counts["changed"]
    print_json({"removed": counts})
