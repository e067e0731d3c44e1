"""Which PCI devices of a machine become providers, and what they provide."""

import pytest

from roost.agent.driver import DriverError
from roost.agent.drivers.linux.options import read_options
from roost.agent.drivers.machines.devices import Instances, PciDevice, offer

FREE = {"nvidia-471": Instances(available=1, used=0), "nvidia-472": Instances(available=1, used=0)}
TAKEN = {"nvidia-471": Instances(available=0, used=1), "nvidia-472": Instances(available=0, used=0)}


def card(**fields):
    known = {
        "address": "0000:3b:00.0",
        "code": 0x030200,
        "vendor": 0x10DE,
        "product": 0x20B5,
        "numa_node": 0,
        "is_console": False,
        "mediated_types": {},
        "functions": (),
    }
    return PciDevice(**(known | fields))


def offered(device, **vgpu_types):
    wanted = {name.replace("_", "-"): maximum for name, maximum in vgpu_types.items()}
    found = offer(device, wanted)
    return found and (found.resource_class, found.total)


def test_a_card_without_functions_is_given_away_whole():
    assert offered(card()) == ("PGPU", 1)
    assert offered(card(is_console=True)) is None
    assert offered(card(vendor=0x1A03)) is None
    assert offered(card(code=0x010802)) is None


def test_a_card_with_functions_is_not_given_away_whole():
    assert offered(card(functions=({}, {}, {}))) == ("VGPU", 3)


def test_the_operator_says_how_many_the_functions_of_a_card_can_carry(caplog):
    """Sixteen functions each offer one, and the card has memory for four."""
    device = card(functions=(TAKEN, *[FREE] * 15))
    assert offered(device, nvidia_471=4) == ("VGPU", 4)
    assert offered(device, nvidia_35=8, nvidia_472=8) == ("VGPU", 8)
    assert offered(device, nvidia_471=99) == ("VGPU", 16)
    assert not caplog.records
    assert offered(device, nvidia_471=None) is None
    assert offered(device) is None
    assert [each.getMessage().partition(",")[0] for each in caplog.records] == [
        "0000:3b:00.0 is not offered: say how many mediated devices it has room for"
    ] * 2


def test_a_maximum_also_limits_a_card_that_counts_for_itself():
    types = {"nvidia-35": Instances(available=5, used=3)}
    assert offered(card(mediated_types=types)) == ("VGPU", 8)
    assert offered(card(mediated_types=types), nvidia_35=6) == ("VGPU", 6)


def test_a_divided_card_is_not_given_away_whole():
    used = {
        "nvidia-35": Instances(available=5, used=3),
        "nvidia-36": Instances(available=0, used=0),
    }
    assert offered(card(mediated_types=used), nvidia_36=None) == ("VGPU", 8)
    free = {"nvidia-35": Instances(available=8, used=0)}
    assert offered(card(mediated_types=free), nvidia_36=None) == ("PGPU", 1)


def test_a_type_is_named_with_or_without_a_maximum():
    read = read_options({"vgpu_types": "nvidia-471:4, nvidia-35"}).vgpu_types
    assert read == {"nvidia-471": 4, "nvidia-35": None}
    for text in ("nvidia-35:", "nvidia-35:0", "nvidia-35:many", ":4"):
        with pytest.raises(DriverError, match="neither TYPE nor TYPE:NUMBER"):
            read_options({"vgpu_types": text})
