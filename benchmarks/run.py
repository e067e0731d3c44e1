"""One world on one kind of database: load it twice, compare the answers, measure both sides."""

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.check import compare
from benchmarks.client import Request
from benchmarks.databases import Database, version
from benchmarks.load import Dump, create_schema
from benchmarks.measure import Effort, measure
from benchmarks.place import place
from benchmarks.requests import PLACE_KEY, PLACE_TITLE, cases_for
from benchmarks.results import Comparison, WorldResult
from benchmarks.sides import Reference, Roost, Side
from benchmarks.worlds import WIDE_CLASS, World, add_wide_host, build

SIDES: dict[str, type[Side]] = {"reference": Reference, "roost": Roost}
# Where a whole answer of the reference still fits into memory and patience.
CHECK_HOSTS_MAX = 2_000
# A search, so that everything is there afterwards, but one that a single host can serve.
CHEAP_SEARCH = Request("GET", f"/allocation_candidates?resources={WIDE_CLASS}:1")

Say = Callable[[str], None]


def run_world(
    name: str,
    database: Database,
    efforts: dict[str, Effort],
    place_seconds: dict[str, float],
    keys: Sequence[str],
    check: bool,
    say: Say,
) -> WorldResult:
    """`efforts` has the sides that take part; no keys means every case."""
    say(f"{name}: making the world")
    world = build(name)
    add_wide_host(world)
    result = WorldResult(
        world=name,
        database=database.title,
        providers=len(world.providers),
        allocations=len(world.allocations),
    )
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(tempfile.TemporaryDirectory(prefix="roost-benchmark-"))
        dump = Dump(world, Path(path))
        sides = {}
        for side_name in efforts:
            say(f"{name}: loading {len(world.allocations):,} allocations for {side_name}")
            url = database.create_database()
            stack.callback(database.drop_database, url)
            create_schema(url)
            dump.load(url)
            result.database_version = version(url)
            say(f"{name}: starting {side_name}")
            sides[side_name] = stack.enter_context(SIDES[side_name](url, Path(path)))
            sides[side_name].warm_up(CHEAP_SEARCH)
        if check and "roost" in sides:
            result.comparisons = check_world(name, sides, keys, say)
        # One after the other, or they would take each other's processor.
        for side_name, side in sides.items():
            measure_side(result, world, side, database, efforts[side_name], keys, say)
            if not keys or PLACE_KEY in keys:
                say(f"{name}, {side_name}: {PLACE_TITLE}")
                # As the reference's own performance jobs do, so that clients meet less often.
                side.randomize = True
                restart(side)
                result.placing[side_name] = place(
                    side,
                    database.process_id,
                    place_seconds[side_name],
                )
    return result


def restart(side: Side) -> None:
    side.restart()
    side.warm_up(CHEAP_SEARCH)


def check_world(
    name: str, sides: dict[str, Side], keys: Sequence[str], say: Say
) -> list[Comparison]:
    """Compare every search, before anything is written."""
    found: dict[str, Comparison] = {}
    with contextlib.ExitStack() as stack:
        connections = {
            side_name: stack.enter_context(side.connect()) for side_name, side in sides.items()
        }
        for case in cases_for(name):
            # Cases that differ in their limit alone are one search.
            if case.query in found or case.query is None or (keys and case.key not in keys):
                continue
            say(f"{name}: comparing the answers to: {case.title}")
            found[case.query] = compare(case, connections.get("reference"), connections["roost"])
    return list(found.values())


def measure_side(
    result: WorldResult,
    world: World,
    side: Side,
    database: Database,
    effort: Effort,
    keys: Sequence[str],
    say: Say,
) -> None:
    timings = result.timings.setdefault(side.name, {})
    for case in cases_for(world.name):
        if not keys or case.key in keys:
            say(f"{world.name}, {side.name}: {case.title}")
            timings[case.key] = measure(case, world, side, database.process_id, effort)
            if timings[case.key].failure:
                # It may still be busy with what nobody waits for any longer.
                restart(side)
