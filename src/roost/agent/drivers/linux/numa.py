"""The NUMA nodes of a Linux machine: their processors, memory and huge pages."""

import re
from collections import Counter

from roost.agent.drivers.linux.system_files import SystemFiles
from roost.agent.drivers.machines.machine import NumaNode

_NODES = "/sys/devices/system/node"
_KIB_PER_MIB = 1024


def read_nodes(files: SystemFiles, online: frozenset[int]) -> list[NumaNode]:
    """All nodes that have processors or memory. A machine without NUMA is one node."""
    nodes = [
        _read_node(files, int(name.removeprefix("node")), online)
        for name in files.names(_NODES)
        if re.fullmatch(r"node\d+", name)
    ]
    found = [node for node in nodes if node.cpus or node.memory_mb]
    if len(found) > 1:
        return sorted(found, key=lambda node: node.number)
    return [read_whole(files, found, online)]


def read_whole(files: SystemFiles, nodes: list[NumaNode], online: frozenset[int]) -> NumaNode:
    """The machine as if it were one node."""
    pages: Counter[int] = Counter()
    for node in nodes:
        pages.update(node.huge_pages)
    return NumaNode(
        number=nodes[0].number if nodes else 0,
        cpus=online,
        # Not the sum of the nodes: memory that a balloon returned to a guest belongs to no node.
        memory_mb=_memory_mb(files.text("/proc/meminfo")) or sum(node.memory_mb for node in nodes),
        huge_pages=dict(pages) if nodes else _huge_pages(files, "/sys/kernel/mm/hugepages"),
    )


def _read_node(files: SystemFiles, number: int, online: frozenset[int]) -> NumaNode:
    folder = f"{_NODES}/node{number}"
    return NumaNode(
        number=number,
        cpus=(files.cpus(f"{folder}/cpulist") or frozenset()) & online,
        memory_mb=_memory_mb(files.text(f"{folder}/meminfo")),
        huge_pages=_huge_pages(files, f"{folder}/hugepages"),
    )


def _memory_mb(meminfo: str | None) -> int:
    found = re.search(r"MemTotal:\s+(\d+) kB", meminfo or "")
    return int(found[1]) // _KIB_PER_MIB if found else 0


def _huge_pages(files: SystemFiles, folder: str) -> dict[int, int]:
    counts = {}
    for name in files.names(folder):
        found = re.fullmatch(r"hugepages-(\d+)kB", name)
        count = files.integer(f"{folder}/{name}/nr_hugepages") if found else None
        if found and count:
            counts[int(found[1])] = count
    return counts
