"""A driver to start from: licences, one provider for each product of a licence server.

A file says what there is, and which seat of which product every user has:

    {"products": {"cad": 20, "fem": 5}, "seats": {"cad": ["9b2e0a53-..."]}}

    roost agent run --driver licences:LicenceDriver -o path=/etc/licences.json --dry-run
"""

import json
from pathlib import Path
from typing import Any

from roost.agent.driver import Allocations, Driver, DriverError, Whereabouts
from roost.agent.provider_tree import ProviderTree
from roost.agent.reshape import rename_class

CLASS = "CUSTOM_LICENCE"
# Earlier versions of this driver had another name for it.
OLD_CLASS = "CUSTOM_LICENSE"


class LicenceDriver(Driver):
    """Reads the file at every update, so that the agent need not be restarted."""

    # 1. Options, from `-o name=value`. Refuse wrong ones here: the agent then exits with code 2.

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        if unknown := sorted(set(options) - {"path", "name"}):
            raise DriverError(f"there is no option {', '.join(unknown)}; there are path and name")
        if "path" not in options:
            raise DriverError("the option path is missing: -o path=FILE")

    # 2. The roots. Usually it is one, the host; a driver may describe many.

    def nodenames(self) -> list[str]:
        return [self.options.get("name", "licences")]

    # 3. The tree. It comes as the service has it, with its root; edit it into what it should be.
    #    What you do not touch stays. If resources are elsewhere in the new tree, the agent moves
    #    what consumers hold of them.

    def update_provider_tree(
        self, provider_tree: ProviderTree, nodename: str, allocations: Allocations | None = None
    ) -> None:
        products = self._read()["products"]
        for product, count in products.items():
            if not provider_tree.exists(product):
                provider_tree.new_child(product, nodename)
            # This asks for a reshape if `allocations` is None, and does nothing once it is done.
            rename_class(provider_tree, allocations, product, OLD_CLASS, CLASS)
            provider_tree.update_inventory(product, {CLASS: {"total": count, "max_unit": 1}})
            provider_tree.update_traits(product, ["CUSTOM_LICENCED"])
        for uuid in provider_tree.get_provider_uuids(nodename)[1:]:
            if provider_tree.data(uuid).name not in products:
                provider_tree.remove(uuid)

    # 4. Where consumers are, if you can tell. The agent asks when something has to move, and marks
    #    what it had to guess.

    def where(self, nodename: str, consumer: str) -> Whereabouts:
        for product, users in self._read().get("seats", {}).items():
            if consumer in users:
                return {CLASS: product}
        return {}

    def _read(self) -> Any:
        path = Path(self.options["path"])
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise DriverError(f"{path} cannot be read: {error}") from error
