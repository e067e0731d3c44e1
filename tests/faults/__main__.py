"""The command line: `scripts/faults --help`."""

import random
import sys
from pathlib import Path

import click

from tests.faults.breaks import BREAKS
from tests.faults.databases import serve
from tests.faults.run import WORKERS, run


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--database",
    "kind",
    type=click.Choice(["galera", "postgresql"]),
    default="galera",
    show_default=True,
)
@click.option("--seconds", default=600.0, show_default=True, help="How long faults happen.")
@click.option("--seed", type=int, help="Repeats a schedule. Default: a new one, which is printed.")
@click.option(
    "--break", "broken", type=click.Choice(sorted(BREAKS)), help="Build in a defect first."
)
@click.option("--faults/--no-faults", default=True, help="--no-faults: only clients.")
@click.option(
    "--hostile/--no-hostile",
    default=True,
    help="--no-hostile: without clients that try to stop the service.",
)
@click.option("--services", default=WORKERS, show_default=True, help="On one database.")
@click.option("--processes", default=2, show_default=True, help="Of each service.")
@click.option("--only", help="Inject only this fault, such as commit_late.")
@click.option("--history", "path", type=click.Path(path_type=Path), help="Save what happened.")
def main(
    kind: str,
    seconds: float,
    seed: int | None,
    broken: str | None,
    faults: bool,
    hostile: bool,
    services: int,
    processes: int,
    only: str | None,
    path: Path | None,
) -> None:
    """Break workers, connections and databases under load, and check that nothing is lost.

    The exit code is 1 if something was.
    """
    seed = random.randrange(10**6) if seed is None else seed
    print(f"{kind}, seed {seed}, {seconds:g} seconds", flush=True)
    with serve(kind) as database:
        history = run(
            database,
            seconds=seconds,
            seed=seed,
            worker_count=services,
            process_count=processes,
            broken=broken,
            faults=faults,
            hostile=hostile,
            only=only,
        )
    if path is not None:
        history.save(path)
    for key, value in history.summary().items():
        print(f"{key}: {value}")
    for violation in history.violations[:20]:
        print(f"VIOLATION {violation}")
    sys.exit(1 if history.violations else 0)


if __name__ == "__main__":
    main()
