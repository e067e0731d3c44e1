"""One update of a host: what the driver says of it is carried to the service."""

import logging
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from roost.agent.driver import Allocations, Driver, ReshapeNeeded, Whereabouts
from roost.agent.provider_tree import ProviderTree
from roost.agent.report.attempts import run_attempts
from roost.agent.report.report_client import ReportClient
from roost.agent.reshape.changes import is_sensitive
from roost.agent.reshape.holdings import copied
from roost.agent.reshape.settlement import Settlement, reshape_needed, settle
from roost.agent.reshape.summary import summarize
from roost.client import Client
from roost.uuids import canonical_uuid

LOG = logging.getLogger(__name__)


class ReshapeForbidden(Exception):
    """A reshape is needed, but the agent reshapes only at start."""


class Plan(NamedTuple):
    """What an update changes."""

    before: ProviderTree  # as the service has it; empty if it does not know the host
    after: ProviderTree
    held_before: Allocations | None  # None if no reshape is needed
    held_after: Allocations | None
    settlement: Settlement = Settlement()


class Tracker:
    """Carries what a driver says of one host to the service."""

    def __init__(
        self,
        client: Client,
        driver: Driver,
        nodename: str,
        *,
        uuid: str | None = None,
        allow_excess: bool = False,
    ) -> None:
        self._report = ReportClient(client, is_own=lambda name: name in driver.nodenames())
        self._driver = driver
        self.nodename = nodename
        self._uuid = uuid
        self._allow_excess = allow_excess

    def plan(self) -> Plan:
        """What an update at start would change. Writes nothing."""
        found = self._report.get_provider_tree(self.nodename, self._uuid)
        # Drivers expect a root, also one that the service does not know yet.
        try:
            plan = self._describe(found, self._report.last_read_tree(), startup=True)
        finally:
            self._report.forget_allocations()
        self._report.check_foreign(plan.after)
        return plan

    def update(self, *, startup: bool) -> Plan | None:
        """Write to the service what the driver describes. Returns what was sent; None if nothing.

        Only an update at start moves inventories that consumers may hold.
        """
        return self._until_no_race(partial(self._update, startup=startup))

    def reshape(self) -> Plan | None:
        """Update a host that needs a reshape, as at start, and leave any other alone.

        Returns what was sent; None if no reshape is needed.
        """
        return self._until_no_race(self._reshape)

    def _until_no_race(self, attempt: Callable[[], Plan | None]) -> Plan | None:
        plan, attempts = run_attempts(self._report, self.nodename, attempt)
        if plan is not None and plan.held_before is not None and plan.held_after is not None:
            moved = summarize(plan.before, plan.after, plan.held_before, plan.held_after)
            LOG.info("reshaped %s: %s; %s", self.nodename, moved, attempts)
        return plan

    def _update(self, *, startup: bool) -> Plan | None:
        found = self._report.get_provider_tree_and_ensure_root(self.nodename, self._uuid)
        plan = self._describe(found, self._report.tree_before_update(), startup=startup)
        return self._send(plan)

    def _reshape(self) -> Plan | None:
        found = self._report.get_provider_tree(self.nodename, self._uuid)
        plan = self._describe(found, self._report.last_read_tree(), startup=True)
        return None if plan.held_after is None else self._send(plan)

    def _send(self, plan: Plan) -> Plan | None:
        held = plan.held_after
        if held is None and is_sensitive(plan.before, plan.after):
            # Nobody has to move as long as nobody claims anything in between. So what shrinks is
            # sent in one request with the generations that were read.
            held = {}
        sent = self._report.update_from_provider_tree(plan.after, held)
        return plan if sent else None

    def _describe(self, found: ProviderTree, before: ProviderTree, *, startup: bool) -> Plan:
        """What the driver wants, and what consumers hold then."""
        after = found.copy()
        needed, again = self._ask_driver(found, after)
        if needed is None:
            return Plan(before, after, None, None)
        held = self._report.get_allocations_for_provider_tree()
        moved, after = copied(held), again
        self._driver.update_provider_tree(after, self.nodename, allocations=moved)
        for consumer in held.keys() - moved.keys():
            # Whom the driver has removed holds nothing any more.
            moved[consumer] = {**held[consumer], "allocations": {}}
        settlement = settle(
            found,
            after,
            found.data(self.nodename).uuid,
            moved,
            self._where,
            allow_excess=self._allow_excess,
        )
        for excess in settlement.excess:
            LOG.warning("%s: %s", self.nodename, excess)
        if moved == held:
            return Plan(before, after, None, None, settlement)
        if not startup:
            raise ReshapeForbidden(
                f"the resources of {self.nodename} have another shape than the service knows "
                f"({needed}): {summarize(found, after, held, moved)}. They are moved at start "
                "only: restart the agent, or run `roost agent reshape`"
            )
        LOG.info("reshaping %s: %s", self.nodename, needed)
        return Plan(before, after, held, moved, settlement)

    def _ask_driver(
        self, found: ProviderTree, after: ProviderTree
    ) -> tuple[str | None, ProviderTree]:
        """Let the driver edit the tree.

        Returns why a reshape is needed, if it is, and the tree to ask the driver again with.
        """
        try:
            self._driver.update_provider_tree(after, self.nodename)
        except ReshapeNeeded as needed:
            # Nova's drivers find again what they have begun: children that they have created, say.
            return str(needed), after
        return reshape_needed(found, after, found.data(self.nodename).uuid), found.copy()

    def _where(self, consumer: str) -> Whereabouts:
        # Some clients spell UUIDs in their own way, and cgroups and libvirt in theirs.
        return self._driver.where(self.nodename, canonical_uuid(consumer))
