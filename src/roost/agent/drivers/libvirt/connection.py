"""The connection to libvirt. Everything is read only, which needs no privileges of root."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from roost.agent.driver import DriverError
from roost.model import Value

# If the operator names no storage pool, this one is used where it exists, as virt-install does.
_DEFAULT_POOL = "default"


class DeviceXml(Value, frozen=True, kw_only=True):
    """A device of the host."""

    xml: str
    is_active: bool  # a mediated device may be defined without existing


class Connection:
    """libvirt at one URI. It connects at the first call, and again when the connection is lost."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._libvirt = _load_library()
        self._connection: Any = None

    def hostname(self) -> str:
        name: str = self._call("the name of the host", lambda found: found.getHostname())
        return name

    def capabilities(self) -> str:
        xml: str = self._call("the capabilities", lambda found: found.getCapabilities())
        return xml

    def memory_mb(self) -> int:
        """The memory of the whole host."""
        return int(self._call("the memory", lambda found: found.getInfo()[1]))

    def cpus_online(self) -> int:
        """The number of CPUs that can be used."""
        return int(self._call("the CPUs", lambda found: found.getInfo()[2]))

    def cpus_present(self) -> int:
        """The number of CPUs, including those that are offline."""
        return int(self._call("the CPUs", lambda found: found.getCPUMap()[0]))

    def expand_cpu(self, cpu_xml: str) -> str | None:
        """The description of a CPU with the features that its model implies. None: not known."""
        flag = self._libvirt.VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES
        expanded: str | None = self._call(
            "the features of the CPU",
            lambda found: found.baselineCPU([cpu_xml], flag),
            # The model may be of an architecture, or a release, that this libvirt does not know.
            unless=(
                self._libvirt.VIR_ERR_NO_SUPPORT,
                self._libvirt.VIR_ERR_CONFIG_UNSUPPORTED,
                self._libvirt.VIR_ERR_INTERNAL_ERROR,
                self._libvirt.VIR_ERR_XML_ERROR,
            ),
        )
        return expanded

    def devices(self) -> list[DeviceXml]:
        """The PCI devices, mediated devices and network interfaces of the host."""
        flags = (
            self._libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_PCI_DEV
            | self._libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_MDEV
            | self._libvirt.VIR_CONNECT_LIST_NODE_DEVICES_CAP_NET
        )
        found = self._call(
            "the devices",
            lambda found: found.listAllDevices(flags),
            unless=(self._libvirt.VIR_ERR_NO_SUPPORT,),
        )
        read = (self._device(each) for each in found or ())
        return [each for each in read if each is not None]

    def _device(self, device: Any) -> DeviceXml | None:
        # A device may disappear between the list and the look at it.
        gone = (self._libvirt.VIR_ERR_NO_NODE_DEVICE,)
        unknown = (*gone, self._libvirt.VIR_ERR_NO_SUPPORT)
        is_active = self._call("a device", lambda _: device.isActive(), unless=unknown)
        xml = self._call("a device", lambda _: device.XMLDesc(), unless=gone)
        # A libvirt that cannot tell has no devices but active ones.
        return None if xml is None else DeviceXml(xml=xml, is_active=is_active in (None, 1))

    def pool_bytes(self, name: str | None) -> int:
        """The capacity of a storage pool; 0 if none is named and there is no default one."""
        pool = self._call(
            "the storage pools",
            lambda found: found.storagePoolLookupByName(name or _DEFAULT_POOL),
            unless=(self._libvirt.VIR_ERR_NO_STORAGE_POOL, self._libvirt.VIR_ERR_NO_SUPPORT),
        )
        is_active = pool is not None and self._call("a pool", lambda _: pool.isActive())
        if name is not None and not is_active:
            state = "is not active" if pool is not None else "does not exist"
            raise DriverError(f"Option pool: the storage pool {name!r} at {self._uri} {state}.")
        return int(self._call("a pool", lambda _: pool.info()[1])) if is_active else 0

    def domain(self, uuid: str) -> str | None:
        """The description of a domain; None if there is no such domain."""
        xml: str | None = self._call(
            "a domain",
            lambda found: found.lookupByUUIDString(uuid).XMLDesc(),
            unless=(self._libvirt.VIR_ERR_NO_DOMAIN,),
        )
        return xml

    def _call(self, what: str, read: Callable[[Any], Any], *, unless: tuple[int, ...] = ()) -> Any:
        """Call libvirt. Errors of the kinds in `unless` are answered with None."""
        was_open = self._connection is not None
        try:
            if self._connection is None:
                self._connection = self._libvirt.openReadOnly(self._uri)
            return read(self._connection)
        except self._libvirt.libvirtError as error:
            is_alive = self._is_alive()
            if is_alive and error.get_error_code() in unless:
                return None
            task = f"cannot read {what}" if self._connection is not None else "cannot connect"
            # Whatever the error was, a new connection costs little.
            self._connection = None
            if was_open and not is_alive:
                # The daemon has been restarted since the last call.
                return self._call(what, read, unless=unless)
            # The output of ssh, which is part of some messages, has several lines.
            reason = " ".join(str(error).split())
            raise DriverError(f"libvirt at {self._uri}: {task}: {reason}") from error

    def _is_alive(self) -> bool:
        try:
            return bool(self._connection is not None and self._connection.isAlive())
        except self._libvirt.libvirtError:
            return False


def _load_library() -> ModuleType:
    try:
        import libvirt
    except ImportError as error:
        raise DriverError(
            f"The libvirt driver needs libvirt-python ({error}): pip install 'roost[libvirt]'"
        ) from error
    # By default libvirt prints every error to standard error, also those that are handled.
    libvirt.registerErrorHandler(_ignore, None)
    library: ModuleType = libvirt
    return library


def _ignore(context: object, error: object) -> None:
    pass
