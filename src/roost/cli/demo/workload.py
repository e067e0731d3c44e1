"""The consumers of the demo: who they are, and what each of them holds."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, cycle, islice
from typing import NamedTuple

from roost.cli.demo import data_centre
from roost.cli.demo.data_centre import BY_NAME, STORAGE
from roost.cli.demo.hosts import CUSTOM_BAREMETAL, demo_uuid
from roost.client import Consumer, Resources


class Owner(NamedTuple):
    project: str
    user: str


SHOP = (Owner("demo-shop", "alice"), Owner("demo-shop", "bob"))
ANALYTICS = (Owner("demo-analytics", "carol"),)
RESEARCH = (Owner("demo-research", "dave"), Owner("demo-research", "erin"))
TELCO = (Owner("demo-telco", "frank"),)
PLATFORM = (Owner("demo-platform", "grace"),)
OFFICE = (*SHOP, *ANALYTICS, SHOP[0], *PLATFORM)

# Those of `--live`. They come and go, so they belong to nobody else.
VISITOR = Owner("demo-visitors", "henry")
VISITORS = tuple(demo_uuid("visitor", str(number)) for number in range(24))

# What a consumer holds of each provider, by the provider's name.
Held = Mapping[str, Resources]

# Sizes of servers.
SMALL = {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}
MEDIUM = {"VCPU": 4, "MEMORY_MB": 8192, "DISK_GB": 40}
LARGE = {"VCPU": 8, "MEMORY_MB": 16384, "DISK_GB": 80}
XLARGE = {"VCPU": 16, "MEMORY_MB": 32768, "DISK_GB": 160}
MEMORY = {"VCPU": 8, "MEMORY_MB": 65536, "DISK_GB": 100}
MIX = (LARGE, XLARGE, MEDIUM, SMALL, LARGE, MEMORY, SMALL, MEDIUM, XLARGE, SMALL, MEDIUM)

# How many of the servers on the disabled host are on their way to another.
MOVING = 3


def _consumer(name: str, held: Held, owner: Owner, kind: str = "INSTANCE") -> Consumer:
    return Consumer(
        uuid=demo_uuid("consumer", name),
        allocations={BY_NAME[provider].uuid: held[provider] for provider in held},
        project_id=owner.project,
        user_id=owner.user,
        consumer_type=kind,
    )


def _servers(host: str, all_held: Sequence[Held], owners: Sequence[Owner]) -> Iterator[Consumer]:
    for number, held in enumerate(all_held):
        yield _consumer(f"{host}/{number}", held, owners[number % len(owners)])


# ---------------------------------------------------------------------------------------------
# Racks 1 and 4: ordinary servers


def _filled(host: str, share: float, first: int) -> list[Resources]:
    """Sizes of servers that take this share of a host, begun at another one for each host."""
    has = BY_NAME[host].inventories_at_first
    room = Counter({each: int(has[each].capacity * share) for each in has})
    found: list[Resources] = []
    for size in islice(cycle(MIX), first, first + 4 * len(MIX)):
        if all(size[each] <= room[each] for each in size):
            room.subtract(size)
            found.append(size)
    return found


def _compute() -> Iterator[Consumer]:
    for number, host in enumerate(data_centre.COMPUTE_HOSTS):
        if host != data_centre.DISABLED_HOST:
            share = 0.98 - 0.02 * (number % 4)
            sizes = _filled(host, share, number)
            yield from _servers(host, [{host: size} for size in sizes], OFFICE)


def _drained() -> Iterator[Consumer]:
    """The disabled host. A server that moves holds its new place, and a migration the old one."""
    source = data_centre.DISABLED_HOST
    sizes = (LARGE, XLARGE, MEDIUM, MEMORY, LARGE, SMALL)
    yield from _servers(source, [{source: size} for size in sizes[MOVING:]], OFFICE)
    for number, size in enumerate(sizes[:MOVING]):
        owner = OFFICE[number]
        target = data_centre.DISKLESS_HOSTS[number]
        yield _consumer(f"{source}/migration/{number}", {source: size}, owner, "MIGRATION")
        yield _consumer(f"{source}/moving/{number}", _on_shared_storage(target, size), owner)


def _on_shared_storage(host: str, size: Resources) -> Held:
    own = {each: amount for each, amount in size.items() if each != "DISK_GB"}
    return {host: own, STORAGE: {"DISK_GB": size["DISK_GB"]}}


def _diskless() -> Iterator[Consumer]:
    for host in data_centre.DISKLESS_HOSTS[3:6]:
        held = [_on_shared_storage(host, size) for size in (LARGE, SMALL, MEDIUM, XLARGE)]
        yield from _servers(host, held, PLATFORM)


def _volumes() -> Iterator[Consumer]:
    for number in range(16):
        held = {STORAGE: {"DISK_GB": 250 * (1 + number % 4)}}
        owner = OFFICE[number % len(OFFICE)]
        yield _consumer(f"{STORAGE}/{number}", held, owner, "VOLUME")


# ---------------------------------------------------------------------------------------------
# Rack 2: processors and memory of one NUMA node, and virtual functions at the same node


def _ports(node: str, number: int) -> list[str]:
    return [
        f"{node}-ens{number}f{port}" for port in range(2) if f"{node}-ens{number}f{port}" in BY_NAME
    ]


def _at_node(host: str, number: int, size: Resources, functions: int, port: int = 0) -> Held:
    node = f"{host}-numa{number}"
    own = {each: amount for each, amount in size.items() if each != "DISK_GB"}
    held: dict[str, Resources] = {host: {"DISK_GB": size["DISK_GB"]}, node: own}
    if functions:
        ports = _ports(node, number)
        bandwidth = 1_000_000 * functions
        held[ports[port % len(ports)]] = {
            "SRIOV_NET_VF": functions,
            "NET_BW_EGR_KILOBIT_PER_SEC": bandwidth,
            "NET_BW_IGR_KILOBIT_PER_SEC": bandwidth,
        }
    return held


PINNED_SMALL = {"PCPU": 2, "MEMORY_MB": 8192, "DISK_GB": 20}
PINNED = {"PCPU": 4, "MEMORY_MB": 16384, "DISK_GB": 40}
PINNED_LARGE = {"PCPU": 8, "MEMORY_MB": 32768, "DISK_GB": 80}


def _pinned() -> Iterator[Consumer]:
    for position, host in enumerate(data_centre.NUMA_HOSTS[:-1]):
        held = []
        for number in range(2):
            pinned = (PINNED, PINNED_SMALL, PINNED_LARGE)[: 2 + (position + number) % 2]
            held += [_at_node(host, number, size, 1 + size["PCPU"] // 8) for size in pinned]
            shared = (LARGE, SMALL, MEDIUM, LARGE)[: 1 + (position + 2 * number) % 4]
            held += [_at_node(host, number, size, 0) for size in shared]
        yield from _servers(host, held, (*TELCO, *TELCO, *SHOP))


def _reserved() -> Iterator[Consumer]:
    """A host that somebody has booked as a whole."""
    host = data_centre.NUMA_HOSTS[-1]
    whole = {"PCPU": 16, "MEMORY_MB": 126976}
    held = {f"{host}-numa{number}": whole for number in range(2)}
    yield _consumer(f"{host}/lease", held, TELCO[0], "RESERVATION")


def _network_functions() -> Iterator[Consumer]:
    for host in data_centre.NETWORK_FUNCTION_HOSTS:
        held = []
        for number in range(2):
            for port in range(2):
                held.append(_at_node(host, number, PINNED, 4, port))
            held.append(_at_node(host, number, PINNED_SMALL, 2))
            held += [_at_node(host, number, size, 0) for size in (MEDIUM, SMALL)]
        # A router that is on both nodes, with a function at each of the four ports.
        router: dict[str, Resources] = {host: {"DISK_GB": 100}}
        for number in range(2):
            node = f"{host}-numa{number}"
            router[node] = {"PCPU": 2, "MEMORY_MB": 16384}
            router |= {port: {"SRIOV_NET_VF": 1} for port in _ports(node, number)}
        yield from _servers(host, [*held, router], TELCO)


# ---------------------------------------------------------------------------------------------
# Rack 3: GPUs with processors and memory of the same NUMA node, and whole machines

# The GPUs that are held at each of the two NUMA nodes; a number for each server.
A100_HELD = (((1, 1), (1, 1)), ((2,), (1,)), ((1, 1), ()), ((), (1,)))
H100_HELD = (((2, 1), (1, 1, 1)), ((4,), (2, 1)))


def _gpus() -> Iterator[Consumer]:
    a100 = {"VCPU": 12, "MEMORY_MB": 122880, "DISK_GB": 500}
    h100 = {"PCPU": 12, "MEMORY_MB": 245760, "DISK_GB": 800}
    kinds = (
        (data_centre.A100_HOSTS, A100_HELD, a100),
        (data_centre.H100_HOSTS, H100_HELD, h100),
    )
    for hosts, held_by_host, size_of_one in kinds:
        for host, held_by_node in zip(hosts, held_by_host, strict=True):
            held = []
            for number, servers in enumerate(held_by_node):
                free = count()
                for gpus in servers:
                    size = {each: amount * gpus for each, amount in size_of_one.items()}
                    cards = [f"{host}-numa{number}-gpu{next(free)}" for _ in range(gpus)]
                    one = {card: {"PGPU": 1} for card in cards}
                    held.append({**_at_node(host, number, size, 0), **one})
            yield from _servers(host, held, RESEARCH)


def _desktops() -> Iterator[Consumer]:
    host = data_centre.VIRTUAL_GPU_HOST
    held = []
    for number, desktops in enumerate((6, 4)):
        card = {f"{host}-numa{number}-gpu0": {"VGPU": 1}}
        held += [{**_at_node(host, number, LARGE, 0), **card} for _ in range(desktops)]
    yield from _servers(host, held, (*ANALYTICS, *RESEARCH))


def _machines() -> Iterator[Consumer]:
    for host in data_centre.BARE_METAL_HOSTS[:4]:
        yield _consumer(f"{host}/0", {host: {CUSTOM_BAREMETAL: 1}}, ANALYTICS[0])


CONSUMERS = [
    *_compute(),
    *_drained(),
    *_pinned(),
    *_reserved(),
    *_network_functions(),
    *_gpus(),
    *_desktops(),
    *_machines(),
    *_diskless(),
    *_volumes(),
]

UUIDS = frozenset({*(each.uuid for each in CONSUMERS), *VISITORS})
PROJECTS = sorted({each.project_id or "" for each in CONSUMERS} | {VISITOR.project})
