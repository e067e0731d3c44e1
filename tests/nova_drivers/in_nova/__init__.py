"""Tests for the Python that nova is installed for, where test_drivers.py runs them."""

# Chooses between threads and eventlet, which has to happen before the rest of nova is imported.
import nova.tests.unit  # noqa: F401
