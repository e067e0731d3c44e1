"""What a run measures, and for how long: quickly, or everything."""

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.durable import run as durable
from benchmarks.durable.run import DurablePlan
from benchmarks.measure import Budget
from benchmarks.services import REQUEST_SECONDS_MAX


class Plan(NamedTuple):
    """What a run measures, and for how long."""

    datasets: Sequence[tuple[str, str]]  # dataset, kind of database
    growth: Sequence[int]  # numbers of hosts
    budgets: dict[str, Budget]
    placement_seconds: dict[str, float]
    contention: Sequence[str]  # kinds of database
    contention_seconds: float
    extensions: int  # number of hosts
    bulk_reads: Sequence[tuple[int, str]]  # number of hosts, kind of database
    single_reads: int  # how many of each kind the reference is asked
    console: int  # number of hosts
    durable: DurablePlan


# The reference takes seconds for requests that roost answers in a few milliseconds, so it gets
# fewer requests and more time.
QUICK = Plan(
    datasets=[("cloud-1000", "mariadb")],
    growth=[1_000, 12_000],
    budgets={
        "reference": Budget(1, 20, 2.0, 15.0),
        "roost": Budget(20, 200, 2.0, 15.0),
    },
    placement_seconds={"reference": 12.0, "roost": 5.0},
    contention=["mariadb"],
    contention_seconds=1.0,
    extensions=1_000,
    bulk_reads=[(1_000, "postgresql")],
    single_reads=10,
    console=10_000,
    durable=durable.QUICK,
)
FULL = Plan(
    datasets=[
        ("cloud-1000", "mariadb"),
        ("cloud-1000", "postgresql"),
        ("cloud-10000", "mariadb"),
        ("flat-10000", "mariadb"),
        ("nested-1000", "mariadb"),
    ],
    # The second cloud has 100,000 providers, the last one 0.84 million.
    growth=[1_000, 12_000, 100_000],
    budgets={
        "reference": Budget(2, 100, 15.0, REQUEST_SECONDS_MAX),
        "roost": Budget(50, 1000, 15.0, REQUEST_SECONDS_MAX),
    },
    placement_seconds={"reference": 60.0, "roost": 10.0},
    contention=["mariadb", "postgresql"],
    contention_seconds=5.0,
    extensions=10_000,
    bulk_reads=[(10_000, "postgresql"), (10_000, "mariadb")],
    single_reads=200,
    console=100_000,
    durable=durable.FULL,
)
GROWTH_DATABASE = "postgresql"
# On which ten clients search, choose and claim with COMMIT on disk.
PLACING_DATASET = "cloud-1000"


def bulk_plan(
    plan: Plan, sizes: Sequence[int], databases: Sequence[str]
) -> Sequence[tuple[int, str]]:
    """The clouds that are read as a whole, and the databases."""
    hosts = max(sizes, default=plan.bulk_reads[0][0])
    kinds = databases or [kind for _, kind in plan.bulk_reads]
    return [(hosts, kind) for kind in kinds]


def with_time_limits(plan: Plan, seconds: float | None, give_up: float | None) -> Plan:
    """The plan with the time limits that the options give."""
    budgets = {
        name: budget._replace(
            seconds_max=budget.seconds_max if seconds is None else seconds,
            request_seconds_max=budget.request_seconds_max if give_up is None else give_up,
        )
        for name, budget in plan.budgets.items()
    }
    placement_seconds = (
        plan.placement_seconds if seconds is None else dict.fromkeys(budgets, seconds)
    )
    contention_seconds = plan.contention_seconds if seconds is None else seconds
    durable_plan = plan.durable if seconds is None else plan.durable._replace(seconds=seconds)
    return plan._replace(
        budgets=budgets,
        placement_seconds=placement_seconds,
        contention_seconds=contention_seconds,
        durable=durable_plan,
    )
