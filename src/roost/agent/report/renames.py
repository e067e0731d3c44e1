"""In which order providers get other names, if some of them take the names of others."""

from collections.abc import Mapping


def plan_renames(current: Mapping[str, str], wanted: Mapping[str, str]) -> list[tuple[str, str]]:
    """UUIDs and names, so that each name is free when its turn comes.

    `current` and `wanted` are names by UUID. Providers that are not wanted make way for those that
    get their names, and so does one of several that exchange their names. They get a name that no
    other provider has. If an update breaks off in between, the next one can go on from there.
    """
    steps = []
    new_names = set(wanted.values())
    for uuid, name in current.items():
        if uuid not in wanted and name in new_names:
            steps.append((uuid, aside(uuid)))
    pending = {
        uuid: current[uuid]
        for uuid, name in wanted.items()
        if uuid in current and current[uuid] != name
    }
    while pending:
        taken = set(pending.values())
        free = [uuid for uuid in pending if wanted[uuid] not in taken]
        if not free:
            first = next(iter(pending))
            steps.append((first, aside(first)))
            pending[first] = aside(first)
        for uuid in free:
            steps.append((uuid, wanted[uuid]))
            del pending[uuid]
    return steps


def aside(uuid: str) -> str:
    """A name for a provider that makes way for another."""
    return f"replaced-{uuid}"
