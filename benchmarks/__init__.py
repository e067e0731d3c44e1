"""Measures roost and the reference side by side: `scripts/benchmark --help`.

The database servers that it starts are those of the tests (`tests/support`).
"""
