"""Nova's own tests of its provider tree, and of the drivers that edit it, on roost's tree.

The tests are nova's, unmodified; where they make a tree, they get one of roost.
"""

import unittest
from unittest import mock

from nova.compute import provider_tree
from nova.tests.unit.compute import test_pci_placement_translator, test_provider_tree
from nova.tests.unit.virt.ironic import test_driver as test_ironic
from nova.tests.unit.virt.libvirt import test_driver as test_libvirt
from nova.tests.unit.virt.vmwareapi import test_driver_api as test_vmware

from roost.agent.provider_tree import ProviderTree
from tests.suites.worker import tests_of

# What is not asked of roost's tree, and why.
LEFT_OUT = {
    "test_add_remove_traits": "expects no error for a provider that does not exist",
    "test_deep_copy": "looks at the lock of nova's tree",
    "test_has_inventory_changed": "counts a field that is set to its default as a change",
    "test_populate_from_iterable_complex": "calls private methods of nova's tree",
    **dict.fromkeys(
        (
            "test_subtree_excludes_other_roots",
            "test_subtree_includes_children",
            "test_subtree_is_deep_copy",
            "test_subtree_raises_for_missing_provider",
            "test_subtree_raises_for_non_root",
            "test_subtree_returns_root_only",
        ),
        "is about a method that no driver calls",
    ),
}


class OnRoostsTree:
    def setUp(self):
        patch = mock.patch.object(provider_tree, "ProviderTree", ProviderTree)
        patch.start()
        self.addCleanup(patch.stop)
        super().setUp()


class Tree(OnRoostsTree, test_provider_tree.TestProviderTree):
    pass


class Libvirt(OnRoostsTree, test_libvirt.TestUpdateProviderTree):
    pass


class PciInPlacement(OnRoostsTree, test_pci_placement_translator.TestTranslator):
    pass


class VMware(OnRoostsTree, test_vmware.VMwareAPIVMTestCase):
    pass


class Ironic(OnRoostsTree, test_ironic.IronicDriverTestCase):
    pass


def load_tests(loader, found, pattern):
    """All tests of the first three classes. The drivers' classes have many that need no tree."""
    whole = (Tree, Libvirt, PciInPlacement)
    return unittest.TestSuite(
        test
        for test in tests_of(found)
        if (isinstance(test, whole) or "provider_tree" in test.id())
        and test.id().rpartition(".")[2] not in LEFT_OUT
    )
