"""The `libvirt` driver: a host as libvirt describes it, and where its domains are.

A package, so that the entry point `roost.agent.drivers.libvirt:LibvirtDriver` stays as it is.
"""

from roost.agent.drivers.libvirt.driver import LibvirtDriver

__all__ = ["LibvirtDriver"]
