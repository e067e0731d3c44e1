"""Searches in which several providers of a tree may give an amount together: `can_split`."""
