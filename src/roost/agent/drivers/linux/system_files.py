"""Reading /sys and /proc, which may be below another folder than the root."""

import os
from pathlib import Path

from roost.agent.driver import DriverError
from roost.agent.drivers.machines.cpu_lists import parse_cpus


class SystemFiles:
    """/sys and /proc of a machine, or a recording of them. What is missing is None or empty."""

    def __init__(self, root: str) -> None:
        self.root = Path(root)
        if not self.root.is_dir():
            raise DriverError(f"The folder {root} (option `root`) does not exist.")

    def path(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def text(self, path: str) -> str | None:
        try:
            return self.path(path).read_text(errors="replace").strip("\n\0 ")
        except OSError:
            # Devices come and go, and reading some files is EINVAL while a device has no driver.
            return None

    def integer(self, path: str) -> int | None:
        """A number, in decimal or as 0x..."""
        text = self.text(path)
        try:
            return int(text, 0) if text else None
        except ValueError:
            return None

    def cpus(self, path: str) -> frozenset[int] | None:
        text = self.text(path)
        return None if text is None else parse_cpus(text, path)

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted."""
        try:
            return sorted(each.name for each in self.path(path).iterdir())
        except OSError:
            return []

    def folders(self, path: str) -> list[str]:
        """The names of the folders in a folder, sorted. Links are not followed."""
        try:
            with os.scandir(self.path(path)) as entries:
                return sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        # In a recording the target of a link may be missing.
        found = self.path(path)
        return found.exists() or found.is_symlink()
