"""`placement-status upgrade check`: the checks of Placement, and after them what roost finds.

Scripts stop at an exit code other than 0. So the exit code is that of Placement's own checks, and
what roost finds beyond them is shown as a warning. `roost status` has the exit code of all.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from roost.health.configuration import configuration_outcomes, is_json, policy_file
from roost.health.inspection import count_missing_rows
from roost.health.outcome import Level, Outcome, failure, success, warning
from roost.health.status import database_outcomes
from roost.model import Value
from roost.settings import Settings, SettingsError
from roost.store.store import Store

# The checks of `roost status` that Placement makes too.
SHARED = ("root providers", "consumers")
POLICY = "policy"

_MIGRATE = "run `placement-manage db online_data_migrations`"


class UpgradeCheck(Value, frozen=True, kw_only=True):
    """What an upgrade check found."""

    checks: Sequence[Outcome]  # those that Placement makes, by its names
    further: Sequence[Outcome]  # what roost finds beyond them; warnings

    @property
    def level(self) -> Level:
        return max(outcome.level for outcome in self.checks)


def check_upgrade(store: Store, settings: Settings) -> UpgradeCheck:
    """Check. Raises `Unavailable` if the database cannot be reached or has no tables."""
    rootless, unknown = store.read_snapshot(count_missing_rows)
    policy = _policy(settings)
    checks = [
        failure("Missing Root Provider IDs", f"{rootless} providers have no root: {_MIGRATE}")
        if rootless
        else success("Missing Root Provider IDs", ""),
        warning("Incomplete Consumers", f"{unknown} consumers have no record: {_MIGRATE}")
        if unknown
        else success("Incomplete Consumers", ""),
        policy,
    ]
    covered = (*SHARED, POLICY) if policy.level else SHARED
    return UpgradeCheck(checks=checks, further=list(_further(store, settings, covered)))


def _policy(settings: Settings) -> Outcome:
    name = "Policy File JSON to YAML Migration"
    # A file that cannot be read, and an option that is wrong, are findings of roost.
    with suppress(OSError, SettingsError):
        path = policy_file(settings)
        if path is not None and is_json(path):
            return failure(
                name,
                f"{path} is JSON, which is not accepted any more: convert it to YAML with "
                "`oslopolicy-convert-json-to-yaml --namespace placement`",
            )
    return success(name, "")


def _further(store: Store, settings: Settings, covered: Sequence[str]) -> Iterator[Outcome]:
    for outcome in (*configuration_outcomes(settings), *database_outcomes(store, settings)):
        if outcome.level and outcome.name not in covered:
            yield warning(f"roost: {outcome.name}", outcome.detail)
