"""What this distribution depends on: roost of its own version."""

from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class SameVersion(MetadataHookInterface):
    """It calls functions of roost that are no public interface, so no other version will do."""

    def update(self, metadata: dict[str, Any]) -> None:
        metadata["dependencies"] = [f"roost=={metadata['version']}"]
