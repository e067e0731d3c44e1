"""The search in which several providers of a tree may serve an amount together: `can_split`."""
