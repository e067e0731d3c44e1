"""The `file` driver: a YAML file describes the providers.

A package, so that the entry point `roost.agent.drivers.file:FileDriver` stays as it is.
"""

from roost.agent.drivers.file.driver import FileDriver

__all__ = ["FileDriver"]
