"""Reads of many providers at once: what each of them has, and what all have together."""
