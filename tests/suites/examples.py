"""Tests with every outcome, for the tests of the worker."""

import os
import unittest


class Example(unittest.TestCase):
    def test_passes(self) -> None:
        print("what tests print is no answer")

    def test_fails(self) -> None:
        self.fail("for a reason")

    def test_fails_twice(self) -> None:
        self.addCleanup(self.fail, "in the cleanup")
        self.fail("in the body")

    def test_raises(self) -> None:
        raise ValueError("an error")

    def test_fails_in_a_part(self) -> None:
        with self.subTest("a part"):
            self.fail("in a part")

    @unittest.skip("not today")
    def test_is_skipped(self) -> None:
        self.fail("not skipped")

    @unittest.expectedFailure
    def test_is_expected_to_fail(self) -> None:
        self.fail("as expected")

    @unittest.expectedFailure
    def test_passes_unexpectedly(self) -> None:
        pass


class BrokenClass(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        raise ValueError("an error of the class")

    def test_is_never_run(self) -> None:
        pass


class EndOfTheProcess(unittest.TestCase):
    def test_ends_the_process(self) -> None:
        os._exit(3)
