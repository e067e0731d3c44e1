"""The `linux` driver: a machine as /sys and /proc describe it.

A package, so that the entry point `roost.agent.drivers.linux:LinuxDriver` stays as it is.
"""

from roost.agent.drivers.linux.driver import LinuxDriver

__all__ = ["LinuxDriver"]
